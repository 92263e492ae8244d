"""Where sets of images are looked for, and what is said when they are nowhere."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import numpy as np
import pytest
from tiny_images import draw, write_set

from litmus.errors import BadInput
from litmus.tasks import make_task_spec
from litmus.tasks.idx import write_idx
from litmus.tasks.image_sets import find_cache, find_folder, read_image_set
from litmus.tasks.known_images import IMAGE_SETS, PARTS, ImageSet


@pytest.fixture(autouse=True)
def _no_data_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LITMUS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_named_folder_goes_before_the_variable_and_that_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = write_set(find_cache() / "images")
    assert find_folder("images") == cached
    monkeypatch.setenv("LITMUS_DATA", str(tmp_path / "empty"))
    assert find_folder("images") == cached
    shared = write_set(tmp_path / "shared")
    monkeypatch.setenv("LITMUS_DATA", str(shared))
    assert find_folder("images") == shared
    mine = write_set(tmp_path / "mine" / "images", suffix="")
    assert find_folder("images", str(tmp_path / "mine")) == mine


def test_a_set_is_read_whole(tmp_path: Path) -> None:
    train, test = read_image_set("images", str(write_set(tmp_path)))
    images, labels = draw(120, seed=1)
    assert np.array_equal(train.images, images)
    assert np.array_equal(train.labels, labels)
    assert len(test) == 30


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write_set(tmp_path / "set")
    (tmp_path / "set" / f"{PARTS[3]}.gz").unlink()
    with pytest.raises(BadInput, match=f"holds no {PARTS[3]}"):
        find_folder("images", str(tmp_path / "set"))
    with pytest.raises(BadInput, match="there is no folder"):
        find_folder("images", str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="name it with data or LITMUS_DATA"):
        find_folder("images")


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    write_set(tmp_path / "labels")
    write_idx(tmp_path / "labels" / f"{PARTS[1]}.gz", np.zeros(7, np.uint8))
    with pytest.raises(BadInput, match="one class for each of the 120 images"):
        read_image_set("images", str(tmp_path / "labels"))
    write_idx(tmp_path / "labels" / f"{PARTS[1]}.gz", np.full(120, -1, np.int8))
    with pytest.raises(BadInput, match=f"{PARTS[1]}.gz holds negative numbers"):
        read_image_set("images", str(tmp_path / "labels"))
    write_set(tmp_path / "pixels")
    write_idx(tmp_path / "pixels" / f"{PARTS[0]}.gz", np.full((120, 8, 8), np.nan, np.float32))
    with pytest.raises(BadInput, match=f"{PARTS[0]}.gz holds pixels that are no finite"):
        read_image_set("images", str(tmp_path / "pixels"))
    write_set(tmp_path / "sizes")
    write_idx(tmp_path / "sizes" / f"{PARTS[2]}.gz", np.zeros((30, 9, 9), np.uint8))
    with pytest.raises(BadInput, match="8 × 8 pixels and test images of 9 × 9"):
        read_image_set("images", str(tmp_path / "sizes"))
    with pytest.raises(BadInput, match="does not hold mnist, but 120 images"):
        read_image_set("mnist", str(write_set(tmp_path / "small")))


def test_another_set_that_is_known_by_name_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_set(tmp_path)
    for name, md5 in (("mnist", make_mirrored(folder).md5), ("fashion-mnist", {PARTS[1]: "0"})):
        known = dataclasses.replace(IMAGE_SETS[name], md5=md5, shape=None)
        monkeypatch.setitem(IMAGE_SETS, name, known)
    assert len(read_image_set("mnist", str(folder))[0]) == 120
    with pytest.raises(BadInput, match="does not hold fashion-mnist, but mnist"):
        read_image_set("fashion-mnist", str(folder))
    assert len(read_image_set("images", str(folder))[0]) == 120


def make_mirrored(folder: Path, *mirrors: str) -> ImageSet:
    """A set that can be had from these places, with the checksums of what is in `folder`."""
    sums = {part: hashlib.md5((folder / f"{part}.gz").read_bytes()).hexdigest() for part in PARTS}
    return dataclasses.replace(IMAGE_SETS["mnist"], mirrors=mirrors, md5=sums, shape=None)


def test_a_known_set_is_downloaded_once_from_the_first_mirror_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = write_set(tmp_path / "good"), write_set(tmp_path / "bad", train=30)
    known = make_mirrored(good, f"{bad.as_uri()}/", f"{good.as_uri()}/")
    monkeypatch.setitem(IMAGE_SETS, "mnist", known)
    assert find_folder("mnist") == find_cache() / "mnist"
    assert len(read_image_set("mnist")[0]) == 120
    monkeypatch.setitem(IMAGE_SETS, "mnist", dataclasses.replace(known, mirrors=()))
    assert len(read_image_set("mnist")[0]) == 120  # it is in the cache now


def test_without_data_and_network_one_line_says_what_to_put_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = make_mirrored(write_set(tmp_path / "set"), f"{(tmp_path / 'gone').as_uri()}/")
    monkeypatch.setitem(IMAGE_SETS, "mnist", gone)
    with pytest.raises(BadInput) as found:
        find_folder("mnist")
    line = str(found.value)
    assert "\n" not in line
    for words in (*PARTS, "cannot be downloaded", str(find_cache() / "mnist"), "LITMUS_DATA"):
        assert words in line
    assert not (find_cache() / "mnist").exists()


def test_a_download_that_was_cut_short_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = write_set(tmp_path / "there")
    monkeypatch.setitem(IMAGE_SETS, "mnist", make_mirrored(there, f"{there.as_uri()}/"))
    write_set(find_cache() / "mnist")
    for part in PARTS[2:]:
        (find_cache() / "mnist" / f"{part}.gz").unlink()
    assert len(read_image_set("mnist")[1]) == 30


def test_a_download_with_another_checksum_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = make_mirrored(write_set(tmp_path / "good"))
    bad = write_set(tmp_path / "bad", train=30)
    monkeypatch.setitem(
        IMAGE_SETS, "mnist", dataclasses.replace(known, mirrors=(f"{bad.as_uri()}/",))
    )
    with pytest.raises(BadInput, match=f"the checksum of {PARTS[0]}.gz does not match"):
        find_folder("mnist")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "images", "env_kwargs": {"held_out": "tset"}}, "did you mean 'test'"),
        ({"task": "images", "env_kwargs": {"images_per_episod": 3}}, "images_per_episode"),
        ({"task": "images", "env_kwargs": {"images_per_episode": 0}}, "from 1 to a million"),
        ({"task": "images", "env_kwargs": {"images_per_episode": "ten"}}, "whole number"),
    ],
)
def test_wrong_options_of_the_task_are_one_line(options, words: str, tmp_path: Path) -> None:
    data = str(write_set(tmp_path))
    with pytest.raises(BadInput, match=words):
        make_task_spec(options["task"], env_kwargs=options["env_kwargs"], data=data).build()


def test_options_that_only_other_tasks_have_are_refused() -> None:
    with pytest.raises(BadInput, match="is for sets of images"):
        make_task_spec("CartPole-v1", data="somewhere")
    with pytest.raises(BadInput, match="episodes of one step"):
        make_task_spec("mnist", max_episode_steps=3)
    with pytest.raises(BadInput, match="did you mean 'mnist'"):
        make_task_spec("mnits")

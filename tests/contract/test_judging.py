"""Zoo, fit, score, compare, rank and improve, as a library and as commands, on a known answer.

The task pays 1 - (action - 0.6)² for the one action that is taken near the state (1, 1).
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from harness import assert_one_line, train_tiny
from toys import TARGET, TargetTask

import litmus
from litmus.cli import main
from litmus.evaluators.kernel import KernelEvaluator
from litmus.judging.card import ARCHITECTURES, KNOWN, LINEAGES, find_doubts, kendall, regret
from litmus.judging.data import read_fit_data
from litmus.judging.episodes import EpisodeRunner
from litmus.judging.rank import LEAST_EPISODES, NOISE_GUESS, SURE, Beliefs
from litmus.judging.remeasure import remeasure
from litmus.judging.subjects import find_judge
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.runs.measured import TaskChoice
from litmus.seeding import Stream

TASK = "toys:TargetTask"
HEAD = ActionHead.for_task("auto", TargetTask.actions)
QUICK = {"probing_states": 12, "folds": 3}


def make_policy(seed: int, action: float | None = None) -> litmus.Policy:
    """By chance; or a linear one that takes this action everywhere."""
    hidden = () if seed % 2 or action is not None else (6,)
    architecture = MlpArchitecture((2,), HEAD, hidden)
    generator = torch.Generator().manual_seed(seed)
    params = 0.5 * torch.randn(architecture.num_params, generator=generator)
    if action is not None:
        params = torch.tensor([0.0, 0.0, float(np.arctanh(action))])
    mean = np.array([0.1 * (seed % 3), 0.2])
    return litmus.Policy(architecture, params, Normalizer(mean, np.array([1.0, 1.5])))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zoo of six lineages, an evaluator fitted to it, and a few policies."""
    folder = tmp_path_factory.mktemp("judging")
    for seed in range(6):
        policy = make_policy(seed)
        options = {"lineage": f"lineage {seed}", "algorithm": "chance", "workers": 0}
        assert len(list(litmus.zoo_add(folder / "zoo", [policy], task=TASK, **options))) == 1
        grown = litmus.zoo_grow(folder / "zoo", policy, noise=0.4, count=24, **options)
        assert len(list(grown)) == 24
    litmus.fit(folder / "zoo", out=folder / "judge.safetensors", quiet=True, device="cpu", **QUICK)
    make_policy(1, TARGET).save(folder / "good.safetensors")
    make_policy(1, -0.5).save(folder / "bad.safetensors")
    return folder


@pytest.fixture(scope="module")
def judge(folder: Path) -> KernelEvaluator:
    found = litmus.load_evaluator(folder / "judge.safetensors")
    assert isinstance(found, KernelEvaluator)
    return found


def test_the_evaluator_knows_policies_and_lineages_that_it_has_not_seen(
    judge: KernelEvaluator,
) -> None:
    held_out = judge.card["held_out"]
    for kind in (KNOWN, LINEAGES):
        assert held_out[kind]["spearman"] > 0.7, kind
        assert held_out[kind]["error"] < 0.5 * held_out[kind]["guessing_error"], kind
    assert 0.7 < held_out[LINEAGES]["coverage"] <= 1
    assert len(held_out[LINEAGES]["groups"]) == 6
    assert set(held_out[ARCHITECTURES]["groups"]) == {"mlp 6", "mlp linear"}
    assert judge.card["task"]["task"] == TASK


def test_intervals_hold_the_returns_of_fresh_policies(judge: KernelEvaluator) -> None:
    policies = [make_policy(seed) for seed in range(100, 140)]
    measured = [litmus.evaluate(one, task=TASK, episodes=1, workers=0).mean for one in policies]
    estimate = judge.predict(policies)
    inside = (estimate.low.numpy() <= measured) & (measured <= estimate.high.numpy())
    assert inside.mean() > 0.8


def test_the_same_seed_fits_the_same_evaluator(folder: Path) -> None:
    options = {**QUICK, "quiet": True, "device": "cpu"}
    policy = make_policy(50)
    one, other = (litmus.fit(folder / "zoo", **options).predict([policy]) for _ in range(2))
    assert torch.equal(one.mean, other.mean)
    assert torch.equal(one.low, other.low)


def test_policies_measured_again_are_what_the_card_speaks_of(folder: Path) -> None:
    """Little is left to chance in the task: further episodes say the same."""
    data = read_fit_data([folder / "zoo"], 60)
    again = remeasure(data, 3, 0, lambda text, done, total: None)
    assert np.allclose(again.returns, data.returns, atol=0.2)
    assert np.array_equal(again.episodes, data.episodes + 3)
    judge = litmus.fit(folder / "zoo", quiet=True, device="cpu", remeasure=1, policies=30, **QUICK)
    assert judge.card["held_out"][LINEAGES]["policies"] == 30


def test_what_is_measured_again_or_verified_is_no_copy_of_what_was_measured(
    finished_run: Path, tmp_path: Path
) -> None:
    """An episode that was learned from says nothing new."""
    task, policy = litmus.Run(finished_run).config.task, litmus.Run(finished_run).policy
    (record,) = litmus.zoo_add(tmp_path / "zoo", policy, task=task, episodes=3, workers=0)
    choice = TaskChoice(task)
    found = []
    for stream in (Stream.JUDGING, Stream.REMEASUREMENT, Stream.VERIFICATION):
        with EpisodeRunner(choice, 0, 0, stream) as runner:
            found.append(tuple(one.return_ for one in runner.run(policy, range(3))))
    assert found[0] == record.returns
    assert len(set(found)) == 3


def test_what_grows_from_a_policy_of_a_zoo_is_of_its_training(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "zoo", tmp_path / "zoo")
    zoo = litmus.Zoo(tmp_path / "zoo")
    first = zoo.records()[0]
    options = {"noise": 0.4, "count": 1, "seed": 9, "workers": 0}
    (grown,) = litmus.zoo_grow(tmp_path / "zoo", tmp_path / "zoo/000000.safetensors", **options)
    assert (grown.lineage, grown.algorithm) == (first.lineage, first.algorithm)
    (elsewhere,) = litmus.zoo_add(
        tmp_path / "other", tmp_path / "zoo/000000.safetensors", task=TASK, workers=0
    )
    assert (elsewhere.lineage, elsewhere.algorithm) == (first.lineage, first.algorithm)


def test_two_who_add_the_same_at_once_add_it_once(tmp_path: Path) -> None:
    """Each looked before the other had stored anything."""
    policies = [make_policy(seed) for seed in range(3)]
    options = {"task": TASK, "workers": 0}
    one = litmus.zoo_add(tmp_path / "zoo", policies, **options)
    other = litmus.zoo_add(tmp_path / "zoo", policies, **options)
    stored = [next(one), next(other), *one, *other]
    assert [record.number for record in stored] == [0, 1, 2]
    assert len({record.content for record in litmus.Zoo(tmp_path / "zoo").records()}) == 3


def test_policies_that_differ_in_their_activation_alone_are_two(tmp_path: Path) -> None:
    params = make_policy(0).flat_params
    policies = [
        litmus.Policy(MlpArchitecture((2,), HEAD, (6,), activation), params, Normalizer.identity(2))
        for activation in ("tanh", "relu")
    ]
    assert len(list(litmus.zoo_add(tmp_path / "zoo", policies, task=TASK, workers=0))) == 2
    assert len(read_fit_data([tmp_path / "zoo"], 10).returns) == 2


def test_a_lineage_beside_which_there_is_next_to_nothing_counts_as_the_only_one(
    folder: Path, tmp_path: Path
) -> None:
    options = {"task": TASK, "workers": 0}
    list(litmus.zoo_add(tmp_path / "zoo", make_policy(0), lineage="one", **options))
    grow = {"noise": 0.4, "count": 24, "workers": 0, "lineage": "one"}
    list(litmus.zoo_grow(tmp_path / "zoo", make_policy(0), **grow))
    list(litmus.zoo_add(tmp_path / "zoo", make_policy(1), lineage="other", **options))
    judge = litmus.fit(tmp_path / "zoo", quiet=True, device="cpu", **QUICK)
    assert not judge.card["intervals_hold_for_other_lineages"]


def test_weights_that_are_no_numbers_are_refused(judge: KernelEvaluator, tmp_path: Path) -> None:
    broken = make_policy(0)
    with torch.no_grad():
        next(broken.network.parameters()).fill_(np.nan)
    for call in (
        lambda: litmus.rank(judge, [make_policy(1), broken], budget=10),
        lambda: judge.predict([make_policy(1), broken]),
        lambda: list(litmus.zoo_add(tmp_path / "zoo", broken, task=TASK, workers=0)),
    ):
        with pytest.raises(litmus.BadInput, match=r"not (all )?finite"):
            call()


def test_runs_that_end_after_other_numbers_of_steps_are_other_tasks(
    finished_run: Path, tmp_path: Path
) -> None:
    train_tiny(tmp_path / "short", max_episode_steps=3)
    with pytest.raises(litmus.BadInput, match="one task, with the same options"):
        read_fit_data([finished_run, tmp_path / "short"], 100)


def test_one_training_is_one_lineage_however_it_is_named(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished_run, tmp_path / "runs/a")
    shutil.copytree(finished_run, tmp_path / "runs/copy")
    monkeypatch.chdir(tmp_path / "runs")
    alone = read_fit_data(["a"], 1000)
    twice = read_fit_data(["a", "./a", tmp_path / "runs/a", "copy", litmus.Run("a")], 1000)
    assert twice.lineage_names == alone.lineage_names == ["a"]
    assert len(twice.returns) == len(alone.returns)
    monkeypatch.chdir("a")
    task = litmus.Run(".").config.task
    list(litmus.zoo_add("../../zoo", "policy.safetensors", task=task, workers=0))
    assert litmus.Zoo("../../zoo").records()[0].lineage == "runs/a"
    monkeypatch.chdir("..")
    (found,) = litmus.Zoo("../zoo").read().policies
    assert found.lineage == "a"


def test_growing_again_adds_only_what_is_new(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "zoo", tmp_path / "zoo")

    def grow(count: int, seed: int) -> int:
        options = {"noise": 0.4, "count": count, "seed": seed, "workers": 0}
        return len(list(litmus.zoo_grow(tmp_path / "zoo", make_policy(0), **options)))

    assert [grow(24, 0), grow(26, 0), grow(2, 1)] == [0, 2, 2]


def test_the_library_takes_runs_zoos_and_names_and_refuses_the_rest(
    folder: Path, judge: KernelEvaluator, tmp_path: Path
) -> None:
    good = folder / "good.safetensors"
    assert litmus.fit(litmus.Zoo(folder / "zoo"), quiet=True, policies=40, **QUICK).card
    assert litmus.rank(judge, good).order == (0,)
    assert litmus.compare(judge, good, good, task=TASK).verdict == "undecided"
    (tmp_path / "notes.json").write_text("{}")
    for words, call in {
        "a list of policies": lambda: judge.predict(make_policy(0)),  # type: ignore[arg-type]
        "score takes a single": lambda: judge.predict([]),
        "ends in .safetensors": lambda: litmus.improve(judge, good, out=tmp_path / "x.txt"),
        "there is no folder": lambda: litmus.improve(
            judge, good, out=tmp_path / "no/x.safetensors"
        ),
        "notes.json exists": lambda: litmus.improve(
            judge, good, out=tmp_path / "notes.safetensors"
        ),
        "workers must be": lambda: litmus.zoo_grow(
            folder / "zoo", good, noise=0.1, count=1, workers=-3
        ),
    }.items():
        with pytest.raises(litmus.BadInput, match=words):
            call()


def test_a_policy_that_stayed_as_it_was_is_not_called_better(judge: KernelEvaluator) -> None:
    for seed in range(5):
        done = litmus.improve(judge, make_policy(seed), steps=20, radius=0, verify=2)
        assert (done.steps, done.is_better) == (0, False)
        assert done.before == done.after == ()  # no episode is spent on what is the same


def test_intervals_as_wide_as_guessing_are_doubted(judge: KernelEvaluator) -> None:
    card = copy.deepcopy(judge.card)
    assert card["intervals_hold_for_other_lineages"]
    found = card["held_out"][LINEAGES]
    found["width"] = 3.2 * found["guessing_error"]
    assert find_doubts(card) == []
    found["width"] = 3.4 * found["guessing_error"]
    assert "as if their mean were guessed" in find_doubts(card)[0]


def test_a_better_policy_is_found_and_the_original_is_untouched(judge: KernelEvaluator) -> None:
    policy = make_policy(1, 0.1)
    before = policy.flat_params.clone()
    done = litmus.improve(judge, policy, steps=200, lr=0.01, verify=4)
    assert torch.equal(policy.flat_params, before)
    assert done.verified_gain is not None
    assert done.verified_gain > 0.1
    assert done.is_better
    assert done.predicted_gain > 0


def test_the_climb_ends_where_it_may_not_go_further(judge: KernelEvaluator) -> None:
    policy = make_policy(1, -0.3)
    done = litmus.improve(judge, policy, steps=200, lr=0.01, radius=0.05)
    assert "as far as allowed" in done.why_ended
    states = torch.ones(1, 2)
    assert (done.policy(states) - policy(states)).abs().max() < 0.2


def test_policies_are_told_apart_by_few_pairs(judge: KernelEvaluator) -> None:
    good, bad = make_policy(1, TARGET), make_policy(1, -0.5)
    found = litmus.compare(judge, bad, good, budget=60)
    assert found.verdict == "second"
    assert found.episodes < 30
    assert litmus.compare(judge, good, good, budget=20).verdict == "undecided"
    function = lambda states: torch.full((len(states), 1), TARGET)  # noqa: E731
    assert litmus.compare(judge, function, bad, budget=60).verdict == "first"


def test_the_best_of_many_is_found_in_few_episodes(judge: KernelEvaluator) -> None:
    actions = np.linspace(-0.9, 0.9, 20)
    policies = [make_policy(1, float(action)) for action in actions]
    found = litmus.rank(judge, policies, budget=40)
    best = np.argsort(np.abs(actions - TARGET))[:3]
    assert found.order[0] in best
    assert found.episodes <= 40


def test_ranking_finds_the_best_without_an_evaluator_that_is_right() -> None:
    """It says the opposite of the truth, with wide intervals."""
    generator = np.random.default_rng(0)
    truth = np.arange(10.0)
    beliefs = Beliefs(-truth, np.full(10, 10.0), 1.0)
    for _ in range(100):
        place = beliefs.choose_next(generator)
        beliefs.returns[place].append(float(truth[place] + generator.normal()))
    assert np.argmax(beliefs.posterior()[0]) == 9


def test_the_best_is_not_said_to_be_found_before_it_was_seen_twice(judge: KernelEvaluator) -> None:
    found = litmus.rank(judge, [make_policy(1, TARGET), make_policy(1, -0.9)], budget=40)
    assert len(found.returns[found.order[0]]) >= 2


def test_few_are_sure_and_wrong_where_episodes_vary_as_much_as_policies() -> None:
    """V is as right as it says, and nothing is known of the noise."""
    generator, sure, right = np.random.default_rng(0), 0, 0
    for _ in range(60):
        truth = generator.normal(size=6)
        beliefs = Beliefs(np.zeros(6), np.ones(6), NOISE_GUESS)
        for _ in range(60):
            place = beliefs.choose_next(generator)
            beliefs.returns[place].append(float(truth[place] + generator.normal()))
            probabilities = beliefs.find_probabilities(generator)
            best = int(probabilities.argmax())
            if probabilities[best] >= SURE and len(beliefs.returns[best]) >= LEAST_EPISODES:
                sure, right = sure + 1, right + (best == truth.argmax())
                break
    assert sure >= 20
    assert right >= 0.85 * sure


def test_rank_measures_against_known_values() -> None:
    assert kendall(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])) == pytest.approx(1 / 3)
    assert kendall(np.array([1.0, 1.0]), np.array([1.0, 2.0])) is None
    assert regret(np.array([3.0, 2.0, 1.0]), np.array([1.0, 5.0, 4.0]), 1) == 4.0
    assert regret(np.array([1.0]), np.array([1.0]), 3) is None


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_a_list_is_no_wider_than_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    whole = run(capsys, "zoo", "list", folder / "zoo")[1].splitlines()
    assert max(map(len, whole)) > 40
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    shown = run(capsys, "zoo", "list", folder / "zoo")[1].splitlines()
    assert {len(line) for line in shown[1:]} == {40}
    assert all(line[:39] == one[:39] for line, one in zip(shown, whole, strict=True))


def test_the_commands_say_what_the_library_does(
    folder: Path, judge: KernelEvaluator, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluator, good, bad = (
        folder / "judge.safetensors",
        folder / "good.safetensors",
        folder / "bad.safetensors",
    )
    code, out, _ = run(capsys, "score", evaluator, good, bad, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert lines[0]["value"] == pytest.approx(judge.score(make_policy(1, TARGET)))
    assert lines[0]["low"] < lines[0]["value"] < lines[0]["high"]
    code, out, _ = run(capsys, "score", evaluator, good)
    assert (code, "familiarity" in out, "ms per policy" in out) == (0, True, True)
    code, out, _ = run(capsys, "compare", evaluator, bad, good, "--budget", 60, "--fail-if-worse")
    assert (code, "B is better" in out) == (0, True)
    code, out, err = run(capsys, "compare", evaluator, good, bad, "--budget", 60, "--fail-if-worse")
    assert (code, "A is better" in out) == (1, True)
    assert_one_line(err, "is worse than")
    code, out, _ = run(capsys, "rank", evaluator, bad, good, "--budget", 20, "--json")
    assert code == 0
    assert json.loads(out.splitlines()[0])["path"] == str(good)
    code, out, _ = run(capsys, "zoo", "list", folder / "zoo", "--json")
    assert len(out.splitlines()) == 150


def test_improve_writes_what_is_better_and_fails_where_nothing_is(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    evaluator, out = folder / "judge.safetensors", tmp_path / "better.safetensors"
    options = ("--verify", 2, "--lr", 0.01, "--steps", 100)
    code, text, _ = run(
        capsys, "improve", evaluator, folder / "bad.safetensors", "--out", out, *options
    )
    assert (code, out.exists(), "measured return" in text) == (0, True, True)
    other = tmp_path / "best.safetensors"
    code, _, err = run(
        *(capsys, "improve", evaluator, folder / "good.safetensors", "--out", other),
        *("--radius", 0, "--steps", 3),
    )
    assert (code, other.exists()) == (1, False)
    assert_one_line(err, "did not get better")


BAD: dict[str, Callable[[Path], list[object]]] = {
    "there is no file nowhere": lambda f: ["score", f / "judge.safetensors", "nowhere"],
    "there is no file nowhere.safetensors": lambda f: [
        *("score", "nowhere.safetensors", f / "good.safetensors"),
    ],
    "judge.safetensors beside it": lambda f: ["score", f / "judge.json", f / "good.safetensors"],
    "safetensors": lambda f: ["fit", f / "zoo", "--out", "judge.pt"],
    "--visits must be at least 1": lambda f: [
        "fit",
        f / "zoo",
        "--out",
        "j.safetensors",
        "--visits",
        0,
    ],
    "--budget": lambda f: ["compare", f / "judge.safetensors", f, f, "--budget", -1],
    "--error-rate": lambda f: [
        *("compare", f / "judge.safetensors", f / "good.safetensors", f / "bad.safetensors"),
        *("--error-rate", 2),
    ],
    "exists already": lambda f: [
        *("improve", f / "judge.safetensors", f / "good.safetensors"),
        *("--out", f / "good.safetensors"),
    ],
    "--workers must be at least 0": lambda f: [
        *("zoo", "grow", f / "zoo", "--from", f / "good.safetensors", "--workers", -3),
    ],
    "good.safetensors exists already": lambda f: [
        *("fit", f / "zoo", "--out", f / "good.safetensors"),
    ],
    "--budget must be at least 1": lambda f: [
        *("compare", f / "judge.safetensors", f / "good.safetensors", f / "bad.safetensors"),
        *("--budget", 12),
    ],
    "--task": lambda f: ["zoo", "add", "new", f / "good.safetensors"],
    "there is no zoo at nowhere": lambda f: ["zoo", "list", "nowhere"],
    "there is no zoo or run at nowhere": lambda f: ["fit", "nowhere", "--out", "j.safetensors"],
    "add|list|grow": lambda f: ["zoo"],
    "did you mean": lambda f: ["score", f / "judge.safetensors", "x", "--jsn"],
}


@pytest.mark.parametrize("words", BAD)
def test_mistakes_are_one_line(
    words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *BAD[words](folder))
    assert (code, out) == (2, "")
    assert_one_line(err)
    assert words in err, err
    assert not Path("new").exists()


def test_a_run_stands_where_an_evaluator_does(
    finished_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "score", finished_run, finished_run)
    assert (code, "training return" in out) == (0, True)
    code, out, _ = run(capsys, "compare", finished_run, finished_run, finished_run, "--budget", 20)
    assert (code, "undecided" in out) == (0, True)
    code, out, _ = run(capsys, "rank", finished_run, finished_run, finished_run, "--budget", 3)
    assert code == 0
    code, _, _ = run(
        capsys, "improve", finished_run, finished_run, "--out", "b.safetensors", "--steps", 3
    )
    assert code == 0


def test_one_lineage_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained = train_tiny(tmp_path / "run", steps=120, evaluate_every=120).path
    code, out, _ = run(capsys, "fit", trained, "--out", "one.safetensors", "--visits", 2)
    assert (code, "one lineage only" in out) == (0, True)


def test_too_little_to_learn_from_is_said(tmp_path: Path) -> None:
    list(litmus.zoo_add(tmp_path / "zoo", [make_policy(0)], task=TASK, episodes=1, workers=0))
    with pytest.raises(litmus.BadInput, match="too few"):
        litmus.fit(tmp_path / "zoo", quiet=True)


def test_a_run_judges_in_another_task_with_the_survival_bonus_that_its_v_counts(
    tmp_path: Path,
) -> None:
    run = train_tiny(tmp_path / "run", survival_bonus="remove")
    for task in ("toys:ToyWalk-v0", TaskChoice("toys:ToyWalk-v0", {"length": 9})):
        judge = find_judge(run, task)
        assert judge.require_task().survival_bonus == "remove"
        assert judge.predicts == "training_return"
    assert judge.require_task().env_kwargs == {"length": 9}

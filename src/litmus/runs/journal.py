"""Every policy that a run measured, in compact form: the checkpoint's buffer and a zoo at once.

The perturbed policies are rebuilt from θ and their episode indices, so a round of sixteen
256×256 policies takes 0.3 MB instead of 4.5. Where only the newest rounds are to be kept, they lie
in several pairs of files, and the oldest pair is removed as a whole.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from litmus.errors import BadInput
from litmus.rollouts.base import Round
from litmus.runs.journal_segment import Segment


class Journal:
    """Appends rounds and reads them back. `rounds_per_file`: 0 puts all into one pair of files."""

    def __init__(
        self, directory: Path, num_params: int, state_size: int, rounds_per_file: int = 0
    ) -> None:
        self.directory, self.rounds_per_file = directory, rounds_per_file
        self._sizes = (num_params, state_size)
        self._last: Segment | None = None
        """That rounds are appended to."""

    def append(self, round_: Round) -> None:
        last = self._last or self._find_segments()[-1]
        if self.rounds_per_file and round_.number - last.first >= self.rounds_per_file:
            last.sync()
            last.close()
            last = self._open_segment(round_.number)
        self._last = last
        last.append(round_)

    def sync(self) -> None:
        """Bring what was appended to the disk, before a checkpoint counts on it."""
        if self._last is not None:
            self._last.sync()

    def close(self) -> None:
        if self._last is not None:
            self._last.close()
        self._last = None

    def read(self, count: int | None = None, least: int = 0, first: int = 0) -> list[Round]:
        """Read and verify the rounds from `first` to before `count`, all of them; without a
        `count`, those that are whole and were not forgotten, which must reach to `least`."""
        rounds: list[Round] = []
        segments = self._find_segments()
        first = first if count is not None else max(first, segments[0].first)
        for segment, following in zip(segments, [*segments[1:], None], strict=True):
            if following is not None and following.first <= first:
                continue
            end = count if following is None else following.first
            end = end if count is None or end is None else min(end, count)
            own = max(first, segment.first)
            most = None if end is None else max(0, end - segment.first)
            rounds += segment.read(most, own - segment.first)
            if following is not None and (count is None or following.first <= count):
                self._require(rounds, own, following.first)
        self._require(rounds, first, least if count is None else count)
        return rounds

    def find_damage(self, count: int) -> str:
        """Why not all rounds before that can be read, but for those that were forgotten; nothing
        where they can."""
        try:
            self.read(count, first=self._find_segments()[0].first)
        except BadInput as error:
            return str(error)
        return ""

    def _require(self, rounds: list[Round], first: int, end: int) -> None:
        """BadInput where the rounds from `first` to before `end` are not all there."""
        numbers = {round_.number for round_ in rounds}
        missing = sum(number not in numbers for number in range(first, end))
        if missing:
            raise BadInput(
                f"{self.directory} holds {end - first - missing} of the {end - first} rounds it "
                "should hold"
            )

    def cut(self, count: int) -> None:
        """Forget everything after the first `count` rounds."""
        self.close()
        for segment in self._find_segments():
            if segment.first and segment.first >= count:
                segment.remove()
            else:
                segment.cut(count - segment.first)

    def forget(self, before: int) -> None:
        """Remove the files that hold only rounds before the one with this number."""
        segments = self._find_segments()
        for segment, following in pairwise(segments):
            if following.first <= before:
                segment.remove()

    def _open_segment(self, first: int) -> Segment:
        return Segment(self.directory, first, *self._sizes)

    def _find_segments(self) -> list[Segment]:
        """In order; the first of all where there is none."""
        numbers = {path.stem[len("rounds-") :] for path in self.directory.glob("rounds-*.bin")}
        later = sorted(int(number) for number in numbers if number.isdecimal())
        start = self._open_segment(0)
        has_start = start.rows_path.exists() or start.lines_path.exists()
        return [*([start] if has_start or not later else []), *map(self._open_segment, later)]

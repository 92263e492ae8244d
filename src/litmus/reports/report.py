"""`litmus report`: read run directories, look into the runs that are shown, write one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from litmus.analysis.groups import Group, group_records
from litmus.analysis.records import RunRecord, read_showable
from litmus.errors import BadInput
from litmus.files import refuse_other_than_file, write_bytes
from litmus.reports.details import PARTS, DetailsInProgress, RunDetails
from litmus.reports.headline import write_lead, write_tiles, write_title
from litmus.reports.judged import Verdicts, add_judged, judge_runs
from litmus.reports.page import Content, write_page
from litmus.reports.probing_images import read_probing_images
from litmus.reports.progress import ReportProgress, make_progress
from litmus.reports.sections import write_sections
from litmus.reports.words import write_words

Examine = Callable[[Sequence[RunRecord]], Sequence[RunDetails]]

MOST_DETAILED = 4
"""Runs that are looked into: each costs some seconds and about a megabyte."""


@dataclass(frozen=True)
class Report:
    """A page that can be written, and what it was made from."""

    content: Content
    records: Sequence[RunRecord]
    details: Sequence[RunDetails]

    def to_html(self, version: str | None = None) -> str:
        return write_page(self.content, version)

    def write(self, path: Path | str) -> Path:
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, self.to_html().encode())
        except OSError as error:
            raise BadInput(f"cannot write {path}: {error.strerror}") from error
        except ValueError as error:  # a name that no file can have
            raise BadInput(f"cannot write {path}: {error}") from error
        return path

    def write_figures(self, directory: Path | str) -> list[Path]:
        """Every figure as PNG and SVG; animations as WebP, and their strips of stills."""
        from litmus.reports.plots import write_figures

        directory = Path(directory)
        try:
            written = write_figures(self.content.figures, directory)
            return written + _write_pictures(self.details, directory)
        except OSError as error:
            raise BadInput(f"cannot write to {directory}: {error.strerror}") from error


def build_report(
    paths: Sequence[Path | str], *, judge: Path | str | None = None, quiet: bool = False
) -> Report:
    """Read the runs and make the report; BadInput where not one of them can be shown.

    `judge`: an evaluator that `fit` made; the page then shows its card, and what it says of the
    runs' policies. How far it is goes to standard error, unless `quiet`.
    """
    progress = make_progress(quiet)
    try:
        records = read_showable(paths)
        verdicts = None if judge is None else judge_runs(judge, records)
        return make_report(records, lambda chosen: examine_all(chosen, progress), verdicts)
    finally:
        progress.close()


def make_report(
    records: Sequence[RunRecord], examine: Examine, verdicts: Verdicts | None = None
) -> Report:
    """The report of these runs; `examine` looks into those of them that are shown in detail."""
    groups = group_records(records)
    chosen, left_out = choose_detailed(records, groups)
    details = examine(chosen)
    sections = write_sections(records, groups, details, left_out)
    if verdicts is not None:
        add_judged(sections, verdicts)
    content = Content(
        write_title(records, groups),
        write_lead(records, groups),
        write_tiles(records, groups, details),
        sections.written,
        sections.figures,
        write_words(records, details),
    )
    return Report(content, records, details)


def examine_all(records: Sequence[RunRecord], progress: ReportProgress) -> list[RunDetails]:
    """Look into each run; pictures of one are rendered while the next is examined."""
    total = (len(PARTS) + 1) * len(records)

    def tell(place: int, part: str) -> None:
        done = len(PARTS) * place + PARTS.index(part)
        progress.tell(f"{records[place].name}: {part}", done, total)

    started = [
        DetailsInProgress(record, len(records), tell=partial(tell, place))
        for place, record in enumerate(records)
    ]
    finished = []
    for place, one in enumerate(started):
        if one.is_rendering:
            done = len(PARTS) * len(records) + place
            progress.tell(f"{records[place].name}: rendering pictures", done, total)
        finished.append(one.finish())
    return finished


def choose_detailed(
    records: Sequence[RunRecord], groups: Sequence[Group]
) -> tuple[list[RunRecord], str | None]:
    """All runs where they are few; else the middle one of each configuration, and words for it."""
    readable = [record for record in records if record.run is not None and record.config]
    if len(readable) <= MOST_DETAILED:
        return readable, None
    chosen = [group.middle_record for group in groups][:MOST_DETAILED]
    names = ", ".join(record.name for record in chosen)
    return chosen, (
        f"details are shown of {len(chosen)} of the {len(readable)} runs: {names}. Each is the run "
        "in the middle of its configuration, nearest to the interquartile mean"
    )


def check_out(path: Path | str) -> None:
    """BadInput where a page cannot be written, before the work of making one."""
    try:
        refuse_other_than_file(Path(path))
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"cannot write {path}: {error}") from error


def check_folder(path: Path | str) -> None:
    """Make a folder for figures; BadInput where that cannot be, before the work of drawing them."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"cannot write to {path}: {reason}") from error


def choose_out(paths: Sequence[Path | str]) -> Path:
    """Where the page goes when nobody says: into the run, or beside several of them."""
    first = Path(paths[0])
    return first / "report.html" if len(paths) == 1 else first.parent / "report.html"


def _write_pictures(details: Sequence[RunDetails], directory: Path) -> list[Path]:
    written = []
    for one in details:
        if one.record.run is not None and one.probing is not None:
            images = read_probing_images(one.record.run)
            written += images.write(directory / f"probing-{one.key}") if images else []
        ranking = one.probing.ranking if one.probing is not None else ()
        for k, rendered in zip(ranking, one.rendered, strict=False):
            for kind, roll in rendered.rolls.items():
                for suffix, data in (("", roll.animation), ("-strip", roll.strip)):
                    path = directory / f"state-{one.key}-{k}-{kind}{suffix}.webp"
                    write_bytes(path, data)
                    written.append(path)
    return written

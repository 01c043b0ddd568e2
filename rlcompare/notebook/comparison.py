"""``rlcompare.diff``: two sides compared, with the tables of ``diff.json``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rlcompare.app.arguments import split_commas
from rlcompare.app.comparison import Request, compare_sides, warn_of_unknown_keys
from rlcompare.errors import UsageError
from rlcompare.model.words import Comparable
from rlcompare.notebook.arguments import Numbers, PathLike, choice_of, keys_of, numbers_of, path_of
from rlcompare.notebook.run import Run
from rlcompare.notebook.table import ROWS_SHOWN, Table, table_of_rows

if TYPE_CHECKING:
    from rlcompare.model.diff import Delta, Diff
    from rlcompare.report.view import ReportView

Side = PathLike | Run | Sequence[PathLike | Run]


_NAMED: Any = object()
"""Stands for a side that was not given."""


def diff(
    *sides: NoReturn,
    new: Side = _NAMED,
    baseline: Side = _NAMED,
    steps: Numbers = None,
    base_steps: Numbers = None,
    new_steps: Numbers = None,
    ranks: Numbers = None,
    layout: str | None = None,
    prefer: str = "db",
    varied: Sequence[str] = (),
    cache_dir: PathLike | None = None,
    cache: bool = True,
    quiet: bool = False,
) -> Comparison:
    """Compares two sides, as ``rlcompare diff -d NEW -bp BASELINE`` does.

    Args:
        sides: none. Both sides are given by name, so that nobody swaps them.
        new, baseline: a side as ``rlcompare diff`` takes it, or a loaded run (it is read again, in full), or a list of
            these. A string may carry a label (``"cann82=runs/base"``).
        steps, base_steps, new_steps: only these steps, of both sides or of one.
        ranks: only these ranks of both sides.
        layout: ``"ranks"`` or ``"runs"``: the meaning of the captures in a folder; inferred if omitted.
        prefer: ``"db"`` or ``"text"``, if a profile has both.
        varied: differences that are intended, such as ``["cann"]``.
        cache_dir: where to keep stores; the command line's default if omitted.
        cache: whether to keep stores.
        quiet: show no progress on standard error.

    Raises:
        InputError: a side cannot be read.
        TypeError: a side is missing, or not given by name.
        UsageError: a step or rank does not exist.
    """
    if sides or new is _NAMED or baseline is _NAMED:
        raise TypeError('give both sides by name: rlcompare.diff(new="runs/new", baseline="runs/base")')
    choice_of(layout, "layout", (None, "ranks", "runs"))
    choice_of(prefer, "prefer", ("db", "text"))
    request = Request(
        baseline=_side(baseline, "baseline"),
        new=_side(new, "new"),
        steps=numbers_of(steps, "steps"),
        base_steps=numbers_of(base_steps, "base_steps"),
        new_steps=numbers_of(new_steps, "new_steps"),
        ranks=numbers_of(ranks, "ranks"),
        layout=layout,
        prefer=prefer,
        varied=keys_of(varied, "varied"),
        cache_dir=None if cache_dir is None else path_of(cache_dir, "cache_dir"),
        no_cache=not cache,
        quiet=quiet,
    )
    found = compare_sides(request, None)
    if not quiet:
        warn_of_unknown_keys(found, split_commas(request.varied))
    return Comparison(found)


def _side(value: Side, name: str) -> tuple[str, ...]:
    try:
        members = [value] if isinstance(value, (str, os.PathLike, Run)) else list(value)
    except TypeError as error:
        raise UsageError(f"{name} should be a path, a run or several of them, not {type(value).__name__}") from error
    if not members:
        raise UsageError(f"{name} is empty: name at least one run")
    paths = [member.path if isinstance(member, Run) else member for member in members]
    return tuple(path if isinstance(path, str) else str(path_of(path, name)) for path in paths)


@dataclass(frozen=True)
class Verdict:
    """The answer of a comparison; ``str(verdict)`` is the sentence.

    Attributes:
        text: how much slower or faster the new side is, how sure that is, and on how many runs it rests.
        status: ``worse``, ``better``, ``no change``, ``uncertain``, ``not comparable`` or ``not measured``. It is
            ``worse`` if training failed on the new side, however fast it was, and ``uncertain`` if runs overlap.
    """

    text: str
    status: str

    def __str__(self) -> str:
        return self.text


_STATUS = {"worse": "worse", "better": "better", "noise": "no change"}


@dataclass(frozen=True, eq=False)
class Comparison(Mapping[str, Table]):
    """Two sides compared: the sections of ``diff.json`` by name (``comparison["kernels"]``).

    Attributes:
        diff: the whole result as frozen dataclasses (``rlcompare.model.diff``).
    """

    diff: Diff

    @cached_property
    def document(self) -> dict[str, Any]:
        """The content of ``diff.json``."""
        from rlcompare.report.document import to_document

        return to_document(self.diff)

    @property
    def headline(self) -> Delta | None:
        """The headline metric, or None."""
        return self.diff.metric(self.diff.headline)

    @cached_property
    def verdict(self) -> Verdict:
        """The answer in one sentence, and its status. Limits of your own are checked by ``rlcompare gate``."""
        from rlcompare.report.tone import overlaps

        answer, headline = self._view.answer, self.headline
        if headline is None or headline.delta is None:
            status = "not measured"
        elif self.diff.comparability.status == Comparable.NOT_COMPARABLE:
            status = "not comparable"
        else:
            open_ = answer.tone == "noise" and overlaps(headline, self.diff)
            status = "uncertain" if open_ else _STATUS.get(answer.tone, "uncertain")
        return Verdict(f"{answer.text}{answer.rest}", status)

    @cached_property
    def overall(self) -> Table:
        """The metrics of the whole step."""
        return self._listed("overall", "Overall", ("samples", "evidence"))

    @cached_property
    def causes(self) -> Table:
        """The causes, the main one first. Their shares and the unexplained rest sum to the change."""
        return self._listed("causes", "Causes")

    @cached_property
    def quality(self) -> Table:
        """Missing, damaged, inferred or omitted data."""
        return self._listed("quality", "Data quality")

    @cached_property
    def symptoms(self) -> Table:
        """Signs of unstable training, errors first."""
        return self._listed("symptoms", "Stability")

    def _listed(self, member: str, title: str, without: tuple[str, ...] = ()) -> Table:
        rows = [{key: value for key, value in row.items() if key not in without} for row in self.document[member]]
        return table_of_rows(member, title, rows)

    @cached_property
    def summary(self) -> str:
        """The summary as on a terminal, without the suggested next command."""
        from rlcompare.report.terminal import summary_lines, warning_lines

        return "\n".join([*summary_lines(self._view), *warning_lines(self._view)])

    @cached_property
    def _view(self) -> ReportView:
        from rlcompare.report.view import build_view

        return build_view(self.diff, rows=ROWS_SHOWN)

    @cached_property
    def _sections(self) -> dict[str, Table]:
        from rlcompare.report.tables import title_of

        return {
            name: table_of_rows(name, title_of(name), self.document["sections"][name], section.note)
            for name, section in self.diff.sections.items()
        }

    def __getitem__(self, section: str) -> Table:
        if section not in self.diff.sections:
            raise KeyError(f"{section}: no such section; choose from {', '.join(self.diff.sections)}")
        return self._sections[section]

    def __iter__(self) -> Iterator[str]:
        return iter(self.diff.sections)

    def __len__(self) -> int:
        return len(self.diff.sections)

    def __repr__(self) -> str:
        return self.summary

    def _repr_html_(self) -> str:
        from rlcompare.report.notebook import render_comparison

        return render_comparison(self._view)

    def write(self, folder: PathLike, formats: Sequence[str] = ()) -> Path:
        """Writes report.html, diff.json and further formats (``"md"``, ``"xlsx"``, …) to a folder.

        Returns:
            The path of report.html.

        Raises:
            UsageError: the folder cannot be written, or holds other files.
        """
        from rlcompare.report.write import write_report

        return write_report(self.diff, path_of(folder, "folder"), set(formats))[0]

"""``rlcompare history``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Sequence
from datetime import date, datetime, timezone
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from rlcompare.cli.groups import Group
from rlcompare.cli.one_file import check_page, write_text
from rlcompare.cli.options import (
    OUTPUT,
    Command,
    Decorated,
    cache_options,
    common_options,
    engine_options,
    html_option,
    language_option,
    layout_option,
    option,
    path_type,
    prefer_option,
)
from rlcompare.errors import ExitCode, UsageError
from rlcompare.language import of_page, speaking

if TYPE_CHECKING:
    from rlcompare.history.place import Place

PLACE = "History"
LAST = 30
PIPED_WIDTH = 100
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
_ID = re.compile(r"[0-9a-f]{8}")


def _place_option(function: Decorated) -> Decorated:
    return option(
        "--history",
        "place",
        metavar="FILE|URL",
        section=PLACE,
        help="The history: a DuckDB file, or postgresql://USER@HOST/DATABASE.  [default: $RLCOMPARE_HISTORY, else "
        "[gate] history of the policy, else .rlcompare/history.duckdb in the git repository]",
    )(function)


def _varied_option(function: Decorated) -> Decorated:
    return option(
        "--varied",
        multiple=True,
        metavar="KEYS",
        section=PLACE,
        help="Settings that may differ between runs that are compared: keys of the report's section env, or globs.",
    )(function)


def _json_option(function: Decorated) -> Decorated:
    return option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print JSON instead.")(function)


@click.group("history", cls=Group)
def command() -> None:
    """Keep all runs' metrics, and find when they changed.

    \b
    rlcompare history add runs/nightly
    rlcompare history changes
    rlcompare history ack 0d22a573 --reason "CANN 8.3 is needed" --expires 2026-12-31
    """


@command.command("add", cls=Command)
@click.argument("paths", metavar="RUN...", nargs=-1, required=True, type=path_type())
@option("--label", metavar="TEXT", help="Your own words for these runs.")
@option("--commit", metavar="HASH", help="Commit of the code that ran.  [default: as the run recorded it]")
@option("--started", metavar="TIME", help="Start of the run, such as 2026-11-23T14:05Z.  [default: as it was recorded]")
@_place_option
@_json_option
@layout_option
@prefer_option
@engine_options
@cache_options
@common_options
def add_command(
    paths: tuple[Path, ...],
    label: str | None,
    commit: str | None,
    started: str | None,
    place: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Add runs to the history.

    RUN is whatever "rlcompare diff" takes; all runs that it holds are added. A run that is there already is not added
    again. Runs that failed, ended early or were unstable are stored, but not searched for changes.
    """
    from rlcompare.app.history import Reading, add_runs
    from rlcompare.history.document import added_document
    from rlcompare.history.text import added_lines

    if commit is not None and not _COMMIT.fullmatch(commit):
        raise UsageError(f"--commit {commit[:80]!r} is not a commit: pass 7 or more of its hexadecimal digits")
    where = _place(place)
    added = add_runs(
        paths, where, Reading(**options), label=label, commit=commit, started_ns=_moment(started) if started else None
    )
    if as_json:
        _print_json(added_document(added))
    else:
        _print(added_lines(added, where.shown))


@command.command("show", cls=Command)
@click.argument("metrics", metavar="[METRIC]...", nargs=-1)
@_place_option
@_varied_option
@_json_option
@common_options
def show_command(
    metrics: tuple[str, ...], place: str | None, varied: tuple[str, ...], as_json: bool, quiet: bool
) -> None:
    """List the runs, in the order of their start, with their metrics.

    METRIC is a name or a glob, such as 'phase.*.wall'; by default the headline of each run. Runs of the same
    environment (hardware and configuration) are compared with each other.
    """
    from rlcompare.history.document import runs_document
    from rlcompare.history.store import runs_and_values
    from rlcompare.history.text import runs_lines

    runs, values = runs_and_values(_place(place), metrics, _split(varied))
    if not metrics:
        headlines = sorted({run.headline for run in runs})
        runs, values = runs_and_values(_place(place), headlines, _split(varied))
    shown = list(dict.fromkeys(value.metric for value in values))
    for metric in metrics:
        if not any(_matches(name, metric) for name in shown):
            every = {value.metric for value in runs_and_values(_place(place), ["*"])[1]}
            raise UsageError(f"no run of the history has the metric {metric[:200]}{_meant(metric, every)}")
    if as_json:
        _print_json(runs_document(runs, values))
    else:
        _print(runs_lines(runs, values, shown))


@command.command("plot", cls=Command)
@click.argument("metric", metavar="METRIC", required=False)
@html_option
@language_option
@_place_option
@_varied_option
@_json_option
@common_options
def plot_command(
    metric: str | None, page: Path | None, place: str | None, varied: tuple[str, ...], as_json: bool, quiet: bool
) -> None:
    """Plot a metric over the runs of each environment, with the levels that "changes" finds.

    METRIC is a name; by default the headline.
    """
    from rlcompare.history.changes import headline_of, judged, levels_of_series
    from rlcompare.history.document import SCHEMA, series_document
    from rlcompare.history.plot import LEGEND, plot_lines
    from rlcompare.history.store import load
    from rlcompare.text import safe_text

    check_page(page, [], as_json=as_json)
    history = load(_place(place), _split(varied))
    plots = []
    for environment in dict.fromkeys(run.environment for run in history.runs):
        series = [one for one in history.series if one.environment == environment]
        headline = headline_of(series) if series else ""
        chosen = next((one for one in series if one.metric == (metric or headline)), None)
        if chosen is not None:
            alphas = judged(series, headline)
            numbers, levels = levels_of_series(chosen, alphas.get(chosen.metric, min(alphas.values())))
            plots.append((chosen, numbers, chosen.values[-len(numbers) :], levels))
    if not plots:
        known = _meant(metric or "", {one.metric for one in history.series})
        raise UsageError(f"no usable run of the history has the metric {(metric or 'headline')[:200]}{known}")
    if page is not None:
        from rlcompare.history.page import history_view
        from rlcompare.report.html import page_of

        with speaking(of_page()):
            text = page_of("history.html.j2", history_view(plots, history.runs))
        return write_text(text, page)
    if as_json:
        documents = [
            series_document(one.environment, one.metric, one.unit, numbers, values, levels)
            for one, numbers, values, levels in plots
        ]
        return _print_json({"schema": SCHEMA, "series": documents})
    width = get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
    lines: list[str] = []
    for one, numbers, values, levels in plots:
        unit = f" [{one.unit}]" if one.unit else ""
        count = "1 run" if len(numbers) == 1 else f"{len(numbers)} runs"
        lines += [f"{safe_text(one.metric)}{unit}, environment {one.environment}, {count}"]
        lines += [*plot_lines(numbers, values, levels, width), ""]
    return _print([*lines, LEGEND])


@command.command("changes", cls=Command)
@option(
    "--last",
    type=click.IntRange(min=1),
    default=LAST,
    show_default=True,
    metavar="RUNS",
    help="Exit with 1 only for changes within the last RUNS runs of their environment.",
)
@_place_option
@_varied_option
@_json_option
@common_options
def changes_command(last: int, place: str | None, varied: tuple[str, ...], as_json: bool, quiet: bool) -> int:
    """List the runs at which metrics changed, the latest first.

    Exit codes: 0 no unacknowledged change for the worse among the last runs, 1 there is one, 2 wrong usage, 4 the
    history cannot be read. A change that was undone since does not count, nor do times that grew with the tokens. Fewer
    than 17 runs of an environment are not searched; the output says so.
    """
    from rlcompare.history.changes import find_changes
    from rlcompare.history.document import changes_document
    from rlcompare.history.store import load
    from rlcompare.history.text import changes_lines
    from rlcompare.report.output import print_lines

    history = load(_place(place), _split(varied))
    found = find_changes(history, _today().isoformat())
    if as_json:
        _print_json(changes_document(found, last))
    else:
        print_lines(changes_lines(found, history.runs, last), sys.stdout)
    is_open = any(change.is_open and change.age <= last for change in found.changes)
    return ExitCode.REGRESSION if is_open else ExitCode.OK


@command.command("ack", cls=Command)
@click.argument("identity", metavar="ID")
@option("--reason", required=True, metavar="TEXT", help="Why the change is accepted.")
@option("--expires", required=True, metavar="DATE", help="The last day of the acknowledgement, in UTC: YYYY-MM-DD.")
@_place_option
@_varied_option
@_json_option
@common_options
def ack_command(
    identity: str, reason: str, expires: str, place: str | None, varied: tuple[str, ...], as_json: bool, quiet: bool
) -> None:
    """Accept a change until a day.

    "rlcompare history changes" prints the ID. All metrics that changed at the same run are accepted with it.
    """
    from rlcompare.app.history import git
    from rlcompare.history.changes import find_changes
    from rlcompare.history.document import SCHEMA
    from rlcompare.history.store import acknowledge, load

    if not reason.strip():
        raise UsageError("--reason is empty: say why the change is accepted")
    until = _day(expires)
    where = _place(place)
    found = find_changes(load(where, _split(varied)), _today().isoformat())
    change = next((one for one in found.changes if _ID.fullmatch(identity) and one.id == identity), None)
    if change is None:
        known = ", ".join(one.id for one in found.changes[:8]) or "none"
        raise UsageError(f"{identity[:40]!r} is not a change in the history; its changes: {known}")
    acknowledge(where, change.run.number, reason.strip(), until.isoformat(), git("config", "user.name"))
    if as_json:
        document = {"schema": SCHEMA, "id": change.id, "since": change.run.number, "expires": until.isoformat()}
        return _print_json(document)
    return _print([f"acknowledged until {until.isoformat()}: {change.id}, since run {change.run.number}"])


def _place(chosen: str | None) -> Place:
    from rlcompare.history.place import history_of_policy, place_of

    return place_of(chosen, history_of_policy())


def _split(varied: Sequence[str]) -> tuple[str, ...]:
    from rlcompare.app.arguments import split_commas

    return split_commas(varied)


def _matches(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return name == pattern or fnmatchcase(name, pattern)


def _meant(metric: str, known: Collection[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(metric, sorted(known), n=1)
    return f": did you mean {close[0]}?" if close else ""


def _today() -> date:
    return datetime.now(timezone.utc).date()


def _day(text: str) -> date:
    try:
        day = datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise UsageError(f"--expires {text[:40]!r} is not a day such as 2026-12-31") from None
    if day < _today():
        raise UsageError(f"--expires {day.isoformat()} is past")
    return day


def _moment(text: str) -> int:
    """A moment in ns since the epoch; without a time zone, of this machine's."""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        ns = round(moment.timestamp()) * 10**9
        if not -(2**63) <= ns < 2**63:
            raise ValueError(text)
        return ns
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"--started {text[:40]!r} is not a time such as 2026-11-23T14:05Z") from None


def _print(lines: Sequence[str]) -> None:
    from rlcompare.report.output import Line, print_lines

    print_lines(map(Line, lines), sys.stdout)


def _print_json(document: dict[str, Any]) -> None:
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")

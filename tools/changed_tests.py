"""Lists the tests for a change: those that ``make check`` runs.

Prints the test files for all files changed since the branch left ``main``, committed or not; without
changes, a core of the suite. ``TESTS`` maps folders and files of the project to the tests of their behaviour;
the most specific entry counts. The mapping is made by hand, for speed: `make test` runs everything.

    python tools/changed_tests.py [--since COMMIT]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]

CORE = (
    "tests/sql/test_normalize.py", "tests/sql/test_compare_causes.py", "tests/sql/test_compare_means.py",
    "tests/sql/test_compare_roles.py", "tests/sql/test_compare_sections.py", "tests/unit/test_compare_*.py",
    "tests/unit/test_gate_*.py", "tests/unit/test_report_*.py", "tests/unit/test_health.py",
    "tests/sources/test_ascend_text_trace.py", "tests/sources/test_torch_trace.py", "tests/cli/test_gate.py",
)  # fmt: skip
"""Tests that run for every change, and if nothing changed."""

_COMPARE = (
    "tests/sql/test_compare_*.py", "tests/sql/test_metric_meaning.py", "tests/sql/test_records.py",
    "tests/unit/test_compare_*.py",
)  # fmt: skip
_STORE = ("tests/sql/test_normalize.py", "tests/store", "tests/cli/test_cache.py", "tests/cli/test_one_run.py")

TESTS: dict[str, tuple[str, ...]] = {
    "rlcompare/app/": ("tests/cli/test_diff.py", "tests/cli/test_one_run.py", "tests/notebook"),
    "rlcompare/app/baselines.py": ("tests/cli/test_baselines.py",),
    "rlcompare/baselines/": ("tests/cli/test_baselines.py",),
    "rlcompare/cli/baseline.py": ("tests/cli/test_baselines.py", "tests/docs/test_cli_reference.py"),
    "rlcompare/cli/": (
        "tests/cli/test_main.py", "tests/cli/test_diff.py", "tests/cli/test_gate.py",
        "tests/docs/test_cli_reference.py", "tests/docs/test_man_page.py", "tests/cli/test_completion.py",
    ),
    "rlcompare/app/ci_files.py": ("tests/cli/test_ci.py",),
    "rlcompare/collect/": ("tests/collect",),
    "rlcompare/collect/attach/": ("tests/cli/test_attach.py", "tests/unit/test_attach_logs.py"),
    "rlcompare/collect/probe/": ("tests/collect/test_probe*.py",),
    "rlcompare-probe.pth": ("tests/security/test_start_hook.py",),
    "rlcompare/_probe_start.py": ("tests/security/test_start_hook.py",),
    "rlcompare/collect/profiler/": ("tests/collect/test_profiler*.py", "tests/unit/test_profiler_schedule.py"),
    "rlcompare/collect/reference/": (
        "tests/collect/test_step.py", "tests/unit/test_advantage.py", "tests/unit/test_config*.py",
        "tests/unit/test_loss.py", "tests/unit/test_model.py", "tests/unit/test_pretrained.py",
        "tests/unit/test_rollout.py", "tests/unit/test_task.py",
    ),
    "rlcompare/collect/verl/": ("tests/verl", "tests/unit/test_sampled.py"),
    "rlcompare/compare/": _COMPARE,
    "rlcompare/db.py": _STORE,
    "rlcompare/doctor/": ("tests/cli/test_doctor.py",),
    "rlcompare/gate/": ("tests/unit/test_gate_*.py", "tests/cli/test_gate.py"),
    "rlcompare/app/history.py": ("tests/cli/test_history.py",),
    "rlcompare/cli/history.py": ("tests/cli/test_history.py", "tests/docs/test_cli_reference.py"),
    "rlcompare/history/": ("tests/history", "tests/cli/test_history.py"),
    "rlcompare/language.py": ("tests/unit/test_language.py", "tests/unit/test_report_*.py"),
    "rlcompare/metrics/": ("tests/unit/test_catalogue.py", "tests/verl/test_catalogue.py", *_COMPARE),
    "rlcompare/model/": (*_COMPARE, "tests/unit/test_gate_*.py", "tests/unit/test_report_*.py"),
    "rlcompare/notebook/": ("tests/notebook",),
    "rlcompare/probe.py": ("tests/collect/test_probe*.py",),
    "rlcompare/report/": ("tests/unit/test_report_*.py",),
    "rlcompare/report/charts/": ("tests/unit/test_chart_*.py", "tests/unit/test_report_html.py"),
    "rlcompare/rollout_is.py": ("tests/unit/test_rollout_is.py",),
    "rlcompare/sources/": ("tests/sources", "tests/cli/test_wrong_input.py"),
    "rlcompare/sources/metrics/": ("tests/sources/test_metrics_forms.py", "tests/cli/test_verl_metrics.py"),
    "rlcompare/remote.py": ("tests/engines",),
    "rlcompare/secret.py": ("tests/security/test_[rs]e*.py", "tests/sources/test_env.py"),
    "rlcompare/store/": _STORE,
    "rlcompare/store/engines/": ("tests/store", "tests/engines"),
    "rlcompare/temporary.py": ("tests/faults", "tests/cli/test_cache.py"),
    "rlcompare/text.py": ("tests/unit/test_report_text.py", "tests/unit/test_report_html.py"),
    "rlcompare/writer/": ("tests/unit/test_writer_*.py",),
    "sql/baselines/": ("tests/cli/test_baselines.py",),
    "sql/compare/": (*_COMPARE, "tests/sql/test_windows.py"),
    "sql/history/": ("tests/history", "tests/cli/test_history.py", "tests/docs/test_docs_sql.py"),
    "sql/named/": ("tests/cli/test_one_run.py",),
    "sql/normalize/": ("tests/sql/test_[nw]*.py", "tests/sources/test_*_trace.py"),
    "sql/rollup/": ("tests/sql/test_[alnw]*.py",),
    "sql/schema/": _STORE,
    "sql/show/": ("tests/cli/test_one_run.py", "tests/sql/test_compare_limits.py"),
    "sql/sources/": ("tests/sources",),
    "sql/sources/ascend_db/": ("tests/sources/test_ascend_db_*.py",),
    "sql/sources/ascend_text/": ("tests/sources/test_ascend_text_*.py",),
    "sql/sources/nsys/": ("tests/sources/test_nsys.py",),
    "sql/sources/torch_trace/": ("tests/sources/test_torch_trace*.py",),
    "sql/trace/": ("tests/cli/test_trace.py",),
    "report_templates/": ("tests/unit/test_report_*.py",),
    "report_templates/charts/": ("tests/unit/test_chart_*.py", "tests/unit/test_report_*.py"),
    "report_templates/ci/": ("tests/cli/test_ci.py",),
    "golden/": ("tests/unit/test_report_golden.py", "tests/unit/test_golden_helper.py"),
    "README.md": ("tests/docs",),
    "docs/": ("tests/docs",),
}  # fmt: skip
"""Tests by folder or file; the longest match counts."""


def chosen(changed: Iterable[str]) -> list[str]:
    """The tests to run for these changed files, as paths from the checkout that exist; the core if they name none."""
    patterns: set[str] = set()
    for path in changed:
        if path.startswith("tests/"):
            patterns |= _of_a_test(path)
        elif places := [place for place in TESTS if path.startswith(place)]:
            patterns |= set(TESTS[max(places, key=len)])
        elif path.startswith(("rlcompare/", "sql/")) or path == "pyproject.toml":
            patterns |= set(CORE)
    return _existing(patterns) or _existing(CORE)


def _existing(patterns: Iterable[str]) -> list[str]:
    """The files that match the patterns, without files in folders that match too."""
    found = {path for pattern in patterns for path in CHECKOUT.glob(pattern)}
    return sorted(path.relative_to(CHECKOUT).as_posix() for path in found if not found & set(path.parents))


def _of_a_test(path: str) -> set[str]:
    """A test file selects itself; a helper selects the tests beside it, and a global helper the core."""
    name, folder = Path(path).name, Path(path).parent.as_posix()
    if name.startswith("test_") and name.endswith(".py"):
        return {path}
    return {f"{folder}/test_*.py"} if folder != "tests" else set(CORE)


def changed_files(since: str) -> list[str]:
    """Files changed since the branch left a commit, including uncommitted changes."""
    base = _git("merge-base", since, "HEAD") or ["HEAD"]
    return [*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")]


def _git(*arguments: str) -> list[str]:
    """Lines of output; empty outside a repository, or if it has no such commit."""
    try:
        done = subprocess.run(["git", "-C", CHECKOUT, *arguments], capture_output=True, text=True)
    except OSError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def main() -> int:
    parser = argparse.ArgumentParser(description="Name the tests that a change asks for.")
    parser.add_argument("--since", default="main", help="the commit or branch that the change is measured from")
    files = changed_files(parser.parse_args().since)
    tests = chosen(files)
    what = f"{len(files)} changed files ask for" if files else "nothing changed: the core is"
    print(f"{what} {len(tests)} files of tests", file=sys.stderr)
    print("\n".join(tests))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

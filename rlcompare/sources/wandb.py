"""wandb's run files (``run-ID.wandb``) are not read. Tells the user how to export the history of such a run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from rlcompare.sources.source import Problem

SUFFIX = ".wandb"
_RUN = re.compile(r"run-(.+)\.wandb")
_EXPORT = (
    'python3 -c "import json, wandb; [print(json.dumps(row)) for row in '
    "wandb.Api().run('ENTITY/PROJECT/{run}').scan_history()]\" > {run}.jsonl"
)


def wandb_problem(records: Sequence[Path]) -> Problem:
    """The problem to report for wandb's run files (at least one) if nothing else was found."""
    first = records[0]
    match = _RUN.fullmatch(first.name)
    run = match.group(1) if match and re.fullmatch(r"[\w-]+", match.group(1)) else "RUN_ID"
    more = f" (and {len(records) - 1} more)" if len(records) > 1 else ""
    offline = first.parent.name.startswith("offline-")
    upload = f"upload it first with: wandb sync {shlex.quote(str(first.parent))}; then " if offline else ""
    remedy = (
        f"Export the run's history: {upload}{_EXPORT.format(run=run)} (ENTITY/PROJECT as in the run's URL), and"
        f' pass that file. A verl job with trainer.logger=\'["console","wandb","file"]\' also writes a file that'
        " rlcompare reads directly"
    )
    return Problem(first, f"it is a wandb run file, which rlcompare does not read{more}", remedy, "wandb")

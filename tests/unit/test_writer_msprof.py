"""msprof-analyze, which we did not write, finds in both exports what was simulated. Skipped where it is absent."""

from __future__ import annotations

import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rlcompare.writer import Change, SampleRun, write_sample
from tests.unit.writer_readers import Database, union_length

pytestmark = pytest.mark.slow

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture(scope="module")
def tool() -> str:
    """The command; $MSPROF_ANALYZE or on the path."""
    found = os.environ.get("MSPROF_ANALYZE") or shutil.which("msprof-analyze")
    if found is None:
        pytest.skip("msprof-analyze is not installed (set MSPROF_ANALYZE to its path)")
    return found


def _overall_metrics(tool: str, new: Path, baseline: Path, out: Path) -> dict[str, tuple[float, float]]:
    """Baseline and new milliseconds of each row of the sheet OverallMetrics, which is the workbook's first."""
    arguments = ["compare", "-d", str(new), "-bp", str(baseline), "--output_path", str(out), "--force"]
    subprocess.run([tool, *arguments], check=True, capture_output=True)
    (workbook,) = out.glob("*.xlsx")
    with zipfile.ZipFile(workbook) as file:
        shared = ElementTree.fromstring(file.read("xl/sharedStrings.xml"))
        texts = ["".join(part.text or "" for part in item.iter(f"{_SHEET}t")) for item in shared]
        sheet = ElementTree.fromstring(file.read("xl/worksheets/sheet1.xml"))
    metrics = {}
    for row in list(sheet.iter(f"{_SHEET}row"))[2:]:
        values = [(cell.get("t"), cell.findtext(f"{_SHEET}v")) for cell in row]
        metrics[texts[int(values[0][1] or 0)].strip()] = (float(values[1][1] or 0), float(values[4][1] or 0))
    return metrics


def _truth(folder: Path) -> dict[str, float]:
    database = Database(folder)
    kernels = [(k["startNs"], k["endNs"]) for k in database.kernels()]
    collectives = [(c["startNs"], c["endNs"]) for c in database.collectives()]
    both = union_length([*kernels, *collectives])
    span = max(end for _, end in kernels + collectives) - min(start for start, _ in kernels + collectives)
    return {
        "Computing Time": union_length(kernels) / 1e6,
        "Uncovered Communication Time": (both - union_length(kernels)) / 1e6,
        "Free Time": (span - both) / 1e6,
        "E2E Time": span / 1e6,
    }


@pytest.mark.parametrize("level", ["level0", "level1"])
def test_both_exports_give_msprof_analyze_the_simulated_times(tool: str, tmp_path: Path, level: str) -> None:
    found: dict[str, Any] = {}
    truth: list[Any] = []
    for export in ("db", "text"):
        runs = []
        for name, changes in (("new", (Change.slower("MatMulV2", 1.3),)), ("baseline", ())):
            run = SampleRun(ranks=(0,), steps=(2,), level=level, export=export, changes=changes)
            (folder,) = write_sample(run, tmp_path / f"{export}_{name}")
            runs.append(folder)
        out = tmp_path / f"{export}_out"
        out.mkdir()
        found[export] = _overall_metrics(tool, runs[0], runs[1], out)
        truth = truth or [_truth(folder) for folder in reversed(runs)]
    for name in truth[0]:
        for export in ("db", "text"):
            assert found[export][name] == pytest.approx((truth[0][name], truth[1][name]), abs=1e-6), (export, name)
    if level == "level1":
        for name in ("Matmul", "Page Attention", "Flash Attention (Forward)", "Flash Attention (Backward)"):
            assert found["db"][name] == pytest.approx(found["text"][name], abs=1e-6)
        before, after = found["db"]["Matmul (Cube)"]
        assert after / before == pytest.approx(1.3, rel=1e-4)

"""Documents of diffs that pass the schema and hold what no comparison writes are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlcompare.cli.main import run
from rlcompare.report.document import to_document
from tests.unit import diff_examples

Document = dict[str, Any]


def no_name(document: Document) -> None:
    del document["sections"]["kernels"][0]["name"]


def large(document: Document) -> None:
    document["overall"][0]["samples"] = {"baseline": [1.7e308] * 3, "new": [1.7e308] * 3}


@pytest.mark.parametrize(
    ("change", "reason"), [(no_name, "has a row without a name"), (large, "overall")], ids=["no name", "large numbers"]
)
def test_what_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], change: Callable[[Document], None], reason: str
) -> None:
    document = to_document(diff_examples.regression())
    change(document)
    path = tmp_path / "diff.json"
    path.write_text(json.dumps(document))
    assert run(["report", str(path), "-o", str(tmp_path / "page.html")]) == 4
    assert reason in capfd.readouterr().err

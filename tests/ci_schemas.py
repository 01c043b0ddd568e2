"""The published schemas of what CI systems read (``make ci-schemas``); tests are skipped where they are absent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_FOLDER = Path(__file__).resolve().parent.parent / "build" / "ci-schemas"


def schema_path(name: str) -> Path:
    """One of the files of ``tools/ci_schemas.py``; skips the test if it is absent."""
    path = Path(os.environ.get("RLCOMPARE_CI_SCHEMAS", _FOLDER)) / name
    if not path.is_file():
        pytest.skip(f"{name} is not here (make ci-schemas)")
    return path


def check_json(document: Any, name: str) -> None:
    """Asserts that a document is valid by a JSON schema."""
    from jsonschema.validators import validator_for

    schema = json.loads(schema_path(name).read_text(encoding="utf-8"))
    validator = validator_for(schema)(schema)
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)] == []


def check_junit(text: str) -> None:
    """Asserts that a document is JUnit XML as Jenkins reads it."""
    path = schema_path("junit-10.xsd")
    xmlschema = pytest.importorskip("xmlschema", reason="xmlschema is not installed")
    assert [str(error) for error in xmlschema.XMLSchema(str(path)).iter_errors(text)] == []

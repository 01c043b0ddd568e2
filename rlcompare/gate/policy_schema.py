"""The JSON Schema of a policy file, for editors (``rlcompare gate --print-schema``), from the classes that read it."""

from __future__ import annotations

from typing import Any

import msgspec

from rlcompare.gate.policy_file import PolicyFile

_ID = "https://json-schema.org/draft/2020-12/schema"
_LIMITS = ("max_increase", "max_increase_abs", "max_decrease", "max_decrease_abs", "min", "max")
_TITLE = "A policy of rlcompare gate: rlcompare.toml, or [tool.rlcompare] of a pyproject.toml"


def policy_schema() -> dict[str, Any]:
    """The schema; what depends on several keys of a rule is added to what the classes say of each."""
    schema = _without_null(msgspec.json.schema(PolicyFile))
    rule, whole = schema["$defs"]["RuleTable"], schema["$defs"]["PolicyFile"]
    rule["anyOf"] = [
        *({"required": [limit]} for limit in _LIMITS),
        {"properties": {"severity": {"const": "off"}}, "required": ["severity"]},
        {"properties": {"metric": {"pattern": r"^health\."}}},
    ]
    rule["allOf"] = [
        {"not": {"required": ["max_increase", "max_decrease"]}},
        {"not": {"required": ["max_increase_abs", "max_decrease_abs"]}},
    ]
    for key in ("max_increase", "max_decrease"):  # 5 % is 0.05, and more than the whole is written as "300%"
        next(option for option in rule["properties"][key]["anyOf"] if option["type"] == "number")["maximum"] = 1
    rule["dependentRequired"] = {"expires": ["reason"]}
    whole["anyOf"] = [{"required": ["rule"]}, {"required": ["extends"]}]
    return {"$schema": _ID, "title": _TITLE, **schema}


def _without_null(schema: Any) -> Any:
    """The same without null, which TOML does not have; and without the limits of floating-point numbers."""
    if isinstance(schema, list):
        return [_without_null(item) for item in schema if item != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _without_null(value) for key, value in schema.items() if not _says_nothing(key, value)}
    options = kept.get("anyOf", [])
    return (
        {**{key: value for key, value in kept.items() if key != "anyOf"}, **options[0]} if len(options) == 1 else kept
    )


def _says_nothing(key: str, value: Any) -> bool:
    return (key == "default" and value is None) or (key in ("minimum", "maximum") and abs(value) >= 1e100)

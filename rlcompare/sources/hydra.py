"""Reads the configuration of a job from the folder ``.hydra`` that Hydra writes beside it.

``config.yaml`` is the composed configuration, in which references such as ``${data.max_prompt_length}`` are not
resolved; ``overrides.yaml`` and ``hydra.yaml`` have what the command line changed, which counts only if there is no
configuration. References to keys are resolved here, and all others are left out: they could read the environment of
this machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rlcompare.errors import InputError

FOLDER = ".hydra"
CONFIG, OVERRIDES, HYDRA = "config.yaml", "overrides.yaml", "hydra.yaml"

_MOST_BYTES = 4 * 2**20
_MOST_DEPTH = 40
_MOST_VALUES = 20_000
_LONGEST_NUMBER = 100
_MOST_REFERENCES = 20
_REFERENCE = re.compile(r"\$\{(?:oc\.select:\s*)?(\.*\w[\w.]*)(?:,\s*([^${}]*))?\}")
_DIGITS = r"[0-9](?:_*[0-9])*"
_FLOAT = (
    rf"[-+]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)|\.{_DIGITS}(?:[eE][-+][0-9]+)?|\.(?:inf|Inf|INF))"
    r"|\.(?:nan|NaN|NAN)"
)
"""What OmegaConf reads as a number with a fraction: YAML 1.1, as PyYAML reads it, has no ``1e-6``."""
_OVERRIDE = re.compile(r"(?:\+\+|\+)?([\w.]+)=(.*)", re.DOTALL)
_REMEDY = "Copy it again, or put the job's console log beside it"


def settings_in(folder: Path) -> tuple[Path, ...]:
    """Hydra's files of a job whose output folder this is; empty if there are none."""
    return tuple(path for name in (CONFIG, OVERRIDES, HYDRA) if (path := folder / FOLDER / name).is_file())


def read(files: Sequence[Path]) -> Mapping[str, object]:
    """The configuration of a job, as a tree in which references are resolved.

    Args:
        files: those of ``settings_in``.

    Raises:
        InputError: a file cannot be read, or is not Hydra's.
    """
    by_name = {path.name: path for path in files}
    if CONFIG in by_name:
        tree = _yaml(by_name[CONFIG]) or {}
        if not isinstance(tree, dict):
            raise InputError(by_name[CONFIG], "it holds no configuration", _REMEDY)
        return {str(key): value for key, value in _resolved(tree, tree, ()).items()}
    overrides: object = None
    if OVERRIDES in by_name:
        overrides = _yaml(by_name[OVERRIDES])
    elif HYDRA in by_name:
        overrides = _at(_yaml(by_name[HYDRA]), ("hydra", "overrides", "task"))
    return _from_overrides(overrides if isinstance(overrides, list) else [])


def _yaml(path: Path) -> object:
    """The content of a YAML file."""
    import yaml

    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise InputError(path, f"it is larger than {_MOST_BYTES // 2**20} MiB", _REMEDY)
        return _loaded(data.decode("utf-8", "replace"))
    except OSError as error:
        raise InputError(path, error.strerror or str(error), "Check that it still exists and is readable") from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
        raise InputError(path, f"it is not Hydra's YAML ({reason})", _REMEDY) from error


def _loaded(text: str) -> Any:
    """YAML as OmegaConf reads it, without its check of references, which takes the square of their nesting.

    Raises:
        yaml.YAMLError, ValueError, TypeError, RecursionError: it is no YAML, or has too many values, or what Hydra does
            not write: anchors, by which a small text can make a huge tree, tags, or a key twice.
    """
    import yaml

    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_loader())):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
            raise ValueError("anchors or tags")
        if depth > _MOST_DEPTH or number > _MOST_VALUES:
            raise ValueError("nested too deeply" if depth > _MOST_DEPTH else "too many values")
    return yaml.load(text, Loader=_loader())


@cache
def _loader() -> Any:
    """PyYAML's safe loader, but for dates and very long numbers, which stay text, and numbers such as ``1e-6``."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len({*keys}) < len(keys):
                raise ValueError("a key appears twice")
            return super().construct_mapping(node, deep=deep)

        def construct_number(self, node: Any) -> Any:
            """The time for digits in base 60 (``1:30``) grows with the square of their number."""
            if len(node.value) > _LONGEST_NUMBER:
                return node.value
            is_float = node.tag.endswith("float")
            return self.construct_yaml_float(node) if is_float else self.construct_yaml_int(node)

    for kind in ("int", "float"):
        Loader.add_constructor(f"tag:yaml.org,2002:{kind}", Loader.construct_number)
    other = ("tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp")
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag not in other]
        for first, found in Loader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver(other[0], re.compile(rf"(?:{_FLOAT})$"), list("-+.0123456789"))
    return Loader


def _from_overrides(overrides: Sequence[object]) -> dict[str, object]:
    """The tree of what the command line set (``data.train_batch_size=1024``); what it removed (``~key``) is unknown."""
    tree: dict[str, object] = {}
    for text in overrides:
        match = _OVERRIDE.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            continue
        node = tree
        *path, leaf = match.group(1).split(".")
        for part in path[:_MOST_DEPTH]:
            inner = node.setdefault(part, {})
            node = inner if isinstance(inner, dict) else {}
        value = _scalar(match.group(2))
        if not _refers(value):
            node[leaf] = value
    return tree


def _at(tree: object, path: Sequence[str]) -> object:
    for part in path:
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def _refers(value: object) -> bool:
    return isinstance(value, str) and "${" in value


def _resolved(node: Mapping[object, object], tree: object, path: tuple[str, ...]) -> dict[object, object]:
    """A copy of a part of the tree with its references resolved; those that cannot be are left out."""
    made: dict[object, object] = {}
    for key, value in node.items():
        found = _value(value, tree, path, _MOST_REFERENCES)
        if isinstance(found, dict):
            found = _resolved(found, tree, (*path, str(key))) if found is value else {}
        if isinstance(found, list):
            found = [item for item in found if not _refers(item)]
        if not _refers(found):
            made[key] = found
    return made


def _value(value: object, tree: object, path: tuple[str, ...], left: int) -> object:
    """What a value refers to; the value itself if it refers to nothing, or to something that is not known."""
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if match is None or left == 0:
        return value
    name, default = match.groups()
    dots = len(name) - len(name.lstrip("."))
    place = (*path[: len(path) + 1 - dots], *name[dots:].split(".")) if dots else tuple(name.split("."))
    found = _at(tree, place)
    if found is None and default is not None:
        return _value(_scalar(default), tree, path, left - 1)
    return _value(found, tree, place[:-1], left - 1)


def _scalar(text: str) -> object:
    from yaml import YAMLError

    try:
        return _loaded(text)
    except (YAMLError, ValueError, TypeError, RecursionError):
        return text

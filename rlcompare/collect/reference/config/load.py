"""Defaults, then a preset, then a YAML file, then ``KEY=VALUE`` overrides, into one checked ``Config``.

omegaconf is imported only here, and only when a configuration is loaded. Interpolation (``${oc.select:…}``) in a user's
file works as in verl.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rlcompare.collect.reference.config.checks import impossible
from rlcompare.collect.reference.config.refused import drop_others, nearest
from rlcompare.collect.reference.config.same import ESTIMATOR, implied, settle
from rlcompare.collect.reference.config.schema import Config
from rlcompare.collect.reference.config.typed import build
from rlcompare.errors import UsageError

if TYPE_CHECKING:
    from omegaconf import DictConfig


def load_config(overrides: Sequence[str] = (), file: Path | None = None) -> Config:
    """The configuration of a run.

    Args:
        overrides: ``KEY=VALUE`` with dotted keys, values in YAML; Hydra's prefixes ``+`` and ``++`` are accepted.
        file: a YAML file with any part of the tree; overrides win over it.

    Raises:
        UsageError: a key is unknown or not offered, a value has the wrong type, or values contradict each other. The
            reasons name every such key.
    """
    return _checked(_user_tree(overrides, file), file)


def load_tree(tree: Mapping[str, Any], file: Path) -> Config:
    """The configuration of a tree as ``to_dict`` gives it, such as one that a run recorded.

    Args:
        file: where it was found, for messages.

    Raises:
        UsageError: as in ``load_config``.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        return _checked(OmegaConf.create(_escaped(dict(tree))), file)
    except (OmegaConfBaseException, ValueError) as error:
        raise UsageError(f"the configuration in {file} cannot be read: {_flat(error)}") from error


def load_changed(config: Config, overrides: Sequence[str], named: Sequence[str] = ()) -> Config:
    """A configuration with other values for some keys. Keys that follow these change too, as in ``load_config``.

    Args:
        overrides: as in ``load_config``.
        named: overrides of the configuration itself. Their keys follow no other.

    Raises:
        UsageError: as in ``load_config``.
    """
    from omegaconf import OmegaConf

    own = _own_settings(config, {tuple(_split(override)[0].split(".")) for override in named})
    user = OmegaConf.merge(OmegaConf.create(own), _user_tree(overrides, None))
    return _checked(cast("DictConfig", user), None)


def differences(one: Config, other: Config) -> dict[str, tuple[Any, Any]]:
    """The values of both for the keys in which two configurations differ, by dotted key."""
    found = _leaves(to_dict(one)), _leaves(to_dict(other))
    pairs = {key: (found[0].get(key), found[1].get(key)) for key in (*found[0], *found[1])}
    return {".".join(key): pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _own_settings(config: Config, named: Collection[tuple[str, ...]]) -> dict[str, Any]:
    """The smallest tree that gives a configuration: without defaults, and without values that follow other keys."""
    from omegaconf import OmegaConf

    wanted = _leaves(_escaped(to_dict(config)))

    def made(keys: Collection[tuple[str, ...]]) -> dict[tuple[str, ...], Any] | None:
        try:
            return _leaves(_escaped(to_dict(_checked(OmegaConf.create(_nested(keys, wanted)), None))))
        except UsageError:  # some values are possible only beside others
            return None

    keys = [key for key in wanted if key in named]
    while (found := made(keys)) != wanted and len(keys) < len(wanted):
        apart = [key for key in wanted if key not in keys and (found is None or found.get(key) != wanted[key])]
        keys = [*keys, *apart] if apart else list(wanted)
    for key in [key for key in keys if key not in named]:
        rest = [other for other in keys if other != key]
        if made(rest) == wanted:
            keys = rest
    return _nested(keys, wanted)


def _leaves(tree: Mapping[str, Any], above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """The values of a tree by the names that lead to them."""
    found: dict[tuple[str, ...], Any] = {}
    for name, value in tree.items():
        inner = _leaves(value, (*above, name)) if isinstance(value, dict) and value else {(*above, name): value}
        found |= inner
    return found


def _nested(keys: Collection[tuple[str, ...]], values: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    """A tree of some values."""
    tree: dict[str, Any] = {}
    for *above, last in keys:
        block = tree
        for name in above:
            block = block.setdefault(name, {})
        key = (*above, last)
        block[last] = values[key]
    return tree


def _checked(user: DictConfig, file: Path | None) -> Config:
    """The configuration that follows from the user's settings."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    merged = OmegaConf.merge(_defaults(), user)
    estimator = OmegaConf.select(merged, ESTIMATOR, throw_on_resolution_failure=False)
    middle = OmegaConf.create()
    for key, value in implied(estimator, cast("dict[str, Any]", OmegaConf.to_container(user))).items():
        OmegaConf.update(middle, key, value)
    try:
        tree = _plain_tree(OmegaConf.merge(_defaults(), middle, user) if middle else merged)
    except OmegaConfBaseException as error:
        key = f"{error.full_key}: " if error.full_key else ""
        raise _wrong([f"{key}the value cannot be resolved: {str(error).splitlines()[0]}"], file) from error
    unknown = drop_others(tree)
    settle(tree)
    wrong: list[str] = []
    config = build(tree, wrong)
    problems = unknown + (wrong or list(impossible(config)))
    if problems:
        raise _wrong(problems, file)
    return config


def to_dict(config: Config) -> dict[str, Any]:
    """The tree as dictionaries, lists and plain values."""
    return cast("dict[str, Any]", _plain(dataclasses.asdict(config)))


def to_yaml(config: Config) -> str:
    """The tree as YAML that ``load_config(file=…)`` reads back to an equal configuration."""
    from omegaconf import OmegaConf

    return OmegaConf.to_yaml(OmegaConf.create(_escaped(to_dict(config))))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _escaped(value: Any) -> Any:
    """Escapes ``${`` in strings, so that it is not an interpolation."""
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", value) if isinstance(value, str) else value


def _wrong(problems: list[str], file: Path | None) -> UsageError:
    where = "the configuration" + (f" ({file} and the command line)" if file else "")
    if len(problems) == 1:
        return UsageError(f"{where} cannot be used: {problems[0]}")
    return UsageError(f"{where} cannot be used, for {len(problems)} reasons", problems)


@cache
def _defaults() -> DictConfig:
    """The defaults with unresolved interpolations. Merging copies them."""
    from omegaconf import OmegaConf

    text = resources.files(__package__).joinpath("defaults.yaml").read_text(encoding="utf-8")
    return cast("DictConfig", OmegaConf.create(text))


def _user_tree(overrides: Sequence[str], file: Path | None) -> DictConfig:
    """The user's settings, from file and overrides, with unresolved interpolations."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    tree = _read(file) if file is not None else OmegaConf.create({})
    for override in overrides:
        key, value = _split(override)
        try:
            tree = cast("DictConfig", OmegaConf.merge(tree, OmegaConf.from_dotlist([f"{key}={value}"])))
        except (OmegaConfBaseException, YAMLError, ValueError) as error:
            raise UsageError(
                f"{key}: the value {value} cannot be read: {_flat(error)}; quote it if it is a string"
            ) from error
    return tree


def _split(override: str) -> tuple[str, str]:
    """Key and value of one override."""
    if override.startswith("~"):
        raise UsageError(f"{override}: a key cannot be deleted; set it to the value that you want")
    key, equals, value = override.lstrip("+").partition("=")
    if not equals or not re.fullmatch(r"[^\s.\[\]=]+(\.[^\s.\[\]=]+)*", key):
        raise UsageError(f"{override!r} is not KEY=VALUE; {nearest(key)}")
    return key, value


def _read(file: Path) -> DictConfig:
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    try:
        tree = OmegaConf.load(file)
    except OSError as error:
        raise UsageError(f"the configuration {file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the configuration {file} is not UTF-8 text") from error
    except (YAMLError, OmegaConfBaseException) as error:
        raise UsageError(f"the configuration {file} is not valid YAML: {_flat(error)}") from error
    if not isinstance(tree, DictConfig):
        raise UsageError(f"the configuration {file} must contain keys and values, such as data: {{seed: 1}}")
    return tree


def _plain_tree(tree: object) -> dict[str, Any]:
    """Dictionaries, lists and plain values, interpolations resolved."""
    from omegaconf import OmegaConf

    return cast("dict[str, Any]", OmegaConf.to_container(cast("DictConfig", tree), resolve=True))


def _flat(error: Exception) -> str:
    return " ".join(str(error).split())

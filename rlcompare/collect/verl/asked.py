"""Runs as a script under the interpreter of a verl job: reports its verl version, and the job's configuration.

It imports neither verl nor torch, which take a minute and may need a device: versions come from the installed
packages' metadata, and the configuration from Hydra, which composes the files beside verl's entry point. Prints one
line of JSON after ``MARK``. Does not depend on rlcompare. Every problem becomes part of the answer, not a traceback.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import json
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

MARK = "rlcompare-asked:"
PACKAGES = (
    "verl",
    "rlcompare",
    "torch",
    "torch-npu",
    "vllm",
    "vllm-ascend",
    "sglang",
    "ray",
    "omegaconf",
    "hydra-core",
)


def versions() -> dict[str, str]:
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name.replace("-", "_")] = metadata.version(name)
    if "verl" not in found:  # a checkout in PYTHONPATH has no metadata
        spec = importlib.util.find_spec("verl")
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            with contextlib.suppress(OSError):
                found["verl"] = (Path(folder) / "version" / "version").read_text(encoding="utf-8").strip()
    return found


def source_of(entry: str, is_module: bool) -> Path | None:
    """The file that an entry runs. Only the outermost package is looked up by name: this avoids imports."""
    if not is_module:
        return Path(entry)
    top, *parts = entry.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None:
        return None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if not parts:
        return folders[0] / "__main__.py" if folders else Path(spec.origin or "")
    for folder in folders:
        inner = folder.joinpath(*parts)
        for path in (inner.with_suffix(".py"), inner / "__main__.py"):
            if path.is_file():
                return path
    return None


def hydra_main(source: Path) -> dict[str, Any] | None:
    """The config_path and config_name of ``@hydra.main`` in a file."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if node.func.attr == "main" and isinstance(owner, ast.Name) and owner.id == "hydra":
                return {
                    str(word.arg): word.value.value for word in node.keywords if isinstance(word.value, ast.Constant)
                }
    return None


def compose(source: Path, arguments: list[str]) -> Any:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config-path", "-cp")
    parser.add_argument("--config-name", "-cn")
    parser.add_argument("--config-dir", "-cd")
    options, overrides = parser.parse_known_args(arguments)
    flags = [override for override in overrides if override.startswith("-")]
    if flags:
        raise ValueError(f"{flags[0]} is an option that rlcompare does not support together with overrides; remove it")
    declared = hydra_main(source)
    if declared is None:
        raise ValueError(f"{source} has no @hydra.main, so it is not an entry point of verl")
    folder = source.absolute().parent / (options.config_path or declared.get("config_path") or ".")
    if options.config_dir:
        overrides.append(f"hydra.searchpath=[file://{Path(options.config_dir).absolute()}]")
    with initialize_config_dir(str(folder.resolve()), version_base=None):
        return hydra_compose(options.config_name or declared.get("config_name"), overrides)


def plain(node: Any) -> Any:
    """Dictionaries, lists and plain values. Missing and unresolvable values become None."""
    from omegaconf import DictConfig, ListConfig

    if isinstance(node, DictConfig):
        return {str(key): item(node, key) for key in node}
    if isinstance(node, ListConfig):
        return [item(node, index) for index in range(len(node))]
    return node if isinstance(node, (str, int, float, bool)) or node is None else str(node)


def item(node: Any, key: Any) -> Any:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        return None if OmegaConf.is_missing(node, key) else plain(node[key])
    except OmegaConfBaseException:
        return None


def variables(file: str | None) -> dict[str, str]:
    """The variables of a Ray runtime environment in a YAML file, to whose working folder this process changes."""
    if file is None:
        return {}
    import yaml

    content = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    content = content if isinstance(content, dict) else {}
    folder, given = content.get("working_dir"), content.get("env_vars")
    if isinstance(folder, str) and Path(folder).is_dir():
        os.chdir(folder)
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}


def answer(question: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"versions": {}, "npu": False, "config": None, "problem": None, "variables": {}}
    try:
        found["variables"] = variables(question.get("runtime_env"))
    except Exception as error:  # YAML and files raise many kinds of errors
        found["unread"] = f"{question['runtime_env']}: {error}"
    if question.get("working_dir") and Path(question["working_dir"]).is_dir():
        os.chdir(question["working_dir"])
    paths = {**question.get("variables", {}), **found["variables"]}.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [path for path in paths if path]
    found["versions"] = versions()
    found["npu"] = importlib.util.find_spec("torch_npu") is not None
    if "verl" not in found["versions"]:
        return found
    source = source_of(question["entry"], question["is_module"])
    if source is None or not source.is_file():
        return {**found, "problem": f"there is no {question['entry']}"}
    try:
        found["config"] = plain(compose(source, question["arguments"]))
    except ImportError as error:
        found["problem"] = f"{error}: verl needs Hydra (pip install hydra-core)"
    except Exception as error:  # Hydra, YAML and files raise many kinds of errors
        found["problem"] = str(error) or type(error).__name__
    return found


if __name__ == "__main__":
    sys.stdout.write(f"{MARK}{json.dumps(answer(json.loads(sys.argv[1])))}\n")

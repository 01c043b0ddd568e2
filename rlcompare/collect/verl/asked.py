"""Runs as a script under the interpreter of a verl job: reports its verl version, and the job's configuration.

It imports neither verl nor torch, which take a minute and may need a device: versions come from the installed
packages' metadata, that of a checkout of verl from its own file, and the configuration from Hydra, which composes the
files beside verl's entry point. Prints one line of JSON after ``MARK``. Does not depend on rlcompare. Every problem
becomes part of the answer, not a traceback.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

MARK = "rlcompare-asked:"
PACKAGES = (
    "verl",
    "rlcompare",
    "torch",
    "torch-npu",
    "vllm",
    "vllm-ascend",
    "sglang",
    "transformers",
    "ray",
    "omegaconf",
    "hydra-core",
)
CANN_VARIABLES = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")
CANN_FILES = ("version.info", "version.cfg", "compiler/version.info", "runtime/version.info", "opp/version.info")
CANN_VERSION = re.compile(r"^\s*(?:\w+_running_)?version\s*=\s*\[?(?:[\w.]+:)?([\w.]+)", re.IGNORECASE | re.MULTILINE)
STARTS = ("start_profile", "_start_profiling")
"""The calls by which trainers of verl start a profiler."""
MOST_FILES = 100
SEARCH_PATH = re.compile(r"(?:\+\+?)?hydra\.searchpath=")


def versions() -> dict[str, str]:
    """Versions of Python, of the packages that are installed, and of CANN if the environment names it."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name.replace("-", "_")] = metadata.version(name)
    folder = folder_of("verl")
    if folder is not None:  # a checkout has no metadata, or those of an older state, or of a wheel that it hides
        with contextlib.suppress(OSError, ValueError):
            text = (folder / "version" / "version").read_text(encoding="utf-8").strip()
            found |= {"verl": text} if text else {}
    cann = cann_version()
    return found if cann is None else {**found, "cann": cann}


def cann_version() -> str | None:
    """The version of CANN that the environment names, from its own files."""
    homes = [Path(os.environ[name]) for name in CANN_VARIABLES if os.environ.get(name)]
    for path in (home / name for home in homes for name in CANN_FILES):
        with contextlib.suppress(OSError):
            match = CANN_VERSION.search(path.read_text(encoding="utf-8", errors="replace"))
            if match:
                return match[1]
    return None


def commits() -> dict[str, dict[str, Any]]:
    """The commit of each package that was installed from a repository, or that is used from a checkout.

    The version of such a package says little: it is the same over hundreds of commits.
    """
    found = {}
    for name in PACKAGES:
        commit = commit_of(name)
        if commit is not None:
            found[name.replace("-", "_")] = commit
    return found


def commit_of(name: str) -> dict[str, Any] | None:
    used = folder_of(name.replace("-", "_"))
    if used is not None:  # PYTHONPATH goes before what is installed
        return git_state(used)
    try:
        origin = json.loads(metadata.distribution(name).read_text("direct_url.json") or "null")
    except (metadata.PackageNotFoundError, ValueError):
        return None
    if not isinstance(origin, dict):
        return None
    repository, folder = origin.get("vcs_info"), origin.get("dir_info")
    if isinstance(repository, dict) and isinstance(repository.get("commit_id"), str):
        return {"commit": repository["commit_id"], "dirty": False}
    url = urlsplit(str(origin.get("url")))
    is_editable = isinstance(folder, dict) and folder.get("editable") is True and url.scheme == "file"
    return git_state(Path(url2pathname(url.path))) if is_editable else None


def folder_of(package: str) -> Path | None:
    """The folder of a package that is used from a checkout. Looking up a top-level name imports nothing."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # a module without a specification was put in its place
        return None
    if spec is None or spec.origin is None:  # without __init__.py, any folder of that name would do
        return None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    return next((folder for folder in folders if not {"site-packages", "dist-packages"} & {*folder.parts}), None)


def git_state(folder: Path) -> dict[str, Any] | None:
    """The commit of a folder, and whether files differ from it; None if it is in no repository."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=10).stdout.strip()

    try:
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "-uno"))}
    except (OSError, subprocess.SubprocessError):
        return None


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


class Trainers:
    """The classes with a training loop (``fit``) that an entry point can reach, from the source alone.

    Follows imports of trainers, and in a class the calls of its methods, inherited ones included.
    """

    def __init__(self, source: Path) -> None:
        self._classes: dict[str, ast.ClassDef] = {}
        self._functions: dict[str, ast.AST] = {}
        files, seen = [source], set[Path]()
        while files and len(seen) < MOST_FILES:
            file = files.pop(0)
            if file not in seen and file.is_file():
                seen.add(file)
                files += self._read(file)

    def start_profiler(self) -> bool | None:
        """Whether one of them starts a profiler; None: there is none."""
        bases = {base for found in self._classes.values() for base in self._bases(found)}
        last = [name for name in self._classes if name not in bases and self._method(name, "fit") is not None]
        return any(self._starts(name) for name in last) if last else None

    def _read(self, file: Path) -> list[Path]:
        """Takes in the classes and functions of a file; returns the files from which it imports trainers."""
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError):
            return []
        found: list[Path | None] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self._classes.setdefault(node.name, node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._functions.setdefault(node.name, node)
            elif isinstance(node, ast.ImportFrom) and is_about_trainers(node):
                if node.level:
                    folder = file.parents[node.level - 1]
                    found.append(folder.joinpath(*(node.module or "").split(".")).with_suffix(".py"))
                else:
                    names = [f"{node.module}.{alias.name}" for alias in node.names]
                    found += [source_of(name, True) for name in (str(node.module), *names)]
                    found += [place / "__init__.py" for place in folders_of(str(node.module))]
        return [path for path in found if path is not None]

    def _bases(self, node: ast.ClassDef) -> list[str]:
        return [ast.unparse(base).rpartition(".")[2] for base in node.bases]

    def _method(self, name: str, method: str, among_bases: bool = False) -> ast.AST | None:
        """A method of a class, or of the first base that has it."""
        node = self._classes.get(name)
        for item in node.body if node and not among_bases else ():
            if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name == method:
                return item
        inherited = (self._method(base, method) for base in (self._bases(node) if node else ()) if base != name)
        return next((found for found in inherited if found is not None), None)

    def _starts(self, name: str) -> bool:
        waiting, seen = [self._method(name, "fit")], set[ast.AST]()
        while waiting:
            method = waiting.pop()
            if method is None or method in seen:
                continue
            seen.add(method)
            for node in ast.walk(method):
                if isinstance(node, ast.Attribute) and node.attr in STARTS:
                    return True
                if isinstance(node, ast.Attribute):
                    waiting += [self._method(name, node.attr), self._method(name, node.attr, among_bases=True)]
                elif isinstance(node, ast.Name):
                    waiting.append(self._functions.get(node.id))
        return False


def is_about_trainers(node: ast.ImportFrom) -> bool:
    names = [str(node.module), *(alias.name for alias in node.names)]
    return any(word in name.lower() for name in names for word in ("trainer", "taskrunner", "task_runner"))


def folders_of(module: str) -> list[Path]:
    """The folders of a package."""
    top, *parts = module.split(".")
    spec = importlib.util.find_spec(top)
    return [Path(folder).joinpath(*parts) for folder in (spec.submodule_search_locations if spec else None) or ()]


def compose(source: Path, arguments: list[str]) -> Any:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config-path", "-cp")
    parser.add_argument("--config-name", "-cn")
    parser.add_argument("--config-dir", "-cd")
    parser.add_argument("overrides", nargs="*")
    options, others = parser.parse_known_args(arguments)
    overrides = options.overrides
    flags = [other for other in others if other.startswith("-")]
    if flags:
        raise ValueError(f"{flags[0]} is an option that rlcompare does not support together with overrides; remove it")
    if others:
        raise ValueError(f"unrecognized arguments: {' '.join(others)} (Hydra takes no options between overrides)")
    declared = hydra_main(source)
    if declared is None:
        raise ValueError(f"{source} has no @hydra.main, so it is not an entry point of verl")
    folder = source.absolute().parent / (options.config_path or declared.get("config_path") or ".")
    name = options.config_name or declared.get("config_name")
    theirs, overrides = searched(folder / f"{str(name).removesuffix('.yaml')}.yaml", overrides)
    if options.config_dir:
        more = Path(options.config_dir).absolute()
        if not more.is_dir():
            raise ValueError(f"Additional config directory '{more}' not found")
        theirs.append(f"file://{more}")
    if theirs:
        overrides.append(f"hydra.searchpath=[{','.join(map(json.dumps, theirs))}]")
    with initialize_config_dir(str(folder.resolve()), version_base=None):
        return hydra_compose(name, overrides)


def searched(config: Path, overrides: list[str]) -> tuple[list[str], list[str]]:
    """Hydra's search path, as set by the overrides or a file, and the other overrides.

    Hydra imports a package to find its files, and verl's needs torch and a minute: its folder is named instead.
    """
    import yaml

    given = [override.partition("=")[2] for override in overrides if SEARCH_PATH.match(override)]
    others = [override for override in overrides if not SEARCH_PATH.match(override)]
    try:
        content = yaml.safe_load(given[-1] if given else config.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):  # Hydra says so
        return [], overrides
    for key in () if given else ("hydra", "searchpath"):
        content = content.get(key) if isinstance(content, dict) else None
    if not isinstance(content, list):
        return [], overrides
    return [place for entry in content for place in places_of(str(entry))], others


def places_of(entry: str) -> list[str]:
    """An entry of Hydra's search path, by folders if it is a package."""
    if not entry.startswith("pkg://"):
        return [entry]
    return [f"file://{folder.absolute()}" for folder in folders_of(entry[6:].replace("/", "."))] or [entry]


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
    found: dict[str, Any] = {
        "versions": {}, "commits": {}, "npu": False, "config": None, "problem": None, "variables": {}, "profiles": None,
    }  # fmt: skip
    try:
        found["variables"] = variables(question.get("runtime_env"))
    except Exception as error:  # YAML and files raise many kinds of errors
        found["unread"] = f"{question['runtime_env']}: {error}"
    if question.get("working_dir") and Path(question["working_dir"]).is_dir():
        os.chdir(question["working_dir"])
    paths = {**question.get("variables", {}), **found["variables"]}.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [path for path in paths if path]
    found["versions"] = versions()
    found["commits"] = commits()
    found["npu"] = importlib.util.find_spec("torch_npu") is not None
    if "verl" not in found["versions"]:
        return found
    source = source_of(question["entry"], question["is_module"])
    if source is None or not source.is_file():
        return {**found, "problem": f"there is no {question['entry']}"}
    found["profiles"] = Trainers(source).start_profiler()
    try:
        found["config"] = plain(compose(source, question["arguments"]))
    except ImportError as error:
        found["problem"] = f"{error}: verl needs Hydra (pip install hydra-core)"
    except Exception as error:  # Hydra, YAML and files raise many kinds of errors
        found["problem"] = str(error) or type(error).__name__
    return found


if __name__ == "__main__":
    sys.stdout.write(f"{MARK}{json.dumps(answer(json.loads(sys.argv[1])))}\n")

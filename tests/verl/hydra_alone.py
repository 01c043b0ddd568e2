"""Asks Hydra what becomes of the example scripts in each release of verl, without rlcompare: writes examples_said.txt.

python -m tests.verl.hydra_alone [--check | --new]

As a script, with Hydra and the source of one release in PYTHONPATH, it answers lines of JSON instead. Commands go
through Hydra's own reader of the command line and its own search for the primary configuration.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).with_name("examples_said.txt")
HEADER = """\
# What becomes of the scripts of examples.txt in releases of verl: asked of Hydra alone by tests/verl/hydra_alone.py.
# Trainers that never start verl's profiler, and entries that train nothing, are marked by name.
"""
LONGEST = 120
NEVER_PROFILES = {
    "verl.trainer.fsdp_sft_trainer": ("0.5.0", "0.6.1"),
    "verl.trainer.sft_trainer": ("0.6.1",),
}
"""Trainers whose source has no call that starts a profiler, by release."""
TRAINS_NOTHING = ("main_generation", "main_eval")


def main() -> None:
    from tests.verl.conftest import unpack_source, verl_folder
    from tests.verl.examples import RELEASES, said, scripts

    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="say what differs, and write nothing")
    parser.add_argument("--new", action="store_true", help="ask only for scripts that have no answers yet")
    options = parser.parse_args()
    known = said() if options.new else {}
    tried = [script for script in scripts() if script.reason is None]
    found: dict[str, dict[str, str]] = {script.name: dict(known.get(script.name, {})) for script in tried}
    questions = [
        json.dumps({"name": script.name, "entry": script.entry, "words": script.words})
        for script in tried
        if script.name not in known
    ]
    for release in RELEASES:
        with tempfile.TemporaryDirectory() as folder:
            source = unpack_source(next((verl_folder() / "wheels").glob(f"verl-{release}-*.whl")), Path(folder))
            path = os.pathsep.join([str(source), str(verl_folder() / "hydra")])
            answers = subprocess.run(
                [sys.executable, __file__, release, str(source)], env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
                cwd=source, input="\n".join(questions), stdout=subprocess.PIPE, text=True, check=True,
            ).stdout  # fmt: skip
        for line in answers.splitlines():
            answer = json.loads(line)
            found[answer["name"]][release] = answer["said"]
    text = HEADER + "".join(f"\n{name}\n{_lines(answers)}" for name, answers in found.items())
    if options.check:
        sys.exit(text != FILE.read_text(encoding="utf-8") and "examples_said.txt is out of date")
    FILE.write_text(text, encoding="utf-8")


def _lines(answers: dict[str, str]) -> str:
    """One line for each answer, with its releases."""
    same: dict[str, list[str]] = {}
    for release, said in answers.items():
        same.setdefault(said, []).append(release)
    return "".join(f"    {' '.join(releases)}: {said}\n" for said, releases in same.items())


def serve(release: str, source: Path) -> None:
    import copy
    import functools
    import types

    import omegaconf

    for name in ("verl", "verl.trainer", "verl.experimental"):  # to find its files, Hydra imports a package
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(source.joinpath(*name.split(".")))]
    load = functools.cache(omegaconf.OmegaConf.load)
    omegaconf.OmegaConf.load = staticmethod(lambda file: copy.deepcopy(load(getattr(file, "name", file))))  # type: ignore[assignment,method-assign]
    for line in sys.stdin:
        question = json.loads(line)
        said = outcome(question["entry"], question["words"], release, source)
        print(json.dumps({"name": question["name"], "said": said}), flush=True)


def outcome(entry: str, words: list[str], release: str, source: Path) -> str:
    place = source / (entry if entry.endswith(".py") else entry.replace(".", "/") + ".py")
    if not place.is_file():
        return f"there is no {entry}"
    if entry.rpartition(".")[2].startswith(TRAINS_NOTHING):
        return "trains nothing"
    problem = compose(place, words)
    if problem is not None:
        return problem
    return "never starts verl's profiler" if release in NEVER_PROFILES.get(entry, ()) else "composes"


def compose(place: Path, words: list[str]) -> str | None:
    """The first line of what Hydra says against a command; None: it composes it."""
    import re

    from hydra._internal.hydra import Hydra
    from hydra._internal.utils import create_automatic_config_search_path, get_args_parser
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.plugins import Plugins
    from hydra.types import RunMode

    Plugins.instance()
    declared = dict(re.findall(r"(config_path|config_name)=\"([^\"]*)\"", place.read_text(encoding="utf-8")))
    GlobalHydra.instance().clear()
    try:
        options = get_args_parser().parse_args(words)
        if options.config_dir and not Path(options.config_dir).is_dir():
            return "Additional config directory"  # hydra._internal.utils._run_hydra names it, with its whole path
        path = options.config_path or declared.get("config_path")
        search = create_automatic_config_search_path(str(place), None, path)
        hydra = Hydra.create_main_hydra2("job", search)
        name = options.config_name or declared.get("config_name")
        hydra.compose_config(name, options.overrides, RunMode.RUN, with_log_configuration=False)
    except Exception as error:  # Hydra, OmegaConf and files raise many kinds of errors
        return (str(error) or type(error).__name__).strip().splitlines()[0][:LONGEST].rstrip()
    return None


if __name__ == "__main__":
    if len(sys.argv) == 3 and Path(sys.argv[2]).is_dir():
        serve(sys.argv[1], Path(sys.argv[2]))
    else:
        main()

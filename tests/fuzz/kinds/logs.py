"""What training logs: consoles, files of loggers, and a run directory with Hydra's settings beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tests.fuzz.kind import Kind, Mutator
from tests.fuzz.kinds.samples import profile_kind, write_store
from tests.fuzz.mutators import files, json_text, lines, sqlite
from tests.run_directories import write_run
from tests.verl_logs import console_log, event_file, mlflow_database, training_step

STEPS = {step: training_step(step) for step in range(1, 13)}
CONFIG = {
    "actor_rollout_ref": {"model": {"path": "m"}, "rollout": {"n": 4, "name": "vllm"}, "actor": {"use_kl_loss": False}},
    "algorithm": {"adv_estimator": "grpo"},
    "data": {"train_batch_size": 64, "max_response_length": 1024},
    "trainer": {"total_epochs": 1, "n_gpus_per_node": 8},
}

_YAML = """\
algorithm: {adv_estimator: grpo}
data:
  train_batch_size: 64
  max_prompt_length: 512
  max_response_length: ${data.max_prompt_length}
actor_rollout_ref:
  rollout: {n: 4, name: vllm, max: "${oc.env:HOME}"}
trainer:
  profile_steps: [3, 4]
"""

_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [*{old},*{old},*{old},*{old},*{old},*{old},*{old},*{old},*{old}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
_SETTINGS = (
    _BOMB, "a: " + "[" * 3000 + "]" * 3000, "a: " + "9" * 5000, "a: &x [*x]", "a: 1\na: 2", "? [1, 2]\n: 3", "- - - -",
    "a: !!python/object/apply:os.system ['true']", "a: ${a}", "a: ${b}\nb: ${a}", "a: ${" * 500, "%YAML 9.9\n---\na: 1",
    "a: 0x" + "f" * 5000, "a: 1e999999", "a: .nan", "a: 2026-99-99", "a: 9999-12-31 23:59:60", "\ufeffa: 1",
    "data: [1, 2]\nactor_rollout_ref: 5\ntrainer: null", "{" * 500, "a: '\\", "a: |\n" + "x" * 1_000_000, "\0",
    "data: {max_response_length: " + "1" * 400 + "}", "a: 1_000", "1: 2", "null: null", "a: 12:30:45" + ":59" * 2000,
)  # fmt: skip


def _lines_of(write: Callable[[Path], object]) -> Callable[[Path], None]:
    def made(home: Path) -> None:
        (home / "input").mkdir(exist_ok=True)
        write(home / "input")
        write_store(home)

    return made


def _console(folder: Path) -> None:
    (folder / "job.log").write_text(console_log(STEPS, CONFIG), encoding="utf-8")


def _file_logger(folder: Path) -> None:
    text = "".join(json.dumps({"step": step, "data": data}) + "\n" for step, data in STEPS.items())
    (folder / "metrics.jsonl").write_text(text, encoding="utf-8")


def _tensorboard(folder: Path) -> None:
    events = [(step, name, float(value)) for step, data in STEPS.items() for name, value in data.items()]
    event_file(folder / "events.out.tfevents.1.host.1.0", events)


def _mlflow(folder: Path) -> None:
    rows = [(step, name, float(value), False) for step, data in STEPS.items() for name, value in data.items()]
    mlflow_database(folder / "mlflow.db", {"run": rows})


def _table(folder: Path) -> None:
    names = list(STEPS[1])
    rows = [",".join(["step", *names]), *(",".join(map(str, [step, *STEPS[step].values()])) for step in STEPS)]
    (folder / "table.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")


def _series(folder: Path) -> None:
    groups: dict[str, dict[str, object]] = {}
    for name in STEPS[1]:
        title, _, series = name.partition("/")
        values = [STEPS[step][name] for step in STEPS]
        groups.setdefault(title, {})[series] = {"name": series, "x": list(STEPS), "y": values}
    (folder / "scalars.json").write_text(json.dumps(groups), encoding="utf-8")


def _run(folder: Path) -> None:
    write_run(folder)
    _hydra(folder, "- data.train_batch_size=64\n- trainer.nnodes=1\n")
    (folder / ".hydra/hydra.yaml").write_text("hydra:\n  overrides:\n    task: [a.b=1]\n", encoding="utf-8")


def _job(folder: Path) -> None:
    """A job's folder as verl leaves it: its log and Hydra's outputs."""
    _console(folder)
    _hydra(folder, "- data.train_batch_size=64\n")


def _hydra(folder: Path, overrides: str) -> None:
    (folder / ".hydra").mkdir()
    (folder / ".hydra/config.yaml").write_text(_YAML, encoding="utf-8")
    (folder / ".hydra/overrides.yaml").write_text(overrides, encoding="utf-8")


def _settings(folder: Path, random: Random) -> str:
    path = random.choice(("config.yaml", "overrides.yaml"))
    text = random.choice(_SETTINGS)
    (folder / ".hydra").mkdir(exist_ok=True)
    target = folder / ".hydra" / path
    if target.is_dir() or target.is_symlink():
        return "nothing"
    target.write_text(text, encoding="utf-8")
    return f"{path} is {text[:40]!r}"


_YAML_MUTATORS = [Mutator("yaml.replaced", _settings), *lines.mutators("*.yaml", "yaml")]


def _kind(name: str, write: Callable[[Path], object], mutators: Sequence[Mutator]) -> Kind:
    return profile_kind(name, _lines_of(write), mutators)


CONSOLE = _kind("console_log", _console, [*lines.mutators("*.log"), *files.mutators("*")])
FILE_LOGGER = _kind(
    "file_logger",
    _file_logger,
    [*lines.mutators("*.jsonl"), *files.mutators("*")],
)
TENSORBOARD = _kind("tensorboard", _tensorboard, files.mutators("*"))
MLFLOW = _kind("mlflow", _mlflow, [*sqlite.mutators("*.db"), *files.mutators("*")])
TABLE = _kind("metrics_table", _table, [*lines.mutators("*.csv"), *files.mutators("*")])
SERIES = _kind("metrics_series", _series, [*json_text.mutators("*.json"), *files.mutators("*")])
RUN = _kind(
    "run_directory",
    _run,
    [*json_text.mutators("run.json"), *lines.mutators("metrics.jsonl"), *_YAML_MUTATORS, *files.mutators("*")],
)
JOB = _kind("job_folder", _job, [*_YAML_MUTATORS, *lines.mutators("*.log")])

"""What verl jobs of several releases leave behind, with chosen numbers: console logs and the files of its loggers."""

from __future__ import annotations

import pprint
import sqlite3
import struct
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rlcompare.sources.metrics.tensorboard import masked_crc

RAY = "(TaskRunner pid=4035) "
COLOURED = "\x1b[36m(TaskRunner pid=4035)\x1b[0m "
BAR = "Training Progress:   7%|▋         | {step}/140 [00:49<1:53:43, 49.09s/it]"

Steps = Mapping[int, Mapping[str, Any]]


def step_line(step: int, data: Mapping[str, Any]) -> str:
    """A line of metrics as verl's console logger makes it; texts stand for themselves."""
    shown = {name: value if isinstance(value, str) else pprint.pformat(value) for name, value in data.items()}
    return " - ".join([f"step:{step}", *(f"{name}:{value}" for name, value in shown.items())])


def training_step(step: int, *, slower: float = 1.0, prefix: str = "rollout_corr", **further: float) -> dict[str, Any]:
    """What one step of training logs: a GRPO step of about 48 s, a little another in each step.

    Args:
        slower: how many times as long the actor's update takes.
        prefix: under which the release logs importance sampling; the names are verl's of 0.6.1 and later, or of 0.6.0
            for ``mismatch``.
        further: keys with ``__`` for ``/``, in place of or beside the others.
    """
    wobble = 1 + 0.003 * (step % 4)
    gen, old, update = 16.2 * wobble * (3 if step == 1 else 1), 10.3 * wobble, 21.5 * wobble * slower
    whole = gen + old + update + 0.8
    inner = "mismatch_" if prefix == "mismatch" else ""
    made = {
        "global_seqlen/mean": 159906.0,
        "actor/entropy": 0.0977 - 0.001 * step,
        "actor/pg_loss": -0.0036,
        "actor/lr": 1e-06,
        "training/global_step": step,
        "response_length/mean": 93.126953125,
        "prompt_length/mean": 63.03125,
        "timing_s/gen": gen,
        "timing_s/old_log_prob": old,
        "timing_s/update_actor": update,
        "timing_s/step": whole,
        "timing_s/agent_loop/slowest/prompt_length": 63,
        "timing_s/agent_loop/slowest/response_length": 128,
        f"{prefix}/rollout_is_mean": 1.001,
        f"{prefix}/rollout_is_eff_sample_size": 0.97,
        f"{prefix}/{inner}k3_kl": 0.0011,
        "perf/total_num_tokens": 159906,
        "perf/throughput": 159906 / whole,
    }
    return made | {name.replace("__", "/"): value for name, value in further.items()}


def console_log(
    steps: Steps, config: Mapping[str, Any] | None = None, *, prefix: str = COLOURED, validation: bool = True
) -> str:
    """The log of a job: its configuration, validation, steps among progress bars and other processes' lines."""
    made = []
    if config is not None:
        made += [prefix + line for line in pprint.pformat(config).splitlines()]
        made.insert(2, "(WorkerDict pid=777) Flash Attention 2.0 only supports torch.float16 and torch.bfloat16 dtypes")
    if validation:
        made.append(prefix + step_line(0, {"val-core/openai/gsm8k/acc/mean@1": 0.508}))
    for step, data in steps.items():
        made.append(BAR.format(step=step))
        made.append(prefix + step_line(step, data))
        made.append("(WorkerDict pid=777) [step: 3 - not metrics] global_step:12 - x/y:1.0")
    return "".join(f"{line}\n" for line in made)


def event_file(path: Path, events: Iterable[tuple[int, str, float]], *, began: float = 1.7e9) -> Path:
    """An event file of TensorBoard with scalars (step, tag, value), as torch's SummaryWriter writes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [_double(1, began) + _bytes(3, b"brain.Event:2")]
    for number, (step, tag, value) in enumerate(events):
        summary = _bytes(1, _bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", value))
        records.append(_double(1, began + number) + b"\x10" + _varint(step) + _bytes(5, summary))
    path.write_bytes(b"".join(map(_record, records)))
    return path


def summary_record(value: bytes) -> bytes:
    """A record of step 3 with the metric a/x, whose value is a protobuf field as it is given."""
    return _record(b"\x10\x03" + _bytes(5, _bytes(1, _bytes(1, b"a/x") + value)))


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def _double(field: int, value: float) -> bytes:
    return bytes([field << 3 | 1]) + struct.pack("<d", value)


def _bytes(field: int, data: bytes) -> bytes:
    return bytes([field << 3 | 2]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def mlflow_database(path: Path, runs: Mapping[str, Sequence[tuple[int, str, float, bool]]]) -> Path:
    """MLflow's database with runs by name, each of rows (step, key, value, whether it is NaN)."""
    with closing(sqlite3.connect(path)) as con:
        con.executescript(
            "CREATE TABLE experiments (experiment_id INTEGER, name TEXT);"
            "CREATE TABLE runs (run_uuid TEXT, name TEXT, experiment_id INTEGER, lifecycle_stage TEXT,"
            " start_time BIGINT);"
            "CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT,"
            " is_nan BOOLEAN);"
            "CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);"
            "INSERT INTO experiments VALUES (1, 'verl_example')"
        )
        for number, (name, rows) in enumerate(runs.items()):
            identifier = f"{number:032x}"
            con.execute("INSERT INTO runs VALUES (?, ?, 1, 'active', ?)", [identifier, name, number])
            con.executemany(
                "INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)",
                [(key, value, 1000 * step, identifier, step, nan) for step, key, value, nan in rows],
            )
            for key, value in {"algorithm/adv_estimator": "grpo", "global_profiler/steps/list_len": "1",
                               "global_profiler/steps/0": "2", "global_profiler/tool": "npu"}.items():  # fmt: skip
                con.execute("INSERT INTO params VALUES (?, ?, ?)", [key, value, identifier])
        con.commit()
    return path

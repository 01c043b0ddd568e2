"""A job under ``torch_npu.profiler.dynamic_profile``, without torch_npu: its files, its logs and its rules, in seconds.

    python dynamic_job.py CONFIG_DIR SAMPLE JSON

What it does is what torch_npu 2.13.0 does, in one process per rank and one for the poller, which share a memory; the
texts are torch_npu's. SAMPLE holds ``rank0_ascend_pt``, ``rank1_ascend_pt``, …: what a rank leaves. JSON says how it is
to behave:

    ranks       how many processes; step_seconds: how long a step takes
    polls       false: nobody polls, as where the memory is another job's
    deaf        true: the poller hangs
    refuses     true: the poller cannot read the file
    counts      false: nothing calls dynamic_profile.step
    waits       true: its first step begins when a request was read
    knows_now   false: start_step -1 is unknown, as in 2.5.1
    leaves      "all"; "nothing"; "unfinished": no profiler_info
    ends_at, dies_at    the step in which the last rank ends properly, or is killed
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import socket
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.1
_SIZE = 1024 * 1024


class Log:
    """A log in torch_npu's form, kept open."""

    def __init__(self, folder: Path, prefix: str, rank: int) -> None:
        (folder / "log").mkdir(exist_ok=True)
        name = f"{prefix}dp_{socket.gethostname()}_{os.getpid()}_rank_{rank}.log"
        self._file = (folder / "log" / name).open("a", buffering=1)

    def __call__(self, text: str, level: str = "INFO") -> None:
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        self._file.write(f"{now} [{level}] [{os.getpid()}] _dynamic_profiler_utils.py: {text}\n")


def poll(folder: Path, memory: mmap.mmap, asked: dict[str, Any], known: int) -> None:
    """The poller: passes the file on whenever its whole second of modification is another."""
    log, file = Log(folder, "monitor_", 0), folder / "profiler_config.json"
    while True:
        modified = int(file.stat().st_mtime) if file.exists() else known
        if modified != known and not asked["deaf"]:
            known = modified
            try:
                if asked["refuses"]:
                    raise RuntimeError(f"Failed to read the file: {file}")
                content = {**json.loads(file.read_text()), "is_valid": True}
                log("Dynamic profiler process load json success")
            except Exception as error:
                content = {"is_valid": False}
                log(f"Dynamic profiler process load json failed, {error} has occur!", "ERROR")
            # The time last: a rank that sees it reads the content at once.
            memory[4:] = json.dumps(content).encode().ljust(_SIZE - 4)
            memory[:4] = known.to_bytes(4, "little")
        time.sleep(POLL_SECONDS)


class Rank:
    """One process of the job."""

    def __init__(self, folder: Path, sample: Path, memory: mmap.mmap, rank: int, asked: dict[str, Any]) -> None:
        self._folder, self._sample, self._memory, self._rank, self._asked = folder, sample, memory, rank, asked
        self._seen = int(time.time())
        self._step = self._left = 0
        self._config: dict[str, Any] | None = None
        self._running: dict[str, Any] = {}
        self._log = Log(folder, "", rank)
        self._log(f"Rank {rank} shared memory is {'connected' if rank or not asked['polls'] else 'created'}.")
        made = f"Dynamic monitor process has been created by rank {rank}."
        self._log(f"Rank {rank} no need to create process." if rank or not asked["polls"] else made)

    def run(self) -> None:
        is_last = self._rank == self._asked["ranks"] - 1
        for _ in range(100_000):
            time.sleep(self._asked["step_seconds"])
            if self._asked["counts"] and (not self._asked["waits"] or any(self._memory[:4])):
                self.step()
            if is_last and self._step == self._asked["dies_at"]:
                os._exit(9)
            if is_last and self._step == self._asked["ends_at"]:
                self._log(f"Rank {self._rank} unlink shm")
                return

    def step(self) -> None:
        self._step += 1
        self._look()
        if self._left:
            self._left -= 1
            if not self._left:
                self._finish()
        elif self._config is not None:
            start = self._config["start_step"]
            if start != -1 and self._step > start:
                if self._asked["knows_now"]:
                    say(f"Dynamic Profiler config is not effective. The start_step={start}, current_step={self._step}")
                self._config = None
            elif start in (-1, self._step):
                self._left = self._config["warmup"] + self._config["active"]
                self._running, self._config = self._config, None
                self._log(f"Start Dynamic Profiler at {self._step} step.")

    def _look(self) -> None:
        modified = int.from_bytes(self._memory[:4], "little")
        if modified <= self._seen:
            return
        self._seen = modified
        content = json.loads(self._memory[4:].strip())
        if not content["is_valid"]:
            return
        if content["start_step"] == -1 and not self._asked["knows_now"]:
            self._log("Start step is not valid, will be reset to 0.")
            content["start_step"] = 0
        self._log(f"Start step will be set to {content['start_step']}.")
        if content["is_rank"] and self._rank not in content["rank_list"]:
            self._log(f"Rank {self._rank} not in valid rank_list {set(content['rank_list'])}!", "WARNING")
            return
        content["analyse"] = content["analyse"] and not content["is_rank"]
        self._config = content

    def _finish(self) -> None:
        """Leaves the profile, which includes the analysis, and says so after it."""
        name = f"{socket.gethostname()}_{os.getpid()}_{datetime.now():%Y%m%d%H%M%S%f}"[:-3] + "_ascend_pt"
        target = Path(self._running["prof_dir"], name)
        if self._asked["leaves"] == "nothing":
            say("Call start failed. Exception: Failed to make directory: " + str(target), "ERROR")
        else:
            shutil.copytree(self._sample / f"rank{self._rank}_ascend_pt", target)
            if not self._running["analyse"]:
                shutil.rmtree(target / "ASCEND_PROFILER_OUTPUT")
                (target / "FRAMEWORK").mkdir()
            if self._asked["leaves"] == "unfinished":
                next(target.glob("profiler_info*.json")).unlink()
        self._log(f"Stop Dynamic Profiler at {self._step} step.")


def say(text: str, level: str = "WARNING") -> None:
    """What torch_npu prints, and does not log."""
    print(f"[{datetime.now():%Y-%m-%d %H:%M:%S}] [{level}] [{os.getpid()}] profiler.py: {text}", flush=True)


def main() -> None:
    folder, sample, asked = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    file = folder / "profiler_config.json"
    if not file.exists():
        file.write_text(json.dumps({"prof_dir": "./", "with_flops": True, "experimental_config": {"l2_cache": True}}))
    memory = mmap.mmap(-1, _SIZE)
    known = int(file.stat().st_mtime)
    if asked["polls"] and os.fork() == 0:
        poll(folder, memory, asked, known)
    for rank in range(1, asked["ranks"]):
        if os.fork() == 0:
            Rank(folder, sample, memory, rank, asked).run()
            os._exit(0)
    Rank(folder, sample, memory, 0, asked).run()


if __name__ == "__main__":
    main()

"""Stands in for ``verl.trainer.main_ppo``: takes its overrides by Hydra, and writes what a job of its version writes.

What it does besides, STAND_IN says: fail (at step 2), no-profile, hang (until a signal comes), unparsed. Submitted to a
Ray cluster, it trains in an actor, as verl does, which has no environment but what the configuration passes on.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

import hydra
from omegaconf import OmegaConf

DOES = os.environ.get("STAND_IN", "")
SLOWER = float(os.environ.get("STAND_IN_SLOWER", "1"))
VERSION = tuple(map(int, metadata.version("verl").split(".")[:3]))


def profile(save_path: Path, step: int) -> None:
    """The capture of rank 0, in the folder that this version gives it."""
    from rlcompare.writer import Change, SampleRun, write_sample

    changes = () if SLOWER == 1 else (Change.slower("MatMulV2", SLOWER),)
    steps = (step,) if VERSION < (0, 7, 1) else ()
    run = SampleRun(ranks=(0,), world_size=2, steps=steps, layers=1, decode_steps=1, layout="verl", changes=changes)
    with tempfile.TemporaryDirectory() as scratch:
        for folder in write_sample(run, Path(scratch) / "sample"):
            place = folder.relative_to(Path(scratch) / "sample")
            target = save_path / (Path("train", place.name) if VERSION >= (0, 9, 1) else place)
            if DOES == "unparsed":
                shutil.rmtree(folder / "ASCEND_PROFILER_OUTPUT")
            shutil.copytree(folder, target)


@hydra.main(config_path="config", config_name="ppo_trainer", version_base=None)
def main(config):
    old = OmegaConf.select(config, "trainer.npu_profile.options")
    profiler = OmegaConf.select(config, "global_profiler")
    steps = config.trainer.profile_steps if old is not None else profiler.steps
    save_path = Path(old.save_path if old is not None else profiler.save_path)
    print("stand-in: starts", flush=True)
    train = run
    if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ:
        import ray

        ray.init(**OmegaConf.to_container(config.ray_kwargs.ray_init))  # type: ignore[arg-type]
        actor = ray.remote(num_cpus=0)(run)
        train = lambda *given: ray.get(actor.remote(*given))  # noqa: E731
    train(config, steps, save_path)


def run(config, steps, save_path):
    if DOES == "hang":
        print("stand-in: hangs", flush=True)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        time.sleep(60)
    log = None
    if "file" in config.trainer.logger:
        path = os.environ["VERL_FILE_LOGGER_PATH"]
        assert path == config.ray_kwargs.ray_init.runtime_env.env_vars.VERL_FILE_LOGGER_PATH
        log = Path(path).open("w")  # noqa: SIM115
    for step in range(1, config.trainer.total_training_steps + 1):
        if DOES == "fail" and step == 2:
            raise RuntimeError("out of memory on rank 0")
        if step in steps and DOES != "no-profile":
            profile(save_path, step)
        data = {"timing_s/step": 2.0 * SLOWER + step / 100, "actor/grad_norm": 0.5, "response_length/mean": 100.0}
        print(f"(TaskRunner pid=7) step:{step} - " + " - ".join(f"{key}:{value}" for key, value in data.items()))
        print(f"Training Progress: {step}/9\r", end="", file=sys.stderr, flush=True)
        if log is not None:
            log.write(json.dumps({"step": step, "data": data}) + "\n")
            log.flush()


if __name__ == "__main__":
    main()

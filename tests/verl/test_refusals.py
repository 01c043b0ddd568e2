"""Jobs that would collect nothing, or that verl cannot run, are refused before the start, with the remedy."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rlcompare.collect.verl import sampling
from rlcompare.collect.verl.ask import Installed, ask
from rlcompare.collect.verl.command import parse_command
from rlcompare.collect.verl.planned import VerlPlan
from rlcompare.collect.verl.refused import refuse, refuse_trainer
from rlcompare.collect.verl.sampling import steps_of, variable_of
from rlcompare.errors import UsageError
from tests.cli.conftest import Command

from .conftest import VerlOf

ACTOR = "actor_rollout_ref.actor.profiler"
ROLLOUT = "actor_rollout_ref.rollout.profiler"


def job(version: tuple[int, int, int], settings: dict[str, Any] | None = None) -> Installed:
    """A job on two ranks that profiles step 3 on rank 0, with settings by key."""
    default = {
        "trainer.nnodes": 1,
        "trainer.n_gpus_per_node": 2,
        "trainer.profile_steps" if version < (0, 6, 0) else "global_profiler.steps": [3],
        f"{ACTOR}.enable": True,
        f"{ACTOR}.ranks": [0],
        "actor_rollout_ref.profiler.ranks": [0],
        "actor_rollout_ref.rollout.mode": "async",
        f"{ROLLOUT}.tool_config.npu.discrete": True,
        f"{ROLLOUT}.enable": True,
    }
    config: dict[str, Any] = {}
    for key, value in (default | (settings or {})).items():
        *branches, name = key.split(".")
        node = config
        for branch in branches:
            node = node.setdefault(branch, {})
        node[name] = value
    return Installed(version, {"verl": ".".join(map(str, version))}, True, config)


REFUSED = [
    ((0, 7, 0), {f"{ACTOR}.ranks": []}, "npu", f"{ACTOR}.all_ranks=True"),
    ((0, 6, 1), {f"{ACTOR}.ranks": []}, "nsys", f"{ACTOR}.ranks=[] collects nothing with verl 0.6.1"),
    ((0, 5, 0), {"actor_rollout_ref.profiler.ranks": []}, "npu", "actor_rollout_ref.profiler.ranks=[0]"),
    ((0, 7, 1), {f"{ACTOR}.ranks": [2, 3]}, "npu", "not among the job's 2 ranks"),
    ((0, 7, 1), {f"{ROLLOUT}.tool_config.npu.discrete": False}, "npu", "agent loop's rollout: set it to True"),
    ((0, 7, 1), {f"{ACTOR}.enable": False, f"{ROLLOUT}.enable": False}, "npu", f"{ACTOR}.enable=True"),
    ((0, 7, 0), {f"{ACTOR}.enable": False}, "npu", "no role is profiled"),
    ((0, 7, 1), {"global_profiler.steps": None}, "npu", "global_profiler.steps=[3]"),
    ((0, 7, 1), {"global_profiler.steps": []}, "npu", "nothing would be profiled"),
    ((0, 5, 0), {"trainer.profile_steps": None}, "npu", "trainer.profile_steps=[3]"),
    ((0, 7, 1), {"global_profiler.steps": [0, 3]}, "npu", "training begins with step 1"),
    ((0, 7, 1), {"trainer.total_training_steps": 2}, "npu", "trainer.total_training_steps=2 ends the job before"),
    ((0, 7, 0), {}, "torch", "use verl 0.7.1"),
    ((0, 5, 0), {}, "torch", "profiles with npu or nsys"),
    ((0, 9, 1), {}, "cupti", "choose one of nsys, npu, torch, torch_memory"),
]


@pytest.mark.parametrize(("version", "settings", "tool", "message"), REFUSED)
def test_refused(version: tuple[int, int, int], settings: dict[str, Any], tool: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        refuse(job(version, settings), VerlPlan(tool=tool, steps=[3]), {})
    assert message in str(caught.value)


ACCEPTED = [
    ((0, 5, 0), {}, "npu"),
    ((0, 7, 0), {f"{ACTOR}.ranks": [], f"{ACTOR}.all_ranks": True}, "npu"),
    ((0, 7, 1), {f"{ACTOR}.ranks": []}, "npu"),  # rank 0, from this version on
    ((0, 6, 1), {f"{ACTOR}.ranks": []}, "torch_memory"),
    ((0, 7, 0), {f"{ROLLOUT}.tool_config.npu.discrete": False}, "npu"),  # the engine is never asked
    ((0, 7, 1), {f"{ROLLOUT}.tool_config.npu.discrete": False, f"{ROLLOUT}.enable": False}, "npu"),
    ((0, 7, 1), {"trainer.total_training_steps": 3}, "npu"),
    ((0, 7, 1), {"global_profiler.steps": [3, 90], "trainer.total_training_steps": 50}, "npu"),
]


@pytest.mark.parametrize(("version", "settings", "tool"), ACCEPTED)
def test_accepted(version: tuple[int, int, int], settings: dict[str, Any], tool: str) -> None:
    refuse(job(version, settings), VerlPlan(tool=tool, steps=[3]), {"PATH": "/bin"})


def test_a_trainer_without_roles_is_told_of_no_key_that_it_lacks() -> None:
    sft = Installed((0, 7, 1), {"verl": "0.7.1"}, True, {"global_profiler": {"steps": [3]}, "trainer": {"nnodes": 1}})
    with pytest.raises(UsageError, match="this trainer has no role that rlcompare can profile"):
        refuse(sft, VerlPlan(tool="npu", steps=[3]), {})


@pytest.mark.parametrize(
    ("entry", "profiles", "message"),
    [
        ("recipe.fully_async_policy.fully_async_main", False, "never starts verl's profiler in verl 0.6.1"),
        ("verl.trainer.main_generation_server", None, "main_generation_server trains nothing"),
        ("verl.trainer.main_ppo", True, None),
        ("recipe.mine.main", None, None),
    ],
)
def test_trainers_without_a_profiler(entry: str, profiles: bool | None, message: str | None) -> None:
    installed = replace(job((0, 6, 1)), entry=entry, profiles=profiles)
    if message is None:
        refuse_trainer(installed)
        return
    with pytest.raises(UsageError, match=message):
        refuse_trainer(installed)


def test_variables_that_switch_torch_npus_profiler_off() -> None:
    for name in ("PROFILING_MODE", "PROFILER_SAMPLECONFIG"):
        with pytest.raises(UsageError, match=f"{name} is set"):
            refuse(job((0, 7, 1)), VerlPlan(tool="npu", steps=[3]), {name: "dynamic"})
        refuse(job((0, 7, 1)), VerlPlan(tool="torch_memory", steps=[3]), {name: "dynamic"})


FSDP = {"actor_rollout_ref.actor.strategy": "fsdp2", "actor_rollout_ref.rollout.name": "vllm"}
MEGATRON = FSDP | {"actor_rollout_ref.actor.strategy": "megatron"}
OFF: dict[str, Any] = {"global_profiler.steps": None}
CRITIC = {"critic.enable": True, "critic.strategy": "fsdp", "critic.profiler.enable": False}
PROBES = [
    ("update-micro", FSDP | OFF, None),
    ("megatron-update-mini steps=2", MEGATRON | OFF, None),
    ("tick=package.module:Class.step", MEGATRON | OFF, None),
    ("update-micro", MEGATRON | OFF, "use megatron-update-mini: Megatron runs the micro batches itself"),
    ("actor-log-prob", MEGATRON | OFF, "use megatron-update-mini"),
    ("update-mini", MEGATRON | OFF, "the actor's backend is megatron: use megatron-update-mini"),
    ("megatron-update-mini", FSDP | OFF, "the actor's backend is fsdp2: use update-mini"),
    ("sglang-decode", FSDP | OFF, "the job generates with vllm: use vllm-decode"),
    ("vllm-decode", OFF, "rollout.name is not set, so the rollout engine of the job is unknown: set actor_rollout_ref"),
    ("sglang-decode", OFF, "set actor_rollout_ref.rollout.name=sglang"),
    (
        "vllm-decode",
        FSDP | OFF | {"actor_rollout_ref.rollout.name": "hf"},
        "with hf, but presets support only sglang and vllm",
    ),
    ("vllm-decode skip_first=x", OFF, "skip_first=x is not a number of at least 0"),
    ("vllm-decode skip=3", FSDP | OFF, "skip is not an option of a probe with tool=npu; the nearest is skip_first"),
    ("vllm-decode contents=[stac]", FSDP | OFF, "tool npu: contents: expected a list out of npu"),
    ("vllm-decode tool=torch contents=[cuda]", FSDP | OFF, None),  # here is no GPU, but the job may have one
    ("vllm-decode step_end=3", FSDP | OFF, "step_end is not an option of a probe"),
    (f"vllm-decode steps={'1' * 5000}", FSDP | OFF, "is not a list of numbers"),
    ("ref-log-prob", FSDP | OFF, "no reference policy"),
    ("critic-values", FSDP | OFF, "the job has no critic (algorithm.adv_estimator=gae, critic.enable)"),
    ("critic-update-mini", MEGATRON | OFF | CRITIC | {"critic.strategy": "megatron"}, None),
    ("critic-update-micro", FSDP | OFF | CRITIC, None),
    ("critic-update-micro", FSDP | OFF | CRITIC | {"critic.strategy": "megatron"}, "the critic's backend is megatron"),
    ("update-nano", FSDP | OFF, "there is no update-nano: choose one of vllm-decode"),
    ("update-mini", FSDP, "remove global_profiler.steps"),
    ("update-mini; update-micro", FSDP | OFF, "give one probe"),
    ("", FSDP | OFF, "give one probe"),
]


@pytest.mark.parametrize(("probe", "settings", "message"), PROBES)
def test_probes(probe: str, settings: dict[str, Any], message: str | None) -> None:
    installed = job((0, 7, 1), settings)
    installed = replace(installed, versions={**installed.versions, "rlcompare": "0.1.0"})
    plan = VerlPlan(tool="npu", steps=[1], probes=(probe,))
    if message is None:
        refuse(installed, plan, {})
        return
    with pytest.raises(UsageError) as caught:
        refuse(installed, plan, {})
    assert message in str(caught.value)


def test_probes_need_rlcompare_where_the_workers_are() -> None:
    with pytest.raises(UsageError, match="pip install rlcompare there"):
        refuse(job((0, 7, 1), FSDP | OFF), VerlPlan(tool="npu", steps=[1], probes=("update-mini",)), {})


def test_what_the_workers_are_told_of_probes() -> None:
    probes = ("update-mini steps=2,5 active=3", "vllm-decode output=/mine tool=npu")
    text = variable_of(probes, Path("/data/a b"), "torch")
    assert text == "update-mini steps=2,5 active=3 'output=/data/a b' tool=torch; vllm-decode output=/mine tool=npu"
    assert steps_of(probes) == [1, 2, 5]
    assert steps_of([f"update-mini steps={'1' * 5000}"]) == [1]  # which is refused afterwards
    request = pytest.importorskip("rlcompare.collect.probe.request")
    first, second = request.requests_in(text)
    assert (first.output, first.tool, first.schedule["active"]) == (Path("/data/a b"), "torch", 3)
    assert second.output == Path("/mine")


def test_presets_are_those_that_there_are() -> None:
    presets = pytest.importorskip("rlcompare.collect.probe.presets")
    assert set(sampling._PRESETS) == set(presets.PRESETS)


class TestCommand:
    @pytest.mark.parametrize(
        ("line", "python", "entry", "arguments"),
        [
            ("python3 -m verl.trainer.main_ppo a=1 --config-name x", "python3", "verl.trainer.main_ppo", 3),
            ("nohup /opt/py/bin/python3.11 -u -X dev -m recipe.dapo.main_dapo", "/opt/py/bin/python3.11", None, 0),
            ("env A=b python train.py +a=1", "python", "train.py", 1),
            ("env PY=/usr/bin/python3 /opt/bin/python3 -m m python=1", "/opt/bin/python3", "m", 1),
            ("conda run -n python3.10 python -u -m m a=1", "python", "m", 1),
            ("uv run --python python3.11 --project=a.py python train.py a=python", "python", "train.py", 1),
            ("uv run --python=/usr/bin/python3.11 python -m m", "python", "m", 0),
            ("numactl -m 0 python3 -m m a=1 tools/b.py", "python3", "m", 2),
            ("conda run -n ray ray job submit -- python3 -m m a=1", "python3", "m", 1),
            ("ray job submit --working-dir . -- python3 -m verl.trainer.main_ppo a=1", "python3", None, 1),
            (
                "torchrun --standalone --nproc_per_node 8 -m verl.trainer.sft_trainer a=1",
                None,
                "verl.trainer.sft_trainer",
                1,
            ),
            ("python3 -m torch.distributed.run --nnodes=2 train.py a=1 b=2", "python3", "train.py", 2),
        ],
    )
    def test_taken_apart(self, line: str, python: str | None, entry: str | None, arguments: int) -> None:
        command = parse_command(line.split())
        assert python in (None, command.python)
        assert entry in (None, command.entry)
        assert command.is_module == (not command.entry.endswith(".py"))
        assert len(command.arguments) == arguments
        assert (command.submission is None) == ("submit" not in line)

    @pytest.mark.parametrize(
        ("arguments", "with_ours"),
        [
            ("", "X"),
            ("a=1 b=2", "a=1 b=2 X"),
            ("--config-name x a=1", "--config-name x a=1 X"),
            ("a=1 ~b --config-path=/c --config-name x", "a=1 ~b X --config-path=/c --config-name x"),
            ("--config-name x", "--config-name x X"),
        ],
    )
    def test_overrides_stay_in_one_row(self, arguments: str, with_ours: str) -> None:
        """Hydra takes no second row behind its options."""
        tokens = ["python3", "-m", "m"]
        assert parse_command([*tokens, *arguments.split()]).tokens_with(["X"]) == [*tokens, *with_ours.split()]

    def test_wrappers_that_choose_an_environment(self, tmp_path: Path) -> None:
        """The same environment is asked for its verl: env sets where Python finds it."""
        lines = {"nohup uv run --frozen python3 -m m": ("uv", "run", "--frozen"), "nohup python3 -m m": (),
                 "ray job submit -- env A=b python3 -m m": ("env", "A=b")}  # fmt: skip
        for line, wrapper in lines.items():
            assert parse_command(line.split()).wrapper == wrapper
        (tmp_path / "verl" / "version").mkdir(parents=True)
        (tmp_path / "verl" / "__init__.py").touch()
        (tmp_path / "verl" / "version" / "version").write_text("0.4.0")
        command = ["env", f"PYTHONPATH={tmp_path}", sys.executable, "-m", "verl.trainer.main_ppo"]
        with pytest.raises(UsageError, match=r"verl 0\.4\.0 is older"):
            ask(parse_command(command))

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("", "needs the job's command: rlcompare launch"),
            ("bash run_grpo.sh", "'bash' does not start Python directly"),
            ("bash run_grpo.sh", "put rlcompare launch -o DIR -- in the script, before its python3"),
            ("python3", "python3 has nothing to run"),
        ],
    )
    def test_not_understood(self, line: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            parse_command(line.split())

    def test_keys_that_overrides_name(self) -> None:
        line = "python3 -m m a.b=1 +c.d=[1,2] ++e=null ~f.g h@i=j --config-name=x k"
        command = parse_command(line.split())
        assert command.given == {"a.b": "1", "c.d": "[1,2]", "e": "null", "f.g": None, "h@i": "j"}
        assert [key for key in ("a", "a.b", "a.b.c", "a.bc", "c.d", "f.g.h", "k") if command.names(key)] == [
            "a", "a.b", "a.b.c", "c.d", "f.g.h",
        ]  # fmt: skip


class TestOnTheCommandLine:
    RUN = ("launch", "-o", "new", "--")

    def test_no_verl(self, rlcompare: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
        outcome = rlcompare(*self.RUN, sys.executable, "-I", "-m", "verl.trainer.main_ppo")
        assert outcome.code == 2
        assert "verl is not installed for" in outcome.error

    def test_an_interpreter_that_is_not_there(self, rlcompare: Command) -> None:
        outcome = rlcompare(*self.RUN, "/nowhere/python3", "-m", "verl.trainer.main_ppo")
        assert outcome.code == 2
        assert "/nowhere/python3 cannot be started (No such file" in outcome.error

    @pytest.mark.parametrize(
        "answer",
        [
            "garbage", "[]", "{}", "[" * 100_000, '{"versions": {"python": "3.11", "verl": 7}}',
            '{"versions": {"python": "3.11", "verl": "0.7.1"}, "npu": false, "problem": null, "config": []}',
        ],
        ids=lambda answer: answer[:20],
    )  # fmt: skip
    def test_an_interpreter_that_answers_nonsense(self, rlcompare: Command, tmp_path: Path, answer: str) -> None:
        (tmp_path / "answer").write_text(f"rlcompare-asked:{answer}\n")
        python = tmp_path / "python3"
        python.write_text(f"#!/bin/sh\ncat '{tmp_path / 'answer'}'\n")
        python.chmod(0o755)
        outcome = rlcompare(*self.RUN, python, "-m", "verl.trainer.main_ppo")
        assert outcome.code == 2
        assert f"verl version of {python} (exit code 0): it printed unexpected output" in outcome.error

    def test_verls_own_complaint_comes_before_the_job(
        self, rlcompare: Command, installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PYTHONPATH", installed_verl("0.7.1")["PYTHONPATH"])
        outcome = rlcompare(*self.RUN, sys.executable, "-m", "verl.trainer.main_ppo", "trainer.totel_epochs=3")
        assert outcome.code == 2
        assert "verl 0.7.1 rejects this configuration: Could not override 'trainer.totel_epochs'" in outcome.error
        assert "; the nearest key is trainer.total_epochs" in outcome.error
        outcome = rlcompare(*self.RUN, sys.executable, "-m", "verl.trainer.main_pro")
        assert "there is no verl.trainer.main_pro" in outcome.error

    def test_two_tools(self, rlcompare: Command, installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", installed_verl("0.7.1")["PYTHONPATH"])
        command = (sys.executable, "-m", "verl.trainer.main_ppo", "global_profiler.tool=npu")
        outcome = rlcompare("launch", "--tool", "torch", "--", *command)
        assert outcome.code == 2
        assert "--tool torch and global_profiler.tool=npu set two different tools" in outcome.error

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((), "needs the job's command"),
            (("--print-config", "--", "python3"), "no such option --print-config"),
            (("--tool", "vtune", "--", "python3"), "'vtune' is not one of"),
        ],
    )
    def test_wrong_options(self, rlcompare: Command, arguments: tuple[str, ...], message: str) -> None:
        outcome = rlcompare("launch", *arguments)
        assert outcome.code == 2
        assert message in outcome.error

"""Our overrides on verl's own configuration: every version takes them, and they end where they are meant to."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rlcompare.collect.verl import ask as asking
from rlcompare.collect.verl.ask import Installed, ask, confirm
from rlcompare.collect.verl.command import VerlCommand, is_changed_by_shell, override, parse_command
from rlcompare.collect.verl.plan import make_plan
from rlcompare.collect.verl.planned import VerlPlan
from rlcompare.errors import UsageError

from .conftest import VerlOf

FSDP, MEGATRON = "ppo_trainer", "ppo_megatron_trainer"
JOBS = [
    ("0.8.0", FSDP),
    *((version, config) for version in ("0.6.1", "0.7.1", "0.9.1") for config in (FSDP, MEGATRON)),
]
FOLDER = Path("/data/runs of today/it's 5, x=1 $HOME {a} \\ [b]/new")


_ask = asking._answer


@cache
def _answer(path: str, command: VerlCommand, arguments: tuple[str, ...]) -> dict[str, Any]:
    """Each question once: Hydra takes its time."""
    return _ask(command, arguments)


def composed(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    *overrides: str,
    tool: str | None = "npu",
    probes: tuple[str, ...] = (),
    entry: tuple[str, ...] = ("-m", "verl.trainer.main_ppo"),
    engine: str | None = "vllm",
) -> tuple[VerlPlan, Installed]:
    """What is added to a command, and the configuration that verl composes of both."""
    monkeypatch.setenv("PYTHONPATH", environment["PYTHONPATH"])
    monkeypatch.setattr(
        asking, "_answer", lambda command, given: _answer(environment["PYTHONPATH"], command, tuple(given))
    )
    overrides = (*([f"actor_rollout_ref.rollout.name={engine}"] if engine else ()), *overrides)
    command = parse_command([sys.executable, *entry, *overrides])
    asked = ask(command)
    plan = make_plan(command, asked, FOLDER, tool, {"PATH": os.environ["PATH"]}, probes)
    return plan, confirm(command, plan.overrides, asked)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("version", "config"), JOBS)
def test_with_a_global_profiler(
    installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch, version: str, config: str
) -> None:
    grpo = ("algorithm.adv_estimator=grpo", "actor_rollout_ref.actor.use_kl_loss=True", f"--config-name={config}")
    plan, installed = composed(monkeypatch, installed_verl(version), *grpo)

    expected = {
        "global_profiler.tool": "npu",
        "global_profiler.steps": [3],
        "global_profiler.save_path": str(FOLDER / "profile"),
        "actor_rollout_ref.actor.profiler.enable": True,
        "actor_rollout_ref.actor.profiler.ranks": [0],
        "actor_rollout_ref.actor.profiler.tool": "npu",
        "actor_rollout_ref.actor.profiler.save_path": str(FOLDER / "profile"),
        "actor_rollout_ref.rollout.profiler.enable": True,
        "actor_rollout_ref.ref.profiler.enable": True,
        "critic.profiler.enable": False,  # GRPO has no critic
        "trainer.logger": ["console", "wandb", "file"],
        "ray_kwargs.ray_init.runtime_env.env_vars.VERL_FILE_LOGGER_PATH": str(FOLDER / "metrics.jsonl"),
    }
    assert {key: installed.value(key) for key in expected} == expected
    assert installed.versions["verl"] == version
    assert plan.environment["VERL_FILE_LOGGER_PATH"] == str(FOLDER / "metrics.jsonl")
    strategy = "megatron" if "megatron" in config else "fsdp"
    assert installed.value("actor_rollout_ref.actor.strategy") == strategy


def test_before_there_was_one(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, installed = composed(monkeypatch, installed_verl("0.5.0"), "--config-name", f"{MEGATRON}.yaml")

    assert installed.value("trainer.profile_steps") == [3]
    assert installed.value("trainer.npu_profile.options.save_path") == str(FOLDER / "profile")
    assert installed.value("actor_rollout_ref.profiler.ranks") == installed.value("critic.profiler.ranks") == [0]
    assert installed.value("trainer.logger") == ["console", "wandb"], "it has no logger to a file"
    assert plan.metrics is None


@pytest.mark.parametrize(("version", "tool"), [("0.7.1", "npu"), ("0.9.1", "torch")])
def test_an_agent_loop_is_discrete_and_training_is_not(
    installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch, version: str, tool: str
) -> None:
    plan, installed = composed(monkeypatch, installed_verl(version), tool=tool)

    assert installed.value("actor_rollout_ref.rollout.mode") == "async"
    assert installed.value(f"actor_rollout_ref.rollout.profiler.tool_config.{tool}.discrete") is True
    assert installed.value(f"actor_rollout_ref.actor.profiler.tool_config.{tool}.discrete") is False
    contents = installed.value(f"actor_rollout_ref.rollout.profiler.tool_config.{tool}.contents")
    assert contents == ([] if tool == "npu" else ["cpu", "cuda", "shapes"])
    # Numbers would be no environment variables.
    variables = installed.value("ray_kwargs.ray_init.runtime_env.env_vars")
    assert variables["VLLM_TORCH_PROFILER_DIR"] == str(FOLDER / "profile" / "rollout_generate")
    assert variables["VLLM_TORCH_PROFILER_RECORD_SHAPES"] == ("0" if tool == "npu" else "1")
    assert plan.environment.items() <= variables.items()


def test_what_the_user_sets_stays(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = (
        "global_profiler.steps=[5,7]",
        "global_profiler.tool=nsys",
        "global_profiler.save_path=/elsewhere",
        "actor_rollout_ref.actor.profiler.all_ranks=True",
        "critic.profiler.ranks=[1]",
        "trainer.logger=[file,tensorboard]",
    )
    plan, installed = composed(monkeypatch, installed_verl("0.9.1"), *theirs, tool=None)

    expected = {
        "global_profiler.steps": [5, 7],
        "global_profiler.tool": "nsys",
        "global_profiler.save_path": "/elsewhere",
        "actor_rollout_ref.actor.profiler.all_ranks": True,
        "actor_rollout_ref.actor.profiler.ranks": [],
        "critic.profiler.all_ranks": False,
        "critic.profiler.ranks": [1],
        "critic.profiler.enable": True,
        "trainer.logger": ["file", "tensorboard", "console"],
    }
    assert {key: installed.value(key) for key in expected} == expected
    assert any("/elsewhere" in note for note in plan.notes)


@pytest.mark.parametrize(("version", "off"), [("0.5.0", "null"), ("0.7.1", "null"), ("0.9.1", "[]")])
def test_profiling_that_a_script_switches_off_is_switched_on(
    installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch, version: str, off: str
) -> None:
    key = "trainer.profile_steps" if version == "0.5.0" else "global_profiler.steps"
    plan, installed = composed(monkeypatch, installed_verl(version), f"{key}={off}")
    assert plan.steps == installed.value(key) == [3]
    assert f"{key}={off} switches verl's profiler off: rlcompare sets it to [3]" in plan.notes

    # With a probe, it stays off.
    if version == "0.7.1":
        plan, installed = composed(monkeypatch, installed_verl(version), f"{key}={off}", probes=("update-mini",))
        assert installed.value(key) is None
        assert not any("switches" in note for note in plan.notes)


def test_the_critic_follows_the_ranks_of_the_actor(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    _, installed = composed(monkeypatch, installed_verl("0.6.1"), "actor_rollout_ref.actor.profiler.ranks=[0,5]")
    assert installed.value("critic.profiler.ranks") == [0, 5]


def test_a_step_that_neither_tests_nor_saves(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    _, installed = composed(monkeypatch, installed_verl("0.7.1"))
    cases: dict[tuple[tuple[str, int], ...], int] = {
        (): 3,
        (("test_freq", 3),): 4,
        (("test_freq", 3), ("save_freq", 2)): 5,
        (("total_training_steps", 2),): 1,
        (("total_training_steps", 1),): 1,
        (("total_training_steps", 4), ("test_freq", 3)): 2,
    }
    for settings, step in cases.items():
        trainer = installed.value("trainer") | dict(settings)
        config = {**installed.config, "trainer": trainer, "global_profiler": {"steps": None}}
        job = replace(installed, npu=True, config=config)
        plan = make_plan(parse_command(["python3", "-m", "verl.trainer.main_ppo"]), job, FOLDER, "npu", {})
        assert (plan.steps, plan.notes) == ([step], []), settings


def test_joined_steps_of_a_discrete_profile(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in verl's example for Nsight Systems: verl profiles the calls of all these steps, each by itself."""
    joined = "global_profiler.profile_continuous_steps=True"
    for discrete in ("True", "False"):
        nsys = ("global_profiler.tool=nsys", f"global_profiler.global_tool_config.nsys.discrete={discrete}")
        plan, _ = composed(monkeypatch, installed_verl("0.7.1"), joined, *nsys, tool=None)
        assert any(f"{joined} has no effect with tool_config.nsys" in note for note in plan.notes) == (
            discrete == "True"
        )


def test_where_the_user_sends_the_metrics(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "ray_kwargs.ray_init.runtime_env.env_vars.VERL_FILE_LOGGER_PATH"
    plan, installed = composed(monkeypatch, installed_verl("0.7.1"), f"+{key}=/mine.jsonl")
    assert installed.value(key) == plan.environment["VERL_FILE_LOGGER_PATH"] == str(plan.metrics) == "/mine.jsonl"


def test_reports_of_nsight_systems(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, installed = composed(monkeypatch, installed_verl("0.9.1"), tool="nsys")
    assert installed.value("global_profiler.relocate_results") is True
    plan, installed = composed(monkeypatch, installed_verl("0.7.1"), tool="nsys")
    assert not installed.has("global_profiler.relocate_results")
    assert any("logs/nsight" in note for note in plan.notes)
    assert any("rollout of an agent loop" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("probe", "given", "is_told"),
    [("vllm-decode active=2", (), True), ("vllm-decode", ("trainer.val_before_train=False",), False),
     ("update-mini", (), False)],
)  # fmt: skip
def test_decode_steps_of_a_validation_before_training_are_told(
    installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch, probe: str, given: tuple[str, ...], is_told: bool
) -> None:
    plan, _ = composed(monkeypatch, installed_verl("0.9.1"), *given, probes=(probe,), tool="torch")
    assert any("add trainer.val_before_train=False to the command" in note for note in plan.notes) == is_told


@pytest.mark.parametrize("version", ["0.5.0", "0.6.1", "0.7.1"])
def test_the_tool_is_that_of_the_device(
    installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    environment, on_npu = installed_verl(version), "trainer.device=npu"
    plan, _ = composed(monkeypatch, environment, on_npu, tool=None)
    assert plan.tool == "npu"
    assert any("torch_npu is not installed" in note for note in plan.notes)
    assert any("read from job.log" in note for note in plan.notes) == (version == "0.5.0")

    # GIVEN a GPU, on which verl had Nsight Systems alone at first
    monkeypatch.setenv("PATH", str(tmp_path))
    if version == "0.7.1":
        assert composed(monkeypatch, environment, tool=None)[0].tool == "torch"
    else:
        with pytest.raises(UsageError, match=r"nsys is not on PATH: install it, or use verl 0\.7\.1"):
            composed(monkeypatch, environment, tool=None)
    asked, _ = composed(monkeypatch, environment, tool="nsys")
    assert any("nsys is not on PATH here" in note for note in asked.notes)
    (tmp_path / "nsys").touch(0o755)
    plan, _ = composed(monkeypatch, environment, tool=None)
    assert plan.tool == ("torch" if version == "0.7.1" else "nsys")
    assert not any("nsys is not on PATH" in note for note in plan.notes)


@pytest.mark.parametrize("version", ["0.5.0", "0.6.1"])
def test_an_engine_that_is_not_profiled_is_told_nothing(
    installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    plan, _ = composed(monkeypatch, installed_verl(version), "actor_rollout_ref.rollout.mode=async")
    assert not any(name.startswith("VLLM") for name in plan.environment)
    assert any("cannot profile an agent loop's rollout (0.7.1 can)" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("vllm", "passed_on", "is_told"),
    [("0.11.2", {"DIR", "WITH_STACK", "RECORD_SHAPES", "WITH_PROFILE_MEMORY", "WITH_FLOPS"}, False),
     ("0.15.1", {"WITH_FLOPS"}, False), ("0.16.0", set(), True)],
)  # fmt: skip
def test_settings_of_vllms_profiler_that_the_user_exports(
    installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch, vllm: str, passed_on: set[str], is_told: bool
) -> None:
    """Workers of a running cluster get them too, as long as vLLM reads them: 0.13 deprecated, 0.16 removed them."""
    _, installed = composed(monkeypatch, installed_verl("0.9.1"))
    installed = replace(installed, versions={**installed.versions, "vllm": vllm})
    command = parse_command(["python3", "-m", "verl.trainer.main_ppo"])
    plan = make_plan(command, installed, FOLDER, "npu", {"VLLM_TORCH_PROFILER_WITH_FLOPS": "1", "VLLM_USE_V1": "1"})
    names = {name.removeprefix("VLLM_TORCH_PROFILER_") for name in plan.environment if name.startswith("VLLM")}
    assert names == passed_on
    overrides = [text for text in plan.overrides if "VLLM_TORCH_PROFILER_WITH_FLOPS=1" in text.replace('"', "")]
    assert len(overrides) == ("WITH_FLOPS" in passed_on)
    assert any("0.16.0 does not read VLLM_TORCH_PROFILER_WITH_FLOPS" in note for note in plan.notes) == is_told


def test_variables_of_a_submitted_job(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """They go into verl's configuration, unless its runtime environment has them: Ray refuses a name in both."""
    path = "VERL_FILE_LOGGER_PATH"
    _, installed = composed(monkeypatch, installed_verl("0.7.1"))
    installed = replace(installed, config={**installed.config, "ray_kwargs": {"ray_init": {}}})
    submit, job = ("ray", "job", "submit"), ("--", "python3", "-m", "verl.trainer.main_ppo")
    command = parse_command([*submit, "--runtime-env", "e.yaml", *job])
    plan = make_plan(command, replace(installed, variables={path: "/mine"}), FOLDER, "npu", {path: "/mine"})
    assert plan.metrics == Path("/mine")
    assert not any(path in text for text in plan.overrides)

    # A job with a transfer queue takes none from its configuration.
    queue = replace(installed, config={**installed.config, "transfer_queue": {"enable": True}})
    plan = make_plan(command, queue, FOLDER, "npu", {})
    assert any(f"add to env_vars of e.yaml {path}: {FOLDER}/metrics.jsonl" in note for note in plan.notes)
    assert path in make_plan(parse_command([*submit, *job]), queue, FOLDER, "npu", {}).runtime_env


def test_a_probe_in_place_of_a_profiled_step(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, installed = composed(monkeypatch, installed_verl("0.9.1"), probes=("update-mini active=2",), tool=None)

    assert installed.value("global_profiler.steps") is None
    assert installed.value("actor_rollout_ref.actor.profiler.enable") is False
    variables = installed.value("ray_kwargs.ray_init.runtime_env.env_vars")
    assert variables == plan.environment
    assert variables["RLCOMPARE_PROBE"].startswith("update-mini active=2 'output=/data/runs of today/")
    assert installed.value("trainer.logger") == ["console", "wandb", "file"]


def test_fine_tuning_has_keys_of_its_own(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    config = "--config-name=sft_trainer_engine"
    for version, given in (("0.7.1", "trainer.profile_interval=[-1,-1]"), ("0.9.1", "trainer.total_epochs=1")):
        plan, installed = composed(monkeypatch, installed_verl(version), given, config, engine=None)
        expected = {
            "trainer.profile_interval": [3, 3],
            "profiler.tool": "npu",
            "profiler.enable": True,
            "profiler.ranks": [0],
            "profiler.save_path": str(FOLDER / "profile"),
            "trainer.logger": ["console", "wandb", "file"],
        }
        assert {key: installed.value(key) for key in expected} == expected
        assert plan.steps == [3]
        assert installed.value("global_profiler.steps") is None
    plan, installed = composed(
        monkeypatch, installed_verl("0.9.1"), "trainer.profile_interval=[2,4]", config, tool="torch", engine=None
    )
    assert (plan.steps, installed.value("trainer.profile_interval")) == ([2, 3, 4], [2, 4])


DAPO = """
hydra: {{searchpath: ["file://{verl}"]}}
defaults: [ppo_trainer, _self_]
data: {{gen_batch_size: 12}}
global_profiler: {{steps: [4]}}
actor_rollout_ref: {{actor: {{profiler: {{enable: True, all_ranks: True}}}}}}
"""


def test_options_of_hydra_behind_the_overrides(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours come in front of them, and a second row of the user's is refused as Hydra does."""
    environment, options = installed_verl("0.7.1"), ("--config-name", "ppo_megatron_trainer")
    _, installed = composed(monkeypatch, environment, "data.train_batch_size=8", *options)
    assert installed.value("data.train_batch_size") == 8
    assert installed.value("actor_rollout_ref.actor.megatron.tensor_model_parallel_size") == 1
    with pytest.raises(UsageError, match=r"unrecognized arguments: data\.train_batch_size=8"):
        composed(monkeypatch, environment, *options, "data.train_batch_size=8")
    with pytest.raises(UsageError, match="Additional config directory '/nowhere' not found"):
        composed(monkeypatch, environment, "--config-dir", "/nowhere")


def test_a_recipe_with_a_configuration_of_its_own(
    installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As DAPO's: another entry point, whose file builds on verl's; what it settles is the user's."""
    environment = installed_verl("0.7.1")
    verl = Path(environment["PYTHONPATH"].split(os.pathsep)[0], "verl", "trainer")
    recipe = tmp_path / "recipe" / "dapo"
    (recipe / "config").mkdir(parents=True)
    main = (verl / "main_ppo.py").read_text(encoding="utf-8").replace('"ppo_trainer"', '"dapo_trainer"')
    (recipe / "main_dapo.py").write_text(main, encoding="utf-8")
    (recipe / "config" / "dapo_trainer.yaml").write_text(DAPO.format(verl=verl / "config"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    plan, installed = composed(
        monkeypatch, environment, "data.gen_batch_size=16", entry=("-m", "recipe.dapo.main_dapo")
    )

    assert (plan.steps, installed.value("global_profiler.steps")) == ([4], [4])
    assert installed.value("data.gen_batch_size") == 16
    assert installed.value("actor_rollout_ref.actor.profiler.ranks") == []
    assert installed.value("critic.profiler.enable") is False, "the file chose the roles"


def test_a_job_with_a_transfer_queue_adds_to_the_environment_itself(
    installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, installed = composed(monkeypatch, installed_verl("0.7.1"), "transfer_queue.enable=True")
    assert installed.value("ray_kwargs.ray_init.runtime_env") is None
    assert "VERL_FILE_LOGGER_PATH" in plan.environment


TEXTS = (
    "plain",
    "a b",
    "it's",
    "back\\slash",
    "end\\",
    "\\'",
    "${trainer.device}",
    "a=b,c",
    "[x]",
    "null",
    "12",
    "1e3",
    "",
    "0",
    'say "x"',
    'end\\"',
    "/data/a,b",
    "/data/(1);&|<2>*?#~!",
    "/data/$HOME",
    "/data/été/数据",
    "update-mini 'ranks=[0]'; vllm-decode",
)


def test_texts_come_through_hydra_as_they_are(installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch) -> None:
    overrides = [override(f"+trainer.text{number}", text) for number, text in enumerate(TEXTS)]
    _, installed = composed(monkeypatch, installed_verl("0.7.1"), *overrides)
    assert tuple(installed.value(f"trainer.text{number}") for number in range(len(TEXTS))) == TEXTS


def by_list2cmdline(tokens: Sequence[str]) -> str:
    """As older versions of Ray join the command of a job."""
    return subprocess.list2cmdline(tokens)


@pytest.mark.skipif(os.name != "posix", reason="the cluster's shell is sh")
@pytest.mark.parametrize("join", [by_list2cmdline, shlex.join])
def test_texts_come_through_the_shell_of_a_cluster(
    installed_verl: VerlOf, monkeypatch: pytest.MonkeyPatch, join: Callable[[Sequence[str]], str]
) -> None:
    texts = [text for text in TEXTS if not is_changed_by_shell(override("a", text))]
    assert {*TEXTS} - {*texts} == {"${trainer.device}"}
    given = [override(f"+trainer.text{number}", text) for number, text in enumerate([*texts, ["a", "b,c"]])]
    line = join([sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *given])
    received = subprocess.run(["sh", "-c", line], check=True, capture_output=True, text=True).stdout
    _, installed = composed(monkeypatch, installed_verl("0.7.1"), *json.loads(received))
    expected = [*texts, ["a", "b,c"]]
    assert [installed.value(f"trainer.text{number}") for number in range(len(expected))] == expected


def test_texts_that_the_shell_of_a_cluster_may_change() -> None:
    changed = ("$HOME of mine", "a`b`", "two\\\\backslashes")
    assert all(is_changed_by_shell(override("a", text)) for text in changed)
    assert not any(is_changed_by_shell(override("a", text)) for text in ("/data/$HOME", "one\\backslash", 'two\\\\"'))

"""The presets on the real source of verl, run as its loops are, and on engines of the form of vLLM's and SGLang's."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.errors import UsageError
from rlcompare.probe import PRESETS

ROOT = Path(__file__).resolve().parents[2]
WHEELS = Path(os.environ.get("RLCOMPARE_VERL") or ROOT / "build" / "verl") / "wheels"

VERL = """
import sys
from pathlib import Path
from types import SimpleNamespace
sys.path.insert(0, {source!r})
from tests.collect.stub_imports import StubImports
sys.meta_path.append(StubImports(Path({source!r}, "verl")))
sys.meta_path.insert(0, StubImports(Path({source!r}, "verl"), only={{"ray"}}))  # may be installed, and is not wanted
import torch
from rlcompare import probe
for name, steps in dict(actor=[1, 2], ref=[1, 2]).items():
    probe.attach(name + "-log-prob", steps=steps, output={output!r})
probe.attach("update-mini", steps=[1, 3], output={output!r})
probe.attach("update-micro", steps=[2, 4], output={output!r})
probe.attach("megatron-update-mini", output={output!r})
probe.attach("critic-values", steps=[1, 2], output={output!r})
probe.attach("critic-update-mini", steps=[1, 3], output={output!r})
probe.attach("critic-update-micro", steps=[2, 4], output={output!r})
"""

ACTORS = """
from verl.workers.actor.dp_actor import DataParallelPPOActor

STATE = torch.ones(8, 8, requires_grad=True)

class Batch(dict):
    # What verl's DataProto is to this loop: 8 rows, in parts.
    non_tensor_batch = dict()
    meta_info = dict(micro_batch_size=2, temperature=1.0, use_dynamic_bsz=False)
    def __init__(self, rows=8):
        ones = torch.ones(rows, 6)
        super().__init__({{key: ones for key in ("input_ids", "attention_mask", "position_ids")}})
        self.update({{key: ones[:, 2:] for key in ("responses", "response_mask", "old_log_probs", "advantages")}})
        self.rows, self.batch = rows, self
    def select(self, **_):
        return self
    def split(self, size):
        return [Batch(size) for _ in range(self.rows // size)]
    def to(self, _):
        return self

class Config(SimpleNamespace):
    def get(self, key, default=None):
        return getattr(self, key, default)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))
    def forward(self, input_ids, **_):
        STATE.cos()
        return SimpleNamespace(logits=input_ids[..., None] * self.weight)

def actor(trains):
    made = object.__new__(DataParallelPPOActor)
    made.actor_module = Model()
    made.actor_optimizer = torch.optim.SGD(made.actor_module.parameters(), 0.1) if trains else None
    made.config = Config(
        use_kl_loss=False, ppo_mini_batch_size=4, ppo_micro_batch_size_per_gpu=2, ppo_epochs=1, use_dynamic_bsz=False,
        entropy_coeff=0, loss_agg_mode="token-mean", grad_clip=1.0, clip_ratio=0.2, clip_ratio_low=0.2,
        clip_ratio_high=0.2, clip_ratio_c=3.0, policy_loss=Config(loss_mode="vanilla"), global_batch_info=dict(),
        calculate_entropy=False, sum_pi_squared_checkpointing=False,
    )
    made.use_remove_padding = made.use_ulysses_sp = made.use_fused_kernels = made.use_prefix_grouper = False
    made.calculate_sum_pi_squared = made.use_dynamic_bsz = False
    made.ulysses_sequence_parallel_size, made.scaler = 1, None
    made.device_name, made.param_dtype = "cpu", torch.bfloat16
    return made

import verl.workers.actor.dp_actor as module
module.get_device_id = lambda: "cpu"
module.logprobs_from_logits = lambda logits, labels, **_: logits.mean(-1)
ref, learner = actor(False), actor(True)
learner.compute_log_prob(Batch())
ref.compute_log_prob(Batch())
learner.update_policy(Batch())
learner.update_policy(Batch())

from verl.workers.actor.megatron_actor import MegatronPPOActor
assert MegatronPPOActor.forward_backward_batch.__wrapped__
"""

CRITICS = """
from verl.workers.critic.dp_critic import DataParallelPPOCritic
import verl.workers.critic.dp_critic as module
module.get_device_id = lambda: "cpu"
module.core_algos = SimpleNamespace(
    compute_value_loss=lambda vpreds, **_: (vpreds.mean(), torch.zeros(())))
module.masked_mean = lambda values, mask: values.mean()

class ValueModel(Model):
    def forward(self, input_ids, **_):
        STATE.cos()
        return SimpleNamespace(logits=(input_ids * self.weight.mean())[..., None])

class Values(Batch):
    def __init__(self, rows=8):
        super().__init__(rows)
        self.update({{key: torch.ones(rows, 4) for key in ("values", "returns")}})
    def split(self, size):
        return [Values(size) for _ in range(self.rows // size)]

made = object.__new__(DataParallelPPOCritic)
made.critic_module = ValueModel()
made.critic_optimizer = torch.optim.SGD(made.critic_module.parameters(), 0.1)
made.config = Config(ppo_mini_batch_size=4, ppo_micro_batch_size_per_gpu=2, ppo_epochs=1, use_dynamic_bsz=False,
                     grad_clip=1.0, cliprange_value=0.5, loss_agg_mode="token-mean")
made.use_remove_padding, made.ulysses_sequence_parallel_size, made.device_name = False, 1, "cpu"
made.compute_values(Values())
made.update_critic(Values())
made.update_critic(Values())

from verl.workers.critic.megatron_critic import MegatronPPOCritic
assert MegatronPPOCritic.forward_backward_batch.__wrapped__
"""

ENGINES = """
import contextlib
import torch.distributed
import verl.workers.engine.base as base
import verl.workers.engine.fsdp.transformer_impl as fsdp
import verl.workers.engine_workers as workers

torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
STATE = torch.ones(8, 8, requires_grad=True)

class Data(dict):
    # What a TensorDict is to this loop.
    shape = (8,)
    def to(self, _=None):
        return self
    cpu = to

def batch():
    lengths = SimpleNamespace(offsets=lambda: torch.arange(9))
    return Data(loss_mask=torch.ones(8, 4), mini_batch_size=4, input_ids=lengths)

class Config(SimpleNamespace):
    def get(self, key, default=None):
        return getattr(self, key, default)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))
    def forward(self, **_):
        STATE.cos()
        return self.weight.mean()

keep = SimpleNamespace(
    get=lambda data, key, default=None: data.get(key, default),
    pop=lambda data, key, default=None: data.pop(key, default),
    assign_non_tensor=lambda data, **values: data.update(values), assign_non_tensor_data=lambda data, key, value: None,
    get_non_tensor_data=lambda data, key, default=None: default,
    get_tensordict=lambda **_: Data(), make_iterator=lambda *_, **__: iter([batch(), batch()]),
)
for module in (base, fsdp, workers):
    module.tu = keep
    module.maybe_fix_3d_position_ids = lambda data: None
    module.get_device_name = module.get_device_id = lambda: "cpu"
workers.Timer = lambda **_: contextlib.nullcontext(SimpleNamespace(last=0.0))
fsdp.prepare_micro_batches = lambda **_: ([Data() for _ in range(2)], None)
fsdp.postprocess_batch_func = lambda **_: dict(model_output=dict(), loss=[0.0], metrics=dict())
idle = SimpleNamespace(step=lambda: None, check_enable=lambda: False, rank=0)

def training_worker(strategy):
    engine = object.__new__(fsdp.FSDPEngineWithLMHead)
    engine.module, engine.optimizer_config, engine._qat_enabled = Model(), Config(clip_grad=1.0), False
    engine.optimizer = torch.optim.SGD(engine.module.parameters(), 0.1)
    engine.ulysses_sequence_parallel_size, engine.scaler = 1, None
    engine.train_mode = engine.eval_mode = lambda **_: contextlib.nullcontext()
    engine.get_data_parallel_size, engine.get_data_parallel_rank = lambda: 1, lambda: 0
    engine.lr_scheduler_step = lambda: 0.1
    engine.get_data_parallel_group = lambda: None
    engine.is_mp_src_rank_with_outputs = lambda: True
    engine._gradient_sync_context = lambda **_: contextlib.nullcontext()
    engine.prepare_model_inputs = lambda micro_batch: (dict(), dict())
    engine.prepare_model_outputs = lambda **kwargs: kwargs["output"]
    made = object.__new__(workers.TrainingWorker)
    made.engine, made.profiler, made.model_config = engine, idle, Config(use_remove_padding=False)
    made.engine_config = Config(
        strategy=strategy, forward_only=False, use_dynamic_bsz=False, use_fused_kernels=False, max_token_len_per_gpu=1,
        micro_batch_size_per_gpu=1, infer_max_token_len_per_gpu=1, infer_micro_batch_size_per_gpu=1)
    made.loss_fn = lambda model_output, **_: (model_output, dict())
    made._postprocess_output = lambda *_, **__: Data(metrics=dict())
    return made

worker = object.__new__(workers.ActorRolloutRefWorker)
worker.enable_routing_replay, worker.profiler = False, idle
worker.actor, worker.ref = training_worker("fsdp2"), training_worker("fsdp2")
worker.compute_log_prob(batch())
worker.compute_ref_log_prob(batch())
worker.update_actor(batch())
worker.update_actor(batch())
worker.actor.engine_config.strategy = "megatron"
worker.update_actor(batch())
critic = training_worker("fsdp2")
critic.config = Config(model_type="value_model")
critic.infer_batch(batch())
critic.train_mini_batch(batch())
critic.train_mini_batch(batch())
torch.distributed.destroy_process_group()  # else its threads may end the process in a bad way
"""


def verl(version: str, tmp_path: Path) -> Path:
    """The source of a verl wheel."""
    found = sorted(WHEELS.glob(f"verl-{version}-*.whl"))
    if not found:
        pytest.skip(f"no wheel of verl {version} in {WHEELS} (make test downloads it; RLCOMPARE_VERL)")
    with zipfile.ZipFile(found[0]) as wheel:
        wheel.extractall(
            tmp_path / "verl",
            [name for name in wheel.namelist() if name.startswith("verl")],
        )
    return tmp_path / "verl"


def run(script: str, *, timeout: float = 60) -> str:
    """What a program says on standard error; it must succeed."""
    path = os.pathsep.join([str(ROOT), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        env=environment, capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def captures(folder: Path) -> list[tuple[str, list[int], int, int]]:
    """Of each trace its phase, what was sampled, and how many forward passes and steps of the optimizer are in it."""
    found = []
    for path in sorted(folder.rglob("*.json.gz"), key=lambda path: path.name.rpartition("_")[2]):
        trace = json.loads(gzip.decompress(path.read_bytes()))
        said, names = trace["rlcompare"], [event.get("name") for event in trace["traceEvents"]]
        optimized = sum(str(name).startswith("Optimizer.step#") for name in names)
        found.append((said["phase"], said["sampled"], names.count("aten::cos"), optimized))
    return found


RECORDED = [
    ("old_log_prob", [0], 1, 0),
    ("ref_log_prob", [0], 1, 0),
    ("update_actor", [0], 2, 1),  # a mini batch is two micro batches
    ("update_actor", [0], 1, 0),
]


ON_MEGATRON = ("update_actor", [0], 2, 1)
OF_CRITIC = [("values", [0], 1, 0), ("update_critic", [0], 2, 1), ("update_critic", [0], 1, 0)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "loops", "recorded"),
    [
        ("0.6.1", ACTORS + CRITICS, [*RECORDED, *OF_CRITIC]),
        ("0.7.1", ACTORS + CRITICS + ENGINES, [*RECORDED, *OF_CRITIC, *RECORDED, ON_MEGATRON, *OF_CRITIC]),
        ("0.9.1", ENGINES, [*RECORDED, ON_MEGATRON, *OF_CRITIC]),
    ],
)
def test_each_preset_follows_verls_own_loops(version: str, loops: str, recorded: list[object], tmp_path: Path) -> None:
    said = run((VERL + loops).format(source=str(verl(version, tmp_path)), output=str(tmp_path / "out")))
    if ACTORS in loops:
        critic = "verl.workers.critic.megatron_critic:MegatronPPOCritic.update_critic"
        assert f"attached to {critic} (verl {version})" in said
        assert f"attached to verl.workers.actor.dp_actor:DataParallelPPOActor.update_policy (verl {version})" in said
        assert f"attached to verl.workers.actor.megatron_actor:MegatronPPOActor.update_policy (verl {version})" in said
    if ENGINES in loops:
        assert f"attached to verl.workers.engine_workers:ActorRolloutRefWorker.update_actor (verl {version})" in said
        assert "megatron-update-mini: records nothing: the actor's backend is fsdp2, and not Megatron" in said
    assert captures(tmp_path / "out") == recorded


@pytest.mark.parametrize(
    "preset", ["actor-log-prob", "ref-log-prob", "update-micro", "critic-values", "critic-update-micro"]
)
def test_megatron_has_no_micro_batches_to_sample(preset: str) -> None:
    backend = SimpleNamespace(strategy="megatron")
    worker = SimpleNamespace(engine_config=backend)
    config = SimpleNamespace(model_type="value_model")
    _, engines = PRESETS[preset].variants
    with pytest.raises(UsageError, match="with megatron there are no micro batches to sample; use "):
        engines.applies(((SimpleNamespace(actor=worker, ref=worker, config=config, engine_config=backend),), {}))


ENGINE = """
import torch

STATE = torch.ones(8, 8)

class {worker}:
    def {method}(self, {argument}, intermediate_tensors=None):
        (STATE.cos if {argument}.is_decode else STATE.sin)()
        return {argument}
"""
SERVING = """
import sys
from types import SimpleNamespace as Has
sys.path.insert(0, {source!r})
import torch
from rlcompare import probe
probe.attach("vllm-decode", skip_first=30, active=3, output={output!r})
probe.attach("sglang-decode", skip_first=30, active=3, output={output!r})

from vllm.v1.worker.gpu_worker import Worker
def plan(tokens, new=(), drafts=dict()):
    is_decode = not new and set(tokens.values()) == {{1}}
    return Has(num_scheduled_tokens=tokens, scheduled_new_reqs=list(new), scheduled_spec_decode_tokens=drafts,
               is_decode=is_decode)
worker = Worker()
worker.execute_model(plan({{"a": 100}}, ["a"]))               # a prefill
worker.execute_model(plan(dict()))                            # nothing to do
worker.execute_model(plan({{"a": 1, "b": 1}}, ["b"]))         # the last token of a cached prompt
worker.execute_model(plan({{"a": 1, "b": 64}}))               # a chunk of a prefill beside a decode step
for step in range(1000):
    if step == 32:
        worker.execute_model(scheduler_output=plan({{"a": 1, "c": 7}}, ["c"]))
    worker.execute_model(plan({{"a": 1, "b": 1}}))

from sglang.srt.model_executor.model_runner import ModelRunner
def batch(mode):
    return Has(is_decode=mode == "decode", forward_mode=Has(
        is_decode=lambda: mode == "decode", is_target_verify=lambda: mode == "verify"))
runner, draft = ModelRunner(), ModelRunner()
draft.is_draft_worker = True
runner.forward(batch("extend"))
for step in range(1000):
    draft.forward(batch("decode")) if step < 3 else None
    runner.forward(batch("decode"))
"""


def package(root: Path, module: str, source: str) -> None:
    path = root.joinpath(*module.split("."))
    path.parent.mkdir(parents=True)
    path.with_suffix(".py").write_text(source, encoding="utf-8")
    for folder in path.relative_to(root).parents:
        (root / folder / "__init__.py").touch()


@pytest.mark.slow
def test_serving_engines_count_decode_steps_and_no_prefill(tmp_path: Path) -> None:
    form = {"worker": "Worker", "method": "execute_model", "argument": "scheduler_output"}
    package(tmp_path, "vllm.v1.worker.gpu_worker", ENGINE.format(**form))
    form = {"worker": "ModelRunner", "method": "forward", "argument": "forward_batch"}
    package(tmp_path, "sglang.srt.model_executor.model_runner", ENGINE.format(**form))
    run(SERVING.format(source=str(tmp_path), output=str(tmp_path / "out")))
    found = [json.loads(gzip.decompress(path.read_bytes())) for path in sorted((tmp_path / "out").rglob("*.json.gz"))]
    names = [[event.get("name") for event in trace["traceEvents"]] for trace in found]
    assert [trace["rlcompare"]["sampled"] for trace in found] == [[31, 32, 33]] * 2
    assert [trace["rlcompare"]["phase"] for trace in found] == ["generate_sequences"] * 2
    assert [events.count("aten::cos") for events in names] == [3, 3]
    assert {path.parent.name for path in (tmp_path / "out").rglob("*.gz")} == {"agent_loop_rollout_replica_0"}
    # a prefill amid the decode steps that are recorded is in the profile, which says so
    assert [trace["rlcompare"].get("between") for trace in found] == [1, None]
    assert [events.count("aten::sin") for events in names] == [1, 0]


@pytest.mark.parametrize(
    ("preset", "module", "source", "message"),
    [
        ("vllm-decode", "vllm.worker.worker", "", "it has none of vllm.v1.worker.gpu_worker:Worker.execute_model"),
        (
            "update-mini",
            "verl.workers.actor.dp_actor",
            "class Other: pass",
            "has no DataParallelPPOActor.update",
        ),
        ("sglang-decode", "sglang.lang", "", "rlcompare knows SGLang 0.4 and 0.5. Set scope= and tick="),
    ],
)
def test_a_version_that_is_not_known_is_named(
    preset: str, module: str, source: str, message: str, tmp_path: Path
) -> None:
    package(tmp_path, module, source)
    name = module.partition(".")[0]
    (tmp_path / f"{name}-42.0.dist-info").mkdir()
    (tmp_path / f"{name}-42.0.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 42.0\n", encoding="utf-8")
    said = run(f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from rlcompare import probe
        probe.attach({preset!r}, output="/tmp/none")
        import {module}
    """)
    assert f"probe {preset}: cannot attach to {name} 42.0: " in said and message in said

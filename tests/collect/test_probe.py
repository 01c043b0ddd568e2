"""Probes on engines of a test's own: what they record, and that the engine does not notice."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import multiprocessing
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare import probe  # noqa: E402
from rlcompare.collect.probe.replica import claimed  # noqa: E402
from rlcompare.collect.probe.request import request_of  # noqa: E402
from rlcompare.collect.probe.say import say  # noqa: E402
from rlcompare.errors import UsageError  # noqa: E402
from tests.collect.fake_torch_npu import FakeTorchNPU  # noqa: E402
from tests.collect.probed import ENGINE, Probed, count, steps  # noqa: E402


@pytest.fixture
def probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Probed:
    return Probed(tmp_path, monkeypatch)


def test_of_a_prefill_and_a_thousand_decode_steps_exactly_three_are_recorded(
    probed: Probed, capfd: pytest.CaptureFixture[str]
) -> None:
    module = probed.engine(skip_first=30, active=3)
    assert module.Engine().generate(1000) == 1000
    (trace,) = probed.traces()
    assert trace["rlcompare"]["sampled"] == [30, 31, 32]
    assert (count(trace, "aten::mm"), count(trace, "aten::exp")) == (3, 0)
    assert steps(trace) == ["ProfilerStep#30", "ProfilerStep#31", "ProfilerStep#32"]
    assert trace["rlcompare"] | {"phase": "generate", "granularity": "decode", "step": 1} == trace["rlcompare"]
    assert "probe generate: recorded decode 30, 31, 32: " in capfd.readouterr().err


def test_warm_up_and_cycles_are_those_of_the_schedule(probed: Probed) -> None:
    module = probed.engine(skip_first=2, wait=1, warmup=1, active=2, repeat=3)
    module.Engine().generate(20)
    assert probed.sampled() == [[4, 5], [8, 9], [12, 13]]
    assert [count(trace, "aten::mm") for trace in probed.traces()] == [2, 2, 2]


def test_what_a_probe_says_is_safe_on_a_terminal(probed: Probed, capfd: pytest.CaptureFixture[str]) -> None:
    say(request_of("update-mini", {"output": "/tmp/x"}), "records nothing: \x1b[31mred")
    assert capfd.readouterr().err == "rlcompare: probe update-mini: records nothing: \\x1b[31mred\n"


def test_what_a_tool_says_of_verls_keys_is_said_of_the_probes_options(
    capfd: pytest.CaptureFixture[str],
) -> None:
    request = request_of("update-mini", {"output": "/tmp/x"})
    say(request, "choose another save_path; tool_config.npu.level=level0 is off; set global_profiler.tool=torch")
    said = "choose another output; level=level0 is off; set tool=torch"
    assert capfd.readouterr().err == f"rlcompare: probe update-mini: {said}\n"


@pytest.mark.parametrize("scope", ["Engine.generate", None])
def test_an_odd_rank_of_the_launcher_does_not_reach_the_program(
    probed: Probed, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scope: str | None
) -> None:
    monkeypatch.setenv("RANK", "1" * 5000)  # more digits than Python makes a number of
    monkeypatch.setenv("WORLD_SIZE", "2")
    module = probed.engine(scope=scope, ranks=[0], steps=[1])
    engine = module.Engine()
    assert [engine.generate(3), engine.generate(3)] == [3, 6]
    assert capfd.readouterr().err.count("stopped recording: ValueError") == 1
    assert probed.traces() == []


def test_calls_of_the_scope_are_chosen(probed: Probed) -> None:
    module = probed.engine(steps=[2, 4])
    engine = module.Engine()
    for _ in range(5):
        engine.generate(3)
    assert [(trace["rlcompare"]["step"], trace["rlcompare"]["sampled"]) for trace in probed.traces()] == [
        (2, [0]),
        (4, [0]),
    ]


def test_without_a_scope_the_process_is_it(probed: Probed) -> None:
    module = probed.engine(scope=None, skip_first=4, active=2)
    engine = module.Engine()
    for _ in range(4):  # the schedule counts on from call to call, and fires once
        engine.generate(3)
    assert probed.sampled() == [[4, 5]]


def test_the_original_keeps_its_name_signature_and_attributes(probed: Probed) -> None:
    source = """
        import functools

        def marked(function):
            @functools.wraps(function)
            def outer(*args, **kwargs):
                return function(*args, **kwargs)
            outer.magic = "kept"
            return outer

        class Engine:
            @marked
            def generate(self, count: int = 3, *, fails_after=None) -> list:
                "Makes tokens."
                return [self.decode(), Engine.decode(), self.cached(2)]

            @staticmethod
            def decode():
                return 1

            @classmethod
            def made(cls):
                return cls.__name__

            @functools.lru_cache
            def cached(self, number):
                return number
    """
    module = probed.engine(source)
    engine, generate = module.Engine(), module.Engine.generate
    assert (generate.__name__, generate.__doc__, generate.magic) == ("generate", "Makes tokens.", "kept")
    assert list(inspect.signature(generate).parameters) == ["self", "count", "fails_after"]
    assert generate.__module__ == module.__name__
    assert engine.generate() == [1, 1, 2]
    assert isinstance(inspect.getattr_static(module.Engine, "decode"), staticmethod)
    name = probed.write(source)
    probed.attach(name, scope="Engine.made", tick="Engine.cached")
    other = importlib.import_module(name)
    assert (other.Engine.made(), other.Engine().cached(1)) == ("Engine", 1)
    assert other.Engine.cached.cache_info().misses == 1


def test_coroutines_and_generators_stay_what_they_are(probed: Probed) -> None:
    source = """
        import asyncio, functools, torch

        STATE = torch.ones(8, 8)

        def logged(function):
            @functools.wraps(function)
            def outer(*args):
                return function(*args)
            return outer

        class Engine:
            async def generate(self, count):
                return [await self.decode(number) for number in range(count)]

            @logged
            async def decode(self, number):
                await asyncio.sleep(0)
                torch.mm(STATE, STATE)
                return number

            def stream(self, count):
                for number in range(count):
                    got = yield (yield from self.token(number))
                    assert got is None or got == "more"
                return "done"

            def token(self, number):
                torch.mm(STATE, STATE)
                if False:
                    yield
                return number

            async def astream(self, count):
                for number in range(count):
                    yield self.plain(number)

            def plain(self, number):
                torch.mm(STATE, STATE)
                return number
    """
    first = probed.engine(source, skip_first=1, active=2)
    assert inspect.iscoroutinefunction(first.Engine.generate)
    assert asyncio.run(first.Engine().generate(5)) == [0, 1, 2, 3, 4]
    second = probed.engine(source, scope="Engine.stream", tick="Engine.token", skip_first=1, active=2)
    assert inspect.isgeneratorfunction(second.Engine.stream)
    stream = second.Engine().stream(5)
    assert [next(stream), stream.send("more"), *stream] == [0, 1, 2, 3, 4]
    third = probed.engine(source, scope="Engine.astream", tick="Engine.plain", skip_first=1, active=2)

    async def read() -> list[int]:
        return [number async for number in third.Engine().astream(5)]

    assert asyncio.run(read()) == [0, 1, 2, 3, 4]
    assert probed.sampled() == [[1, 2]] * 3
    assert [count(trace, "aten::mm") for trace in probed.traces()] == [2] * 3


def test_a_generator_that_is_left_early_leaves_what_there_was(probed: Probed) -> None:
    source = """
        import torch
        class Engine:
            def stream(self):
                while True:
                    yield self.decode()
            def decode(self):
                return torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    """
    module = probed.engine(source, scope="Engine.stream", active=10)
    stream = module.Engine().stream()
    next(stream), next(stream)
    stream.close()
    assert probed.sampled() == [[0, 1]]


def test_recursion_counts_the_outer_calls_only(probed: Probed) -> None:
    source = """
        import torch
        class Base:
            def decode(self, depth=0):
                torch.mm(torch.ones(2, 2), torch.ones(2, 2))
                return depth and self.decode(depth - 1)
        class Engine(Base):
            def generate(self, depth=1):
                if depth:
                    self.generate(depth - 1)
                for _ in range(3):
                    self.decode(2)
    """
    module = probed.engine(source, active=2)
    module.Engine().generate()
    (trace,) = probed.traces()
    assert trace["rlcompare"]["sampled"] == [0, 1]
    assert count(trace, "aten::mm") == 6


def test_an_error_goes_through_and_leaves_no_profiler_behind(probed: Probed, capfd: pytest.CaptureFixture[str]) -> None:
    module = probed.engine(active=5, steps=[1, 2])
    with pytest.raises(ValueError, match="enough"):
        module.Engine().generate(10, fails_after=2)
    assert not torch.autograd._profiler_enabled()
    assert probed.traces() == []
    assert "stopped recording: its call failed with ValueError" in capfd.readouterr().err
    module.Engine().generate(10)
    assert probed.sampled() == [[0, 1, 2, 3, 4]]


def test_of_calls_in_several_threads_one_is_recorded(probed: Probed) -> None:
    module = probed.engine(skip_first=5, active=3, steps=[1])
    barrier, results = threading.Barrier(4), list[int]()

    def work() -> None:
        barrier.wait()
        results.append(module.Engine().generate(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [200] * 4
    assert probed.sampled() == [[5, 6, 7]]


def test_ticks_in_another_thread_than_the_scope_are_told(probed: Probed, capfd: pytest.CaptureFixture[str]) -> None:
    source = """
        import threading
        class Engine:
            def generate(self):
                thread = threading.Thread(target=self.decode)
                thread.start()
                thread.join()
            def decode(self):
                pass
    """
    probed.engine(source).Engine().generate()
    assert "had 0 ticks and 1 in threads other than the scope's" in capfd.readouterr().err


@pytest.mark.slow
def test_compiled_targets_and_compiled_callers(probed: Probed) -> None:
    source = """
        import torch
        class Engine:
            @torch.compile(backend="eager")
            def decode(self, state):
                return torch.mm(state, state)
            def generate(self, state):
                for _ in range(4):
                    state = self.decode(state) / 8
                return state
            @torch.compile(backend="eager")
            def compiled(self, state):
                return self.generate(state) + 1
    """
    state = torch.ones(8, 8)
    module = probed.engine(source, skip_first=1, active=2)
    assert torch.equal(module.Engine().generate(state), state)
    assert probed.sampled() == [[1, 2]]
    assert count(probed.traces()[0], "aten::mm") == 2
    inside = probed.engine(source, skip_first=1, active=2)
    assert torch.equal(inside.Engine().compiled(state), state + 1)


def test_what_is_imported_already_is_wrapped_and_so_are_copies_of_a_function(probed: Probed) -> None:
    library = probed.write("""
        import torch
        def decode():
            torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    """)
    user = probed.write(f"""
        from {library} import decode
        def generate():
            for _ in range(4):
                decode()
    """)
    module = importlib.import_module(user)
    probe.attach(scope=f"{user}:generate", tick=f"{library}:decode", warmup=0, active=2, output=probed.output)
    module.generate()
    assert probed.sampled() == [[0, 1]]


def test_a_schedule_that_cannot_fire_is_refused_or_told(probed: Probed, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=r"= 30 \+ \(0 \+ 0 \+ 3\) \* 1 = 33 ticks, but there are at most 20"):
        probed.attach(probed.write(), skip_first=30, active=3, ticks=20)
    module = probed.engine(skip_first=30, active=3)
    module.Engine().generate(20)
    assert "call 1 had 20 ticks, but the schedule needs skip_first" in capfd.readouterr().err
    assert probed.traces() == []


@pytest.mark.parametrize(
    ("preset", "options", "message"),
    [
        ("vllm-decod", {}, "did you mean vllm-decode"),
        (None, {}, "needs a preset"),
        (None, {"tick": "engine.decode"}, "package.module:Class.method"),
        ("update-mini", {"active": 0}, "active=0 is not a number of at least 1"),
        ("update-mini", {"tool": "perf"}, "tool=perf is not one of npu"),
        ("update-mini", {"tool": "npu", "level": "level7"}, "level"),
        ("update-mini", {"tool": "torch", "conten": "[cpu]"}, "conten"),
        ("update-mini", {"ranks": "first"}, r"ranks=first is not a list of numbers"),
        ("update-mini", {"scope": "a:b"}, "has its own scope, tick, edge"),
        ("vllm-decode", {"steps": [5]}, r"steps=\[5\] are calls of the scope, and this probe has none"),
        (None, {"tick": "engine:decode", "steps": [1, 2]}, "and choose the first tick by skip_first="),
    ],
)
def test_a_wrong_request_is_refused_at_once(
    tmp_path: Path, preset: str | None, options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        probe.attach(preset, output=tmp_path, **options)


def test_modules_that_cannot_be_watched_are_imported() -> None:
    """The loader of a built-in module is a class, and another may take no attributes."""
    script = """
import sys
from importlib.machinery import ModuleSpec
from rlcompare.collect.probe.hook import when_imported

class Loader:
    __slots__ = ()
    def create_module(self, spec): return None
    def exec_module(self, module): module.answer = 7

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None): return ModuleSpec(name, Loader()) if name == "slotted" else None

sys.meta_path.append(Finder)
sys.modules.pop("gc", None)
found = []
for name in ("gc", "slotted"):
    when_imported(name, found.append)
import gc, slotted
print([module.__name__ for module in found], gc.collect() >= 0, slotted.answer)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['gc'] True 7\n", "")


def test_another_profiler_is_left_alone(probed: Probed, capfd: pytest.CaptureFixture[str]) -> None:
    # GIVEN a profiler that the job started itself
    module = probed.engine(active=2)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as other:
        module.Engine().generate(5)
    # THEN it has all events, and the probe says why it has none
    assert sum(event.key == "aten::mm" and event.count == 5 for event in other.key_averages()) == 1
    assert "records nothing: torch.profiler is already recording" in capfd.readouterr().err
    assert probed.traces() == []


def test_another_profiler_that_starts_before_the_window_is_left_alone(
    probed: Probed, capfd: pytest.CaptureFixture[str]
) -> None:
    source = ENGINE.replace(
        "for number in range(count):", "for number in range(count):\n                self.on_step(number)"
    )
    module = probed.engine(source, skip_first=3, active=2)
    other = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    engine = module.Engine()
    engine.on_step = lambda number: other.start() if number == 1 else None
    engine.generate(6)
    other.stop()
    assert sum(event.key == "aten::mm" and event.count == 5 for event in other.key_averages()) == 1
    assert "torch.profiler is already recording" in capfd.readouterr().err


def test_verls_global_profiler_is_noticed(probed: Probed, capfd: pytest.CaptureFixture[str]) -> None:
    class DistProfiler:
        def check_enable(self) -> bool:
            return True

        check_this_step = check_this_rank = check_enable

    source = """
        class Worker:
            def update_actor(self):
                self.engine.train()
        class Engine:
            def train(self):
                pass
    """
    for scope in ("Worker.update_actor", None):
        module = probed.engine(source, scope=scope, tick="Engine.train")
        worker = module.Worker()
        worker.engine = module.Engine()
        (worker if scope else worker.engine).profiler = DistProfiler()
        worker.update_actor()
        assert "verl's global profiler is recording this step; turn it off" in capfd.readouterr().err
    assert probed.traces() == []


def test_only_the_chosen_ranks_record(probed: Probed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    probed.engine(ranks=[0]).Engine().generate(3)
    assert probed.traces() == []
    probed.engine(ranks=[1]).Engine().generate(3)
    (trace,) = probed.traces()
    assert (trace["rlcompare"]["rank"], trace["rlcompare"]["world_size"]) == (1, 2)


@pytest.fixture
def npu(monkeypatch: pytest.MonkeyPatch) -> FakeTorchNPU:
    fake = FakeTorchNPU()
    monkeypatch.setitem(sys.modules, "torch_npu", fake.module)
    monkeypatch.setitem(sys.modules, "torch_npu.profiler", fake.profiler)
    return fake


def test_on_an_npu_it_is_the_same_tool_as_for_a_run(probed: Probed, npu: FakeTorchNPU) -> None:
    module = probed.engine(tool="npu", level="level2", contents=["npu"], skip_first=2, active=3)
    module.Engine().generate(20)
    (given,) = npu.named("profile")
    assert given["experimental_config"].given["profiler_level"].name == "Level2"
    assert [activity.name for activity in given["activities"]] == ["NPU"]
    (handler,) = npu.named("tensorboard_trace_handler")
    assert handler == {"dir_name": str(probed.output), "analyse_flag": True}
    ((said,),) = npu.profiles[0].dumped
    assert json.loads(said[1]) | {"sampled": [2, 3, 4], "phase": "generate"} == json.loads(said[1])
    assert len(list(probed.output.glob("*_ascend_pt"))) == 1


def test_a_process_that_may_start_no_others_leaves_the_analysis(
    probed: Probed, npu: FakeTorchNPU, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    probed.engine(tool="npu").Engine().generate(3)
    assert npu.named("tensorboard_trace_handler")[0]["analyse_flag"] is False
    assert "this process may not start others; parse " in capfd.readouterr().err


def test_a_torch_npu_that_is_recording_is_left_alone(
    probed: Probed, npu: FakeTorchNPU, capfd: pytest.CaptureFixture[str]
) -> None:
    # torch_npu's profiler puts wrappers with this attribute around the methods of Event while it records
    npu.module.npu.Event = type("Event", (), {"record": type("wrapper", (), {"origin_func": None})()})
    probed.engine(tool="npu").Engine().generate(3)
    assert "torch_npu.profiler is already recording" in capfd.readouterr().err
    assert npu.profiles == []


def test_engines_that_know_of_no_other_number_themselves(tmp_path: Path) -> None:
    groups = [f"10.0.0.{number % 4}:5000" for number in range(12)]
    with ThreadPoolExecutor(12) as pool:
        numbers = list(pool.map(partial(claimed, tmp_path), groups))
    assert len(dict.fromkeys(zip(groups, numbers, strict=True))) == 4
    assert sorted(set(numbers)) == [0, 1, 2, 3]

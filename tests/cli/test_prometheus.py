"""Metrics of rollout engines beside a job: a real ``prometheus_client`` server, joined to steps by time."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from rlcompare.sources.detect import find_runs
from rlcompare.sources.metrics import form
from rlcompare.sources.peek import file_kind
from tests.run_directories import write_run
from tests.stores import rows, store_of
from tests.verl_logs import step_line

from .conftest import Command

client = pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

BEGIN = 1_795_405_000
"""Seconds since the epoch at which the job's first step begins."""
STEP = 10.0


@dataclass
class Engine:
    """A server of /metrics as vLLM's, with two engines, and what its values were."""

    url: str
    registry: Any
    preempted: Any = field(init=False)
    usage: Any = field(init=False)
    waiting: Any = field(init=False)
    latency: Any = field(init=False)
    drafted: Any = field(init=False)
    accepted: Any = field(init=False)

    def __post_init__(self) -> None:
        labels = {"labelnames": ("model_name", "engine"), "registry": self.registry}
        self.preempted = client.Counter("vllm:num_preemptions", "Preemptions", **labels)
        self.usage = client.Gauge("vllm:kv_cache_usage_perc", "KV cache", **labels)
        self.waiting = client.Gauge("vllm:num_requests_waiting", "Queue", **labels)
        self.latency = client.Histogram("vllm:request_queue_time_seconds", "Queue", **labels)
        self.drafted = client.Counter("vllm:spec_decode_num_draft_tokens", "Drafts", **labels)
        self.accepted = client.Counter("vllm:spec_decode_num_accepted_tokens", "Accepted", **labels)
        client.Counter("other:requests", "Not an engine's", registry=self.registry).inc(7)

    def work(self, engine: int, preempted: int, usage: float, waiting: int, latency: float) -> None:
        at = {"model_name": 'a "b" {c} \\d', "engine": str(engine)}
        self.preempted.labels(**at).inc(preempted)
        self.usage.labels(**at).set(usage)
        self.waiting.labels(**at).set(waiting)
        self.latency.labels(**at).observe(latency)
        self.drafted.labels(**at).inc(10)
        self.accepted.labels(**at).inc(4 + 2 * engine)

    def scrape(self, openmetrics: bool = False) -> str:
        kind = "application/openmetrics-text; version=1.0.0" if openmetrics else "text/plain"
        request = urllib.request.Request(self.url, headers={"Accept": kind})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return str(answer.read().decode())


@pytest.fixture
def engine() -> Iterator[Engine]:
    registry = client.CollectorRegistry()
    server, thread = client.start_http_server(0, addr="127.0.0.1", registry=registry)
    assert isinstance(thread, threading.Thread)
    with closing(server.socket):
        yield Engine(f"http://127.0.0.1:{server.server_port}/metrics", registry)
        server.shutdown()


def scrapes(engine: Engine, stamp: str = "{}\n", steps: int = 4, openmetrics: bool = False) -> str:
    """Scrapes every second of a job whose step n has n preemptions a second on engine 0, and none on engine 1."""
    made = []
    for second in range(int(steps * STEP) + 1):
        step = max(1, -(-second // int(STEP)))
        engine.work(0, step if second else 0, 0.1 * step, step, float(step))
        engine.work(1, 0, 0.5, 2, float(step))
        made.append(stamp.format(BEGIN + second) + engine.scrape(openmetrics))
    return "".join(made)


def history(path: Path, steps: int = 4, shift: float = 0.0) -> Path:
    """wandb's history: a line at the end of each step."""
    lines = [
        {"_step": step, "_timestamp": BEGIN + shift + STEP * step, "timing_s/step": STEP, "timing_s/gen": 4.0}
        for step in range(1, steps + 1)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def values(store: Path) -> dict[str, dict[int | None, Any]]:
    found: dict[str, dict[int | None, Any]] = {}
    for step, name, value in rows(store, "SELECT step, name, value FROM metric WHERE name LIKE 'prometheus/%'"):
        found.setdefault(name.removeprefix("prometheus/").replace("vllm:", ""), {})[step] = pytest.approx(value)
    return found


def _scrapes_of_one(begin: int, number: int, grows: int, first: int = 0) -> str:
    """Scrapes, every second, of an engine that has no label of its own and generates so many tokens in one."""
    return "".join(
        f"{begin + second}\n# TYPE vllm:generation_tokens_total counter\n"
        f'vllm:generation_tokens_total{{model_name="q"}} {grows * (first + second)}\n'
        f'vllm:num_requests_running{{model_name="q"}} {grows}\n'
        for second in range(number)
    )


EXPECTED = {
    "num_preemptions_total": {1: 10, 2: 20, 3: 30, 4: 40},
    "kv_cache_usage_perc/mean": {1: 0.3, 2: 0.35, 3: 0.4, 4: 0.45},
    "kv_cache_usage_perc/max": {1: 0.5, 2: 0.5, 3: 0.5, 4: 0.5},
    "num_requests_waiting/mean": {1: 3, 2: 4, 3: 5, 4: 6},
    "num_requests_waiting/max": {1: 3, 2: 4, 3: 5, 4: 6},
    "request_queue_time_seconds/mean": {1: 1, 2: 2, 3: 3, 4: 4},
    "spec_decode_num_draft_tokens_total": {1: 200, 2: 200, 3: 200, 4: 200},
    "spec_decode_num_accepted_tokens_total": {1: 100, 2: 100, 3: 100, 4: 100},
    "spec_decode_acceptance_rate": {1: 0.5, 2: 0.5, 3: 0.5, 4: 0.5},
}


class TestJoinedByTime:
    @pytest.mark.parametrize("stamp", ["{}\n", "# scraped at {}\n", "# time: {}000\n"])
    @pytest.mark.parametrize("openmetrics", [False, True])
    def test_scrapes_beside_a_job(self, engine: Engine, tmp_path: Path, stamp: str, openmetrics: bool) -> None:
        (tmp_path / "vllm.prom").write_text(scrapes(engine, stamp, openmetrics=openmetrics))
        history(tmp_path / "history.jsonl")

        store = store_of(tmp_path, tmp_path / "s.duckdb")

        assert values(store) == EXPECTED
        said = dict(rows(store, "SELECT key, message FROM finding"))
        assert said == {"prometheus_joined": "vllm.prom was joined to 4 of 4 steps by time"}

    def test_the_answer_of_a_query(self, engine: Engine, tmp_path: Path) -> None:
        # GIVEN answers of query_range, which has no types, one behind the other, and one whose series have no name
        text = scrapes(engine)
        answers = [answer(text, "vllm:"), {"status": "success", "data": {"resultType": "matrix", "result": [
            {"metric": {"engine": "0"}, "values": [[BEGIN, "1"]]}]}}]  # fmt: skip
        (tmp_path / "a.json").write_text("\n".join(map(json.dumps, answers)))
        history(tmp_path / "history.jsonl")

        store = store_of(tmp_path / "history.jsonl", tmp_path / "s.duckdb")  # the file beside it is found

        assert values(store) == EXPECTED
        assert (
            "1 series in a.json have no name"
            in dict(rows(store, "SELECT key, message FROM finding"))["unnamed_metrics"]
        )

    def test_a_series_that_two_answers_hold_counts_once(self, engine: Engine, tmp_path: Path) -> None:
        text = scrapes(engine)
        answers = [answer(text, "vllm:"), answer(text, "vllm:num_preemptions"), answer(text, "vllm:request_queue")]
        (tmp_path / "a.json").write_text("\n".join(map(json.dumps, answers)))
        history(tmp_path / "history.jsonl")

        store = store_of(tmp_path / "history.jsonl", tmp_path / "s.duckdb")

        assert values(store) == EXPECTED

    def test_engines_that_started_again(self, tmp_path: Path) -> None:
        # GIVEN a counter that stands at 4 when the engine starts again in step 2, and then counts seconds from 2
        counts = {second: second // 3 if second < 15 else second - 13 for second in range(31)}
        lines = [
            f'{BEGIN + second}\nvllm:num_preemptions_total{{engine="0"}} {count}' for second, count in counts.items()
        ]
        (tmp_path / "vllm.prom").write_text("\n".join(lines) + "\n")
        history(tmp_path / "history.jsonl", steps=3)

        store = store_of(tmp_path, tmp_path / "s.duckdb")

        assert values(store)["num_preemptions_total"] == {1: 3, 2: 1 + 2 + 5, 3: 10}

    @pytest.mark.parametrize(
        ("samples", "expected"),
        [
            # 3 a second on one engine, and none on the other
            ([[1000 + 3 * second for second in range(41)], [7] * 41], {"x_count": 30}),
            # the engine starts again after 20 seconds
            ([[1000 + 3 * second for second in range(21)] + [3 * second for second in range(20)]], {"x_count": 30}),
            # it falls and rises, or is below 0
            ([[8 + second % 2 for second in range(41)]], {"x_count/mean": 8.5, "x_count/max": 9}),
            ([[second - 40 for second in range(41)]], {"x_count/mean": -4.5, "x_count/max": 0}),
        ],
    )
    def test_the_count_of_a_histogram_alone_is_a_counter_if_it_grows(
        self, tmp_path: Path, samples: list[list[int]], expected: dict[str, float]
    ) -> None:
        series = [
            {
                "metric": {"__name__": "vllm:x_count", "engine": str(number)},
                "values": [[BEGIN + second, str(value)] for second, value in enumerate(found)],
            }
            for number, found in enumerate(samples)
        ]
        (tmp_path / "a.json").write_text(json.dumps({"data": {"resultType": "matrix", "result": series}}))
        history(tmp_path / "history.jsonl")
        found = values(store_of(tmp_path, tmp_path / "run.duckdb"))
        assert {name: of_steps[4] for name, of_steps in found.items()} == expected

    def test_the_type_of_a_count_tells_more_than_its_values(self, tmp_path: Path) -> None:
        text = "".join(f"{BEGIN + second}\nvllm:worker_count {second}\n" for second in range(41))
        (tmp_path / "a.prom").write_text(f"# TYPE vllm:worker_count gauge\n{text}")
        history(tmp_path / "history.jsonl")
        found = values(store_of(tmp_path, tmp_path / "run.duckdb"))
        assert found["worker_count/max"] == {1: 10, 2: 20, 3: 30, 4: 40}

    def test_infinite_samples_are_told(self, tmp_path: Path) -> None:
        # GIVEN a histogram whose sums are infinite, so that its counts alone are left
        text = "".join(
            f"{BEGIN + second}\nvllm:x_sum +Inf\nvllm:x_count {100 + second}\nvllm:y NaN\n" for second in range(41)
        )
        (tmp_path / "a.prom").write_text(text)
        history(tmp_path / "history.jsonl")
        store = store_of(tmp_path, tmp_path / "run.duckdb")
        assert values(store) == {"x_count": {1: 10, 2: 10, 3: 10, 4: 10}}
        said = dict(rows(store, "SELECT key, message FROM finding"))
        assert said["unreadable_metrics"] == "41 samples or documents in a.prom cannot be read and were left out"

    @pytest.mark.parametrize("copies", [(), ("copy.prom",)])
    def test_each_of_several_engines_has_a_file(self, tmp_path: Path, copies: tuple[str, ...]) -> None:
        history(tmp_path / "history.jsonl")
        for name, grows, shift in (("a.prom", 10, 0), ("b.prom", 20, 2), *((name, 10, 0) for name in copies)):
            (tmp_path / name).write_text(_scrapes_of_one(BEGIN - 5 + shift, 64, grows))
        found = values(store_of(tmp_path, tmp_path / "run.duckdb"))
        assert found["generation_tokens_total"] == {1: 300, 2: 300, 3: 300, 4: 300}
        assert found["num_requests_running/mean"] == {1: 30, 2: 30, 3: 30, 4: 30}

    def test_files_that_follow_one_another_are_of_one_engine(self, tmp_path: Path) -> None:
        history(tmp_path / "history.jsonl")
        (tmp_path / "new.prom").write_text(_scrapes_of_one(BEGIN + 15, 40, 10, first=20))
        (tmp_path / "old.prom").write_text(_scrapes_of_one(BEGIN - 5, 20, 10))
        found = values(store_of(tmp_path, tmp_path / "run.duckdb"))
        assert found["generation_tokens_total"] == {1: 100, 2: 100, 3: 100, 4: 100}

    def test_what_no_sample_covers_has_no_value(self, engine: Engine, tmp_path: Path) -> None:
        lines = scrapes(engine, "{}\n").split(f"{BEGIN + 12}\n")[0] + f"{BEGIN + 30}\n" + engine.scrape()
        (tmp_path / "vllm.prom").write_text(lines)
        history(tmp_path / "history.jsonl")

        store = store_of(tmp_path, tmp_path / "s.duckdb")

        assert set(values(store)["num_preemptions_total"]) == {1}
        assert rows(store, "SELECT severity FROM finding WHERE key = 'prometheus_joined'") == [("warning",)]

    def test_the_times_of_a_log(self, engine: Engine, tmp_path: Path) -> None:
        # GIVEN a log in local time, eight hours from UTC
        (tmp_path / "vllm.prom").write_text(scrapes(engine))
        zone = timezone(timedelta(hours=8))
        ends = {step: datetime.fromtimestamp(BEGIN + STEP * step, zone) for step in (1, 2, 3, 4)}
        lines = [
            f"{end:%Y-%m-%d %H:%M:%S},000 {step_line(step, {'timing_s/step': STEP})}" for step, end in ends.items()
        ]
        (tmp_path / "job.log").write_text("\n".join(lines) + "\n")

        store = store_of(tmp_path, tmp_path / "s.duckdb")

        assert values(store) == EXPECTED
        assert (
            "UTC+8, the only time zone that fits"
            in dict(rows(store, "SELECT key, message FROM finding"))["prometheus_joined"]
        )


class TestOfTheWholeRun:
    def test_where_no_step_has_a_time(self, engine: Engine, tmp_path: Path) -> None:
        (tmp_path / "vllm.prom").write_text(scrapes(engine, stamp=""))
        (tmp_path / "job.log").write_text(step_line(1, {"timing_s/step": STEP}) + "\n")

        store = store_of(tmp_path, tmp_path / "s.duckdb")

        found = values(store)
        assert found["of_run/num_preemptions_total"] == {None: 100}
        assert found["of_run/kv_cache_usage_perc/max"] == {None: 0.5}
        assert found["spec_decode_acceptance_rate"] == {None: 0.5}
        assert "when it was saved" in dict(rows(store, "SELECT key, message FROM finding"))["prometheus_of_run"]

    def test_one_scrape(self, engine: Engine, tmp_path: Path) -> None:
        scrapes(engine, steps=2)
        path = tmp_path / "vllm.prom"
        path.write_text(engine.scrape())

        (run,) = find_runs(path)
        store = store_of(path, tmp_path / "s.duckdb")

        # The counts of the engine's life; a gauge of one moment tells nothing of a run.
        found = values(store)
        assert file_kind(path).kind == form.PROMETHEUS and run.name == "vllm.prom"
        assert found["of_run/num_preemptions_total"] == {None: 30}
        assert not [name for name in found if "usage" in name]

    @pytest.mark.parametrize(
        ("shift", "every", "key"), [(1e6, 1, "prometheus_elsewhere"), (0.0, 15, "prometheus_of_run")]
    )
    def test_what_cannot_be_joined(self, engine: Engine, tmp_path: Path, shift: float, every: int, key: str) -> None:
        kept = [part for place, part in enumerate(scraped(scrapes(engine))) if place % every == 0]
        (tmp_path / "vllm.prom").write_text("".join(f"{time}\n{body}" for time, body in kept))
        history(tmp_path / "history.jsonl", shift=shift)

        store = store_of(tmp_path, tmp_path / "s.duckdb")

        assert set(dict(rows(store, "SELECT key, severity FROM finding"))) == {key}
        assert {step for of_steps in values(store).values() for step in of_steps} <= {None}
        assert bool(values(store)) == (key == "prometheus_of_run")


class TestWhichRun:
    def test_given_as_an_input(self, engine: Engine, rlcompare: Command, tmp_path: Path) -> None:
        for side in ("a", "b"):
            (tmp_path / side).mkdir()
            history(tmp_path / side / "job.jsonl")
        for side in ("a", "b"):
            (tmp_path / f"{side}.prom").write_text(scrapes(engine, stamp="" if side == "b" else "{}\n"))

        outcome = rlcompare(
            "diff", "-d", tmp_path / "a" / "job.jsonl", "-d", tmp_path / "a.prom", "-bp", tmp_path / "b" / "job.jsonl",
            "-bp", tmp_path / "b.prom", "--json",
        )  # fmt: skip

        document = json.loads(outcome.out)
        assert [len(document[side]["runs"]) for side in ("baseline", "new")] == [1, 1]
        met = {row["name"]: row for row in document["sections"]["metrics"]}
        row = met["prometheus/vllm:kv_cache_usage_perc/mean"]
        assert (row["baseline"], row["new"]) == (
            pytest.approx(0.375, abs=0.01),
            pytest.approx(0.4),
        )  # of four steps the first is warm-up
        for name in ("num_requests_waiting/max", "num_preemptions_total"):  # of a whole run: more, the longer it is
            assert met[f"prometheus/vllm:{name}"]["presence"] == "new_only"
            assert met[f"prometheus/of_run/vllm:{name}"]["presence"] == "baseline_only"

    def test_values_of_whole_runs_are_compared(self, rlcompare: Command, tmp_path: Path) -> None:
        for side, count in (("a", 3), ("b", 5)):
            (tmp_path / side).write_text(
                f"# TYPE vllm:num_preemptions_total counter\nvllm:num_preemptions_total {count}\n"
            )

        outcome = rlcompare("diff", "-d", tmp_path / "b", "-bp", tmp_path / "a", "--json")

        (row,) = json.loads(outcome.out)["sections"]["metrics"]
        assert (row["name"], row["baseline"], row["new"]) == ("prometheus/of_run/vllm:num_preemptions_total", 3, 5)
        assert row["polarity"] == "neutral"

    def test_beside_several_runs_it_is_left_out(self, engine: Engine, rlcompare: Command, tmp_path: Path) -> None:
        (tmp_path / "vllm.prom").write_text(scrapes(engine))
        for name in ("a", "b"):
            (tmp_path / f"{name}.log").write_text(step_line(1, {"timing_s/step": len(name) + STEP}) + "\n")
        (tmp_path / "b.log").write_text(step_line(1, {"timing_s/step": 2.0}) + "\n")

        runs = find_runs(tmp_path)
        alone = find_runs(tmp_path / "a.log")
        outcome = rlcompare("diff", "-d", tmp_path / "a.log", "-d", tmp_path / "b.log", "-d", tmp_path / "vllm.prom",
                            "-bp", tmp_path / "a.log")  # fmt: skip

        assert "metrics_of_no_run" in {finding.key for run in runs for finding in run.findings}
        assert [len(run.training.metrics) for run in (*runs, *alone) if run.training] == [1, 1, 1]
        assert outcome.code == 2 and "put the file into the folder of the run" in outcome.error

    def test_in_a_run_directory(self, engine: Engine, tmp_path: Path) -> None:
        write_run(tmp_path / "run")
        (tmp_path / "run" / "vllm.prom").write_text(scrapes(engine))

        store = store_of(tmp_path / "run", tmp_path / "s.duckdb")

        assert set(values(store)["of_run/num_preemptions_total"]) == {None}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# TYPE http_requests_total counter\nhttp_requests_total 5\n", "it holds no vllm: or sglang:"),
        ('{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"2"]]}]}}', "no names"),
        ('{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"vllm:x"},"val', "no vllm"),
        ('{"data":{"resultType":"vector","result":' + "[" * 100_000, "it holds no vllm: or sglang:"),
        ('{"data":{"resultType":"matrix","result":[{"metric":{"__name__":"vllm:x"},"values":[[1795405000,"NaN"],[1e999,"1"],'
         '[null],"x",[1795405000,{}]]}]}}', "it holds no vllm: or sglang:"),
        ("vllm:x 1e308\nvllm:x -1e308\nvllm:x 1.7e308\n", "it holds no vllm: or sglang:"),
        ("vllm:x 1e400\nvllm:y{a=\"b\n", "it holds no vllm: or sglang:"),
    ],
)  # fmt: skip
def test_files_without_such_metrics(rlcompare: Command, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)

    outcome = rlcompare("show", path)

    assert (outcome.code, said in outcome.error) == (4, True), outcome.error


def test_names_of_other_exporters(tmp_path: Path) -> None:
    # GIVEN Ray's names, which have no colon and no _total, SGLang's and an older vLLM's
    lines = ['ray_vllm_num_preemptions{WorkerId="1"}', "vllm:gpu_cache_usage_perc", "sglang:num_retracted_reqs",
             "sglang:token_usage", 'sglang:num_queue_reqs{tp_rank="0"}', "vllm:cache_config_info",
             "process_cpu_seconds_total"]  # fmt: skip
    text = "".join(f"{BEGIN + second}\n" + "".join(f"{line} {second}\n" for line in lines) for second in range(5))
    (tmp_path / "engine.txt").write_text(text)

    store = store_of(tmp_path / "engine.txt", tmp_path / "s.duckdb")

    found = dict(rows(store, "SELECT name, value FROM metric WHERE name NOT LIKE '%/mean'"))
    assert found == {
        "prometheus/of_run/vllm:num_preemptions_total": 4, "prometheus/of_run/vllm:gpu_cache_usage_perc/max": 4,
        "prometheus/of_run/sglang:num_retracted_reqs/max": 4, "prometheus/of_run/sglang:token_usage/max": 4,
        "prometheus/of_run/sglang:num_queue_reqs/max": 4,
    }  # fmt: skip


def answer(text: str, prefix: str) -> dict[str, Any]:
    """What Prometheus answers to a query of all series, made from scrapes by its own parser."""
    from prometheus_client.parser import text_string_to_metric_families

    series: dict[str, dict[str, Any]] = {}
    for time, body in scraped(text):
        for family in text_string_to_metric_families(body):
            for sample in family.samples:
                if sample.name.startswith(prefix):
                    labels = {"__name__": sample.name, "instance": "host:8000", **sample.labels}
                    key = json.dumps(labels, sort_keys=True)
                    series.setdefault(key, {"metric": labels, "values": []})["values"].append([time, str(sample.value)])
    return {"status": "success", "data": {"resultType": "matrix", "result": list(series.values())}}


def scraped(text: str) -> Iterator[tuple[int, str]]:
    """The scrapes in a text, each with its time."""
    lines = text.splitlines(keepends=True)
    starts = [place for place, line in enumerate(lines) if line.strip().isdigit()]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield int(lines[start]), "".join(lines[start + 1 : end])

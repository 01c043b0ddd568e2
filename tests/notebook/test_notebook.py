"""``rlcompare.load`` and ``rlcompare.diff``: the numbers of the command line, as tables, without side effects."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import pytest

import rlcompare
from rlcompare.cli.main import run as command
from rlcompare.errors import InputError, UsageError
from rlcompare.model.diff import Comparability
from rlcompare.model.words import Comparable, SideName
from tests.sources.nsys_exports import Export, training_step
from tests.unit import diff_examples

HOSTILE = "<script>alert(1)</script>$x^2$\u202eevil\x1b[31m"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``base.sqlite`` and ``new.sqlite``: two ranks, two steps; in the second, attention takes 1.5 times as long."""
    folder = tmp_path_factory.mktemp("runs")
    training_step(pids=(10, 20)).write(folder / "base.sqlite")
    training_step(pids=(10, 20), slower=1.5).write(folder / "new.sqlite")
    return folder


@pytest.fixture(scope="module")
def comparison(runs: Path) -> rlcompare.Comparison:
    return rlcompare.diff(new=runs / "new.sqlite", baseline=runs / "base.sqlite", quiet=True)


@pytest.fixture(scope="module")
def run(runs: Path) -> rlcompare.Run:
    return rlcompare.load(runs / "new.sqlite", quiet=True)


def printed(*arguments: object) -> str:
    """What a command line prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert command([str(argument) for argument in arguments]) == 0
    return out.getvalue()


def python(code: str) -> subprocess.CompletedProcess[str]:
    """What another Python makes of some code."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)


class Page(HTMLParser):
    """The texts and the tags of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


class TestDiff:
    @pytest.mark.slow
    def test_is_the_command_lines(self, comparison: rlcompare.Comparison, runs: Path) -> None:
        # GIVEN the diff.json of the command line
        paths = ("-bp", runs / "base.sqlite", "-d", runs / "new.sqlite")
        expected = json.loads(printed("diff", *paths, "--json", "-q"))
        # THEN the document is the same, and every section has the rows of its own
        assert comparison.document == expected
        for name, rows in expected["sections"].items():
            found = [{key: value for key, value in row.items() if value is not None} for row in comparison[name]]
            assert found == [{key: value for key, value in row.items() if value is not None} for row in rows], name
        assert list(comparison) == list(expected["sections"])

    @pytest.mark.slow
    def test_headline_and_tables(self, comparison: rlcompare.Comparison) -> None:
        assert comparison.headline is not None
        assert (comparison.headline.metric, comparison.headline.baseline) == ("time.path", 9.0)
        (row,) = [row for row in comparison["kernels"] if row["name"] == "void attention<bf16>"]
        assert (row["baseline"], row["new"], row["ratio"]) == (2.0, 3.0, 1.5)
        overall = comparison.overall.relation().filter("metric = 'time.compute'").select("baseline, new").fetchall()
        assert overall == [(3.0, 4.0)]
        assert comparison.overall.arrow().schema.field("delta").type == "double"
        assert len(comparison.quality) == len(comparison.diff.quality)
        assert next(iter(comparison.quality))["message"] == comparison.diff.quality[0].message

    def test_verdict(self, comparison: rlcompare.Comparison) -> None:
        verdict = comparison.verdict
        assert str(verdict) == "No change seen: 0.0 %, but one run a side could hide up to 10 %"
        assert verdict.status == "no change"
        cases = {
            "uncertain": diff_examples.regression(),
            "worse": diff_examples.unstable(),
            "not measured": diff_examples.empty(),
            "not comparable": replace(
                diff_examples.regression(), comparability=Comparability(Comparable.NOT_COMPARABLE, ())
            ),
        }
        for status, diff in cases.items():
            assert rlcompare.Comparison(diff).verdict.status == status
        # Runs of 100 and 140 ms against 130 and 190 ms: the change is large, but not certain.
        delta = diff_examples.metric("time.step", 120.0, 160.0)
        samples: dict[SideName, tuple[float | None, ...]] = {"baseline": (100.0, 140.0), "new": (130.0, 190.0)}
        open_ = replace(
            diff_examples.identical(),
            headline="time.step",
            overall=(replace(delta, samples=samples, evidence={"runs_overlap": True}),),
        )
        found = rlcompare.Comparison(open_).verdict
        assert (found.status, found.text.partition(":")[0]) == ("uncertain", "No certain change")

    def test_summary(self, comparison: rlcompare.Comparison) -> None:
        assert repr(comparison).startswith("answer      No change seen: 0.0 %")
        assert "time.path 9.00" in comparison.summary
        assert "rlcompare gate" not in comparison.summary

    @pytest.mark.slow
    def test_options(self, runs: Path) -> None:
        one = rlcompare.diff(
            new=f"after={runs / 'new.sqlite'}", baseline=[runs / "base.sqlite"],
            steps=1, ranks=range(1), varied="chip", quiet=True,
        )  # fmt: skip
        assert one.diff.new.label == "after"
        assert (one.diff.new.steps, one.diff.new.runs[0].ranks) == ((1,), 1)

    @pytest.mark.slow
    def test_loaded_runs(self, run: rlcompare.Run, runs: Path) -> None:
        same = rlcompare.diff(new=[run], baseline=run, quiet=True)
        assert same.headline is not None
        assert same.headline.delta == 0

    def test_unknown_section(self, comparison: rlcompare.Comparison) -> None:
        with pytest.raises(KeyError, match="kernels"):
            comparison["nonsense"]

    def test_write(self, comparison: rlcompare.Comparison, tmp_path: Path) -> None:
        page = comparison.write(tmp_path / "report", ["csv"])
        assert page == tmp_path / "report" / "report.html"
        assert json.loads((tmp_path / "report" / "diff.json").read_text()) == comparison.document


class TestLoad:
    @pytest.mark.slow
    def test_sections_are_those_of_show(self, run: rlcompare.Run, runs: Path) -> None:
        shown = json.loads(printed("show", runs / "new.sqlite", "--json", "-q"))
        assert {name: list(table) for name, table in run.items()} == shown

    def test_tables(self, run: rlcompare.Run) -> None:
        assert {"kernel", "phase", "collective", "busy"} <= set(run.tables)
        kernels = run.table("kernel")
        assert len(kernels) == 8
        assert kernels.arrow().schema.field("start_ns").type == "int64"
        assert kernels.relation().aggregate("count(*)").fetchall() == [(8,)]
        assert len(run.table("range")) == 12
        with pytest.raises(UsageError, match="no table 'nonsense'"):
            run.table("nonsense")

    def test_queries(self, run: rlcompare.Run) -> None:
        result = run.sql(
            "SELECT rank, count(*) AS n FROM kernel JOIN capture USING (capture) GROUP BY rank ORDER BY rank"
        )
        assert list(result) == [{"rank": 0, "n": 4}, {"rank": 1, "n": 4}]
        for query, said in (
            ("SELECT nonsense FROM kernel", "nonsense"),
            ("-- nothing", "no rows"),
            ("SELECT * FROM '/etc/passwd'", "the query failed"),
            ("DELETE FROM kernel", "the query failed"),
            ("SET threads = 1", "the query failed"),
            ("SELECT 1; SELECT 2", "one at a time"),
        ):
            with pytest.raises(UsageError, match=said):
                run.sql(query)

    def test_a_section_that_is_not_there(self, run: rlcompare.Run) -> None:
        with pytest.raises(KeyError, match="choose from overview, steps, path, account, ranks"):
            run["nonsense"]

    def test_a_run_of_the_host_alone_says_why_it_has_no_kernels(self, tmp_path: Path) -> None:
        aten = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10.0, "dur": 5.0, "args": {}}
        step = aten | {"cat": "user_annotation", "name": "ProfilerStep#1", "ts": 5.0, "dur": 20.0}
        path = tmp_path / "host.pt.trace.json"
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [step, aten]}))
        with rlcompare.load(path, quiet=True) as loaded:
            with pytest.warns(UserWarning, match="section operators"):
                assert not len(loaded["kernels"])
            assert [row["operator"] for row in loaded["operators"]] == ["aten::mm"]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                loaded._repr_html_()

    def test_one_step_and_rank(self, runs: Path) -> None:
        part = rlcompare.load(runs / "new.sqlite", steps=[1], ranks=0, quiet=True)
        assert list(part.sql("SELECT DISTINCT rank, step FROM kernel JOIN capture USING (capture)")) == [
            {"rank": 0, "step": 1}
        ]

    def test_without_a_cache(self, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with rlcompare.load(runs / "new.sqlite", cache=False, events=False, quiet=True) as loaded:
            assert len(loaded["phases"]) == 3
            with pytest.raises(UsageError, match="read without events"):
                loaded.table("kernel")
            assert list(tmp_path.iterdir())
        assert not list(tmp_path.iterdir())

    def test_twice_and_from_threads(self, run: rlcompare.Run, runs: Path) -> None:
        other = rlcompare.load(runs / "new.sqlite", quiet=True)
        with ThreadPoolExecutor(4) as pool:
            counts = list(pool.map(lambda loaded: len(loaded.table("kernel")), [run, other] * 10))
        assert counts == [8] * 20

    def test_from_another_thread(self, runs: Path) -> None:
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(len(rlcompare.load(runs / "base.sqlite", quiet=True))))
        thread.start()
        thread.join()
        assert found


class TestErrors:
    def test_of_inputs(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no such file"):
            rlcompare.load(tmp_path / "nowhere")
        with pytest.raises(InputError, match="no such file"):
            rlcompare.diff(new=tmp_path / "nowhere", baseline=tmp_path / "nowhere")

    @pytest.mark.parametrize(
        "options",
        [
            {"layout": "both"},
            {"prefer": "csv"},
            {"steps": "3"},
            {"steps": []},
            {"steps": 2.5},
            {"ranks": [-1]},
            {"ranks": 7},
            {"steps": 99},
        ],
    )
    def test_of_options(self, runs: Path, options: dict[str, object]) -> None:
        base = runs / "base.sqlite"
        with pytest.raises(UsageError):
            rlcompare.load(base, quiet=True, **options)  # type: ignore[arg-type]
        with pytest.raises(UsageError):
            rlcompare.diff(new=base, baseline=base, quiet=True, **options)  # type: ignore[arg-type]

    def test_of_what_is_meant_to_differ(self, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
        base = runs / "base.sqlite"
        for varied in (3, [3]):
            with pytest.raises(UsageError, match="varied should be"):
                rlcompare.diff(new=base, baseline=base, varied=varied, quiet=True)  # type: ignore[arg-type]
        rlcompare.diff(new=base, baseline=base, varied=["nope"])
        assert "--varied nope: neither side has it" in capsys.readouterr().err

    def test_of_a_run_that_was_closed(self, runs: Path) -> None:
        with rlcompare.load(runs / "base.sqlite", quiet=True) as run:
            pass
        with pytest.raises(UsageError, match="was closed: load it again"):
            run.sql("SELECT 1")

    @pytest.mark.parametrize("side", ["", 3, None, [], "a\0b", b"bytes"])
    def test_of_sides(self, runs: Path, side: object) -> None:
        with pytest.raises(UsageError):
            rlcompare.diff(new=side, baseline=runs / "base.sqlite")  # type: ignore[arg-type]

    def test_of_sides_without_names(self, runs: Path) -> None:
        """Of two positional sides one would be the baseline, and half the users would guess wrong."""
        base, new = str(runs / "base.sqlite"), str(runs / "new.sqlite")
        said = r"give both sides by name: rlcompare.diff\(new=.*, baseline=.*\)"
        for sides, named in (((base, new), {}), ((base,), {"new": new}), ((), {"baseline": base}), ((), {})):
            with pytest.raises(TypeError, match=said):
                rlcompare.diff(*sides, **named)  # type: ignore[arg-type]

    def test_several_runs(self, runs: Path) -> None:
        with pytest.raises(UsageError, match="contains 2 runs"):
            rlcompare.load(runs)


class TestPandas:
    def test_absent(self, comparison: rlcompare.Comparison) -> None:
        with contextlib.suppress(ImportError):
            import pandas  # noqa: F401

            pytest.skip("pandas is installed")
        with pytest.raises(UsageError, match=r"pip install .rlcompare\[notebook\]"):
            comparison.overall.df()

    def test_present(self, comparison: rlcompare.Comparison, run: rlcompare.Run) -> None:
        pytest.importorskip("pandas", reason="pandas is not installed")
        frame = comparison["kernels"].df()
        assert list(frame.loc[frame["name"] == "void attention<bf16>", "ratio"]) == [1.5]
        assert run.table("kernel").df()["start_ns"].dtype == "int64"


class TestHtml:
    def test_of_a_comparison(self, comparison: rlcompare.Comparison) -> None:
        page = Page(comparison._repr_html_())
        assert "time.step" in page.text
        assert "void attention<bf16>" in page.text
        assert "mathjax_ignore" in comparison._repr_html_()

    def test_of_a_run_and_a_table(self, run: rlcompare.Run) -> None:
        assert "Phases, per rank and step, ms" in Page(run._repr_html_()).text
        page = Page(run.table("kernel")._repr_html_())
        assert "void gemm<bf16>" in page.text
        wide = run.sql("SELECT unnest(range(100)) AS number")
        assert "… and 80 more" in Page(wide._repr_html_()).text
        assert "... and 80 more" in repr(wide)

    @pytest.mark.slow
    def test_names_are_escaped(self, tmp_path: Path) -> None:
        # GIVEN a kernel, a range and a file with hostile names
        export = Export()
        export.kernel(HOSTILE, 10_000, 10_000)
        path = export.write(tmp_path / "<img src=x onerror=alert(1)>.sqlite")
        # WHEN all that a notebook shows of them is made
        loaded = rlcompare.load(path, quiet=True)
        compared = rlcompare.diff(new=path, baseline=path, quiet=True)
        shown = (
            loaded,
            loaded.table("kernel"),
            loaded.sql(f"SELECT '{HOSTILE}' AS \"<b>\""),
            compared,
            compared["kernels"],
        )
        for html in (item._repr_html_() for item in shown):
            # THEN no name became a tag or an attribute, or moves the cursor of a terminal
            page = Page(html)
            assert not page.tags & {"script", "img", "a", "link", "iframe", "use", "image", "foreignobject"}
            assert not page.attributes & {"style", "src", "href", "xlink:href", "action"}
            assert not [name for name in page.attributes if name.startswith("on")]
            # AND no style reaches the notebook's own page
            for style in re.findall(r"<style>(.*?)</style>", html, re.DOTALL):
                selectors = re.findall(r"(?:^|[{}])\s*([^{}@]+?)\s*{", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL))
                assert len(selectors) >= 8
                outside = [one for selector in selectors for one in split(selector) if not one.startswith(".rlcompare")]
                assert outside == []
            assert "\x1b" not in html and "\u202e" not in html

    def test_the_pictures_of_the_page(self, comparison: rlcompare.Comparison) -> None:
        html = comparison._repr_html_()
        titles = [chart.title for chart in comparison._view.charts]
        assert titles and all(f"<summary>{escape(title)}" in html for title in titles)
        assert html.count("<figure>") == len(titles)
        # AND each variable that a style uses is set
        used = set(re.findall(r"var\((--[\w-]+)\)", html))
        assert used and used <= set(re.findall(r"(--[\w-]+):", html))


def split(selectors: str) -> list[str]:
    """A list of selectors, at the commas that are not in brackets."""
    return [one.strip() for one in re.split(r",(?![^()]*\))", selectors)]


class TestSideEffects:
    def test_import_is_light(self) -> None:
        loaded = python("import sys, rlcompare; print(*sorted(sys.modules))").stdout.split()
        heavy = {"duckdb", "pyarrow", "click", "jinja2", "rich", "torch", "pandas", "omegaconf", "rlcompare.notebook"}
        assert not heavy & set(loaded)
        assert {"load", "diff"} <= set(dir(rlcompare))

    def test_nothing_heavy_is_imported_later(self, runs: Path) -> None:
        code = (
            f"import sys, rlcompare; rlcompare.load({str(runs / 'new.sqlite')!r}, quiet=True);"
            "print(*{'torch', 'pandas', 'omegaconf'} & set(sys.modules))"
        )
        result = python(code)
        assert (result.stdout.strip(), result.stderr) == ("", "")

    @pytest.mark.slow
    def test_the_process_is_left_as_it_was(self, runs: Path) -> None:
        before = (Path.cwd(), gc.isenabled(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
        threads = threading.active_count()
        rlcompare.diff(new=runs / "new.sqlite", baseline=runs / "base.sqlite", quiet=True)
        rlcompare.load(runs / "new.sqlite", cache=False, events=False, quiet=True).close()
        assert (
            Path.cwd(),
            gc.isenabled(),
            signal.getsignal(signal.SIGINT),
            signal.getsignal(signal.SIGTERM),
        ) == before
        assert threading.active_count() == threads
        assert {path.name for path in runs.iterdir()} == {"base.sqlite", "new.sqlite"}

    def test_interrupted(self, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # GIVEN a profile that takes for ever to read
        started = threading.Event()

        def endless(con: duckdb.DuckDBPyConnection, *_: object) -> None:
            started.set()
            con.execute("SELECT sum(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b").fetchall()

        monkeypatch.setattr("rlcompare.sources.nsys.fill.bind", endless)
        # WHEN the user interrupts the kernel, which raises in the main thread
        main = threading.main_thread().ident
        assert main is not None

        def interrupt(thread: int = main) -> None:
            if started.wait(60):
                signal.pthread_kill(thread, signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            rlcompare.load(runs / "new.sqlite", cache_dir=tmp_path / "cache", quiet=True)
        # THEN it ends, and leaves nothing half-written
        left = [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]
        assert left == [".rlcompare-cache"]

    def test_unknown_names(self) -> None:
        with pytest.raises(AttributeError, match="nonsense"):
            rlcompare.nonsense  # noqa: B018

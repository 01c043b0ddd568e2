"""Probes that an environment variable attaches at interpreter start, in this process and in those that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import venv
import zipfile
from pathlib import Path
from sysconfig import get_path

import pytest

pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from tests.collect.probed import ENGINE, Probed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PTH = "rlcompare-probe.pth"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter whose site-packages has the file that a wheel puts there, and sees all that this one has."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    source = Path(get_path("purelib"), PTH) if os.environ.get("RLCOMPARE_TEST_INSTALLED") == "1" else ROOT / PTH
    (site / PTH).write_bytes(source.read_bytes())
    (site / "as_here.pth").write_text("\n".join(path for path in sys.path if Path(path).is_dir()), encoding="utf-8")
    return folder / "bin" / "python"


@pytest.fixture
def probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Probed:
    (tmp_path / "toy_engine.py").write_text(textwrap.dedent(ENGINE), encoding="utf-8")
    return Probed(tmp_path, monkeypatch)


def run(python: Path, folder: Path, script: str, variable: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "RLCOMPARE_PROBE")}
    environment |= {"OMP_NUM_THREADS": "1"} | ({} if variable is None else {"RLCOMPARE_PROBE": variable})
    (folder / "job.py").write_text(textwrap.dedent(script), encoding="utf-8")
    return subprocess.run(
        [python, folder / "job.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def variable_for(probed: Probed, options: str = "skip_first=30 active=3 warmup=0") -> str:
    points = "scope=toy_engine:Engine.generate tick=toy_engine:Engine.decode"
    return f"{points} {options} output={probed.output}"


def test_a_job_that_knows_nothing_of_probes_is_probed(python: Path, probed: Probed, tmp_path: Path) -> None:
    # GIVEN a job with an import hook like ours, and one that looks at how a module came in
    script = """
        import importlib.util, inspect, sys

        class Hook:  # of the same kind as ours: it asks all the others
            asked = []
            def find_spec(self, name, path=None, target=None):
                if name != "toy_engine" or name in self.asked:
                    return None
                self.asked.append(name)
                return next(filter(None, (finder.find_spec(name, path, target) for finder in sys.meta_path)))

        sys.meta_path.insert(0, Hook())
        sys.path.insert(0, "engines.zip")  # its modules have one loader
        assert importlib.util.find_spec("zipped") and importlib.util.find_spec("zipped")
        import zipped
        assert zipped.decode.__wrapped__ and not hasattr(zipped.decode.__wrapped__, "__wrapped__")
        import toy_engine
        assert type(toy_engine.__spec__.loader).__name__ == "SourceFileLoader"
        assert "exec_module" not in vars(toy_engine.__spec__.loader)
        assert "torch.mm" in inspect.getsource(toy_engine.Engine.decode)
        importlib.reload(toy_engine)
        print(toy_engine.Engine().generate(1000))
    """
    with zipfile.ZipFile(tmp_path / "engines.zip", "w") as file:
        file.writestr("zipped.py", "def decode(): pass")
    done = run(python, tmp_path, script, f"{variable_for(probed)}; tick=zipped:decode output={probed.output}")
    assert done.stdout == "1000\n", done.stderr
    assert probed.sampled() == [[30, 31, 32]]


def test_spawned_and_forked_workers_are_probed_and_leave_what_there_was(
    python: Path, probed: Probed, tmp_path: Path
) -> None:
    script = """
        import multiprocessing
        import toy_engine

        def work(count):
            toy_engine.Engine().generate(count)

        if __name__ == "__main__":
            for method, count in (("spawn", 10), ("fork", 7)):
                process = multiprocessing.get_context(method).Process(target=work, args=(count,), daemon=True)
                process.start()
                process.join()
            work(5)
    """
    variable = f"tick=toy_engine:Engine.decode skip_first=2 warmup=0 active=100 output={probed.output}"
    done = run(python, tmp_path, script, variable)
    assert done.returncode == 0, done.stderr
    assert probed.sampled() == [list(range(2, 10)), list(range(2, 7)), list(range(2, 5))]


def test_a_variable_that_cannot_be_heeded_is_told_and_the_job_goes_on(
    python: Path, probed: Probed, tmp_path: Path
) -> None:
    script = "import toy_engine\nprint(toy_engine.Engine().generate(3))"
    (tmp_path / "toy_engine.py").write_text(
        "class Engine:\n    def generate(self, count): return count", encoding="utf-8"
    )
    for variable, message in (
        ("vllm-decoder output=/tmp/x", "did you mean vllm-decode?"),
        ("update-mini output=here", "output=here: use an absolute path"),
        ("tick=toy_engine:Engine.missing output=/tmp/x", "toy_engine has no Engine.missing"),
        ("update-mini 'output=/tmp/x", "No closing quotation"),
    ):
        done = run(python, tmp_path, script, variable)
        assert (done.returncode, done.stdout) == (0, "3\n")
        assert message in done.stderr and "Traceback" not in done.stderr


def test_a_place_that_is_never_met_is_told_at_the_end(python: Path, probed: Probed, tmp_path: Path) -> None:
    script = "import sys, toy_engine; print('email.mime' in sys.modules)"
    for points, message in (
        ("scope=toy_engin:run tick=toy_engine:Engine.decode", "has not imported the module toy_engin of toy_engin:run"),
        ("tick=toy_engine.core:decode", "has not imported the module toy_engine.core of toy_engine.core:decode"),
        ("scope=toy_engine:Engine.generate tick=toy_engine:Engine.decode", "Engine.generate was never called in this"),
        ("tick=email.mime.text:MIMEText.as_string", None),  # it is there, but this process has no need of it
    ):
        done = run(python, tmp_path, script, f"{points} output={probed.output}")
        told = [line for line in done.stderr.splitlines() if "recorded nothing" in line]
        assert (done.returncode, done.stdout, len(told)) == (0, "False\n", int(message is not None)), done.stderr
        assert message is None or message in told[0]


def test_calls_and_ranks_that_never_come_are_told(python: Path, probed: Probed, tmp_path: Path) -> None:
    (tmp_path / "toy_engine.py").write_text(
        "class Engine:\n    def decode(self): pass\n    def generate(self): self.decode()", encoding="utf-8"
    )
    script = "import toy_engine\nfor _ in range(3): toy_engine.Engine().generate()"
    points = "scope=toy_engine:Engine.generate tick=toy_engine:Engine.decode warmup=0"
    for options, message in (
        ("steps=[9]", "recorded nothing: the scope was called 3 times, but steps=[9]"),
        ("ranks=[1]", "records nothing: ranks=[1], but there is only rank 0"),
        ("skip=3", "is ignored: probe generate: skip is not an option of a probe; the nearest is skip_first"),
    ):
        done = run(python, tmp_path, script, f"{points} {options} output={probed.output}")
        assert done.returncode == 0
        assert done.stderr.count("nothing") + done.stderr.count("ignored") == 1, done.stderr
        assert message in done.stderr
    assert probed.traces() == []


def test_what_fails_at_the_start_leaves_the_host_alone(python: Path, tmp_path: Path) -> None:
    # GIVEN a module of the user's own that has the name of one which is needed, and ends the program
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "shlex.py").write_text("raise SystemExit('mine')", encoding="utf-8")
    base = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for folder, variable, message in (
        ("own", "update-mini output=/tmp/x", "is ignored: SystemExit: mine"),
        ("", "vllm\x1b[31m output=/tmp/x", "there is no preset vllm\\x1b[31m; choose from"),
    ):
        environment = base | {"RLCOMPARE_PROBE": variable, "PYTHONPATH": folder}
        for closing in ("", " 2>&-"):
            # WHEN an interpreter starts, with standard error or without
            line = f"{python} -c 'print(7)'{closing}"
            done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
            # THEN its program runs, and its output is its own
            assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr
            assert closing or (message in done.stderr and "\x1b" not in done.stderr)


def test_without_the_variable_nothing_of_ours_is_imported(python: Path, tmp_path: Path) -> None:
    script = "import sys; print([name for name in sys.modules if 'rlcompare' in name])"
    assert run(python, tmp_path, script).stdout == "[]\n"
    # What every start of Python runs is one line, which looks at the environment and imports only what is there anyway.
    line = (python.parent.parent / "lib").rglob(PTH).__next__().read_text(encoding="utf-8")
    assert line.splitlines() == [
        'import os, sys; os.environ.get("RLCOMPARE_PROBE", "").strip() and not sys.flags.ignore_environment'
        ' and __import__("rlcompare._probe_start")'
    ]

"""Fixtures for tests of all folders: the real profiles, if they are available."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from pathlib import Path
from zlib import crc32

# PyTorch's threads would wait for each other on cores that other tests use. That costs five times what they gain.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The tests compute on the CPU, also where there is a GPU: they start more ranks than most machines have GPUs.
os.environ["CUDA_VISIBLE_DEVICES"] = ""

# Outputs that tests compare must not depend on the locale of the machine.
os.environ["RLCOMPARE_LANG"] = "en"

import pytest
from hypothesis import settings

from tests import stores

# In a git hook (pre-push calls `make check`) these name the developer's repository. Tests make repositories of their
# own, and would commit to that one. Nor are their commits signed.
for _name in ("DIR", "WORK_TREE", "INDEX_FILE", "COMMON_DIR", "OBJECT_DIRECTORY", "NAMESPACE", "PREFIX"):
    os.environ.pop(f"GIT_{_name}", None)
_number = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
os.environ |= {f"GIT_CONFIG_KEY_{_number}": "commit.gpgsign", f"GIT_CONFIG_VALUE_{_number}": "false"}
os.environ["GIT_CONFIG_COUNT"] = str(_number + 1)

# A suite that was started in the background ignores Ctrl-C, and so would all commands that it starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A commit passes or fails on every machine alike. `pytest --hypothesis-profile=search` searches for failing examples.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None, max_examples=2000)
settings.load_profile("repeatable")

# A worker of pytest-xdist has one core, as have the commands that it starts: rlcompare then plans each statement once
# for all captures, and tests do not wait for each other's threads.
if (_worker := os.environ.get("PYTEST_XDIST_WORKER", "gw"))[2:].isdecimal() and hasattr(os, "sched_setaffinity"):
    _cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {_cores[int(_worker[2:]) % len(_cores)]})

_CHECKOUT = Path(__file__).resolve().parent.parent

ALL = os.environ.get("RLCOMPARE_TESTS") == "all"
"""Whether every test runs (`make test-all`)."""

TURN = os.environ.get("RLCOMPARE_TESTS_TURN", "")
"""The commit, by which `make test` chooses the slow tests that run; empty: all of them run."""

TURNS = 4
"""Of the slow tests, one in so many runs in `make test`."""


def _is_chosen(item: pytest.Item, number: int) -> bool:
    """Whether a test runs: the one with a number from 0 among those that differ in parameters alone."""
    if ALL:
        return True
    if item.get_closest_marker("thorough") is not None:
        return False
    marker = item.get_closest_marker("one_in")
    if marker is not None:
        return bool(number % marker.args[0] == 0)
    if TURN and item.get_closest_marker("slow") is not None:
        return (crc32(item.nodeid.partition("[")[0].encode()) + number + int(TURN, 16)) % TURNS == 0
    return True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test with ``@pytest.mark.one_in(n)``, only every n-th set of parameters, from the first on; of those with
    ``@pytest.mark.thorough``, none; of slow ones, with a ``TURN``, one in ``TURNS``. Each worker begins with its part
    of the slow ones: at the end of a run, one long test would leave the others idle."""
    seen: Counter[str] = Counter()
    chosen: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        name = item.nodeid.partition("[")[0]
        chosen[_is_chosen(item, seen[name])].append(item)
        seen[name] += 1
    if chosen[False]:
        config.hook.pytest_deselected(items=chosen[False])
    slow = [item for item in chosen[True] if item.get_closest_marker("slow") is not None]
    quick = [item for item in chosen[True] if item.get_closest_marker("slow") is None]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    parts = (slow, quick) if workers > 1 else (chosen[True],)
    items[:] = [item for worker in range(workers) for part in parts for item in _share(part, worker, workers)]


def _share(items: list[pytest.Item], worker: int, workers: int) -> list[pytest.Item]:
    """The tests that ``--dist worksteal`` gives a worker first: those that lie together stay together."""
    return items[len(items) * worker // workers : len(items) * (worker + 1) // workers]


def pytest_collection_finish() -> None:
    """Test modules and libraries are no garbage: to look at them again and again takes 4 % of a diff in a test."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


def shared_folder() -> Path | None:
    """The developers' folder of real profiles and oracles: $RLCOMPARE_SHARED, else ``shared`` beside the checkout."""
    chosen = os.environ.get("RLCOMPARE_SHARED")
    candidates = [Path(chosen)] if chosen else [_CHECKOUT.parent / "shared"]
    return next((path for path in candidates if (path / "profiles").is_dir()), None)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The developers' folder; skips the test if it is absent, as in a user's clone."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("the real profiles are not here (set RLCOMPARE_SHARED to their folder)")
    return folder


@pytest.fixture(scope="session")
def ascend_910b(shared: Path) -> Path:
    """DB and text of one job on 910B, Level0 and Level1, ranks 0 and 1."""
    return shared / "profiles" / "ascend-910b-2025-level01"


@pytest.fixture(scope="session")
def profiles(shared: Path) -> Path:
    """The real profiles."""
    return shared / "profiles"


@pytest.fixture(scope="session", autouse=True)
def _stores_that_are_made_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Lets ``stores.store_of`` keep those of real profiles, for all workers of pytest-xdist."""
    own = tmp_path_factory.getbasetemp()
    kept = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "stores"
    kept.mkdir(exist_ok=True)
    unchanged = (shared_folder(), _CHECKOUT / "golden")
    stores.FOREVER[:] = [kept, *(folder.resolve() for folder in unchanged if folder is not None)]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives each test its own cache folder instead of the developer's."""
    monkeypatch.setenv("RLCOMPARE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))

"""The first cause of a comparison is what was changed in a real profile; where nothing changed, there is none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rlcompare.model.diff import Diff
from tests.conftest import ALL
from tests.inject.ascend_text import AscendText
from tests.inject.edits import CHANGES, NULLS, Edit, Edited
from tests.inject.nsys import NsysTrace
from tests.inject.ranks import RANKS
from tests.inject.timelines import AscendDb, NoPlace, Stretch, Timeline, Trace, key_of
from tests.sql.rollup_stores import compared
from tests.stores import store_of

ASCEND = "ascend-910b-2025-level01/db/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
ASCEND_TEXT = "ascend-910b-2025-level01/text/level1/rank0_ascend_pt"
SAMPLE = Path(__file__).parents[2] / "golden" / "inputs" / "text_level1_baseline"

PROFILES: dict[str, Callable[[Path], Timeline]] = {
    "ascend-910b": lambda profiles: AscendDb.read(profiles / ASCEND),
    "cpu-torch213": lambda profiles: Trace.read(min((profiles / "cpu-torch213-2rank" / "base").glob("rank0*"))),
    "h100-bert": lambda profiles: Trace.read(min((profiles / "gpu-h100-vs-mi300-dev" / "h100").glob("*bert*"))),
    "v100-resnet50": lambda profiles: Trace.read(
        min((profiles / "gpu-resnet50-dataloader-ab" / "resnet50_num_workers_4").iterdir())
    ).cut(9),
    "v100-dlrm": lambda profiles: Trace.read(min((profiles / "gpu-dlrm-8rank").glob("worker0*"))),
    "text-910b": lambda profiles: AscendText.read(profiles / ASCEND_TEXT),
    "text-sample": lambda profiles: AscendText.read(min(SAMPLE.glob("*_ascend_pt"))),
    "nsys-bert": lambda profiles: NsysTrace.read(min((profiles / "gpu-h100-vs-mi300-dev" / "h100").glob("*bert*"))),
    "mi300-bert": lambda profiles: Trace.read(min((profiles / "gpu-h100-vs-mi300-dev" / "mi300").glob("*bert*"))),
}
"""One rank of each; of ResNet-50 a single step."""

SLOW = PROFILES.keys() - {"ascend-910b", "cpu-torch213", "h100-bert"}
"""The profiles that only a full run of the tests takes."""

FEW = {
    "ascend-910b": slice(0, None, 3),
    "h100-bert": slice(0, None, 5),
    "cpu-torch213": slice(1, None, 5),
    "v100-resnet50": slice(0, None, 12),
    "v100-dlrm": slice(1, None, 12),
    "text-910b": slice(0, None, 12),
    "nsys-bert": slice(1, None, 12),
    "text-sample": slice(0, None, 12),
    "mi300-bert": slice(1, None, 12),
}
"""The edits that are tried of each profile, and of the job of it; `make test-all` tries all."""


def few(of: str, names: Iterable[str]) -> list[str]:
    """The edits of a profile or job that are tried."""
    return [*names][slice(None) if ALL else FEW.get(of, slice(None))]


ONLY_ASCEND = frozenset(
    {
        "clock_lower", "everything_slower_with_a_lower_clock", "operator_on_ai_cpu", "operator_on_other_data_type",
        "stall_in_garbage_collection",
    }
)  # fmt: skip
"""Edits of what torch's profiler does not record."""

NO_PASS = frozenset({"one_more_pass"})
NO_LOADER = frozenset({"stall_in_data_loader", "data_loader_faster", "two_stalls"})
NO_MODULES = frozenset({"one_layer_slower"})
NO_COLLECTIVE = frozenset({"collective_longer", "kernel_below_a_collective_doubles", "overlap_lost"})
"""Edits of what a profile of a model alone, or of one rank, does not have."""

ABSENT: dict[str, frozenset[str]] = {
    "ascend-910b": NO_PASS | {"launches_late", "recomputation"},
    "cpu-torch213": frozenset(
        {
            *NO_PASS,
            "clock_lower", "everything_slower_with_a_lower_clock", "longer_sequences", "operator_slower_and_stall",
            "recomputation", "kernel_below_a_collective_doubles", "launches_late", "operator_in_every_layer",
            "operator_on_ai_cpu", "overlap_lost", "operator_on_other_data_type", "two_stalls",
            "stall_beside_a_hidden_kernel",
            "all_kernels_slower", "one_layer_slower", "copy_longer", "data_loader_faster", "hidden_kernel_doubles",
            "host_operator_slower",
            "operator_replaced", "stall_in_allocation", "stall_in_data_loader", "stall_in_garbage_collection",
            "stall_in_synchronise", "synchronisations_added",
        }
    ),
    "h100-bert": frozenset(
        {
            "collective_longer", "data_loader_faster", "stall_in_data_loader",
            "stall_in_range", "two_stalls", "kernel_below_a_collective_doubles", "overlap_lost", "recomputation",
            *ONLY_ASCEND,
        }
    ),
    "v100-resnet50": ONLY_ASCEND | NO_MODULES | NO_PASS
    | {"collective_longer", "kernel_below_a_collective_doubles", "overlap_lost"},
    "v100-dlrm": ONLY_ASCEND | NO_MODULES | NO_PASS
    | {"longer_sequences", "one_shape_slower", "operator_on_larger_inputs"},
    "text-910b": NO_PASS | {"launches_late", "recomputation"},
    "text-sample": NO_LOADER | NO_MODULES | NO_PASS
    | {
        "host_operator_slower", "stall_in_range", "operator_in_every_layer", "launches_late", "recomputation",
        "synchronisations_added",
    },
    "nsys-bert": ONLY_ASCEND | NO_LOADER | NO_COLLECTIVE | NO_MODULES | NO_PASS
    | {
        "one_shape_slower", "stall_in_operator", "host_operator_slower", "stall_in_range", "stall_in_allocation",
        "three_causes",
        "operator_on_larger_inputs", "stalls_in_two_operators", "operator_slower_and_stall", "longer_sequences",
        "recomputation",
    },
    "mi300-bert": ONLY_ASCEND | NO_LOADER | NO_COLLECTIVE | {"stall_in_range", "recomputation"},
}  # fmt: skip
"""The edits for which a profile has no place: nothing of the kind was recorded."""

WRONG: dict[tuple[str, str], str] = {
    ("cpu-torch213", "one_shape_slower"): (
        "names the operator, and not its shape: without a device, operators are not compared by shapes"
    ),
}
"""Where the first cause is not the edit, or not all of it."""

LEAST_DIFFERENCE_MS = 0.002
"""Within this the headline always fits: the resolution of old traces."""


def pairs(edits: Mapping[str, Edit], slow: Collection[str]) -> list[Any]:
    """Each profile with each edit that it has a place for."""
    found = []
    for profile in PROFILES:
        for name in few(profile, (name for name in edits if name not in ABSENT[profile])):
            marks: list[pytest.MarkDecorator] = [pytest.mark.slow] if profile in slow else []
            if (profile, name) in WRONG:
                marks.append(pytest.mark.xfail(strict=True, reason=WRONG[profile, name]))
            found.append(pytest.param(profile, name, marks=marks, id=f"{profile}-{name}"))
    return found


class Profiles:
    """The profiles, each read once, and their stores."""

    def __init__(self, shared: Path, folder: Path) -> None:
        self._shared, self._folder = shared / "profiles", folder
        self._read: dict[str, Timeline] = {}
        self._stores: dict[Timeline, Path] = {}

    def __getitem__(self, name: str) -> Timeline:
        if name not in self._read:
            self._read[name] = PROFILES[name](self._shared)
        return self._read[name]

    def store(self, profile: Timeline, *, keep: bool = False) -> Path:
        """Its store; it is built once if it is kept."""
        if profile in self._stores:
            return self._stores[profile]
        folder = self._folder / f"{len(list(self._folder.iterdir()))}"
        folder.mkdir()
        store = store_of(profile.write(folder), folder / "store.duckdb", keep_events=False)
        if keep:
            self._stores[profile] = store
        return store

    def diff(self, profile: Timeline, found: Edited) -> Diff:
        baseline, new = (self.store(side, keep=side is profile) for side in (found.baseline or profile, found.profile))
        return compared(baseline, new)


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Profiles:
    return Profiles(shared, tmp_path_factory.mktemp("inject"))


def assert_adds_up(diff: Diff, profile: Timeline, found: Edited) -> None:
    """The headline moved by what was injected, and the shares of causes and what is left sum to 1."""
    headline = diff.metric(diff.headline)
    assert headline is not None and headline.delta is not None
    injected = found.ns / len(profile.steps) / 1e6
    assert headline.delta == pytest.approx(injected, rel=0.01, abs=LEAST_DIFFERENCE_MS)
    if diff.causes or diff.unexplained is not None:
        assert diff.unexplained is not None
        assert sum(cause.share for cause in diff.causes) + diff.unexplained.share == pytest.approx(1)


@pytest.mark.parametrize(("profile", "edit"), pairs(CHANGES, SLOW))
def test_the_first_cause_is_the_edit(real: Profiles, profile: str, edit: str) -> None:
    found = CHANGES[edit](real[profile])
    diff = real.diff(real[profile], found)
    assert_adds_up(diff, real[profile], found)
    said = [(cause.what, round(cause.share, 2), cause.text) for cause in diff.causes]
    first = diff.causes[0]
    assert first.what in found.whats, said
    assert first.share >= found.least, said
    assert found.subject is None or key_of(found.subject) in key_of(first.row), said
    assert found.text in first.text, said
    assert found.unnamed is None or not any(found.unnamed in cause.text for cause in diff.causes), said
    if found.second is not None:
        assert len(diff.causes) > 1, said
        assert key_of(found.second) in key_of(diff.causes[1].row), said
        assert diff.causes[1].share == pytest.approx(found.second_share, abs=0.03), said
    if found.third is not None:
        assert len(diff.causes) == 3 and key_of(found.third) in key_of(diff.causes[2].row), said


@pytest.mark.parametrize(("profile", "edit"), pairs(NULLS, PROFILES.keys() - {"ascend-910b"}))
def test_what_changes_no_time_has_no_cause(real: Profiles, profile: str, edit: str) -> None:
    found = NULLS[edit](real[profile])
    diff = real.diff(real[profile], found)
    assert_adds_up(diff, real[profile], found)
    assert diff.causes == ()


@pytest.mark.parametrize(
    "profile", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in PROFILES]
)
def test_profiles_have_no_place_for_the_other_edits(real: Profiles, profile: str) -> None:
    for name in ABSENT[profile]:
        with pytest.raises(NoPlace):
            {**CHANGES, **NULLS}[name](real[profile])


JOBS: dict[str, Callable[[Path], list[Timeline]]] = {
    "ascend-910b": lambda profiles: [
        AscendDb.read(path)
        for path in sorted((profiles / "ascend-910b-2025-level01/db/level1").rglob("ascend_pytorch_profiler_*.db"))
    ],
    "cpu-torch213": lambda profiles: [
        Trace.read(path) for path in sorted((profiles / "cpu-torch213-2rank" / "base").iterdir())
    ],
    "v100-dlrm": lambda profiles: [Trace.read(path) for path in sorted((profiles / "gpu-dlrm-8rank").glob("*.json"))],
    "text-910b": lambda profiles: [
        AscendText.read(path) for path in sorted((profiles / ASCEND_TEXT).parent.glob("rank*_ascend_pt"))
    ],
    "text-qwen3-pp2": lambda profiles: [
        AscendText.read(profiles / "ascend-qwen3-pp2-2025q4" / f"rank_{rank}_ascend_pt") for rank in (0, 2)
    ],
}
"""All ranks of a job."""

SLOW_JOBS = JOBS.keys() - {"ascend-910b"}

EXCHANGES = frozenset({"stage_slower"})
LINKS = frozenset({"slow_link", "more_bytes"})
"""Edits of what only profiles of pipelines, and of links, have."""

ABSENT_JOBS: dict[str, frozenset[str]] = {
    "ascend-910b": EXCHANGES,
    "cpu-torch213": EXCHANGES | LINKS | {"rank_half_as_fast", "rank_that_loses_overlap"},
    "v100-dlrm": EXCHANGES | LINKS | {"rank_that_loses_overlap"},
    "text-910b": EXCHANGES | {"slow_link"},
    "text-qwen3-pp2": frozenset(RANKS) - EXCHANGES,
}
"""The edits for which a job has no place."""

NUMBERS = {"text-qwen3-pp2": (0, 2)}
"""The numbers of ranks of jobs of which only some are read."""

WRONG_JOBS: dict[tuple[str, str], str] = {
    ("v100-dlrm", "rank_half_as_fast"): (
        "half of the change: the edit lengthens collectives of ranks for which the slow one had waited before"
    ),
}
"""Where the first cause is not the edit, or not all of it."""


def job_pairs() -> list[Any]:
    """Each job with each edit that it has a place for."""
    found = []
    for job in JOBS:
        for name in few(job, sorted(RANKS.keys() - ABSENT_JOBS[job])):
            marks: list[pytest.MarkDecorator] = [pytest.mark.slow] if job in SLOW_JOBS else []
            if (job, name) in WRONG_JOBS:
                marks.append(pytest.mark.xfail(strict=True, reason=WRONG_JOBS[job, name]))
            found.append(pytest.param(job, name, marks=marks, id=f"{job}-{name}"))
    return sorted(found, key=lambda one: str(one.id))


class Jobs:
    """The jobs, each read once, and the stores of their baselines."""

    def __init__(self, shared: Path, folder: Path) -> None:
        self._profiles, self._folder = shared / "profiles", folder
        self._read: dict[str, tuple[list[Timeline], Path]] = {}

    def __getitem__(self, name: str) -> tuple[list[Timeline], Path]:
        if name not in self._read:
            ranks = JOBS[name](self._profiles)
            self._read[name] = ranks, job_store(ranks, self._folder / name)
        return self._read[name]


@pytest.fixture(scope="module")
def jobs(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    return Jobs(shared, tmp_path_factory.mktemp("jobs"))


def job_store(ranks: Sequence[Timeline], folder: Path) -> Path:
    folder.mkdir()
    for rank, profile in enumerate(ranks):
        profile.write(folder, rank)
    return store_of(folder, folder / "store.duckdb", keep_events=False)


@pytest.mark.parametrize(("job", "edit"), job_pairs())
def test_the_rank_that_others_wait_for_is_named(jobs: Jobs, tmp_path: Path, job: str, edit: str) -> None:
    ranks, baseline = jobs[job]
    found = RANKS[edit](ranks)
    baseline = job_store(found.baseline, tmp_path / "baseline") if found.baseline else baseline
    diff = compared(baseline, job_store(found.ranks, tmp_path / "new"))
    headline = diff.metric(diff.headline)
    assert headline is not None
    assert headline.delta == pytest.approx(found.ns / max(1, len(ranks[0].steps)) / 1e6, rel=0.01)
    first = diff.causes[0]
    said = [(cause.what, round(cause.share, 2), cause.text) for cause in diff.causes]
    if found.late is None:
        assert "most of it on" not in first.text, said
        assert first.what in found.whats, said
        assert key_of(found.operator) in key_of(first.row), said
    else:
        assert f"on rank {NUMBERS.get(job, range(8))[found.late]}" in first.text.lower(), said
    assert all(text in first.text for text in found.texts), said
    assert first.share >= 0.6, said


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.1, 0.5, 0.7])
def test_a_rank_that_is_later_while_the_others_are_not_is_named(jobs: Jobs, tmp_path: Path, after: float) -> None:
    """The mean over eight ranks grows by 1 ms, the step of the job by nearly 8: rank 5 had ended a little earlier."""
    ranks, baseline = jobs["v100-dlrm"]
    late = ranks[5]
    end = max(step.end for rank in ranks for step in rank.steps)
    stretch = Stretch(late.steps[0].start + int(after * late.step_ns), 8_000_000)
    shifted = [late.stretched([stretch]) if rank is late else rank for rank in ranks]
    diff = compared(baseline, job_store(shifted, tmp_path / "new"))
    headline = diff.metric("time.path")
    assert headline is not None and diff.headline == "time.path"
    assert headline.delta == pytest.approx((late.steps[0].end + 8_000_000 - end) / 1e6)
    assert diff.causes[0].text.endswith("most of it on rank 5."), diff.causes
    assert sum(
        number for row in diff.sections["path"].rows if isinstance(number := row["delta"], float)
    ) == pytest.approx(headline.delta)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("job", "edit"),
    [("ascend-910b", "clocks_shifted"), ("text-910b", "other_correlations"), ("text-qwen3-pp2", "other_order")],
)
def test_a_job_that_changes_no_time_has_no_cause(jobs: Jobs, tmp_path: Path, job: str, edit: str) -> None:
    ranks, baseline = jobs[job]
    diff = compared(baseline, job_store([NULLS[edit](profile).profile for profile in ranks], tmp_path / "new"))
    headline = diff.metric(diff.headline)
    assert headline is not None and headline.delta == pytest.approx(0, abs=LEAST_DIFFERENCE_MS)
    assert diff.causes == ()


@pytest.mark.parametrize(
    "job", [pytest.param(job, marks=[pytest.mark.slow] if job in SLOW_JOBS else []) for job in JOBS]
)
def test_jobs_have_no_place_for_the_other_edits(jobs: Jobs, job: str) -> None:
    for name in ABSENT_JOBS[job]:
        with pytest.raises(NoPlace):
            RANKS[name](jobs[job][0])

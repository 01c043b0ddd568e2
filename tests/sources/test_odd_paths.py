"""A path is a path: whatever a folder is called, its own files are read, and no other folder's.

Hydra makes folders such as ``lr=0.1,seed=[1,2]``. DuckDB would take them for patterns and partitions.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from rlcompare import db
from tests.stores import rows, store_of

FACTS = """
    SELECT (SELECT list(name ORDER BY id) FROM kernel), (SELECT list((name, start_ns, end_ns, size_bytes) ORDER BY id) FROM collective),
           (SELECT count(*) FROM host_op), (SELECT count(*) FROM link), (SELECT count(*) FROM memory),
           (SELECT list((compute_ns, comm_ns, free_ns, step_ns) ORDER BY step) FROM r_time),
           (SELECT list(total_ns ORDER BY op_type, total_ns) FROM reported_kernel_type), (SELECT list(key ORDER BY key) FROM finding)
"""  # noqa: E501

# Each with the folder that it would match as a pattern.
NAMES = {
    "run[12]": "run1", "a*": "ab", "q?x": "qax", "[!a]": "b", "{a,b}": "a", "[a-c]": "c", "**": "x",
    "lr=0.1,seed=[1]": "lr=0.1,seed=1", "Name=3": "x", "content=5": "x", "json=1": "x", "b\\c": "bc", "x#y%41": "xyA",
    "s3:": "x", "it's": "its",
}  # fmt: skip


@pytest.fixture(scope="module")
def expected(ascend_910b: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    profile = ascend_910b / "text" / "level1" / "rank0_ascend_pt"
    return rows(store_of(profile, tmp_path_factory.mktemp("plain") / "s.duckdb", prefer="text"), FACTS)


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_looks_like_a_pattern_has_its_own_files(
    ascend_910b: Path, tmp_path: Path, expected: list[tuple[object, ...]], name: str
) -> None:
    # GIVEN a profile in an odd folder, beside another profile in the folder that its name would match
    text = ascend_910b / "text" / "level1"
    for folder, rank in ((name, "rank0_ascend_pt"), (NAMES[name], "rank1_ascend_pt")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "p_ascend_pt").symlink_to(text / rank)
    # THEN what is read is what the same profile gives under a plain name
    store = store_of(tmp_path / name / "p_ascend_pt", tmp_path / "s.duckdb", prefer="text")
    assert rows(store, FACTS) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run[12]", "lr=0.1,name=[1]"])
def test_databases_traces_and_snapshots_in_such_a_folder(
    profiles: Path, ascend_910b: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    shutil.copytree(ascend_910b / "db" / "level1" / "rank0_ascend_pt", folder / "p_ascend_pt")
    store = store_of(folder / "p_ascend_pt", tmp_path / "db.duckdb")
    assert rows(store, "SELECT count(*) FROM kernel") == [(187,)]

    (trace,) = (profiles / "cpu-torch213-2rank" / "base").glob("rank0.*")
    copy = folder / "trace[0].pt.trace.json"
    copy.write_bytes(gzip.decompress(trace.read_bytes()))
    plain = rows(store_of(trace, tmp_path / "plain.duckdb"), "SELECT count(*), sum(end_ns - start_ns) FROM host_op")
    odd = rows(store_of(copy, tmp_path / "trace.duckdb"), "SELECT count(*), sum(end_ns - start_ns) FROM host_op")
    assert odd == plain

    document = {"schema": "rlcompare.memory/1", "tool": "torch.cuda.memory", "device": "cuda:1", "is_complete": True}
    level = {"ts_ns": 1795274604000000001, "allocated_bytes": 512, "reserved_bytes": 2048}
    snapshot = folder / "memory[1].json"
    snapshot.write_text(json.dumps(document | {"timeline": [level], "allocations": [], "segments": []}))
    assert rows(store_of(snapshot, tmp_path / "memory.duckdb"), "SELECT allocated_bytes FROM memory") == [(512,)]


def test_a_path_that_no_pattern_means_alone_is_not_opened(ascend_910b: Path, tmp_path: Path) -> None:
    # GIVEN a backslash beside a wildcard, which DuckDB takes for a separator
    folder = tmp_path / "a\\b*"
    folder.mkdir()
    (folder / "p_ascend_pt").symlink_to(ascend_910b / "text" / "level1" / "rank0_ascend_pt")
    # THEN the files that DuckDB would open are left out, and that is said of each
    store = store_of(folder / "p_ascend_pt", tmp_path / "s.duckdb", prefer="text")
    said = dict(rows(store, "SELECT split_part(message, ':', 1), message FROM finding WHERE key = 'unreadable_file'"))
    assert "backslash" in said["kernel_details.csv"]
    assert "backslash" in said["trace_view.json"]


def test_a_pattern_matches_its_own_file_alone(tmp_path: Path) -> None:
    with db.connect(1) as con:
        for name in ("a[b]", "*", "?", "[", "[[]", "a]b", "b\\c"):
            for other in ("ab", "a", "x"):
                (tmp_path / other).write_text("other\n")
            (tmp_path / name).write_text(f"{name}\n")
            query = (
                "SELECT * FROM read_csv(?, header = FALSE, all_varchar = TRUE, quote = '', escape = '', delim = ',')"
            )
            assert con.execute(query, [db.pattern_of(tmp_path / name)]).fetchall() == [(name,)]
            (tmp_path / name).unlink()

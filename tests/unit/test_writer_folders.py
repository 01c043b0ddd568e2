"""Where sample profiles are written, what stands beside the output, and the command ``rlcompare sample``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from rlcompare.cli.main import cli
from rlcompare.errors import ExitCode, RlcompareError, UsageError
from rlcompare.writer import SampleRun, layout, write_sample
from rlcompare.writer.info import SECRETS
from rlcompare.writer.simulate import simulate
from tests.unit.writer_readers import Database

_TINY = SampleRun(ranks=(0,), layers=1, decode_steps=1)


def _everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_capture_folder_is_named_as_torch_npu_names_it(tmp_path: Path) -> None:
    (folder,) = write_sample(_TINY, tmp_path / "run")
    assert re.fullmatch(r"sample-host_\d{6}_\d{17}_ascend_pt", folder.name)
    output = "ASCEND_PROFILER_OUTPUT"
    assert _everything(folder) == {
        "profiler_info_0.json", "profiler_metadata.json", output, f"{output}/ascend_pytorch_profiler_0.db",
        f"{output}/analysis.db",
    }  # fmt: skip


def test_profiler_info_has_the_keys_of_a_real_one(tmp_path: Path, ascend_910b: Path, profiles: Path) -> None:
    def keys(value: object, prefix: str = "") -> set[str]:
        if not isinstance(value, dict):
            return {prefix}
        return {path for key, inner in value.items() for path in keys(inner, f"{prefix}/{key}")}

    newer = profiles / "ascend-qwen3-pp2-2025q4" / "rank_0_ascend_pt"
    for schema, real in (("1.0", ascend_910b / "db" / "level1" / "rank0_ascend_pt"), ("1.2", newer)):
        run = SampleRun(ranks=(0,), schema=schema, steps=(1,), layers=1, decode_steps=1, export="text")
        (folder,) = write_sample(run, tmp_path / schema)
        ours = json.loads((folder / "profiler_info_0.json").read_text())
        theirs = json.loads((real / "profiler_info_0.json").read_text())
        assert keys(ours) <= keys(theirs)
        assert type(ours["rank_id"]) is type(theirs["rank_id"])
        exports = [info["config"]["experimental_config"]["_export_type"] for info in (ours, theirs)]
        assert type(exports[0]) is type(exports[1])


def test_metadata_holds_secrets_and_in_the_newer_generation_groups(tmp_path: Path) -> None:
    run = SampleRun(ranks=(0, 1), schema="1.2", layers=1, decode_steps=1, export="text")
    metadata = json.loads((write_sample(run, tmp_path / "run")[1] / "profiler_metadata.json").read_text())
    assert set(SECRETS) <= set(metadata["ENV_VARIABLES"].values())
    assert metadata["parallel_group_info"] == {
        "group_name_0": {"group_name": "default_group", "group_rank": 1, "global_ranks": [0, 1]}
    }


def test_its_own_folder_is_replaced_and_an_empty_one_filled(tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    write_sample(_TINY, out)
    (again,) = write_sample(SampleRun(ranks=(0,), layers=1, decode_steps=1, seed=9), out)
    assert [path.name for path in out.iterdir() if path.is_dir()] == [again.name]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_folder_or_file_of_someone_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = _everything(tmp_path)
    for name in ("notes", "file"):
        with pytest.raises(UsageError, match=name):
            write_sample(_TINY, tmp_path / name)
    assert _everything(tmp_path) == before
    assert (tmp_path / "notes" / "thesis.txt").read_text() == "mine"


def test_what_fails_halfway_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (kept,) = write_sample(_TINY, tmp_path / "run")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(layout, "write_analysis_db", fail)
    with pytest.raises(OSError, match="No space"):
        write_sample(_TINY, tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert Database(kept).kernels()


def test_the_command_writes_what_its_options_say(tmp_path: Path) -> None:
    arguments = [
        "-o", str(tmp_path / "run"), "--ranks", "1", "--devices", "5", "--steps", "4", "--level", "level0", "--schema",
        "1.2", "--layers", "1", "--decode-steps", "1", "--change", "frequency:0.5", "--change", "memory:2",
    ]  # fmt: skip
    result = CliRunner().invoke(cli, ["sample", *arguments])
    assert result.exit_code == 0
    folder = Path(result.output.strip())
    database = Database(folder)
    assert [row["id"] for row in database.rows("STEP_TIME")] == [4]
    assert {row["deviceId"] for row in database.rows("TASK")} == {5}
    assert {row["freq"] for row in database.rows("AICORE_FREQ")} == {900}


def test_the_command_can_leave_out_steps(tmp_path: Path) -> None:
    arguments = ["-o", str(tmp_path / "run"), "--no-steps", "--mode", "discrete", "--ranks", "1", "--layers", "1"]
    result = CliRunner().invoke(cli, ["sample", *arguments, "--export", "text", "--decode-steps", "1"])
    folders = [Path(line).parent.name for line in result.output.splitlines()]
    assert folders == ["rollout_generate", "actor_compute_log_prob", "ref_compute_log_prob", "actor_update"]


@pytest.mark.parametrize("wrong", [["--change", "slower"], ["--devices", "a,b"], ["--devices", "1"]])
def test_a_wrong_option_is_a_usage_error(tmp_path: Path, wrong: list[str]) -> None:
    result = CliRunner().invoke(cli, ["sample", "-o", str(tmp_path / "run"), *wrong])
    assert isinstance(result.exception, RlcompareError)
    assert result.exception.exit_code == ExitCode.USAGE
    assert not list(tmp_path.iterdir())


def test_the_command_says_where_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(cli, ["sample", "-o", str(tmp_path / "file" / "below")])
    assert isinstance(result.exception, UsageError)
    assert "file" in str(result.exception)


def test_ranks_that_draw_the_same_process_number_have_processes_of_their_own() -> None:
    """Of 1,024 numbers drawn from 700,000, two are usually the same: with seed 0, those of ranks 60 and 287."""
    captures = simulate(SampleRun(ranks=(60, 287), world_size=512))
    assert [capture.pid == 277_113 for capture in captures] == [True, False]

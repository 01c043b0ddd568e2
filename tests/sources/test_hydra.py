"""The configuration of a job from Hydra's folder: what Hydra and OmegaConf themselves compose and resolve."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from rlcompare.errors import InputError
from rlcompare.sources import hydra
from rlcompare.sources.detect import find_runs
from tests.sources.profile_folders import make_profile
from tests.stores import rows, store_of
from tests.verl.conftest import verl_folder
from tests.verl_logs import console_log, training_step

CONFIG = {
    "actor_rollout_ref": {
        "actor": {
            "ppo_mini_batch_size": 256,
            "optim": {"lr": 1e-06},
            "kl": "${..algorithm_like}",
            "rollout_n": "${oc.select:actor_rollout_ref.rollout.n,1}",
            "beta": "${.ppo_mini_batch_size}",
            "missing": "${oc.select:no.such,0.5}",
        },
        "rollout": {
            "n": 4,
            "prompt_length": "${data.max_prompt_length}",
            "secret": "${oc.env:HOME}",
            "part": "a-${data.max_prompt_length}",
        },
        "algorithm_like": "gae",
    },
    "algorithm": {"adv_estimator": "grpo"},
    "data": {"max_prompt_length": 512, "train_files": "/home/somebody/x.parquet", "api_token": "hf_abcdefgh"},
    "trainer": {"logger": ["console"], "profile_steps": [2]},
}


def hydra_folder(folder: Path, config: Any = CONFIG) -> Path:
    """Hydra's folder with a configuration, as OmegaConf writes it."""
    made = folder / hydra.FOLDER
    made.mkdir(parents=True, exist_ok=True)
    (made / hydra.CONFIG).write_text(OmegaConf.to_yaml(OmegaConf.create(config)))
    (made / hydra.OVERRIDES).write_text("- data.max_prompt_length=1024\n- +algorithm.x=1e-3\n- ~trainer.y\n")
    return made


def environment(store: Path) -> dict[str, str]:
    return dict(rows(store, "SELECT key, value FROM env"))


def log(path: Path, config: dict[str, Any] | None = None) -> Path:
    path.write_text(console_log({step: training_step(step) for step in (1, 2, 3)}, config))
    return path


class TestBesideAJob:
    @pytest.mark.parametrize("given", [".", "job.log"])
    def test_of_a_log(self, tmp_path: Path, given: str) -> None:
        log(tmp_path / "job.log")
        hydra_folder(tmp_path)

        store = store_of(tmp_path / given, tmp_path / "s.duckdb")

        found = environment(store)
        assert found["data.max_prompt_length"] == "512"
        assert found["actor_rollout_ref.rollout.prompt_length"] == "512"
        assert found["actor_rollout_ref.actor.optim.lr"] == "1e-06"
        assert not [value for value in found.values() if "somebody" in value or "hf_" in value or "$" in value]
        assert rows(store, "SELECT DISTINCT step FROM metric WHERE profiled") == [(2,)]

    def test_the_printed_configuration_counts_first(self, tmp_path: Path) -> None:
        log(tmp_path / "job.log", {"actor_rollout_ref": {"actor": {"x": 1}}, "algorithm": {"adv_estimator": "gae"}})
        hydra_folder(tmp_path)

        assert environment(store_of(tmp_path, tmp_path / "s.duckdb"))["algorithm.adv_estimator"] == "gae"

    def test_of_the_last_start(self, tmp_path: Path) -> None:
        # GIVEN a job that was started twice, with Hydra's folders below
        log(tmp_path / "train.log")
        for number, name in enumerate(("10-00-00", "11-00-00"), 1):
            hydra_folder(tmp_path / "outputs" / "2026-11-23" / name, CONFIG | {"algorithm": {"gamma": number}})

        store = store_of(tmp_path, tmp_path / "s.duckdb")

        assert environment(store)["algorithm.gamma"] == "2"
        assert rows(store, "SELECT key FROM finding") == [("several_settings",)]

    def test_of_a_profile_alone(self, tmp_path: Path) -> None:
        make_profile(tmp_path / "profile" / "host_1_20250318093015001_ascend_pt", 0)
        hydra_folder(tmp_path)

        (run,) = find_runs(tmp_path)

        assert run.training is not None and run.captures
        assert hydra.read(run.training.settings)["algorithm"] == {"adv_estimator": "grpo"}

    def test_of_no_run_that_can_be_told(self, tmp_path: Path) -> None:
        for name, slower in (("a", 1.0), ("b", 1.2)):
            (tmp_path / f"{name}.log").write_text(console_log({1: training_step(1, slower=slower)}))
        hydra_folder(tmp_path)

        assert [run.training.settings for run in find_runs(tmp_path) if run.training] == [(), ()]


def test_references_as_omegaconf_resolves_them(tmp_path: Path) -> None:
    config = json.loads(json.dumps(CONFIG))
    del config["actor_rollout_ref"]["rollout"]["secret"], config["actor_rollout_ref"]["rollout"]["part"]

    found = hydra.read(hydra.settings_in(hydra_folder(tmp_path, config).parent))

    assert found == OmegaConf.to_container(OmegaConf.create(config), resolve=True)


@pytest.mark.parametrize(
    "text",
    [
        "1e-6",
        "1.5",
        "-1_000.5e+3",
        "08",
        "1_000",
        "yes",
        "2020-01-01",
        "1:30",
        "null",
        "~",
        "'1'",
        ".5e3",
        ".5e+3",
        "1.",
        ".",
        "+1E3",
        "-.inf",
        "0x1f",
        "1e",
        "e3",
        "1.2.3",
        "[1,2e1]",
        "{a:1e-3}",
        "1_e5",
        "5_.e3",
        "1__0.5",
        "._",
    ],
)
def test_values_as_omegaconf_reads_them(tmp_path: Path, text: str) -> None:
    folder = hydra_folder(tmp_path)
    (folder / hydra.CONFIG).write_text(f"a: {text}\n")
    expected = OmegaConf.to_container(OmegaConf.create(f"a: {text}"))
    assert hydra.read(hydra.settings_in(tmp_path)) == expected

    (folder / hydra.CONFIG).unlink()
    (folder / hydra.OVERRIDES).write_text(json.dumps([f"a={text}"]))
    assert hydra.read(hydra.settings_in(tmp_path)) == OmegaConf.to_container(OmegaConf.from_dotlist([f"a={text}"]))


def test_overrides_alone(tmp_path: Path) -> None:
    (hydra_folder(tmp_path) / hydra.CONFIG).unlink()

    assert hydra.read(hydra.settings_in(tmp_path)) == {"data": {"max_prompt_length": 1024}, "algorithm": {"x": 0.001}}


def test_what_hydra_itself_writes(tmp_path: Path) -> None:
    if not (verl_folder() / "hydra").is_dir():
        pytest.skip("Hydra is not here (make verl-wheels fetches it)")
    (tmp_path / "c.yaml").write_text("data: {n: 1, m: '${data.n}'}\nalgorithm: {lr: 1e-6}\n")
    (tmp_path / "main.py").write_text(
        "import hydra\n@hydra.main(config_path='.', config_name='c', version_base=None)\ndef main(c): pass\nmain()\n"
    )
    command = [sys.executable, "main.py", "data.n=3", "hydra.run.dir=out"]
    subprocess.run(command, cwd=tmp_path, check=True, env={"PYTHONPATH": str(verl_folder() / "hydra")}, timeout=60)

    files = hydra.settings_in(tmp_path / "out")

    assert hydra.read(files) == {"data": {"n": 3, "m": 3}, "algorithm": {"lr": 1e-06}}
    assert hydra.read(files[1:]) == hydra.read(files[2:]) == {"data": {"n": 3}}


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: [*x, *x]\n",
        "[" * 5000,
        "- 1\n",
        "a: !!python/object/apply:os.system [touch pwned]\n",
        "a: '${'\n\tb",
        "a: !!bool foo\n",
        "a: !!timestamp foo\n",
        "a: !!int ''\n",
        "a: !!set {x, y}\n",
        "a: 1\na: 2\n",
        "".join(f"k{number}: 1\n" for number in range(30_000)),
    ],
)
def test_damage_is_a_finding(tmp_path: Path, text: str) -> None:
    log(tmp_path / "job.log")
    (hydra_folder(tmp_path) / hydra.CONFIG).write_text(text)

    store = store_of(tmp_path, tmp_path / "s.duckdb")

    assert rows(store, "SELECT key FROM finding") == [("unreadable_settings",)]
    assert not Path("pwned").exists()
    with pytest.raises(InputError):
        hydra.read(hydra.settings_in(tmp_path))


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_a_file_without_keys(tmp_path: Path, text: str) -> None:
    (hydra_folder(tmp_path) / hydra.CONFIG).write_text(text)
    assert hydra.read(hydra.settings_in(tmp_path)) == {}


@pytest.mark.parametrize("number", ["1" + ":0" * 200_000, "9" * 5_000, "1." + "5" * 100_000])
def test_a_very_long_number_stays_text(tmp_path: Path, number: str) -> None:
    (hydra_folder(tmp_path) / hydra.CONFIG).write_text(f"a: {number}\nb: 1\n")
    assert hydra.read(hydra.settings_in(tmp_path)) == {"a": number, "b": 1}


def test_odd_values_of_the_command_line_stay_text(tmp_path: Path) -> None:
    folder = hydra_folder(tmp_path)
    (folder / hydra.CONFIG).unlink()
    (folder / hydra.OVERRIDES).write_text(json.dumps(["a=!!bool foo", "b=1", "c=&x [1]"]))
    assert hydra.read(hydra.settings_in(tmp_path)) == {"a": "!!bool foo", "b": 1, "c": [1]}


def test_a_long_reference_is_left_out(tmp_path: Path) -> None:
    # OmegaConf's own check takes the square of the nesting, and 600 bytes for each character
    (hydra_folder(tmp_path) / hydra.CONFIG).write_text(f"a: 1\nb: '{'${' * 1_000_000}'\nc: '${{a}}{'a-' * 500_000}'\n")

    assert hydra.read(hydra.settings_in(tmp_path)) == {"a": 1}


def test_references_in_a_circle(tmp_path: Path) -> None:
    config = {"data": {"a": "${data.b}", "b": "${data.a}", "c": 1, "d": "${data}", "e": {"f": "${data.e}"}}}

    assert hydra.read(hydra.settings_in(hydra_folder(tmp_path, config).parent)) == {
        "data": {"c": 1, "d": {}, "e": {"f": {}}}
    }

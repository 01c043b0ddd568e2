"""What of a profile's metadata may be stored: the real files' facts, and no secret whatever its form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.model.run import CaptureInput
from rlcompare.sources.detect import find_runs
from rlcompare.sources.env import ENV_VARIABLES, environment_from_configuration, environment_from_metadata
from rlcompare.sources.registry import find


def capture(info: object = None, metadata: object = None) -> CaptureInput:
    return CaptureInput("ascend_text", Path("p"), {}, info=info or {}, metadata=metadata or {})  # type: ignore[arg-type]


def environment(capture: CaptureInput) -> dict[str, str]:
    return dict(find(capture.source).environment(capture))


class TestRealProfiles:
    def test_qwen3(self, profiles: Path) -> None:
        (run,) = find_runs(profiles / "ascend-qwen3-pp2-2025q4")

        env = environment(run.captures[0])

        expected = {
            "cann": "8.3.RC1",
            "torch_npu": "2.7.1",
            "world_size": "4",
            "parallel.tensor": "1",
            "parallel.pipeline": "2",
            "parallel.data": "2",
            "profiler.level": "Level2",
            "profiler.aic_metrics": "ACL_AICORE_PIPE_UTILIZATION",
            "profiler.with_stack": "false",
            "profiler.record_shapes": "true",
            "profiler.export_type": "text",
            "profiler.schedule": "skip_first=12 wait=0 warmup=1 active=1 repeat=1",
            "profiler.activities": "CPU,NPU",
            "env.ASCEND_GLOBAL_LOG_LEVEL": "3",
            "env.PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
        }
        assert expected.items() <= env.items()
        assert "env.HCCL_ALGO" not in env  # it is set to nothing

    def test_a_string_and_a_list_of_one_are_the_same_export_type(self, profiles: Path) -> None:
        (run,) = find_runs(profiles / "ascend-910b-2025-level01" / "text" / "level1" / "rank0_ascend_pt")
        assert environment(run.captures[0])["profiler.export_type"] == "text"

    def test_world_size_of_the_default_group(self) -> None:
        groups = {"group_name_0": {"group_name": "default_group", "group_rank": 0, "global_ranks": [0, 1, 2]}}
        assert environment(capture(metadata={"parallel_group_info": groups})) == {"world_size": "3"}

    def test_schedule_keys_of_2023(self) -> None:
        info = {"config": {"common_config": {"schedule": {"_wait": 1, "_active": 2, "_warmup": 1, "_repeat": 1}}}}
        assert environment(capture(info))["profiler.schedule"] == "wait=1 warmup=1 active=2 repeat=1"


class TestConfiguration:
    @pytest.mark.parametrize(
        ("one", "other", "text"),
        [(1.0, 1, "1"), (0.0, 0, "0"), ("1e-6", 1e-6, "1e-06"), ("8", 8, "8"), (0.5, 0.5, "0.5")],
    )
    def test_a_number_is_written_in_one_way(self, one: object, other: object, text: str) -> None:
        """Releases of verl and overrides write ``1.0`` or ``1``: that is no difference."""
        for value in (one, other):
            config = {"actor_rollout_ref": {"rollout": {"top_p": value}}}
            assert environment_from_configuration(config) == {"actor_rollout_ref.rollout.top_p": text}

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), "1.0.0", "1e-6x", "", True, "0x10", 1e300])
    def test_what_is_no_plain_number_stays(self, value: object) -> None:
        found = environment_from_configuration({"data": {"x": value}})
        assert found == ({"data.x": str(value).lower() if value is True else str(value)} if value != "" else {})


class TestUsersMetadata:
    def test_scalars_and_one_level_of_objects(self) -> None:
        env = environment(
            capture(metadata={"model": "Qwen3-8B", "batch": 512, "args": {"lr": 1e-06, "tp": 8, "deep": {"a": 1}}})
        )
        assert env == {"user.model": "Qwen3-8B", "user.batch": "512", "user.args.lr": "1e-06", "user.args.tp": "8"}

    def test_rows_of_meta_data_give_the_same(self) -> None:
        rows = [
            ("SCHEMA_VERSION", "1.0.0"),
            ("ENV_VARIABLES", json.dumps({"HCCL_ALGO": "ring", "HF_TOKEN": "x"})),
            ("distributed_args", json.dumps({"tensor_model_parallel_size": 2, "world_size": 16})),
            ("model", "Qwen3-8B"),
            ("args", json.dumps({"lr": 1e-06})),
        ]
        assert environment_from_metadata(rows) == {
            "env.HCCL_ALGO": "ring",
            "parallel.tensor": "2",
            "world_size": "16",
            "user.model": "Qwen3-8B",
            "user.args.lr": "1e-06",
        }

    def test_values_are_cut(self) -> None:
        env = environment(capture(metadata={"note": "word " * 200}))
        assert len(env["user.note"]) == 200

    def test_commits_are_kept(self) -> None:
        commit = "3f786850e387550fdab836ed7e6dc881de23001b"
        assert environment(capture(metadata={"git_commit": commit})) == {"user.git_commit": commit}

    @pytest.mark.parametrize(
        "value",
        [
            "Qwen2.5-VL-72B-Instruct-GRPO-lr1e-6-bs512-seqlen32768-rollout8",
            "expandable_segments:True",
            "cann 8.3.RC1",
            "mysql -h db -P 3306 runs",
            "mkdir -p runs",
            "ssh -p 22 worker0",
            "curl -u someone example.org",
        ],
    )
    def test_ordinary_values_are_no_secrets(self, value: str) -> None:
        assert environment(capture(metadata={"note": value})) == {"user.note": value}

    def test_an_environment_dump_is_not_kept(self) -> None:
        dump = {"PATH": "/usr/bin", "HOME": "/home/someone", "USER": "someone", "HCCL_ALGO": "ring"}
        assert environment(capture(metadata={"environ": dump, "environ2": json.dumps(dump)})) == {}

    def test_of_the_profilers_own_dump_only_listed_names_are_kept(self) -> None:
        dump = {"HCCL_ALGO": "ring", "USER": "someone", "WANDB_RUN": "x", "HF_ENDPOINT": "https://example.org"}
        assert environment(capture(metadata={"ENV_VARIABLES": dump})) == {"env.HCCL_ALGO": "ring"}


SECRETS = [
    "python train.py --api-key hunter6",
    "mykey=hunter9",
    "mysql -pS3cret db",
    "mysqldump -h db -u root -p hunter2 runs",
    "sshpass -phunter2 ssh worker0",
    "curl -s -u someone:hunter2 example.org",
    "redis-cli -h db -a hunter2 ping",
    "db_password: hunter",
    "SECRET 'hunter'",
    '{"token": "hunter"}',
    "--credentials,hunter",
    "passwd hunter",
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghij",
    "glpat-abcdefghij0123456789",
    "sk-proj-abcdEFGH0123",
    "xoxb-123456789012-abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA-1234567890abcdefghij",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
    "Bearer abcdef123456",
    "Authorization: Basic dXNlcjpwYXNz",
    "https://user:hunter2@registry.example.org/simple",
    "https://0123456789abcdef@git.example.org/repo",
    "redis://:hunter2@10.0.0.1:6379",
    "https://bucket.example.org/x?X-Amz-Signature=abcdef",
    "https://example.org/?api_key=abc",
    "password=hunter2",
    "export WANDB_API_KEY=0123456789abcdef",
    '{"token": "abc"',
    "0123456789abcdef0123456789abcdef01234567",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
]


class TestSecrets:
    @pytest.mark.parametrize("secret", SECRETS)
    def test_in_a_value(self, secret: str) -> None:
        metadata: dict[str, object] = {
            "note": secret,
            "sentence": f"run with {secret} yesterday",
            "late": "x" * 180 + " " + secret,  # cutting must not happen before looking
            "nested": {"a": secret},
            "text": json.dumps({"a": secret}),
            "items": ["a", secret],
            "ENV_VARIABLES": dict.fromkeys(ENV_VARIABLES, secret),
            "distributed_args": {"world_size": secret},
        }
        info = {"cann_version": secret, "config": {"common_config": {"with_stack": secret, "activities": [secret]}}}

        env = environment(capture(info, metadata)) | environment_from_metadata(
            (key, value if isinstance(value, str) else json.dumps(value)) for key, value in metadata.items()
        )

        assert env == {}

    @pytest.mark.parametrize(
        "key",
        ["HF_TOKEN", "wandb_api_key", "secretName", "DB_PASSWORD", "passwd", "credentials", "authorization", "cookie"],
    )
    def test_under_a_telling_key(self, key: str) -> None:
        metadata = {key: "harmless", "args": {key: "harmless"}, "text": json.dumps({key: "harmless"})}
        assert environment(capture(metadata=metadata)) == {}

    @given(
        prefix=st.sampled_from(["hf_", "ghp_", "sk-", "Bearer ", "https://u:", "token=", "AKIA"]),
        secret=st.text(st.sampled_from("abcdefXYZ0123456789"), min_size=20, max_size=60),
        before=st.text(st.sampled_from("ab :,;/"), max_size=30),
        key=st.text(st.sampled_from("abc._"), min_size=1, max_size=8),
        depth=st.integers(0, 3),
    )
    def test_none_gets_through(self, prefix: str, secret: str, before: str, key: str, depth: int) -> None:
        value: object = (
            f"{before} {prefix}{secret}@host" if prefix.startswith("https") else f"{before} {prefix}{secret}"
        )
        for _ in range(depth):
            value = {key: value}

        env = environment(capture(metadata={key: value})) | environment_from_metadata([(key, json.dumps(value))])

        assert not any(secret[:12] in text for text in env.values())

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
            max_leaves=12,
        )
    )
    def test_any_metadata_gives_short_text(self, value: object) -> None:
        metadata = {"ENV_VARIABLES": value, "distributed_args": value, "parallel_group_info": value, "mine": value}
        env = environment(capture({"config": value, "cann_version": value}, metadata))
        assert all(isinstance(text, str) and 0 < len(text) <= 200 for text in env.values())

"""What is taken for a secret and what is not: in settings, in command lines, and inside texts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.metrics.catalogue import entries
from rlcompare.secret import SUSPICIOUS, looks_secret, names_secret, redacted, redacted_command

S = "S3cr3tValue9xQ"
"""What must be in no output."""

COMMANDS = [
    ("train --api-key {} x", "train --api-key *** x"),
    ("train --api-key={} x", "train --api-key=*** x"),
    ("train --api_key {}", "train --api_key ***"),
    ("train --password {} --steps 3", "train --password *** --steps 3"),
    ("train --hf-token {}", "train --hf-token ***"),
    ("train -p {} data.n=4", "train -p *** data.n=4"),
    ("mysql -h db -p {}", "mysql -h db -p ***"),
    ("redis-cli -a {} ping", "redis-cli -a *** ping"),
    ("sshpass -p {} ssh -p 22 host", "sshpass -p *** ssh -p 22 host"),
    ("curl -u someone:{} host", "curl -u *** host"),
    ("HF_TOKEN={} python3 -m m", "HF_TOKEN=*** python3 -m m"),
    ("env WANDB_API_KEY={}", "env WANDB_API_KEY=***"),
    ("docker run -e OPENAI_API_KEY={}", "docker run -e OPENAI_API_KEY=***"),
    ("curl -H Authorization: Bearer {}", "curl -H Authorization: *** ***"),
    ("m +a.env_vars.WANDB_API_KEY={}", "m +a.env_vars.WANDB_API_KEY=***"),
    ("m trainer.proxy=http://me:{}@proxy", "m trainer.proxy=***"),
    ("git+https://user:{}@host/repo", "***"),
    ("hf_{}abcdefgh", "***"),
]

HARMLESS_COMMANDS = [
    "python3 -u -m verl.trainer.main_ppo data.max_prompt_length=512 --tokenizer /models/qwen --num-tokens 5",
    "srun -N 2 -p gpu python3 train.py --token-budget 4096 --max_token_len 8",
    "ssh -p 22 host", "mkdir -p runs", "docker run -u 1000:1000 -p 8080:80 image", "train --lr 1e-6 -p 8080",
    "m data.prompt_key=prompt data.reward_fn_key=data_source data.image_key=images",
    "m data.tokenizer=/models/qwen actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384",
    "m actor_rollout_ref.actor.loss_agg_mode=token-mean algorithm.use_kl_in_reward=False",
]  # fmt: skip

TEXTS = [
    ("step HF_TOKEN={} begins", "step HF_TOKEN=*** begins"),
    ("Authorization: Bearer {}", "Authorization: ***"),
    ("GET with bearer {}", "GET with bearer ***"),
    ("loading https://user:{}@host/x", "loading https://***@host/x"),
    ("clone https://{}@host/x", "clone https://***@host/x"),
    ("postgresql://team:{}@host:5432/db", "postgresql://***@host:5432/db"),
    ("postgresql://team@firm:{}@host/db", "postgresql://***@host/db"),
    ('{{"api_key": "{}", "n": 3}}', '{{"api_key": "***", "n": 3}}'),
    ('"{{\\"password\\": \\"{}\\"}}"', '"{{\\"password\\": \\"***\\"}}"'),
    ("password: '{} and more'", "password: '***'"),
    ("run --api-key {} --steps 3", "run --api-key *** --steps 3"),
    ("mysql -u root -p{} db", "mysql -u root -p*** db"),
    ("mysql -p-{} db", "mysql -p*** db"),
    ("token=\\{}", "token=\\***"),
    ("sshpass -p {} ssh -p 22 host", "sshpass -p *** ssh -p 22 host"),
    ("a=" * 2000 + "token={}", "a=" * 2000 + "token=***"),
    ("m" * 20_000 + " token={}", "m" * 20_000 + " token=***"),
    ("AWS_SECRET_ACCESS_KEY={};x", "AWS_SECRET_ACCESS_KEY=***;x"),
    ("runs/token={}/prof: it is damaged", "runs/token=***/prof: it is damaged"),
    ("errors.InputError: runs/token={}/prof: it", "errors.InputError: runs/token=***/prof: it"),
    ("Cookie: a={}; b={}", "Cookie: ***"),
    ("GET with Basic bWU6UzNjcjN0VmFsdWU5eFE=", "GET with Basic ***"),
    ("sk-{}01", "***"),
    ("sk-or-v1-{}", "***"),
    ("npm_{}abcdefgh", "***"),
]

HARMLESS = [
    "write postgresql://USER@HOST/DATABASE", "postgresql://team@127.0.0.1:5432/runs", "ssh://git@host:22/repository",
    "token_mult_prob", "num_tokens", "max_token_len", "perf/total_num_tokens", "aten::embedding_dense_backward",
    "num_tokens=4096", "max_token_len: 8192", "time_per_token: 0.3 ms", "eos_token=</s>", "pad_token_id: 0",
    "void radixSortKVInPlace<-2, -1, 32, 4, __half, long, unsigned int>(Key=int, Value=float)",
    "at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::OpaqueType<4u>>",
    "tokenization_qwen2.py(123): encode", "auth.py(3): check_password", "transformers/tokenization_utils.py: __call__",
    "nn.Module: KeyValueCache_0", "flash_attention key: [1, 2, 3]", "hcom_allReduce__123_0_1", "hf_attention_forward",
    "sk_gemm_split_k_bf16", "pk_layernorm", "aclnnFlashAttentionScore_FlashAttentionScore_AiCore", "basic block",
    "reward/token_level_scores", "ProfilerStep#3", "_ZN2at6native12_GLOBAL__N_1L20fill_reverse_indicesEv",
    "https://pytorch.org/docs", "C:\\runs\\new", "10.0.0.1:8080", "update_actor", "key", "token", "session", "auth",
    "basic attention", "Basic Information", "basic TransformerBlock", "basic conv2dlayer", "attention.self.key: Linear",
    "/models/hf_qwen25instruct/x", "hf_llama3instruct", "npm_config_strict_ssl", "runs/sk-learn-pipeline-2",
    "rk-2024-11-05-run", "Session: 3", "std::pair<Key, Value>", "key=value_states", "next token: the",
    "mailto:someone@example.org",
]  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), COMMANDS)
def test_a_command_without_its_secrets(command: str, expected: str) -> None:
    assert redacted_command(command.format(S).split(" ")) == expected.split(" ")


def test_one_word_may_be_a_whole_command() -> None:
    shown = redacted_command(["bash", "-c", f"mysql -p{S} db", f"X-Api-Key: {S}", "--headers", f'{{"token": "{S}"}}'])
    assert S not in " ".join(shown) and shown[:2] == ["bash", "-c"]


@pytest.mark.parametrize("command", HARMLESS_COMMANDS)
def test_a_command_without_secrets_stays(command: str) -> None:
    assert redacted_command(command.split(" ")) == command.split(" ")


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_a_text_without_its_secrets(text: str, expected: str) -> None:
    assert redacted(text.format(S, S)) == expected.format()


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_secrets_stays(text: str) -> None:
    assert redacted(text) == text


def test_every_metric_of_every_release_stays() -> None:
    for entry in entries():
        assert redacted(entry.name) == entry.name
        assert redacted(f"{entry.name}: 0.31") == f"{entry.name}: 0.31"


@given(
    key=st.sampled_from(
        ["HF_TOKEN", "wandb_api_key", "db-password", "clientSecret", "access_token", "AWS_ACCESS_KEY_ID"]
    ),
    between=st.sampled_from(["=", ": ", " = ", "='", '="', '": "']),
    before=st.text(st.sampled_from("ab /[({,;\n"), max_size=8).filter(lambda text: not text or not text[-1].isalpha()),
    after=st.sampled_from(["", " x", ", b=3", "}", ")", "'", '"']),
)
def test_no_form_of_a_pair_gets_through(key: str, between: str, before: str, after: str) -> None:
    quote = between[-1] if between[-1] in "'\"" else ""
    text = f"{before}{key}{between}{S}{quote}{after}"
    assert S not in redacted(text)
    assert S not in " ".join(redacted_command(text.split()))


@given(st.text(st.sampled_from("abcXYZ019_./:=- "), max_size=40))
def test_twice_is_once_and_what_changes_is_suspicious(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once
    assert once == text or re.search(SUSPICIOUS, text)


@pytest.mark.parametrize(
    "key", ["HF_TOKEN", "hfToken", "mykey", "user.token", "secrets.wandb", "x.tokens.hub", "APIKEY"]
)
def test_names_of_secrets(key: str) -> None:
    assert names_secret(key)
    assert looks_secret(key, "plain")


@pytest.mark.parametrize(
    "key",
    ["tokenizer", "num_tokens", "token_level_scores", "author", "key_cache", "data.prompt_key", "eos_token", "x.n"],
)
def test_names_of_no_secrets(key: str) -> None:
    assert not names_secret(key)

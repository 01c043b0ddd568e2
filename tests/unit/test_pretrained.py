"""Hugging Face folders: the logits that transformers computes from them, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rlcompare.errors import InputError, UsageError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors", reason="the extra hf is not installed")

from safetensors.torch import save_file  # noqa: E402

from rlcompare.collect.reference.model import Decoder, load_hf, positions  # noqa: E402
from rlcompare.collect.reference.pretrained import read_config  # noqa: E402

SHAPE = {
    "vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 64,
}  # fmt: skip
QWEN2 = {
    **SHAPE, "architectures": ["Qwen2ForCausalLM"], "rms_norm_eps": 1e-6, "rope_theta": 1e6, "rope_scaling": None,
    "tie_word_embeddings": True, "use_sliding_window": False,
}  # fmt: skip
LLAMA = {
    **SHAPE, "architectures": ["LlamaForCausalLM"], "rms_norm_eps": 1e-5, "head_dim": 8, "attention_bias": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}, "tie_word_embeddings": False,
}  # fmt: skip

# What transformers 4.57.1 gives for these weights and the two rows below: logits 0 to 3 of the last token, and logits
# 46 to 49 of the fourth.
EXPECTED = {
    "Qwen2ForCausalLM": (
        [[0.71953, -0.41649, 0.04479, 0.33429], [0.8433, -1.10459, 1.18378, -1.06784]],
        [[0.59509, -1.05968, 1.34959, -1.41703], [0.34911, -0.16383, -0.04846, 0.25276]],
    ),
    "LlamaForCausalLM": (
        [[-1.59294, 1.35245, -0.88902, 0.27903], [2.16358, -2.15231, 1.78624, -1.12572]],
        [[-0.30927, 0.13377, 0.06378, -0.25081], [-1.77678, 1.56472, -1.09472, 0.44427]],
    ),
}
IDS = [[0, 0, 7, 11, 13, 17, 19], [5, 9, 2, 40, 41, 3, 8]]
MASK = [[0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]]


def weights(folder: Path) -> dict[str, Any]:
    """A sine wave for each weight of the model in config.json, by Hugging Face's names in order."""
    shapes = {name: p.shape for name, p in Decoder(read_config(folder), seed=None).named_parameters()}
    named = sorted((name if name.startswith("lm_head") else f"model.{name}", shape) for name, shape in shapes.items())
    made = {}
    for k, (name, shape) in enumerate(named):
        wave = 0.3 * torch.sin(torch.arange(shape.numel(), dtype=torch.float64) * (0.7 + 0.01 * k))
        made[name] = (wave + name.endswith("norm.weight")).float().reshape(shape)
    return made


def folder_of(path: Path, config: dict[str, Any]) -> Path:
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    return path


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("config", [QWEN2, LLAMA], ids=["qwen2", "llama"])
def test_logits_are_those_of_transformers(tmp_path: Path, config: dict[str, Any], shards: int) -> None:
    folder = folder_of(tmp_path, config)
    made = weights(folder)
    for i in range(shards):
        name = "model.safetensors" if shards == 1 else f"model-{i + 1:05}-of-{shards:05}.safetensors"
        save_file(dict(list(made.items())[i::shards]), folder / name)
    mask = torch.tensor(MASK)
    logits = load_hf(str(folder))(torch.tensor(IDS), mask, positions(mask)).detach()
    last, fourth = EXPECTED[config["architectures"][0]]
    assert torch.allclose(logits[:, -1, :4], torch.tensor(last), atol=2e-5)
    assert torch.allclose(logits[:, 3, 46:], torch.tensor(fourth), atol=2e-5)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"architectures": ["Qwen3ForCausalLM"]}, "architecture is Qwen3ForCausalLM"),
        ({"architectures": None}, "architecture is None"),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, "rope_type=yarn"),
        ({"use_sliding_window": True}, "use_sliding_window=True"),
        ({"hidden_act": "gelu"}, "hidden_act=gelu"),
    ],
)
def test_what_the_decoder_would_compute_otherwise_is_refused(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        load_hf(str(folder_of(tmp_path, {**QWEN2, **change})))


def test_neither_a_preset_nor_a_folder() -> None:
    with pytest.raises(UsageError, match=r"model\.path=tinny: neither a preset \(tiny, small, 0\.5b\) nor a folder"):
        load_hf("tinny")


def test_damaged_folders_are_named(tmp_path: Path) -> None:
    def problem() -> str:
        with pytest.raises(InputError) as caught:
            load_hf(str(tmp_path))
        return str(caught.value)

    assert "config.json: not readable" in problem()
    folder_of(tmp_path, {name: value for name, value in QWEN2.items() if name != "vocab_size"})
    assert "'vocab_size'" in problem()
    folder_of(tmp_path, QWEN2)
    (tmp_path / "pytorch_model.bin").write_bytes(b"a pickle is not opened")
    assert "no model.safetensors" in problem()
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00notjson!")
    assert "model.safetensors: not readable as safetensors" in problem()
    made = weights(tmp_path)
    save_file({name: made[name] for name in list(made)[1:]}, file)
    assert "1 weights are missing, such as embed_tokens.weight" in problem()
    save_file({**made, "model.norm.weight": torch.ones(3)}, file)
    assert "model.norm.weight has shape (3,), config.json means (32,)" in problem()


def test_without_the_extra_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(UsageError, match=r"rlcompare\[hf\]"):
        load_hf(str(folder_of(tmp_path, QWEN2)))

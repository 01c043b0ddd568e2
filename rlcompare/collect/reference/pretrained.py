"""Reads the model in a local Hugging Face folder.

``config.json`` and ``*.safetensors`` are read, never a pickle. The architecture must be that of Qwen2 or
Llama, with plain RoPE and full attention.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rlcompare.collect.reference.layers import DecoderConfig
from rlcompare.errors import InputError, UsageError

_ATTENTION_BIAS = {"Qwen2ForCausalLM": True, "LlamaForCausalLM": False}
"""The architectures that the decoder supports, and whether their query, key and value have a bias."""
_KEY = "actor_rollout_ref.model.path"


def read_weights(folder: Path, parameters: Mapping[str, Tensor]) -> None:
    """Copies the folder's weights into all parameters of a Decoder, by name; other weights are ignored.

    Raises:
        UsageError: the extra ``hf`` is not installed.
        InputError: a file is damaged, or a weight is missing or of another shape.
    """
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise UsageError(f"{_KEY}={folder}: needs safetensors; pip install 'rlcompare[hf]'") from error
    missing = dict(parameters)
    for file in _weight_files(folder):
        try:
            with safe_open(file, framework="pt") as tensors:
                for name in tensors.keys():  # noqa: SIM118 (no dict)
                    _fill(missing, name, tensors, file)
        except (SafetensorError, OSError) as error:
            raise InputError(file, f"not readable as safetensors ({error})", "Download it again") from error
    if missing:
        some = ", ".join(sorted(missing)[:3])
        raise InputError(folder, f"{len(missing)} weights are missing, such as {some}", "Download the folder again")


def _fill(missing: dict[str, Tensor], name: str, tensors: Any, file: Path) -> None:
    """Copies one tensor of a file into the parameter of its name, and removes that name from ``missing``."""
    own = name.removeprefix("model.")
    if own not in missing:
        return
    parameter, weight = missing.pop(own), tensors.get_tensor(name)
    if weight.shape != parameter.shape:
        problem = f"{name} has shape {tuple(weight.shape)}, config.json means {tuple(parameter.shape)}"
        raise InputError(file, problem, "Take both from the same model")
    with torch.no_grad():
        parameter.copy_(weight)


def _weight_files(folder: Path) -> list[Path]:
    """The folder's own safetensors files: ``model.safetensors``, or the shards beside it."""
    whole = folder / "model.safetensors"
    files = [whole] if whole.is_file() else sorted(folder.glob("model-*-of-*.safetensors"))
    if not files:
        remedy = "Save the model with safe_serialization=True; pickled weights are not read"
        raise InputError(folder, "there is no model.safetensors and no shard of one", remedy)
    return files


def read_config(folder: Path) -> DecoderConfig:
    """The shape in the ``config.json`` of a Qwen2 or Llama.

    Raises:
        UsageError: the model computes something that the decoder does not.
        InputError: the file is damaged.
    """
    file = folder / "config.json"
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
        architecture = (raw.get("architectures") or [None])[0]
    except (OSError, ValueError, AttributeError, LookupError, TypeError) as error:
        raise InputError(
            file, f"not readable as a model's configuration ({error})", "Give a complete folder"
        ) from error
    if architecture not in _ATTENTION_BIAS:
        known = " or ".join(_ATTENTION_BIAS)
        raise UsageError(f"{_KEY}={folder}: its architecture is {architecture}, which must be {known}")
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    _refuse_unknown(raw, rope, folder)
    try:
        return _config(raw, float(rope.get("rope_theta", raw.get("rope_theta", 10_000.0))), architecture)
    except (KeyError, ValueError, TypeError, ZeroDivisionError) as error:
        raise InputError(file, f"a value is missing or wrong: {error}", "Give a complete folder") from error


def _config(raw: dict[str, Any], rope_theta: float, architecture: str) -> DecoderConfig:
    """Builds the shape. Absent values get the architecture's own default."""
    hidden, heads = int(raw["hidden_size"]), int(raw["num_attention_heads"])
    return DecoderConfig(
        vocab_size=int(raw["vocab_size"]),
        hidden_size=hidden,
        intermediate_size=int(raw["intermediate_size"]),
        num_hidden_layers=int(raw["num_hidden_layers"]),
        num_attention_heads=heads,
        num_key_value_heads=int(raw.get("num_key_value_heads") or heads),
        head_dim=int(raw.get("head_dim") or hidden // heads),
        rope_theta=rope_theta,
        rms_norm_eps=float(raw.get("rms_norm_eps", 1e-6)),
        attention_bias=_ATTENTION_BIAS[architecture],
        tie_word_embeddings=bool(raw.get("tie_word_embeddings", False)),
    )


def _refuse_unknown(raw: dict[str, Any], rope: dict[str, Any], folder: Path) -> None:
    """Refuses settings with which the same weights would give other results here."""
    found = {
        "rope_type": (rope.get("rope_type") or rope.get("type") or "default", "default"),
        "hidden_act": (raw.get("hidden_act", "silu"), "silu"),
        "use_sliding_window": (bool(raw.get("use_sliding_window")), False),
        "attention_bias": (raw.get("attention_bias", False), False),
        "mlp_bias": (raw.get("mlp_bias", False), False),
    }
    for name, (value, known) in found.items():
        if value != known:
            raise UsageError(
                f"{_KEY}={folder}: config.json has {name}={value}, only {known} is supported: choose another model"
            )

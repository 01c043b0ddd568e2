"""``python -m tools.metric_keys WHEEL`` prints the metrics and timers that a wheel of verl can log.

It reads the sources and runs none of them. Keys are found where verl makes them: timers (``marked_timer("gen", …)``),
dictionary literals, assignments such as ``metrics["actor/lr"] = …``. What is only known at run time is a ``*``.
``RULES`` completes keys that get their prefix elsewhere, and drops what is never logged. A key without ``/`` that no
rule completes is an error: ``unplaced`` lists those.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SINK = re.compile(r"(^|[._])(metrics(_scalar|_with_prefix)?|timing(_\w+)?|aggregated|stats)$|\['metrics'\]$")
"""Names of the dictionaries that metrics are collected in."""

TIMER = re.compile(r"(^|[._])timer$")


@dataclass(frozen=True, order=True)
class Key:
    """A key in the sources: the metric's name, and the place that makes it."""

    name: str
    path: str
    line: int


@dataclass(frozen=True)
class Found:
    """A text that may be a key, as it is written: ``{…}`` stands for an expression in it.

    Attributes:
        place: the file and the function, as ``trainer/ppo/metric_utils.py:compute_data_metrics``.
        sink: ``timer``, or the dictionary that it is put into; empty if that has no name.
    """

    text: str
    place: str
    sink: str
    line: int


@dataclass(frozen=True)
class Rule:
    """What becomes of the keys that a place makes. The three patterns are regular expressions for the whole text.

    Attributes:
        names: the logged names, with ``{}`` for the key; empty: the keys are not logged.
    """

    place: str
    names: tuple[str, ...] = ()
    text: str = ".*"
    sink: str = ".*"


_ENGINE = "workers/(engine/.*|engine_workers|roles/.*|utils/losses)[.]py:.*"
RULES = (
    # Other programs: supervised fine-tuning, evaluation, a server of the Tinker API. Samples that are logged as tables.
    Rule("trainer/(fsdp_)?sft_trainer.*|trainer/main_.*eval.*|workers/engine_workers_tinker.*|utils/tracking.*"),
    # No metrics: weights, states, settings, the definition of timers.
    Rule("utils/megatron_utils.*", ("actor/{}", "critic/{}"), text="mtp_losses/.*"),
    Rule("(single_controller|models|model_merger|third_party|tools)/.*"),
    Rule("utils/(checkpoint|profiler|debug/nvtx_profile|fsdp_utils|megatron_utils|model|kernel|py_functional).*"),
    Rule("workers/rollout/.*"),
    Rule("workers/sharding_manager/.*", sink="(?!timer).*"),
    Rule("workers/engine/.*", text="(?!grad_norm|lr).*"),
    Rule("checkpoint_engine/.*", text="(?!checkpoint_engine/).*"),
    # Times of one sample, from which agent_loop.py makes agent_loop/*.
    Rule("experimental/agent_loop/.*:(run|_handle_.*|_compute_score)"),
    # Parts of val-core/* and val-aux/*.
    Rule("trainer/ppo/metric_utils.py:process_validation_metrics"),
    Rule(".*", ("val-core/*/*/*", "val-aux/*/*/*"), text=r"\{metric_sec\}/.*"),
    # Prefixes that are parameters.
    Rule("utils/seqlen_balancing.py:log_seqlen_unbalance", ("global_seqlen/{}",), text=r"\{prefix\}/(.*)"),
    Rule("trainer/ppo/metric_utils.py:.*moe.*", ("rollout/moe/{}",), text=r"\{prefix\}/(.*)"),
    Rule("trainer/ppo/v1/replay_buffer.py:.*", ("training/{}", "validation/{}"), text=r"\{prefix\}/(.*)"),
    Rule(
        "trainer/ppo/v1/replay_buffer.py:.*",
        ("training/{}", "validation/{}"),
        text=r"\{self._metrics_prefix\(partition_id\)\}/(.*)",
    ),
    Rule("trainer/ppo/v1/replay_buffer.py:.*", text="_dapo_.*"),  # a histogram, logged as a table
    Rule("trainer/distillation/.*", ("actor/{}",)),
    Rule("trainer/ppo/rollout_corr_helper.py:.*", text=r"rollout_corr/\{key\}"),
    Rule(
        "trainer/ppo/rollout_corr_helper.py:.*",
        ("rollout_corr/rollout_rs_*_{}", "actor/rollout_corr/rollout_rs_*_{}"),
        text=r"\{prefix\}_(.*)",
    ),
    Rule("trainer/ppo/rollout_corr_helper.py:.*", ("rollout_corr/{}", "actor/rollout_corr/{}")),
    Rule("trainer/ppo/mismatch_helper.py:.*", text=r"mismatch/\{key\}"),
    Rule("trainer/ppo/mismatch_helper.py:.*", ("mismatch/{}",)),
    # Workers: the trainer puts the role before the keys of the engine.
    Rule(_ENGINE, ("perf/mfu/actor", "perf/mfu/critic", "perf/mfu/actor_infer"), text="mfu"),
    Rule("workers/engine_workers.py:.*", ("actor/{}", "critic/{}"), text="perf/.*|loss|grad_norm|lr"),
    Rule(_ENGINE, ("actor/{}",), text="kl_loss|kl_coef|pg_loss|pg_clipfrac(?:_lower)?|ppo_kl"),
    Rule(_ENGINE, ("actor/{}", "critic/{}"), text="loss|grad_norm|lr"),
    # The asynchronous trainer logs these without timing_s/, and puts fully_async/ before the others.
    Rule("experimental/fully_async_policy/.*:(reset_staleness|do_validate)", ("{}",)),
    Rule("experimental/fully_async_policy/.*", text=r"fully_async/\{key\}"),
    Rule("experimental/fully_async_policy/.*", ("fully_async/{}",), text="(?:processing_time|count|monitor|static)/.*"),
    Rule("experimental/fully_async_policy/.*:get_hybrid_statistics"),  # printed, not logged
    # Timers.
    Rule("trainer/ppo/metric_utils.py:compute_timing_metrics"),
    Rule(".*", ("timing_s/ref", "timing_per_token_ms/ref"), text=r"ref|\{str\(Role.RefPolicy\)\}", sink="timer"),
    Rule(
        ".*",
        ("timing_s/{}", "timing_per_token_ms/{}"),
        text="gen|values|adv|update_critic|update_actor",
        sink="timer",
    ),
    Rule(".*", ("timing_s/{}",), sink="timer|.*timing.*"),
    Rule("workers/(fsdp|megatron)_workers.py:generate_sequences", ("timing_s/{}",)),
)
"""The first rule that fits decides. Keys that none fits are logged as they are written."""


def sources(wheel: Path) -> Iterator[tuple[str, bytes]]:
    """The source files of the package in a wheel, or in a folder that it was unpacked into: path below it, content."""
    if wheel.is_dir():
        for path in (wheel / "verl").rglob("*.py"):
            yield path.relative_to(wheel / "verl").as_posix(), path.read_bytes()
        return
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("verl/") and name.endswith(".py"):
                yield name.removeprefix("verl/"), archive.read(name)


def keys(wheel: Path) -> list[Key]:
    """The keys of a wheel; ``*`` stands for what is only known at run time."""
    made = set()
    for path, content in sources(wheel):
        visitor = _Visitor(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in docstrings
            visitor.visit(ast.parse(content))
        made |= {Key(name, path, found.line) for found in visitor.found for name in logged(found)}
    return sorted(made)


def unplaced(found: Sequence[Key]) -> list[Key]:
    """Keys that no metric can have: a rule is missing."""
    return [key for key in found if "/" not in key.name or not re.search(r"\w", key.name)]


def logged(found: Found) -> list[str]:
    """The names under which a text is logged."""
    for rule in RULES:
        text = re.fullmatch(rule.text, found.text)
        if text and re.fullmatch(rule.place, found.place) and re.fullmatch(rule.sink, found.sink):
            key = text.group(1) if text.groups() else found.text
            return [_open(name.replace("{}", key)) for name in rule.names]
    return [_open(found.text)]


def _open(text: str) -> str:
    return re.sub(r"\*+", "*", re.sub(r"\{[^{}]*\}", "*", text))


class _Visitor(ast.NodeVisitor):
    """Collects the keys of one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.functions: list[str] = []
        self.texts: dict[str, str] = {}
        self.found: list[Found] = []

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.functions.append(node.name)
        self.generic_visit(node)
        self.functions.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Call(self, node: ast.Call) -> None:
        if TIMER.search(ast.unparse(node.func)) and node.args:
            self._add(node.args[0], "timer", self._text(node.args[0]) or f"{{{ast.unparse(node.args[0])}}}")
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        if called in ("update", "append_to_dict"):
            given = node.args[-1] if node.args else None
            sink = ast.unparse(node.func.value if isinstance(node.func, ast.Attribute) else node.args[0])
            if isinstance(given, ast.Dict):
                self._add_dict(given, sink)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.texts[target.id] = self._text(node.value) or ""
                if isinstance(node.value, ast.Dict):
                    self._add_dict(node.value, target.id)
            if isinstance(target, ast.Subscript):
                self._add(target, ast.unparse(target.value), self._text(target.slice))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript):
            self._add(node.target, ast.unparse(node.target.value), self._text(node.target.slice))
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        self._add_dict(node, "")
        self.generic_visit(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._add(node, "", self._text(node.key))
        self.generic_visit(node)

    def _add_dict(self, node: ast.Dict, sink: str) -> None:
        for key in node.keys:
            if key is not None:
                self._add(key, sink, self._text(key))

    def _add(self, node: ast.expr, sink: str, text: str | None) -> None:
        """Keeps a text that looks like a key: it has a slash, or its dictionary is one of metrics."""
        is_path = text is not None and "/" in text and " " not in _open(text)
        if text and (sink == "timer" or is_path or SINK.search(sink)):
            place = f"{self.path}:{self.functions[-1] if self.functions else ''}"
            self.found.append(Found(text, place, sink, node.lineno))

    def _text(self, node: ast.expr) -> str | None:
        """A text with its expressions in braces; None if it is none."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.JoinedStr):
            return "".join(self._text(part) or "" for part in node.values)
        if isinstance(node, ast.FormattedValue):
            return f"{{{ast.unparse(node.value)}}}"
        if isinstance(node, ast.Name):
            return self.texts.get(node.id) or None
        return None


def main(arguments: Sequence[str]) -> int:
    """Prints the keys, each with its first place."""
    made = keys(Path(arguments[0]))
    for name in sorted({key.name for key in made}):
        first = next(key for key in made if key.name == name)
        print(f"{name}\t{first.path}:{first.line}")
    missing = unplaced(made)
    for key in missing:
        print(f"unplaced: {key.name} ({key.path}:{key.line})", file=sys.stderr)
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Detects the format of a metrics file by its content, never by its name."""

from __future__ import annotations

import codecs
import csv
import re
from pathlib import Path

from rlcompare.sources.metrics import console, history, other_logs, prometheus, series, tensorboard
from rlcompare.sources.metrics.table import columns_of

FILE_LOGGER, CONSOLE, TABLE, HISTORY = "file_logger", "console_log", "metrics_table", "wandb_history"
MLFLOW, MLFLOW_FOLDER, TENSORBOARD = "mlflow", "mlflow_folder", "tensorboard"
WANDB, TRACKIO, SERIES = "wandb_records", "trackio", "series"
OTHER_LOG = "other_log"
PROMETHEUS = "prometheus"
"""Metrics of the rollout engine beside a job; joined to the job's steps by time."""

FORMS = (
    FILE_LOGGER, CONSOLE, MLFLOW, MLFLOW_FOLDER, WANDB, TRACKIO, HISTORY, SERIES, TABLE, TENSORBOARD, OTHER_LOG,
    PROMETHEUS,
)  # fmt: skip
"""The formats, most exact first: if several files belong to one run, the first format counts. The console of old
releases rounds, TensorBoard keeps single precision, and some other trainers print two decimals."""

LOGS = (CONSOLE, FILE_LOGGER, OTHER_LOG)
"""The formats whose files may hold several jobs, one after the other."""

_FILE_LOGGER = re.compile(
    rb'^[ \t\0]*\{\s*(?:"step"\s*:\s*"?-?\d+[^{]{0,20}"data"\s*:\s*\{'
    rb'|"data"\s*:\s*\{[^{}\n]*\}[^{\n]{0,99}"step"\s*:\s*"?-?\d)',
    re.MULTILINE,
)
"""A line of it, also with sorted keys."""
_SEPARATORS = {";": "semicolon", "\t": "tab"}


def form_of_text(path: Path, head: bytes) -> str | None:
    """The format of a text that is neither JSON nor any other known kind; None: it contains no metrics.

    Args:
        head: its first bytes.

    Raises:
        OSError: it cannot be read.
    """
    if tensorboard.is_event_file(head):
        return TENSORBOARD
    # Tables have no NUL bytes, but logs may: if one was truncated while the job was writing, or C code printed one.
    if b"\0" not in head and _is_table(head):
        return TABLE
    if console.has_metrics(path):
        return CONSOLE
    if prometheus.is_text(head):
        return PROMETHEUS
    return OTHER_LOG if other_logs.has_metrics(path) else None


def why_unknown(head: bytes) -> str | None:
    """Why a text that may contain metrics cannot be read, as a clause; None: no known reason."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it is text in UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"
    separator = next((name for sign, name in _SEPARATORS.items() if _is_table(head, sign)), None)
    if separator:
        return f"its columns are separated by {separator}s: export it with comma separators and decimal points"
    if head.startswith(b"\0"):
        return "it begins with NUL bytes, which do not belong in a log: remove them (tr -d '\\000')"
    return None


def form_of_json(text: bytes) -> str | None:
    """The format of a text that begins with a JSON object; None if it has no metrics or begins with something else."""
    if text[:1] != b"{" and not (text[:1] == b"\0" and text.lstrip(b"\0 \r\n")[:1] == b"{"):
        return None
    if _FILE_LOGGER.search(text):
        return FILE_LOGGER
    if prometheus.is_answer(text):
        return PROMETHEUS
    if series.is_series(text):
        return SERIES
    return HISTORY if history.is_history(text) else None


def _is_table(head: bytes, separator: str = ",") -> bool:
    line = head.split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    try:
        return separator in line and columns_of(next(csv.reader([line], delimiter=separator), [])) is not None
    except csv.Error:
        return False

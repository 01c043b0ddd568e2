"""Reads metrics, whatever their form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rlcompare.model.run import MetricsInput
from rlcompare.sources.metrics import (
    console,
    file_logger,
    form,
    history,
    mlflow,
    other_logs,
    series,
    table,
    tensorboard,
    trackio,
    wandb_records,
)
from rlcompare.sources.metrics.values import Metrics

_READERS: Mapping[str, Callable[[MetricsInput], Metrics]] = {
    form.FILE_LOGGER: lambda given: file_logger.read(given.files[0], given.part),
    form.CONSOLE: lambda given: console.read(given.files[0], given.part),
    form.MLFLOW: lambda given: mlflow.read(given.files[0], given.part),
    form.MLFLOW_FOLDER: lambda given: mlflow.read_folder(given.files),
    form.HISTORY: lambda given: history.read(given.files[0]),
    form.TABLE: lambda given: table.read(given.files[0], given.part),
    form.WANDB: lambda given: wandb_records.read(given.files[0]),
    form.TRACKIO: lambda given: trackio.read(given.files[0], given.part),
    form.SERIES: lambda given: series.read(given.files[0]),
    form.OTHER_LOG: lambda given: other_logs.read(given.files[0], given.part),
    form.TENSORBOARD: lambda given: tensorboard.read(given.files),
}


def read_metrics(given: MetricsInput) -> Metrics:
    """The values of one source of what training logged, which is not ``form.PROMETHEUS``.

    Raises:
        InputError: it cannot be read, or holds no metrics.
    """
    return _READERS[given.form](given)

"""Torch traces of GPUs as Nsight Systems would record the run: kernels, copies, calls and NVTX, no operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.inject.timelines import Event, Span, Trace
from tests.sources.nsys_exports import Export, global_id

_PID, _CONTEXT = 100, 1
_COPIES = {"HtoD": 1, "DtoH": 2, "DtoD": 8}


class NsysTrace(Trace):
    """A torch trace that is written as an export of Nsight Systems."""

    def __init__(self, events: Sequence[Event], document: Mapping[str, Any]) -> None:
        super().__init__([event for event in events if event.get("cat") not in ("cpu_op", "python_function")], document)

    def write(self, folder: Path, rank: int = 0) -> Path:
        export = Export()
        export.process(_PID)
        calls = {span.link: number for number, span in enumerate(self.of_kind("call"), 1)}
        threads = {lane: number for number, lane in enumerate(dict.fromkeys(span.lane for span in self.spans), 100)}
        for span in self.spans:
            if span.kind == "call":
                row = (span.start, span.end, 0, global_id(_PID, threads[span.lane]), calls[span.link])
                _add(export, "CUPTI_ACTIVITY_KIND_RUNTIME", *row, export.text(span.name), 0)
            elif span.kind in ("step", "range"):
                where = global_id(_PID, threads[span.lane])
                _add(export, "NVTX_EVENTS", span.start, span.end, 59, 0, None, where, export.text(span.name), 0, None)
            elif span.kind in ("kernel", "comm", "copy"):
                self._write_task(export, span, calls.get(span.link, 0))
        return export.write(folder / f"rank{rank}.sqlite")

    def _write_task(self, export: Export, span: Span, call: int) -> None:
        args = self.events[span.place].get("args", {})
        row = (span.start, span.end, 0, _CONTEXT, args.get("stream", 7), call, global_id(_PID))
        if span.kind != "copy":
            name = export.text(span.name)
            _add(export, "CUPTI_ACTIVITY_KIND_KERNEL", *row, name, name, 1)
        elif span.name.startswith("Memset"):
            _add(export, "CUPTI_ACTIVITY_KIND_MEMSET", *row, args.get("bytes", 0))
        else:
            kind = next((number for word, number in _COPIES.items() if word in span.name), 8)
            _add(export, "CUPTI_ACTIVITY_KIND_MEMCPY", *row, args.get("bytes", 0), kind)


def _add(export: Export, table: str, *row: object) -> None:
    export.rows.setdefault(table, []).append(row)

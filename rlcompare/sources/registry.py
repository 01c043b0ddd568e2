"""Which module reads which source's captures."""

from __future__ import annotations

from collections.abc import Mapping

MODULES: Mapping[str, str] = {
    "ascend_db": "rlcompare.sources.ascend.db",
    "ascend_text": "rlcompare.sources.ascend.text",
    "torch_trace": "rlcompare.sources.torch.trace",
    "torch_memory": "rlcompare.sources.torch.memory",
    "nsys": "rlcompare.sources.nsys.fill",
}
"""By ``CaptureInput.source``: the module whose ``fill`` reads the capture."""

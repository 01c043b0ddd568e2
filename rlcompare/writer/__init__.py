"""Writes sample profiles: complete ``*_ascend_pt`` folders of a simulated RL run, as torch_npu would write them.

>>> write_sample(SampleRun(steps=(2,), changes=(Change.slower("MatMulV2", 1.3),)), Path("new"))  # doctest: +SKIP
"""

from __future__ import annotations

from rlcompare.writer.layout import write_sample
from rlcompare.writer.spec import Change, ChangeKind, SampleRun, parse_change

__all__ = ["Change", "ChangeKind", "SampleRun", "parse_change", "write_sample"]

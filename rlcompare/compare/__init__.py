"""Compares two sides, each of one or more runs: reads stores and returns a frozen ``model.diff.Diff``."""

from rlcompare.compare.diff import compare_runs
from rlcompare.compare.inputs import CompareOptions, RunStore, SideInput

__all__ = ["CompareOptions", "RunStore", "SideInput", "compare_runs"]

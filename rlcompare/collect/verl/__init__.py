"""Starts a verl job under verl's own profilers, and makes a run directory of what it leaves.

The job stays verl's: rlcompare adds overrides to its command line (``plan``), after it has asked the interpreter that
the command names which verl it would run and with which configuration (``ask``). Nothing here imports verl or torch.
"""

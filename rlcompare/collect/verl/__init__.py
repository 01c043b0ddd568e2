"""Starts a verl job under verl's own profilers, and makes a run directory of its output.

rlcompare adds overrides to the job's command line (``plan``). Before that, it asks the interpreter that the command
names for the verl version and the configuration (``ask``). Nothing here imports verl or torch.
"""

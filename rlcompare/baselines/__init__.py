"""Baselines: runs kept under a name, small enough for a git repository, with a log of why they were replaced.

They are in a folder or at a URL (``places``). Each baseline is a folder there, with one file per run (``run_file``) and
a manifest with their hashes (``manifest``). ``library`` reads and extends them; ``fitness`` decides which runs are fit.
"""

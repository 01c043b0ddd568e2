"""Baselines: runs kept under a name, small enough for a git repository, with a log of why they were replaced.

A store of baselines is a folder or a URL. Each baseline is a folder in it, with one file per run (``run_file``) and a
manifest (``manifest``) that holds their hashes. Nothing here decides which runs are fit for a baseline, except
``fitness``.
"""

"""Probes record a few decode steps or micro batches of other people's code. The public API is `rlcompare.probe`."""

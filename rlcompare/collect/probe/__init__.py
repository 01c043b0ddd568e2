"""Probes record a few decode steps or micro batches of other people's code; `rlcompare.probe` is their front door."""

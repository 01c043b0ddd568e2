"""The reference RL training step under a profiler: configuration, model, step, profiling tools and run directory.

Nothing to the right of it (sources, store, compare, gate, report) imports from here, so that `diff` needs no torch.
"""

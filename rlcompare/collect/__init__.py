"""Everything that runs on the machine that trains.

`reference/` is the reference RL step, `profiler/` has one file per profiling tool, `verl/` launches a verl job,
`probe/` records a few decode steps or micro batches of other people's code, and `attach/` profiles a running job.
Only commands and `rlcompare.probe` import from here, so that `diff` needs no torch.
"""

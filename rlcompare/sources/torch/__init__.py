"""Output of torch.profiler and torch's memory recorder: traces and memory snapshots."""

"""What torch.profiler and torch's memory recorder write: traces and memory snapshots."""

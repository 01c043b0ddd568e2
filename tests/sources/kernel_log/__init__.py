"""A source of a made-up format, as a contributor would write one: one module and its SQL, nothing else."""

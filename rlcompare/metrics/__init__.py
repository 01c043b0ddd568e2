"""The catalogue of training metrics and timers: what a name means, which releases log it, and what it explains."""

from rlcompare.metrics.catalogue import Entry, Kind, as_text, entries, entry, training_timers, waits

__all__ = ["Entry", "Kind", "as_text", "entries", "entry", "training_timers", "waits"]

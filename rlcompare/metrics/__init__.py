"""The catalogue of training metrics and timers: what each name means, in which release of verl, and what it explains."""

from rlcompare.metrics.catalogue import Entry, Kind, entries, entry, rows

__all__ = ["Entry", "Kind", "entries", "entry", "rows"]

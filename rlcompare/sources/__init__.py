"""One folder per input family; ``detect`` finds what a path holds, and each source fills the store's tables by SQL."""

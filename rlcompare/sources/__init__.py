"""One module per input format; ``detect`` tells what a path holds, and each source fills the store's tables by SQL."""

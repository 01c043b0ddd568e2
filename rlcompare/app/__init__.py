"""The use cases that commands and notebooks share: open a side, open a run, compare two sides."""

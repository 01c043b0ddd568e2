"""The command line: one module per command, whose docstring is the command's help text."""

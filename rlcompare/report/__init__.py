"""Renders a ``Diff`` and a ``GateResult``, one module per format; makes no numbers of its own."""

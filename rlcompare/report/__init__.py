"""Renders a ``Diff`` and a ``GateResult``, one module per format. Computes no results of its own."""

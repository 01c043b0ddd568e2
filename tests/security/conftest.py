"""The command line and the sample profiles, as in ``tests/cli``."""

from tests.cli.conftest import rlcompare, samples

__all__ = ["rlcompare", "samples"]

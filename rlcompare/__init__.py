"""rlcompare: did a change make an RL training step slower or less stable, by how much, and why?

For scripts and notebooks there are ``rlcompare.load`` and ``rlcompare.diff``. They are imported when they are asked
for, so that ``import rlcompare`` costs nothing; it imports nothing at all, because it runs at interpreter start where
RLCOMPARE_PROBE is set.
"""

TYPE_CHECKING = False  # as type checkers know it

__version__ = "0.1.0"

if TYPE_CHECKING:
    from typing import Any

    from rlcompare.notebook import Comparison, Run, Table, diff, load

__all__ = ["Comparison", "Run", "Table", "__version__", "diff", "load"]


def __getattr__(name: str) -> "Any":
    if name in __all__:
        from rlcompare import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]

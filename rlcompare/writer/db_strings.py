"""STRING_IDS: CANN, the framework and the memory records each number their own strings.

So one string can have several ids, as in real databases.
"""

from __future__ import annotations

Row = tuple[int | float | str | None, ...]

_TORCH, _MEMORY = 1 << 28, 2 << 28


class Strings:
    """Hands out ids from three ranges."""

    def __init__(self) -> None:
        self._ids: dict[tuple[int, str], int] = {}
        self._next = {0: 0, _TORCH: _TORCH, _MEMORY: _MEMORY}

    def cann(self, text: str) -> int:
        """Id of a string that CANN wrote."""
        return self._id(0, text)

    def torch(self, text: str) -> int:
        """Id of a string that torch_npu wrote."""
        return self._id(_TORCH, text)

    def memory(self, text: str) -> int:
        """Id of a string of the memory records."""
        return self._id(_MEMORY, text)

    def rows(self) -> list[Row]:
        """The rows of STRING_IDS."""
        return [(ident, text) for (_, text), ident in self._ids.items()]

    def _id(self, base: int, text: str) -> int:
        if (base, text) not in self._ids:
            self._ids[base, text] = self._next[base]
            self._next[base] += 1
        return self._ids[base, text]

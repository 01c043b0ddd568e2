"""The TOML parser of this Python: that of the standard library since 3.11, before that ``tomli``, which is the same."""

import sys

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError, loads
else:
    from tomli import TOMLDecodeError, loads

__all__ = ["TOMLDecodeError", "loads"]

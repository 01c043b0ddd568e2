"""The templates of the page: Jinja2's environment, with autoescape on, and compiled templates kept for later commands.

Compiling takes a tenth of a small comparison. So compiled templates lie where Python keeps those of modules, and under
the same rules: in ``__pycache__`` beside their sources, or below ``PYTHONPYCACHEPREFIX``; not written with
``PYTHONDONTWRITEBYTECODE``, nor where the folder cannot be written. Whoever can change them can change the templates.
"""

from __future__ import annotations

import importlib.util
import marshal
import re
import sys
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket, BytecodeCache
from markupsafe import Markup, escape

from rlcompare import language, temporary
from rlcompare.resources import resource_root

_OPTIONS: dict[str, Any] = {
    "autoescape": True,
    "undefined": jinja2.StrictUndefined,
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
}
_DIGEST_BYTES = 32


@cache
def environment() -> jinja2.Environment:
    """Templates from our own folder."""
    folder = resource_root("report_templates")
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), bytecode_cache=_Compiled(), **_OPTIONS)
    made.globals |= {"_": language.tr, "_n": language.trn}
    made.filters["breakable"] = _breakable
    made.filters["isolated"] = _isolated
    return made


def _breakable(name: str) -> Markup:
    """A name, escaped, in which a line may be broken after ``/``, ``_``, ``.`` and ``:``."""
    return Markup(re.sub(r"(?<=\w)([/_.:]+)(?=\w)", r"\1<wbr>", str(escape(name))))


def _isolated(text: str) -> Markup:
    """``old → new``, escaped, in which each side keeps its place also if it is written from right to left."""
    arrow = " → "
    return Markup(arrow).join(Markup("<bdi>{}</bdi>").format(part) for part in text.split(arrow))


class _Compiled(BytecodeCache):
    """Compiled templates, each behind a digest of its code and of all that the code was made from."""

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        return importlib.util.cache_from_source(filename or name)

    def get_source_checksum(self, source: str) -> str:
        return f"{importlib.util.MAGIC_NUMBER!r} {jinja2.__version__} {_OPTIONS} {source}"

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            content = Path(bucket.key).read_bytes()
            digest, code = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
            if digest == _digest(bucket, code):
                bucket.code = marshal.loads(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        code = marshal.dumps(bucket.code)
        target = Path(bucket.key)
        with suppress(OSError):
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary.replacing(target) as partial, partial.open("xb") as stream:
                stream.write(_digest(bucket, code) + code)


def _digest(bucket: Bucket, code: bytes) -> bytes:
    return sha256(bucket.checksum.encode() + code).digest()

"""Where a history is: a DuckDB file, or a PostgreSQL database. Passwords appear in nothing that is printed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from rlcompare.errors import UsageError
from rlcompare.gate.find import find_policy, place_setting
from rlcompare.repository import root_of

ENVIRONMENT_VARIABLE = "RLCOMPARE_HISTORY"
DEFAULT = Path(".rlcompare") / "history.duckdb"
"""Below the root of the git repository, else below the working folder."""

_SCHEMES = ("postgresql", "postgres")
_SECRET = ("password", "sslpassword")
_CONNECT_SECONDS = "10"


@dataclass(frozen=True)
class Place:
    """Where a history is.

    Attributes:
        shown: the file, or the server's URL without password and options.
        file: None for a server.
        url: the URL with which to connect; None for a file. May hold a password: never print it.
    """

    shown: str
    file: Path | None = None
    url: str | None = field(default=None, repr=False)

    def without_secrets(self, text: str) -> str:
        """A message about this place without the passwords of its URL."""
        if self.url is None:
            return text
        text = text.replace(self.url, self.shown)
        for secret in sorted(_secrets(self.url), key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def place_of(chosen: str | None, from_policy: str | None = None) -> Place:
    """Where the history is.

    Args:
        chosen: the value of ``--history``; None: $RLCOMPARE_HISTORY, else the policy's, else the default.
        from_policy: ``[gate] history``; see ``history_of_policy``.

    Raises:
        UsageError: the URL or path is not valid.
    """
    text = chosen or os.environ.get(ENVIRONMENT_VARIABLE) or from_policy
    if not text:
        return _file(root_of(Path.cwd()) / DEFAULT)
    scheme = text.partition("://")[0].lower() if "://" in text else ""
    if scheme in _SCHEMES:
        return _server(text)
    if scheme:
        raise UsageError(f"--history takes a file or postgresql://…, not {scheme[:20]}://…")
    return _file(Path(text))


def is_asked_for(chosen: str | None, from_policy: str | None) -> bool:
    """Whether a history was named. Without one at the default place there is none, which is no error."""
    return bool(chosen or os.environ.get(ENVIRONMENT_VARIABLE) or from_policy)


def history_of_policy(policy: Path | None = None) -> str | None:
    """``[gate] history`` of a policy file, else of the repository's, or of what that extends.

    Raises:
        UsageError: a file of the policy cannot be read, or is not TOML.
    """
    file = policy or find_policy(Path.cwd()).path
    return None if file is None else place_setting(file, "history")


def _file(path: Path) -> Place:
    if "\0" in str(path):
        raise UsageError("--history: the path contains a NUL character")
    if path.is_dir():
        raise UsageError(f"--history {path} is a folder: name a file in it, such as {path / DEFAULT.name}")
    return Place(str(path), file=path)


def _server(url: str) -> Place:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise UsageError("--history: the URL is not valid; write postgresql://USER@HOST/DATABASE") from None
    user = f"{parts.username}@" if parts.username else ""
    shown = f"postgresql://{user}{parts.hostname or ''}{port}{parts.path}"
    options = dict(parse_qsl(parts.query))
    if "connect_timeout" not in options:
        more = urlencode({"connect_timeout": _CONNECT_SECONDS})
        url = f"{url}{'&' if parts.query else '?'}{more}"
    return Place(shown, url=url)


def _secrets(url: str) -> set[str]:
    """The passwords of a URL, as written and decoded."""
    parts = urlsplit(url)
    found = {value for key, value in parse_qsl(parts.query) if key in _SECRET}
    found |= {parts.password, unquote(parts.password)} if parts.password else set()
    return {form for secret in found for form in (secret, quote(secret), quote(secret, safe="")) if form}

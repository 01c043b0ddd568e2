"""Tells what could be a secret, so that it is stored and shown nowhere."""

from __future__ import annotations

import re
from itertools import pairwise

SECRET_KEY = re.compile(
    r"token|key|secret|passw|passphrase|pwd|credential|auth|cookie|private|signature|session", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"""
      \b(?:hf|gh[oprsu]|github_pat|glpat|npm|pypi|dop_v1|xox[abeoprs]|sk|pk|rk|ak)[_-][A-Za-z0-9]  # vendors' prefixes
    | \b(?:AKIA|ASIA|AIza|ya29\.|eyJ)[A-Za-z0-9_-]{8}
    | \b(?:bearer|basic)\s+[A-Za-z0-9+/=._~-]{6}
    | ://[^/\s]*@  # a URL with credentials
    | (?:token|secret|passw(?:or)?d|passphrase|pwd|api_?key|access_?key|credentials?|authorization)["']?\s*[=:]
    | \b(?:sig|signature|auth)["']?\s*[=:]
    # "--api-key x", "mykey=x", ["--token", "x"] as a list is shown
    | (?:key|token|secret|passw\w*|passphrase|pwd|credentials?)["']?(?:\s*[=:,]|\s)\s*["']?[^\s"']
    # passwords that clients take behind one letter, where a capital one is another option: mysql -pX, curl -u name:X
    | \b(?:mysql|mariadb|sshpass)[\w-]*\s(?:.*\s)?(?-i:-p)\s?\S
    | \bcurl\s(?:.*\s)?(?-i:-u)\s?[^\s:]+:\S
    | \bredis-cli\s(?:.*\s)?(?-i:-a)\s?\S
    | -----BEGIN
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{32,}(?![0-9A-Za-z])")
_HASH_KEY = re.compile(r"commit|sha|rev|hash|digest|checksum", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9+]{24,}")


def looks_secret(key: str, value: str) -> bool:
    """Whether a key or a value could be an access token, a password or the like; errs on the side of yes."""
    if SECRET_KEY.search(key) or _SECRET_VALUE.search(value):
        return True
    if _HEX.search(value) and not _HASH_KEY.search(key):
        return True
    return any(_is_random(word) for word in _WORD.findall(value))


def _is_random(word: str) -> bool:
    """A long word that mixes capitals, small letters and digits, as encoded keys do and names do not."""
    mixed = re.search(r"[a-z]", word) and re.search(r"[A-Z]", word) and re.search(r"\d", word)
    changes = sum(a.isdigit() != b.isdigit() or a.isupper() != b.isupper() for a, b in pairwise(word))
    return bool(mixed) and changes >= len(word) // 4

"""Recognises what could be a secret, so that it is neither stored nor shown.

Three strengths, because a wrong guess costs differently:

* ``names_secret`` judges the name of a setting by its words: ``wandb_api_key``, but not ``tokenizer``.
* ``looks_secret`` judges a setting and its value, which is then left out; errs on the side of yes.
* ``redacted`` replaces the secret parts of a text that is kept: a name in a profile, a message, a path.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

HIDDEN = "***"

_CERTAIN = re.compile(
    r"secret|passw|passphrase|credential|authorization|cookie|api_?key|access_?key|private_?key", re.IGNORECASE
)
_ENDINGS = ("token", "key", "pwd", "auth", "signature", "sig", "session", "sessionid")
_GROUPS = frozenset({"tokens", "keys", "auth", "session", "private"})
"""Names of groups of settings whose members are secret."""
_PUBLIC = {
    "token": frozenset({
        "eos", "bos", "pad", "unk", "mask", "sep", "cls", "image", "video", "audio", "vision", "stop", "start",
        "end", "special", "per", "each", "last", "first", "next", "draft", "think", "assistant", "new",
        "prompt", "response", "max", "min", "num", "mean", "by", "in", "single", "bonus", "padding",
        "generated", "cached",
    }),
    "key": frozenset({
        "prompt", "response", "reward", "fn", "image", "video", "audio", "messages", "message", "data",
        "answer", "label", "extra", "info", "sort", "group", "input", "output", "tools", "tool", "column",
        "chosen", "rejected", "dict", "cache", "index", "by", "primary", "foreign", "partition", "hot", "rm",
        "uid", "query", "question", "target", "source", "text", "content", "id", "metric", "config", "env",
        "sample", "batch", "state", "map", "rank",
    }),
}  # fmt: skip
"""Words before the last one with which it means something else: ``eos_token``, ``prompt_key``."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_TOKEN = r"""
      \b(?:hf|gh[oprsu]|npm)_[A-Za-z0-9]{20,}
    | \b(?:github_pat|dop_v1)_[A-Za-z0-9_]{16,}
    | \bglpat-[A-Za-z0-9_-]{8,}
    | \bpypi-[A-Za-z0-9_-]{16,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{8,}
    | \b[sprx]k-(?:proj|ant|live|test|svcacct|or-v1)-(?=[A-Za-z_-]{0,100}\d)[A-Za-z0-9_-]{8,}
    | \b[sprx]k-(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}
    | \b[sprx]k_(?:live|test)_[A-Za-z0-9]{8,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{8,}
    | \bAIza[A-Za-z0-9_-]{8,}
    | \bya29\.[A-Za-z0-9_-]{8,}
    | \beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*
    | -----BEGIN[^-]*PRIVATE\ KEY-----(?:[^-]*(?:-----END[^-]*-----)?)
"""
"""Tokens that their own form gives away."""
_SECRET_VALUE = re.compile(
    r"""
      \b(?:hf|gh[oprsu]|github_pat|glpat|npm|pypi|dop_v1|xox[abeoprs]|sk|pk|rk|ak)[_-][A-Za-z0-9]  # vendors' prefixes
    | \b(?:AKIA|ASIA|AIza|ya29\.|eyJ)[A-Za-z0-9_-]{8}
    | \b(?:bearer|basic)\s+[A-Za-z0-9+/=._~-]{6}
    | ://[^/\s]*@  # a URL with credentials
    | (?:token|secret|passw(?:or)?d|passphrase|pwd|api_?key|access_?key|credentials?|authorization)["']?\s*[=:]
    | \b(?:sig|signature|auth)["']?\s*[=:]
    # "--api-key x", "mykey=x", ["--token", "x"] as a list is shown
    | (?:key|token|secret|passw\w{0,30}|passphrase|pwd|credentials?)["']?(?:\s*[=:,]|\s)\s*["']?[^\s"']
    | -----BEGIN
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{32,}(?![0-9A-Za-z])")
_HASH_KEY = re.compile(r"commit|sha|rev|hash|digest|checksum", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9+]{24,}")

SUSPICIOUS = (
    r"(?i)token|secret|passw|passphrase|pwd|key|credential|auth|cookie|signature|session|bearer|basic\s|://[^/\s]*@"
    r"|\bhf_|\bgh[oprsu]_|github_pat_|dop_v1_|\bnpm_|\bglpat-|\bpypi-|\bxox|\b[sprx]k[-_]|AKIA|ASIA|AIza|ya29\.|eyJ"
    r"|-----BEGIN|mysql|mariadb|sshpass|redis-cli|\bcurl\s|\bsig[=:]"
)
"""A pattern, also of DuckDB's dialect, that every text matches in which ``redacted`` changes something."""
_SUSPICIOUS = re.compile(SUSPICIOUS)
_TOKENS = re.compile(_TOKEN, re.VERBOSE)
_URL = re.compile(
    r"(?:(?<!\bpostgresql)(?<!\bpostgres)(?<!\bssh)://|://(?=[^/\s\"'<>:]*:[^/\s\"'<>]*@))[^/\s\"'<>]*@", re.IGNORECASE
)
"""A name alone may be a token, but not of a database or a login: there it tells the reader whose password is wrong."""
_HEADER = re.compile(r"\b((?:proxy-)?authorization|(?:set-)?cookie)(\"?'?\s*[:=]\s*\"?'?)[^\"'\r\n]+", re.IGNORECASE)
_BEARER = re.compile(r"\b(bearer\s+)[A-Za-z0-9+/=._~-]{6,}", re.IGNORECASE)
_BASIC = re.compile(r"\b(?P<scheme>basic\s+)(?P<value>[A-Za-z0-9+/]{8,}={0,2})", re.IGNORECASE)
_PAIR = re.compile(
    r"(?<![\w.-])(?:[^\W_A-Za-z]|[.-])*(?P<key>[A-Za-z_][\w.-]*)(?:\\?[\"'])?\s*(?P<sign>=(?!=)|:(?![:/\\]))\s*"
    r"(?=[^\s,;&(){}\[\]<>|:*])"
)
"""A name and what stands between it and a value. A key begins where a word does: no later start in it has a match."""
_VALUE = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\\\"[^\"\\]*\\\"|[^\s\"',;&(){}\[\]<>|:*][^\s\"',;&(){}\[\]<>|]*"
)
_IN_PATH = re.compile(r"(?<=[/\\])(?P<key>[A-Za-z_][\w.-]*)(?P<between>=)(?P<value>[^\s\"'/\\:;&]+)")
_FLAG = re.compile(r"(?<!\S)(?P<key>--?[A-Za-z][\w.-]*)(?P<between>[\"']?,?\s+)(?P<value>\"[^\"]*\"|'[^']*'|[^\s-]\S*)")
_PASSWORDS = tuple(
    (re.compile(rf"\b(?:{client})\s", re.IGNORECASE), re.compile(rf"(?<=\s){option}"))
    for client, option in (
        (r"(?:mysql|mariadb|sshpass)[\w-]{0,40}", r"-p\s?(?P<value>(?<=-p)\S+|[^\s-]\S*)"),
        ("redis-cli", r"-a\s?(?P<value>(?<=-a)\S+|[^\s-]\S*)"),
        ("curl", r"-u\s?[^\s:]+:(?P<value>\S+)"),
    )
)
"""Clients, and the option behind which each takes a password. A capital letter is another option."""
_PLAIN = re.compile(
    r"-?[\d.,_]+(?:e[-+]?\d+)?[a-z%]{0,2}|true|false|null|none|nan|inf|str|string|int|bytes|bool|float|any|optional|object|\*+",
    re.IGNORECASE,
)
"""Values that are no secrets whatever they belong to: numbers, switches, types."""
_QUOTES = "\\\"'"
_WORDS_OF_TEXTS = ("token", "key", "session")
"""Before a colon, they may be plain words or names of modules: ``next token: the``, ``attention.self.key: Linear``."""
_USER = re.compile(r"[^\s:/=]+:[^\s/=]+")
_PORT = re.compile(r"[\d.:-]+")
_NAME = re.compile(r"--([A-Za-z][\w.-]*)|(?:\S*[\[{(,;/])?[\"']?([A-Za-z_][\w.-]*)[\"']?[:=][\"']?")
"""A word that names what the next one holds: ``--api-key``, ``Authorization:``, ``"token":``."""
_OPTION = re.compile(r"-{1,2}[A-Za-z][\w.-]*")
_BETWEEN = ("=", ":")
_SCHEMES = ("bearer", "basic")
_CLIENTS = {"-p": frozenset({"mysql", "mariadb", "sshpass"}), "-a": frozenset({"redis-cli"})}
"""Clients that take a password behind one letter."""
_NO_PASSWORD = frozenset({
    "srun", "sbatch", "salloc", "mkdir", "cp", "ssh", "docker", "podman", "nerdctl", "perf", "nsys", "nohup",
})  # fmt: skip
"""Programs whose ``-p`` is something else, such as the partition of a cluster."""


def names_secret(key: str) -> bool:
    """Whether a setting of this name holds a secret, judged by the words of its name and of the groups it is in."""
    *groups, name = re.split(r"[./]", key)
    if any(group.lower() in _GROUPS for group in groups):
        return True
    return any(_is_secret_name(part) for part in (*groups, name))


def _is_secret_name(name: str) -> bool:
    if _CERTAIN.search(name.replace("-", "_")):
        return True
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and words[-1].isdecimal():
        words.pop()
    if not words:
        return False
    if words[0] in ("token", "auth", "private") and words[1:] in (["value"], ["string"], ["secret"], ["hash"]):
        return True
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    ending = next((ending for ending in _ENDINGS if last.endswith(ending)), None)
    if ending is None or (ending not in ("token", "key", "auth", "pwd") and last != ending):
        return False
    return (before not in _PUBLIC.get(ending, ()) and last[: -len(ending)] not in _PUBLIC.get(ending, ())) or (
        last == ending and not before
    )


def looks_secret(key: str, value: str) -> bool:
    """Whether a key or a value could be an access token, a password or the like; errs on the side of yes."""
    if names_secret(key) or _SECRET_VALUE.search(value) or next(_passwords(value), None):
        return True
    if _HEX.search(value) and not _HASH_KEY.search(key):
        return True
    return any(_is_random(word) for word in _WORD.findall(value))


def _is_random(word: str) -> bool:
    """A long word that mixes capitals, small letters and digits, as encoded keys do and names do not."""
    mixed = re.search(r"[a-z]", word) and re.search(r"[A-Z]", word) and re.search(r"\d", word)
    changes = sum(a.isdigit() != b.isdigit() or a.isupper() != b.isupper() for a, b in pairwise(word))
    return bool(mixed) and changes >= len(word) // 4


def redacted(text: str) -> str:
    """The text with ``***`` in place of each secret that its own form or its name gives away.

    Everything else stays, character by character: names of kernels, operators and metrics are unchanged. Takes time
    in proportion to the length of the text, whatever it holds.
    """
    if not _SUSPICIOUS.search(text):
        return text
    text = _URL.sub(f"://{HIDDEN}@", text)
    text = _HEADER.sub(rf"\1\2{HIDDEN}", text)
    text = _BEARER.sub(rf"\g<1>{HIDDEN}", text)
    text = _BASIC.sub(_without_credentials, text)
    text = _TOKENS.sub(HIDDEN, text)
    text = _with_hidden(text, _passwords(text))
    for pattern in (_FLAG, _IN_PATH):
        text = _with_hidden(text, _values_of(pattern, text))
    return _with_hidden(text, _values_of_pairs(text))


def _with_hidden(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with ``***`` in place of each span; they are in order."""
    shown, end = [], 0
    for start, until in spans:
        shown += [text[end:start], HIDDEN]
        end = until
    return "".join([*shown, text[end:]])


def _passwords(text: str) -> Iterator[tuple[int, int]]:
    """Where passwords stand behind an option of a client, in the same line: ``mysql -pX``, ``curl -u name:X``."""
    found = []
    for client, option in _PASSWORDS:
        place = 0
        while match := client.search(text, place):
            line_end = text.find("\n", match.end())
            place = line_end if line_end >= 0 else len(text)
            if password := option.search(text, match.end(), place):
                found.append(password.span("value"))
                place = password.end()
    yield from _disjoint(found)


def _disjoint(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    end = 0
    for start, until in sorted(spans):
        if start >= end:
            yield start, until
            end = until


def _values_of(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Where secrets stand behind their names, by a pattern that matches both."""
    for match in pattern.finditer(text):
        if (span := _secret_in(match["key"].lstrip("-"), match["between"], match["value"])) is not None:
            yield match.start("value") + span[0], match.start("value") + span[1]


def _values_of_pairs(text: str) -> Iterator[tuple[int, int]]:
    """Likewise for ``token=x`` and ``"api_key": "x"``. A value may hold pairs itself: ``InputError: runs/token=x``."""
    place = 0
    while match := _PAIR.search(text, place):
        place = match.end()
        if not _is_name_of_secret(match["key"]) or not (value := _VALUE.match(text, place)):
            continue
        place = value.end()
        if (span := _secret_in(match["key"], match["sign"], value[0])) is not None:
            yield value.start() + span[0], value.start() + span[1]


def _secret_in(key: str, between: str, value: str) -> tuple[int, int] | None:
    """Where the secret stands in the value of a name, without its quotes; None if it is none."""
    bare = value.strip(_QUOTES)
    if not bare or _PLAIN.fullmatch(bare) or not _is_name_of_secret(key):
        return None
    is_word = key.lower().rpartition(".")[2] in _WORDS_OF_TEXTS and "=" not in between and not re.search(r"\d", bare)
    return None if is_word else (len(value) - len(value.lstrip(_QUOTES)), len(value.rstrip(_QUOTES)))


def _is_name_of_secret(key: str) -> bool:
    return names_secret(key) and key.lower() not in ("key", "session")


def _without_credentials(match: re.Match[str]) -> str:
    """Hides what follows ``Basic`` if it is ``name:password`` in base64, not just a word: ``basic attention``."""
    value = match["value"].rstrip("=")
    content = b64decode(value[: len(value) // 4 * 4])
    is_pair = b":" in content and content.isascii() and content.decode("ascii").isprintable()
    return f"{match['scheme']}{HIDDEN}" if is_pair else match[0]


def redacted_command(tokens: Sequence[str]) -> list[str]:
    """A command that may be stored and shown: the values that could be secrets are ``***``.

    A value stands behind ``=`` (``HF_TOKEN=x``, ``--api-key=x``), in the next word (``--api-key x``, ``-u name:x``,
    ``-p x``) or inside a word (``bash -c "mysql -px"``).
    """
    shown: list[str] = []
    is_value = False
    before_passwords = _before_passwords(tokens)
    for place, token in enumerate(tokens):
        if is_value and token in _BETWEEN:
            shown.append(token)
            continue
        if is_value and not _OPTION.match(token):
            shown.append(token if _PLAIN.fullmatch(token) else HIDDEN)
            is_value = token.lower() in _SCHEMES
            continue
        shown.append(_redacted_token(token))
        is_value = place in before_passwords if token in _CLIENTS else _takes_secret(tokens, place)
    return shown


def _redacted_token(token: str) -> str:
    key, separator, value = token.partition("=")
    if _NAME.fullmatch(token):
        return token
    if not separator:
        return HIDDEN if _SECRET_VALUE.search(token) or looks_secret("", token) else redacted(token)
    if _PLAIN.fullmatch(value) or not value:
        return token
    return f"{key}{separator}{HIDDEN}" if looks_secret(key.lstrip("-+~"), value) else token


def _takes_secret(tokens: Sequence[str], place: int) -> bool:
    """Whether the word after this one is a secret."""
    token = tokens[place]
    following = tokens[place + 1] if place + 1 < len(tokens) else ""
    if not following:
        return False
    if token.lower() in _SCHEMES:
        return True
    if following in _BETWEEN:
        return names_secret(token.strip("-\"'"))
    if name := _NAME.fullmatch(token):
        return names_secret(name[1] or name[2])
    if token == "-u":
        return _USER.fullmatch(following) is not None and not _PORT.fullmatch(following)
    return _OPTION.fullmatch(token) is not None and names_secret(token.lstrip("-"))


def _before_passwords(tokens: Sequence[str]) -> set[int]:
    """The places of -p and -a that take a password: those of a known client, and -p of an unknown program too."""
    places: set[int] = set()
    takes: dict[str, bool] = {}  # by option: whether it is the last known program's option for a password
    for place, (token, following) in enumerate(pairwise(tokens)):
        if following and takes.get(token, token == "-p" and not _PORT.fullmatch(following)):
            places.add(place)
        program = token.rsplit("/", 1)[-1]
        for option, clients in _CLIENTS.items():
            if any(program.startswith(client) for client in clients):
                takes[option] = True
            elif program in _NO_PASSWORD:
                takes[option] = False
    return places

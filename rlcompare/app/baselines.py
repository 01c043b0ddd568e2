"""Baselines as commands use them: where they are, adding runs to them, and opening them as a side."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import rlcompare
from rlcompare import temporary
from rlcompare.app import messages
from rlcompare.baselines.names import Reference, check_name, reference_in, slug_of
from rlcompare.errors import InputError, RlcompareError, UsageError
from rlcompare.remote import url_of
from rlcompare.repository import root_of

if TYPE_CHECKING:
    from rlcompare.baselines.fitness import Measured
    from rlcompare.baselines.library import Library
    from rlcompare.baselines.manifest import Manifest, StoredRun, Version
    from rlcompare.compare import RunStore

ENVIRONMENT_VARIABLE = "RLCOMPARE_BASELINES"
FOLDER = Path(".rlcompare") / "baselines"
VERSIONS_KEPT = 10
_LONGEST_REASON = 1000
_GIT_SECONDS = 10


def library(chosen: str | None) -> Library:
    """The baselines of a command.

    Args:
        chosen: the value of ``--baselines``; else $RLCOMPARE_BASELINES counts, then ``baselines`` in the table [gate]
            of the policy, then ``.rlcompare/baselines`` in the git repository, or here if there is none.
    """
    from rlcompare.baselines.library import Library
    from rlcompare.baselines.places import place_at

    named = chosen or os.environ.get(ENVIRONMENT_VARIABLE) or _of_policy()
    return Library(place_at(named or str(root_of(Path.cwd()) / FOLDER)))


def _of_policy() -> str | None:
    """``baselines`` of the repository's policy."""
    from rlcompare.gate.find import find_policy

    with suppress(UsageError):
        policy = find_policy(Path.cwd()).path
        return None if policy is None else baselines_in(policy)
    return None


def baselines_in(policy: Path) -> str | None:
    """Where a policy says that baselines are; None: it does not say. What is wrong with a policy, the gate says."""
    from rlcompare.gate.find import place_setting

    with suppress(UsageError):
        return place_setting(policy, "baselines")
    return None


def referred(path: Path, chosen: str | None) -> tuple[Library, Reference] | None:
    """The baseline that a path of the command line means; None: it means a file or folder.

    A path that exists goes first, unless it is written ``@NAME``; if there is a baseline of that name too, a line on
    standard error says so.

    Raises:
        UsageError: it begins with ``@``, but is not a valid reference.
        InputError: there is neither a path nor a baseline of this name.
    """
    text = str(path)
    reference = reference_in(text)
    if reference is None or url_of(path) is not None:
        return None
    if reference.explicit:
        return library(chosen), reference
    if os.path.lexists(path):
        with suppress(RlcompareError):  # a damaged baseline does not matter here
            found = library(chosen)
            if not found.place.is_remote and found.find(reference.name) is not None:  # asking a URL takes time
                messages.note(f"{text} is read as a path; write @{text} for the baseline of that name")
        return None
    found = library(chosen)
    names = found.place.names()
    if reference.name in names:
        return found, reference
    if names and "/" not in text:
        listed = ", ".join(names[:8]) + (" and more" if len(names) > 8 else "")
        problem = f"there is no such file or folder, and no baseline of this name in {found.place.shown}"
        raise InputError(path, problem, f"Check the name; the baselines are {listed}")
    return None


@dataclass(frozen=True)
class Addition:
    """The runs that are to be a version of a baseline.

    Attributes:
        action: ``add`` or ``promote``.
        force: accept what speaks against them, and record it.
        known: the baseline as it is; None: there is none.
        keep: of how many versions the files are kept.
    """

    name: str
    action: str
    reason: str
    force: bool
    known: Manifest | None
    keep: int


def prepare(
    baselines: Library, name: str, action: str, reason: str, *, force: bool = False, keep: int = VERSIONS_KEPT
) -> Addition:
    """Checks what can be checked before anything is read.

    Raises:
        UsageError: the name or the reason is missing or invalid; for ``add``, the baseline exists; for ``promote`` and
            ``rm``, it does not.
        InputError: its manifest cannot be read, or was changed.
    """
    check_name(name)
    words = " ".join(reason.split())
    if not words:
        raise UsageError(f"--reason is empty: say why; rlcompare baseline show {name} will show it")
    if len(words) > _LONGEST_REASON:
        raise UsageError(f"--reason has {len(words):,} characters: use at most {_LONGEST_REASON:,}")
    known = baselines.find(name) if action == "add" else baselines.get(name)
    if action == "add" and known is not None and not known.is_removed:
        raise UsageError(
            f"baseline {name} has existed since {known.current.date[:10]}: replace it with rlcompare baseline promote, "
            f"or add runs to it with rlcompare baseline promote {name} @{name} RUN…"
        )
    return Addition(name, action, words, force, known, keep)


def add_version(baselines: Library, addition: Addition, runs: Sequence[RunStore]) -> Manifest:
    """Adds a version to a baseline.

    Args:
        runs: the stores of its runs.

    Returns:
        The baseline with it.

    Raises:
        UsageError: something speaks against the runs, or they are the current version; or the place cannot be written.
        InputError: a store cannot be read.
    """
    from rlcompare.baselines.fitness import measure

    contents = _contents(runs)
    _check_new(addition, contents)
    with temporary.folder() as folder:
        measured = measure(runs, _earlier(baselines, addition, Path(folder) / "earlier"))
    if measured.problems and not addition.force:
        raise UsageError(
            f"these runs are not fit for baseline {addition.name} (--force accepts them, and records this)",
            measured.problems,
        )
    with temporary.folder() as folder:
        stored, files = _packed(runs, measured, contents, Path(folder))
        return baselines.extend(
            addition.name, _version(addition, measured, stored), files, addition.known, addition.keep
        )


def _earlier(baselines: Library, addition: Addition, folder: Path) -> list[Path]:
    """The stores of the version that is replaced, if they can be read."""
    with suppress(RlcompareError):
        if addition.known is not None:
            return [folder / f"{run.name}.duckdb" for run in baselines.unpack(Reference(addition.name), folder)]
    return []


def _contents(runs: Sequence[RunStore]) -> list[str | None]:
    """Hashes of what the runs were read from; None: unknown.

    Raises:
        UsageError: two are the same.
    """
    from rlcompare.baselines.run_file import content_of

    contents = [content_of(run.store) for run in runs]
    for number, content in enumerate(contents):
        first = contents.index(content)
        if content is not None and first < number:
            raise UsageError(
                f"{runs[number].name} and {runs[first].name} are the same run, which would count as two samples: "
                "name it once"
            )
    return contents


def _check_new(addition: Addition, contents: Sequence[str | None]) -> None:
    """Refuses the runs that are the current version already. One of an older schema is made anew from them.

    Raises:
        UsageError: they are.
    """
    from rlcompare.db import SCHEMA_VERSION

    if addition.known is None or None in contents:
        return
    current = addition.known.current
    if current.schema_version == SCHEMA_VERSION and {run.content for run in current.runs} == set(contents):
        raise UsageError(
            f"these runs are version {current.number} of baseline {addition.name} already: nothing was changed"
        )


def _packed(
    runs: Sequence[RunStore], measured: Measured, contents: Sequence[str | None], folder: Path
) -> tuple[tuple[StoredRun, ...], dict[str, Path]]:
    from rlcompare.baselines.manifest import StoredRun
    from rlcompare.baselines.run_file import pack, sha256_of

    stored: list[StoredRun] = []
    files: dict[str, Path] = {}
    for number, run in enumerate(runs):
        packed = folder / str(number)
        store_bytes = pack(run.store, packed)
        made = StoredRun(
            name=slug_of(run.name, {other.name for other in stored}),
            sha256=sha256_of(packed),
            size_bytes=packed.stat().st_size,
            store_bytes=store_bytes,
            content=contents[number],
            value=measured.values[number],
        )
        stored.append(made)
        files[made.file] = packed
    return tuple(stored), files


def _version(addition: Addition, measured: Measured, runs: tuple[StoredRun, ...]) -> Version:
    from dataclasses import replace

    from rlcompare.db import SCHEMA_VERSION

    return replace(
        _signed(addition),
        rlcompare=rlcompare.__version__,
        schema_version=SCHEMA_VERSION,
        headline=measured.headline,
        unit=measured.unit,
        environment=measured.environment,
        accepted=measured.problems,
        runs=runs,
    )


def _signed(addition: Addition) -> Version:
    """A version without runs: what was done, by whom and why."""
    from rlcompare.baselines.manifest import GitState, Version
    from rlcompare.collect.verl.asked import git_state

    state = git_state(Path.cwd())
    return Version(
        number=0,
        action=addition.action,
        reason=addition.reason,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        author=(_git("var", "GIT_AUTHOR_IDENT") or "").partition(" <")[0] or None,
        git=None if state is None else GitState(state["commit"], state["dirty"]),
    )


def remove(baselines: Library, addition: Addition) -> Manifest:
    """Removes the files of a baseline. Its log stays, and gets this removal.

    Raises:
        UsageError: the place cannot be written.
    """
    return baselines.extend(addition.name, _signed(addition), {}, addition.known, keep=1)


def ignored_by_git(baselines: Library, manifest: Manifest) -> list[str]:
    """Files of a baseline that git would leave out of a commit, because ``.gitignore`` says so."""
    files = ["baseline.json", *(run.file for run in manifest.current.runs)]
    paths = [baselines.place.path_of(manifest.name, file) for file in files]
    if url_of(Path(paths[0])) is not None:
        return []
    return (_git("check-ignore", "--", *paths) or "").splitlines()


def _git(*arguments: str) -> str | None:
    """What git says; None: nothing, or there is no git."""
    with suppress(OSError, subprocess.SubprocessError, UnicodeError):
        command = ["git", *arguments]
        said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_GIT_SECONDS).stdout.strip()
        return said[:20_000] or None
    return None


def names_in(baselines: Library) -> Iterator[tuple[str, Manifest | RlcompareError]]:
    """All baselines with their manifests, or what is wrong with these; removed ones are left out."""
    for name in baselines.place.names():
        try:
            manifest = baselines.find(name)
        except RlcompareError as error:
            yield name, error
            continue
        if manifest is not None and not manifest.is_removed:
            yield name, manifest

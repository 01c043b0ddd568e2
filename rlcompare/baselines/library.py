"""The baselines in one place: reading them, and adding versions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from rlcompare.baselines.manifest import (
    FILE,
    Manifest,
    StoredRun,
    Version,
    is_run_file,
    read_manifest,
    to_bytes,
    with_version,
)
from rlcompare.baselines.names import Reference
from rlcompare.baselines.places import Place
from rlcompare.baselines.run_file import CHANGED, ChangedError, unpack
from rlcompare.db import SCHEMA_VERSION
from rlcompare.errors import InputError, UsageError

_MOST_LISTED = 8
_MISSING = "its file is missing, or its size differs from the manifest"
_OLDER = " (promote --keep limits how many versions keep theirs)"


class Library:
    """The baselines in a folder or at a URL."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def find(self, name: str) -> Manifest | None:
        """The baseline of a name; None: there is none, not even a removed one.

        Raises:
            InputError: its manifest cannot be read, or was changed.
        """
        data = self.place.manifest(name)
        return None if data is None else read_manifest(data, name, self.place.path_of(name, FILE))

    def get(self, name: str) -> Manifest:
        """The baseline of a name, which is not removed.

        Raises:
            UsageError: there is none; the message lists those that exist.
            InputError: its manifest cannot be read, or was changed.
        """
        found = self.find(name)
        if found is None:
            raise UsageError(f"there is no baseline {name} in {self.place.shown}; {self._known()}")
        if found.is_removed:
            last = found.current
            raise UsageError(f"baseline {name} was removed on {last.date[:10]} ({last.reason})")
        return found

    def _known(self) -> str:
        names = self.place.names()
        more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
        return f"it has {', '.join(names[:_MOST_LISTED])}{more}" if names else "it has none yet: rlcompare baseline add"

    def runs_of(self, reference: Reference) -> tuple[Version, tuple[StoredRun, ...]]:
        """The version and the runs that a reference means.

        Raises:
            UsageError: there is no such baseline, version or run.
            InputError: the manifest cannot be read, or the runs are of another schema.
        """
        version = self.get(reference.name).version(reference)
        if not version.runs:
            raise UsageError(f"{reference}: with version {version.number} the baseline was removed ({version.reason})")
        runs = tuple(run for run in version.runs if reference.run in (None, run.name))
        if not runs:
            names = ", ".join(run.name for run in version.runs)
            raise UsageError(f"{reference}: version {version.number} has no such run; it has {names}")
        if version.schema_version != SCHEMA_VERSION:
            raise InputError(
                self.place.path_of(reference.name, FILE),
                f"version {version.number} of baseline {reference.name} was made with schema {version.schema_version} "
                f"(rlcompare {version.rlcompare}), and this version reads schema {SCHEMA_VERSION}",
                f"Recreate it: rlcompare baseline promote {reference.name} RUN… --reason TEXT. A job of "
                "rlcompare ci init does so if you run it on the main branch with a reason",
            )
        return version, runs

    def unpack(self, reference: Reference, folder: Path) -> tuple[StoredRun, ...]:
        """Write the stores of the runs that a reference means, as ``RUN.duckdb``.

        Raises:
            UsageError: there is no such baseline, version or run.
            InputError: the manifest or a file cannot be read, or was changed.
        """
        runs = self.runs_of(reference)[1]
        folder.mkdir(parents=True)
        for run in runs:
            data = self.place.run(reference.name, run.file, run.size_bytes)
            try:
                if data is None:
                    raise ChangedError(_MISSING if reference.version is None else f"{_MISSING}{_OLDER}")
                unpack(data, run.sha256, run.store_bytes, folder / f"{run.name}.duckdb")
            except ChangedError as error:
                raise self._changed(reference.name, run, str(error)) from error
        return runs

    def check(self, manifest: Manifest) -> None:
        """Compare the files of all versions with their hashes. Those of older versions may have been removed.

        Raises:
            InputError: one was changed, or one of the current version is missing.
        """
        present = self.place.files(manifest.name)
        for version in manifest.versions:
            for run in version.runs:
                if version is not manifest.current and run.file not in present:
                    continue
                data = self.place.run(manifest.name, run.file, run.size_bytes)
                if data is None or hashlib.sha256(data).hexdigest() != run.sha256:
                    raise self._changed(manifest.name, run, _MISSING if data is None else CHANGED)

    def _changed(self, name: str, run: StoredRun, problem: str) -> InputError:
        return InputError(
            self.place.path_of(name, run.file),
            f"run {run.name} of baseline {name} cannot be used: {problem}",
            f"Restore it, for example with git checkout; else rlcompare baseline promote {name} RUN… --reason TEXT",
        )

    def extend(
        self, name: str, version: Version, files: Mapping[str, Path], known: Manifest | None, keep: int
    ) -> Manifest:
        """Add a version to a baseline, with the files of its runs.

        Args:
            files: by their names in the baseline's folder.
            known: the baseline as it was when the version was prepared; None: there was none.
            keep: of how many versions the files are kept, the new one included.

        Returns:
            The baseline with this version.

        Raises:
            UsageError: somebody else changed the baseline in the meantime, or the place cannot be written.
        """
        made = with_version(known, name, version)
        with self.place.changing():
            if self.find(name) != known:
                raise UsageError(
                    f"baseline {name} in {self.place.shown} was changed by somebody else in the meantime: "
                    f"look at it with rlcompare baseline show {name}, and try again"
                )
            for file, local in files.items():
                self.place.add_run(name, file, local)
            self.place.set_manifest(name, to_bytes(made))
            wanted = {run.file for kept in made.versions[-keep:] for run in kept.runs}
            present = self.place.files(name)
            if not self.place.is_locked:  # without a lock, a file may be of a version that is being added
                present &= {run.file for older in made.versions for run in older.runs}
            # A killed process may have left files of a version that does not exist.
            for file in sorted(file for file in present - wanted if is_run_file(file)):
                self.place.remove_run(name, file)
        return made

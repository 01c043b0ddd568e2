"""The folder of a report. rlcompare owns a folder that holds the file ``.rlcompare``, which lists the files written.

Other files in it are left alone. Every file is written under a temporary name and then renamed, so that no file is ever
half-written, even if the process is stopped. Files of an earlier report that the new one does not have are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from rlcompare import temporary
from rlcompare.errors import UsageError

MARKER = ".rlcompare"

_MARKER_HEAD = "A report of rlcompare. The files listed here are replaced by the next one."
_STAGE = ".rlcompare-part-"
_FOLDERS = ("csv", "data")


@contextmanager
def staged(out_dir: Path) -> Iterator[Path]:
    """A temporary folder in ``out_dir``. It is removed at the end, and so is ``out_dir`` if it is empty."""
    check_folder(out_dir)
    made = not out_dir.exists()
    out_dir.mkdir(parents=True, exist_ok=True)
    try:
        with temporary.folder(_STAGE, out_dir) as stage:
            yield Path(stage)
    finally:
        if made:
            with suppress(OSError):  # it holds files
                out_dir.rmdir()


def check_folder(out_dir: Path) -> None:
    """Refuses a folder that holds other files. Called before a comparison, so that it fails early.

    Raises:
        UsageError: the folder is not owned by rlcompare, or is a file.
    """
    if not out_dir.exists() or (out_dir / MARKER).is_file():
        return
    if not out_dir.is_dir():
        raise UsageError(f"{out_dir} is a file; choose a folder with -o")
    if any(not entry.name.startswith(_STAGE) for entry in out_dir.iterdir()):
        raise UsageError(f"{out_dir} holds files that rlcompare did not write; choose an empty or a new folder with -o")


def published(
    stage: Path, out_dir: Path, files: list[PurePosixPath], is_ours: Callable[[PurePosixPath], bool]
) -> list[Path]:
    """Moves finished files into place. The marker comes first, so that the folder stays ours if a later step fails.

    Args:
        stage: the folder that they are in.
        files: their names, relative to it.
        is_ours: whether an earlier report may have written a file of this name: the list may have been edited.

    Raises:
        UsageError: one of the folders is a symbolic link.
    """
    for place in sorted({(out_dir / name).parent for name in files} - {out_dir}):
        if place.is_symlink():
            raise UsageError(f"{place} is a symbolic link, and nothing is written through it: remove it")
    before = [name for name in _listed(out_dir) if is_ours(name)]
    listing = "\n".join([_MARKER_HEAD, *dict.fromkeys(str(name) for name in [*files, *before])])
    marker = stage / MARKER
    marker.write_text(listing + "\n", encoding="utf-8")
    marker.replace(out_dir / MARKER)
    for name in files:
        (out_dir / name).parent.mkdir(exist_ok=True)
        (stage / name).replace(out_dir / name)
    for name in before:
        if name not in files:
            (out_dir / name).unlink(missing_ok=True)
    for folder in _FOLDERS:
        with suppress(OSError):
            (out_dir / folder).rmdir()  # Only if it is empty.
    marker.write_text("\n".join([_MARKER_HEAD, *map(str, files)]) + "\n", encoding="utf-8")
    marker.replace(out_dir / MARKER)
    return [out_dir / name for name in files]


def _listed(out_dir: Path) -> list[PurePosixPath]:
    """Files of an earlier report, as far as they lie where a report has some."""
    try:
        lines = (out_dir / MARKER).read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    except FileNotFoundError:
        return []
    names = [PurePosixPath(line) for line in lines]
    return [name for name in names if str(name.parent) in (".", *_FOLDERS)]

"""Fetches axe-core, which checks pages for accessibility, for tests: ``make axe``, to ``build/axe/axe.min.js``.

It comes from a package of PyPI that contains it and is not part of this project (axe-core: MPL 2.0, Deque Systems).

    python -m tools.axe FOLDER
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "axe-playwright-python==0.1.8"  # axe-core 4.12.1
_FILE = "axe_playwright_python/axe.min.js"


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    flags = ("--quiet", "--disable-pip-version-check", "--no-deps")
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "pip", "download", *flags, "--dest", place, PACKAGE], check=True)
        with zipfile.ZipFile(next(Path(place).glob("*.whl"))) as wheel:
            (folder / "axe.min.js").write_bytes(wheel.read(_FILE))
    print(folder / "axe.min.js")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(Path(sys.argv[1])))

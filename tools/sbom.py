"""Writes a software bill of materials (CycloneDX 1.6, JSON) of what an installation of rlcompare holds.

It is made of requirements/run.lock: every package, its version, the SHA-256 of each of its files, what needs it, and
where only some Pythons or systems have it. The same lock and version give the same bytes; the time is that of
$SOURCE_DATE_EPOCH, if it is set.

    python -m tools.sbom [-o FILE]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import sys
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rlcompare import __version__

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "run.lock"
_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+?))? ?\\?$")
_HASH = re.compile(r" +--hash=sha256:(?P<digest>[0-9a-f]{64})(?: \\)?$")
_NEEDED_BY = re.compile(r" +#(?: via)? +(?P<name>[A-Za-z0-9._-]+)(?: \((?P<file>[^)]*)\))?$")


@dataclass(frozen=True)
class Pin:
    """One line of a lock: a version, for all environments or for those of a marker.

    Attributes:
        hashes: SHA-256 of its files.
        needed_by: names of the packages that need it; ``rlcompare`` is this project.
    """

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    needed_by: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name.lower().replace('_', '-')}@{self.version}"


def read_lock(lines: Iterable[str]) -> list[Pin]:
    """The pins of a lock that tools/locks.py wrote.

    Raises:
        ValueError: a line is something else than a pin, a hash or a comment.
    """
    pins: list[Pin] = []
    for line in lines:
        text = line.rstrip()
        if pin := _PIN.match(text):
            pins.append(Pin(**pin.groupdict(default=""), hashes=(), needed_by=()))
        elif found := _HASH.match(text):
            pins[-1] = replace(pins[-1], hashes=(*pins[-1].hashes, found["digest"]))
        elif found := _NEEDED_BY.match(text):
            if pins and found["name"] != "via":
                pins[-1] = replace(pins[-1], needed_by=(*pins[-1].needed_by, found["name"]))
        elif text and not text.lstrip().startswith("#"):
            raise ValueError(f"not a line of a lock: {text}")
    return pins


def document(pins: Sequence[Pin], version: str, epoch: int | None) -> dict[str, Any]:
    """The bill of materials."""
    own = f"pkg:pypi/rlcompare@{version}"
    refs = {"rlcompare": [own]}
    for pin in pins:
        refs.setdefault(pin.name, []).append(pin.purl)
    needs: dict[str, set[str]] = {ref: set() for found in refs.values() for ref in found}
    for pin in pins:
        for name in pin.needed_by:
            for ref in refs[name]:
                needs[ref].add(pin.purl)
    content = json.dumps([own, *(f"{pin.purl} {pin.marker} {pin.hashes}" for pin in pins)])
    at = None if epoch is None else datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            **({} if at is None else {"timestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ")}),
            "component": {
                "type": "application", "bom-ref": own, "name": "rlcompare", "version": version, "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": [_component(pin) for pin in pins],
        "dependencies": [{"ref": ref, "dependsOn": sorted(found)} for ref, found in sorted(needs.items())],
    }  # fmt: skip


def _component(pin: Pin) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library", "bom-ref": pin.purl, "name": pin.name, "version": pin.version, "purl": pin.purl,
        "scope": "optional" if pin.marker else "required",
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in pin.hashes],
    }  # fmt: skip
    if pin.marker:
        component["properties"] = [{"name": "rlcompare:marker", "value": pin.marker}]
    return component


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.sbom", description="Write a bill of materials.")
    parser.add_argument("-o", "--output", type=Path, help="a file, else standard output")
    options = parser.parse_args(arguments)
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    pins = read_lock(LOCK.read_text(encoding="utf-8").splitlines())
    text = json.dumps(document(pins, __version__, int(epoch) if epoch else None), indent=1) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

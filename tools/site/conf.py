"""Sphinx's configuration of the documentation as a site: ``make site``.

The pages are the Markdown files of the repository where they lie, so that each stays readable without the site. The
site asks the network for nothing: fonts are the system's, and the search works on an index beside the pages.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from rlcompare import __version__

project = "rlcompare"
version = release = __version__
root_doc = "README"
extensions = ["myst_parser"]
include_patterns = ["*.md", "docs/**.md"]
exclude_patterns = [".*", "build", "golden", "tests", "mutants"]
nitpicky = True
myst_heading_anchors = 4
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "rlcompare"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}

NAVIGATION = {
    "Tutorial": ["docs/tutorial"],
    "How to": [
        "docs/howto/first-profile",
        "docs/howto/bump-cann",
        "docs/howto/nightly-gate",
        "docs/howto/gpu-and-npu",
        "docs/howto/running-job",
        "docs/howto/logs-only",
        "docs/howto/closed-network",
        "docs/collect",
        "docs/ci",
        "docs/baselines",
        "docs/history",
        "docs/notebook",
        "docs/trace",
        "docs/languages",
    ],
    "Reference": [
        "docs/user-guide", "docs/gate", "docs/report", "docs/metrics", "docs/formats", "docs/cli", "docs/sql",
    ],
    "Explanation": ["docs/design", "docs/scale", "docs/tour"],
    "Project": ["CHANGELOG", "CONTRIBUTING", "docs/release", "README.zh-CN"],
}  # fmt: skip
"""The pages by what a reader wants: to learn, to do, to look up, to understand."""


def _with_navigation(app: Sphinx, name: str, source: list[str]) -> None:
    """Adds the tables of contents to the front page, which has its own table for other readers."""
    if name == root_doc:
        placed = {page for pages in NAVIGATION.values() for page in pages}
        new = sorted(set(app.env.found_docs) - placed - {root_doc})
        for caption, pages in {**NAVIGATION, "Project": [*NAVIGATION["Project"], *new]}.items():
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"


def _index(app: Sphinx, problem: Exception | None) -> None:
    """The front page is README.html, as links call it, and index.html, as browsers do."""
    if problem is None:
        (Path(app.outdir) / "index.html").write_bytes((Path(app.outdir) / "README.html").read_bytes())


def setup(app: Sphinx) -> None:
    app.connect("source-read", _with_navigation)
    app.connect("build-finished", _index)

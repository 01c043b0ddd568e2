"""``report.html``: one file that works from ``file://`` and needs no network.

Style and script are inlined, and allowed by their hashes in a Content-Security-Policy: a name from a profile could not
run as a script even if it were not escaped, which it is (``templates``).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache

from markupsafe import Markup

from rlcompare import language
from rlcompare.model.diff import Diff
from rlcompare.model.verdict import GateResult
from rlcompare.report.scoped_style import colours, scoped
from rlcompare.report.templates import environment
from rlcompare.report.view import CAUSES_SHOWN, ReportView, build_view
from rlcompare.resources import resource_root

_STYLES = (
    "base.css",
    "first.css",
    "waterfall.css",
    "charts.css",
    "ranks.css",
    "timeline.css",
    "single.css",
    "tables.css",
    "narrow.css",
    "print.css",
)
_OF_PAGE = frozenset({"base.css", "first.css", "single.css", "tables.css", "narrow.css", "print.css"})
"""Styles that are not of pictures."""

_SCRIPTS = (
    "state.js",
    "theme.js",
    "print.js",
    "tables.js",
    "rows.js",
    "search.js",
    "columns.js",
    "copy.js",
    "terms.js",
    "charts.js",
    "keys.js",
)
"""Files of ``report_templates/page``, in the order in which they take effect."""


def render_html(view: ReportView) -> str:
    """The page of a view, in the language in use."""
    return page_of("report.html.j2", view)


def render_page(diff: Diff, gate: GateResult | None, document: str, view: ReportView) -> str:
    """The page of a diff in the language of pages.

    Args:
        document: path of the diff.json that goes with it.
        view: the same in the language in use, which is mostly that of pages too.
    """
    if language.of_page() == language.current():
        return render_html(view)
    with language.speaking(language.of_page()):
        return render_html(build_view(diff, gate, document=document))


def page_of(template: str, view: object) -> str:
    """A page with our style, our scripts and a policy that allows only these."""
    style, script = _assets(_STYLES), _assets(_SCRIPTS)
    allowed = f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    # Both assets are our own files. Escaping them would change their hashes.
    page = environment().get_template(template)
    return page.render(
        view=view,
        policy=policy,
        style=Markup(style),
        script=Markup(script),
        language=language.current(),
        causes_shown=CAUSES_SHOWN,
    )


@cache
def picture_style(scope: str) -> str:
    """The style of the pictures inside ``scope``, a selector on a page of others: in light, whatever the theme is."""
    variables = "; ".join(f"{name}: {value}" for name, value in colours(_assets(_STYLES), dark=False).items())
    pictures = tuple(name for name in _STYLES if name not in _OF_PAGE)
    return f"{scope} {{ {variables} }}\n{scoped(_assets(pictures), scope)}"


@cache
def picture_colours() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The colours of the page, in light and in dark, by their names (``--text``)."""
    return colours(_assets(_STYLES), dark=False), colours(_assets(_STYLES), dark=True)


@cache
def _assets(names: tuple[str, ...]) -> str:
    # A browser hashes the text after converting line endings to \n, as read_text does too.
    folder = resource_root("report_templates") / "page"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""Attaches requests to modules when these are imported, and reports where it did so, or why it could not."""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from multiprocessing import util
from pathlib import Path
from types import ModuleType

from rlcompare.collect.probe.hook import when_imported
from rlcompare.collect.probe.presets import Variant
from rlcompare.collect.probe.request import Request
from rlcompare.collect.probe.say import say, say_once
from rlcompare.collect.probe.session import Session
from rlcompare.collect.probe.wrap import Hooks, NoCallable, replace

_sessions: dict[tuple[Variant, ...], Session] = {}


def attach_request(request: Request) -> None:
    """Attaches one probe. A second probe with the same scope and tick is ignored, with a message."""
    probe = request.probe
    if probe.variants in _sessions:
        say(request, "is already attached; the existing probe stays")
        return
    session = _sessions[probe.variants] = Session(request)
    if len(_sessions) == 1:
        os.register_at_fork(after_in_child=_forget)
        util.register_after_fork(session, _end_with_process)  # multiprocessing clears what it inherited
        _end_with_process()
    for package in dict.fromkeys(variant.package for variant in probe.variants) if probe.known else ():
        when_imported(package, partial(_check_version, request))
    for variant in probe.variants:
        _attach_variant(session, variant)


def _attach_variant(session: Session, variant: Variant) -> None:
    def is_over() -> bool:
        return session.is_over

    tick, scope = (
        Hooks(
            session.entering(partial(enter, variant)),
            session.guarded(leave, None),
            session.guarded(take_back, None),
            is_over,
        )
        for enter, leave, take_back in (
            (session.enter_tick, session.leave_tick, session.take_back_tick),
            (session.enter_scope, session.leave_scope, session.take_back_scope),
        )
    )
    for point in variant.ticks:
        _attach_point(session, variant, point, tick)
    if variant.scope is not None:  # last, so that it wraps the tick if both are one callable
        _attach_point(session, variant, variant.scope, scope)


def _attach_point(session: Session, variant: Variant, point: str, hooks: Hooks) -> None:
    name, _, path = point.partition(":")
    request = session.request

    def watcher(module: ModuleType) -> None:
        version = _version(variant.package)
        try:
            replace(module, path, hooks)
        except NoCallable as error:
            known = f"; rlcompare knows {request.probe.known}" if request.probe.known else ""
            say(request, f"cannot attach to {version}: {error}{known}")
        except Exception as error:
            say(request, f"cannot attach to {point}: {type(error).__name__}: {error}")
        else:
            session.attached.add(point)
            if point == (variant.scope or point):  # of the two, report the one that the user knows
                say(request, f"attached to {point} ({version})")

    when_imported(name, watcher)


def _check_version(request: Request, module: ModuleType) -> None:
    """Reports a package that has none of the modules that a preset knows: none of them will ever be imported."""
    points = [
        point
        for variant in request.probe.variants
        if variant.package == module.__name__
        for point in (variant.scope, *variant.ticks)
        if point is not None and point.startswith(f"{module.__name__}.")
    ]
    places = [point.partition(":")[0].split(".")[1:] for point in points]
    roots = [Path(root) for root in getattr(module, "__path__", ())]
    if any(not root.is_dir() or _is_module(root.joinpath(*parts)) for root in roots for parts in places):
        return
    say_once(
        request,
        f"cannot attach to {_version(module.__name__)}: it has none of {', '.join(dict.fromkeys(points))}; rlcompare"
        f" knows {request.probe.known}. Set scope= and tick= instead of the preset",
    )


def _is_module(path: Path) -> bool:
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def _version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except (metadata.PackageNotFoundError, ValueError):
        return f"{package}, version unknown"


def _end_with_process(_: object = None) -> None:
    """Registers ``_end`` for processes made by multiprocessing, which skip ``atexit`` but run these finalizers."""
    util.Finalize(None, _end, exitpriority=0)


def _end() -> None:
    for session in _sessions.values():
        session.guarded(session.end, None)()
        session.guarded(_say_unused, None)(session)


def _say_unused(session: Session) -> None:
    """Reports points of a user's own probe that were never found: a misspelt module is never imported."""
    probe = session.request.probe
    if probe.known or session.is_forked:  # presets name several points, and most processes have none of them
        return
    (variant,) = probe.variants
    points = [variant.scope or variant.ticks[0], *variant.ticks]
    for point in points:
        missing = _missing(point.partition(":")[0])
        if missing:
            say(session.request, f"recorded nothing: this process has not imported the module {missing} of {point}")
            return
    if points[0] in session.attached and not session.was_called:
        say(session.request, f"recorded nothing: {points[0]} was never called in this process")


def _missing(name: str) -> str | None:
    """The part of a module's name that cannot be imported; None: it can, as far as known without importing it."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        part = ".".join(parts[:count])
        if part not in sys.modules:
            try:
                return None if find_spec(part) else part
            except (ImportError, ValueError):  # its parent is not a package
                return part
    return None


def _forget() -> None:
    for session in _sessions.values():
        session.forget()
    _end_with_process()

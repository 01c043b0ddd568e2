"""Replaces a callable by a wrapper: a function, a method of any kind, a coroutine or a generator.

The wrapper is of the same kind, and keeps the original's name, signature, documentation and attributes.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from types import AsyncGeneratorType, CoroutineType, GeneratorType, ModuleType
from typing import Any

from rlcompare.collect.probe.presets import Arguments


@dataclass(frozen=True)
class Hooks:
    """Callbacks around a call.

    Attributes:
        enter: called before it; returns False to ignore the call.
        leave: called after it, with its error or None.
        take_back: the call has not started: it returned a coroutine or generator, around which the hooks then go.
        is_over: no further call matters.
    """

    enter: Callable[[Arguments], bool]
    leave: Callable[[BaseException | None], None]
    take_back: Callable[[], None]
    is_over: Callable[[], bool]


class NoCallable(Exception):
    """A module does not have the named callable, or it is not a function."""


def replace(module: ModuleType, path: str, hooks: Hooks) -> None:
    """Wraps ``Class.method`` or ``function`` of a module.

    Raises:
        NoCallable: it does not exist.
    """
    *outer, name = path.split(".")
    owner: Any = module
    for part in outer:
        owner = getattr(owner, part, None)
    missing = object()
    raw = inspect.getattr_static(owner, name, missing) if owner is not None else missing
    if raw is missing:
        raise NoCallable(f"{module.__name__} has no {path}")
    if isinstance(raw, staticmethod | classmethod):
        setattr(owner, name, type(raw)(wrapped(raw.__func__, hooks)))
    elif callable(raw) and not isinstance(raw, type):
        wrapper = wrapped(raw, hooks)
        setattr(owner, name, wrapper)
        if owner is module:
            _replace_copies(raw, wrapper)
    else:
        raise NoCallable(f"{path} of {module.__name__} is not a function")


def _replace_copies(raw: object, wrapper: object) -> None:
    """Replaces copies in other modules, which may have imported a function by name before it was wrapped."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is raw:
                setattr(module, name, wrapper)


def wrapped(function: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    """The wrapper of a function."""
    if inspect.iscoroutinefunction(function):
        wrapper = _coroutine(function, hooks)
    elif inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function, hooks)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function, hooks)
    else:
        wrapper = _plain(function, hooks)
    functools.update_wrapper(wrapper, function)
    if not inspect.isfunction(function):  # compiled and cached functions do not keep their attributes in __dict__
        for name in set(dir(function)) - set(dir(wrapper)):
            setattr(wrapper, name, getattr(function, name))
    return wrapper


def _plain(function: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if hooks.is_over() or not hooks.enter((args, kwargs)):
            return function(*args, **kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            hooks.leave(error)
            raise
        kind = _KINDS.get(type(result))
        if kind is None:
            hooks.leave(None)
            return result
        hooks.take_back()  # a decorated coroutine or generator, which starts only when it is first resumed
        return kind(lambda *_, **__: result, hooks)(*args, **kwargs)

    return wrapper


def _coroutine(function: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        if hooks.is_over() or not hooks.enter((args, kwargs)):
            return await function(*args, **kwargs)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            hooks.leave(error)
            raise
        hooks.leave(None)
        return result

    return wrapper


def _generator(function: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        if hooks.is_over() or not hooks.enter((args, kwargs)):
            return (yield from function(*args, **kwargs))
        try:
            result = yield from function(*args, **kwargs)
        except BaseException as error:
            hooks.leave(None if isinstance(error, GeneratorExit) else error)  # the consumer stopped early
            raise
        hooks.leave(None)
        return result

    return wrapper


def _async_generator(function: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        entered = not hooks.is_over() and hooks.enter((args, kwargs))
        problem: BaseException | None = None
        inner = function(*args, **kwargs)
        sent, thrown = None, None
        try:
            while True:
                item = await (inner.asend(sent) if thrown is None else inner.athrow(thrown))
                sent, thrown = None, None
                try:
                    sent = yield item
                except Exception as error:
                    thrown = error
        except StopAsyncIteration:
            return
        except GeneratorExit:
            await inner.aclose()
            raise
        except BaseException as error:
            problem = error
            raise
        finally:
            if entered:
                hooks.leave(problem)

    return wrapper


_KINDS: dict[type, Callable[[Callable[..., Any], Hooks], Callable[..., Any]]] = {
    CoroutineType: _coroutine,
    GeneratorType: _generator,
    AsyncGeneratorType: _async_generator,
}

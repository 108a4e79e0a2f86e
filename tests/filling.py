"""Arguments for any function of ours, made from its annotations, with a given text wherever text may stand."""

from __future__ import annotations

import inspect
import json
import types
from collections import abc
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

Makers = Mapping[Any, Callable[[str], Any]]
_PLAIN: Makers = {
    str: str,
    Any: str,
    object: str,
    abc.Hashable: str,
    bool: lambda text: False,
    int: lambda text: 1,
    float: lambda text: 1.0,
    bytes: lambda text: text.encode("utf-8", "replace"),
    date: lambda text: date(2026, 1, 1),
    datetime: lambda text: datetime(2026, 1, 1, tzinfo=UTC),
    type(None): lambda text: None,
    Exception: ValueError,
}
_LARGE = ("limit", "most", "longest", "budget", "length", "room", "tokens")  # in the names of numbers
_LISTS = (list, set, frozenset, abc.Sequence, abc.Iterable, abc.Iterator, abc.Collection, abc.Container)
_OURS = ("compaction.", "viewer.")


class Unknown(Exception):
    """A type of which no value can be made."""


def talk(text: str) -> list[dict[str, Any]]:
    """A conversation in which a third of the text is typed, a third said and called with, a third printed."""
    third = text[: len(text) // 3]
    arguments = json.dumps({"command": third[: len(third) // 2], "path": third[: len(third) // 2]})
    call = {"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": arguments}}
    return [
        {"role": "user", "content": third},
        {"role": "assistant", "content": third, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "tool_name": "terminal", "content": third},
    ]


def takes_text(annotation: Any) -> bool:
    """Whether text may stand in a value of this type: text, anything, a class of ours, or what holds one of these."""
    inner = get_args(annotation)
    if inner and get_origin(annotation) not in (Literal, abc.Callable):
        return any(map(takes_text, inner))
    return annotation in (str, Any, object, abc.Hashable) or _is_ours(annotation)


def arguments(
    function: Callable[..., Any], text: str, made: Makers, owner: Any = None
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments for a call, by position and by name; what has a default and takes no text keeps it.

    `made` knows types that are not made from their annotations alone, `owner` is the class of a method. Raises Unknown.
    """
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for at, each in enumerate(_parameters(function)):
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        annotation = owner if owner is not None and at == 0 else each.annotation
        usual = each.default is not each.empty and isinstance(each.default, abc.Hashable) and not takes_text(annotation)
        value = each.default if usual else filled(annotation, text, made, each.name)
        if each.kind is each.KEYWORD_ONLY:
            named[each.name] = value
        else:
            positional.append(value)
    return positional, named


@cache
def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


def filled(annotation: Any, text: str, made: Makers, name: str = "") -> Any:
    """A value of the annotated type, for a parameter of that name. Raises Unknown."""
    if annotation is int and any(each in name for each in _LARGE):
        return len(text)
    for makers in (made, _PLAIN):
        if annotation in makers:
            return makers[annotation](text)
    if (origin := get_origin(annotation)) is not None:
        return made[origin](text) if origin in made else _generic(origin, get_args(annotation), text, made)
    if not _is_ours(annotation):
        raise Unknown(str(annotation))
    if hasattr(annotation, "_fields"):
        return annotation(*(filled(each, text, made) for each in get_type_hints(annotation).values()))
    positional, named = arguments(annotation, text, made)
    return annotation(*positional, **named)


def _is_ours(annotation: Any) -> bool:
    return inspect.isclass(annotation) and annotation.__module__.startswith(_OURS)


def _generic(origin: Any, inner: tuple[Any, ...], text: str, made: Makers) -> Any:
    if origin in (Union, types.UnionType):
        return filled(next(each for each in inner if each is not type(None)), text, made)
    if origin is Literal:
        return inner[0]
    if origin is Annotated:
        return filled(inner[0], text, made)
    if origin in (dict, abc.Mapping):
        return talk(text)[1] if inner == (str, Any) else {filled(inner[0], text, made): filled(inner[1], text, made)}
    if origin in _LISTS:
        found = _several(inner[0], text, made)
        return (
            iter(found)
            if origin is abc.Iterator
            else set(found)
            if origin is set
            else frozenset(found)
            if origin is frozenset
            else found
        )
    if origin is tuple:
        return tuple(filled(each, text, made) for each in inner if each is not Ellipsis)
    if origin is abc.Callable:
        return {int: len, str: str}.get(inner[-1]) or (lambda *_: filled(inner[-1], text, made))
    raise Unknown(str(origin))


def _several(inner: Any, text: str, made: Makers) -> list[Any]:
    if inner == dict[str, Any]:
        return talk(text)
    return text.splitlines() if inner is str and "\n" in text else [filled(inner, text, made)]

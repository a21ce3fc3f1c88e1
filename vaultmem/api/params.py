"""The parameters of a verb as JSON Schema, and the check of what was given for them at one of the doors."""

from __future__ import annotations

from _contextvars import ContextVar  # what contextvars is, without the price of another file
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from vaultmem.api import schema
from vaultmem.api.verbs import JSON, PYTHON, Exposed, Param, Verb, every, found, verb
from vaultmem.errors import UsageError

# Through which door this thread was asked: messages call parameters as they are called there.
door: ContextVar[str] = ContextVar("door", default=PYTHON)

_TYPES = {
    "text": "string", "line": "string", "long": "string", "maybe": "string", "date": "string", "flag": "boolean",
    "switch": "boolean", "int": "integer", "float": "number", "texts": "array", "repeated": "array", "records": "array",
}  # fmt: skip
LISTS = ("texts", "repeated", "records")


def property_of(param: Param, about: str = "") -> dict[str, object]:
    """One parameter as JSON Schema. `about` describes it."""
    is_any = param.kind not in _TYPES
    made: dict[str, object] = {schema.UNCHECKED: True} if is_any else {"type": _TYPES[param.kind]}
    if about:
        made["description"] = about
    if param.kind == "date":
        made["pattern"] = schema.DATE
    choices = [*found(param.choices)]
    if param.kind in LISTS:
        made["items"] = {"type": "object" if param.kind == "records" else "string"}
        made["items"].update({"enum": choices} if choices else {})  # type: ignore[attr-defined] # made just now
    elif choices:
        made["enum"] = choices
    limits = {"minimum": param.least, "maximum": found(param.most), "default": param.default}
    return {**made, **{name: value for name, value in limits.items() if value is not None}}


def object_of(params: Iterable[Param], about: Mapping[str, str] | None = None) -> dict[str, object]:
    """Parameters as JSON Schema, by their names in JSON."""
    each = {one.outside: one for one in params}
    made: dict[str, object] = {
        "type": "object",
        "properties": {
            name: property_of(one, (about or {}).get(name, "")) for name, one in each.items()
        },
    }
    needed = [name for name, one in each.items() if one.needed]
    return {**made, "required": needed} if needed else made


def of_tool(verb: Verb, tool: Exposed) -> dict[str, object]:
    """What the tool takes that a verb is exposed as."""
    own = {one.outside: one for one in verb.params}
    chosen = [one if isinstance(one, Param) else own[name] for name, one in tool.params.items()]
    about = {name: one.help if isinstance(one, Param) else one for name, one in tool.params.items()}
    return object_of(chosen, about)


@contextmanager
def asked_at(at: str) -> Iterator[None]:
    """Inside, messages call parameters as they are called at that door."""
    token = door.set(at)
    try:
        yield
    finally:
        door.reset(token)


@cache
def _checked_by(name: str, at: str) -> tuple[dict[str, Param], dict[str, object]]:
    declared = verb(name)
    if declared is None or not declared.run:
        raise UsageError(f"unknown verb {name[:40]!r}; known: {', '.join(_runnable())}")
    params = declared.of(at)
    return {one.outside: one for one in params}, object_of(map(lenient, params))


def lenient(param: Param) -> Param:
    """What is wrong with a long text is said by the verb, which can tell what to do."""
    return param.but(needed=False, kind="any") if param.kind in ("long", "any") else param


def _runnable() -> list[str]:
    return [name for name, one in every().items() if one.run]


def check(name: str, given: Mapping[str, object], at: str = JSON) -> dict[str, object]:
    """The parameters of a memory verb by their names in Python, with defaults. Raises UsageError that names the
    parameter as it is spelled at the door."""
    params, wanted = _checked_by(name, at)
    return check_by(params, wanted, given)


def check_by(
    params: Mapping[str, Param], wanted: Mapping[str, object], given: Mapping[str, object]
) -> dict[str, object]:
    """The same for parameters by their names in JSON, with their schema."""
    names = {one.name: one.outside for one in params.values()}
    plain: dict[str, object] = {}
    for name, value in given.items():
        if value is None:
            continue
        outside = names.get(name, name) if name not in params else name
        plain[outside] = _plain(params[outside], value) if outside in params else value
    plain = {name: value for name, value in plain.items() if value is not None}
    return {
        params[name].name: value
        for name, value in schema.check(wanted, plain, speller(params)).items()
    }


def of_verb(name: str) -> Mapping[str, Param]:
    """The parameters of a memory verb by their names in JSON. Raises UsageError."""
    return _checked_by(name, JSON)[0]


def speller(params: Mapping[str, Param]) -> Callable[[str], str]:
    """How a parameter is spelled at the door of this thread."""
    at = door.get()
    each = {**{one.name: one for one in params.values()}, **params}
    return lambda name: each[name].spelled(at) if name in each else f'"{name}"'


def _plain(param: Param, value: object) -> object:
    """A list may be given as one text, and a choice in capitals; none at all may be an empty text."""
    if param.kind in LISTS and param.kind != "records":
        if isinstance(value, str):
            value = [value] if param.kind == "repeated" else value.split(",")
        elif isinstance(value, Iterable):
            value = [*value]
        if param.choices and isinstance(value, list):
            return [one.strip().lower() if isinstance(one, str) else one for one in value]
    elif param.kind == "records" and isinstance(value, Iterable) and not isinstance(value, str):
        return [*value]
    elif param.choices and isinstance(value, str):
        return value.strip().lower() or None
    return value

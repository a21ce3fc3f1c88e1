"""Parameters: as JSON Schema, and the check of arguments, whose messages use the caller's own spelling.

The schema is the part of JSON Schema that tools use. Each misfit is reported in one line.
"""

from __future__ import annotations

from _contextvars import ContextVar  # what contextvars provides, without importing another file
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

from vaultmem.api.verbs import JSON, PYTHON, Exposed, Param, Verb, every, find_verb, resolve, verb
from vaultmem.errors import UsageError
from vaultmem.text.values import TYPE_CHECKING, did_you_mean, lazy, nearest

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.adapter.services import Schema

# The door of this thread's request, whose spelling messages use.
door: ContextVar[str] = ContextVar("door", default=PYTHON)

Spell = Callable[[str], str]
LISTS = ("texts", "repeated", "records")
DATE = r"^(\d{4}(-\d\d(-\d\d)?)?)?$"  # a day, a month or a year
_JSON_TYPES = {
    "text": "string", "line": "string", "long": "string", "maybe": "string", "date": "string", "flag": "boolean",
    "switch": "boolean", "int": "integer", "float": "number", "texts": "array", "repeated": "array", "records": "array",
}  # fmt: skip
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {  # their names, and their values in Python
    "boolean": ("true or false", (bool,)), "string": ("text", (str,)), "integer": ("a whole number", (int,)),
    "number": ("a number", (int, float)), "array": ("a list", (list,)), "object": ("an object", (dict,)),
    "null": ("null", (type(None),)),
}  # fmt: skip
_UNFIT = lazy(r"[\x00\ud800-\udfff]")  # in no note, and rejected by every index
_MOST_NAME = 40
_SAME_AS = {"since": "from", "until": "to"}  # their names in Python, where `from` is reserved
_UNLISTED = {"minimum", "maximum", "default", "pattern"}  # a list of tools costs tokens


# --- schemas


def property_of(param: Param, about: str) -> Schema:
    """One parameter as JSON Schema, with `about` as its description."""
    kind = _JSON_TYPES.get(param.kind)
    made: Schema = {"type": kind} if kind else {"unchecked": True}
    if about:
        made["description"] = about
    if param.kind == "date":
        made["pattern"] = DATE
    choices = [*resolve(param.choices)]
    if param.kind in LISTS:
        made["items"] = {"type": "object" if param.kind == "records" else "string"}
        if choices:
            made["items"]["enum"] = choices
    elif choices:
        made["enum"] = choices
    if param.least is not None:
        made["minimum"] = param.least
    if param.most is not None:
        made["maximum"] = resolve(param.most)
    if param.default is not None:
        made["default"] = param.default
    return made


def object_of(params: Iterable[Param], about: Mapping[str, str] | None = None) -> Schema:
    """Parameters as JSON Schema, by their JSON names."""
    by_name = {param.outside: param for param in params}
    words = about or {}
    properties = {name: property_of(param, words.get(name, "")) for name, param in by_name.items()}
    made: Schema = {"type": "object", "properties": properties}
    if needed := [name for name, param in by_name.items() if param.needed]:
        made["required"] = needed
    return made


def of_tool(verb: Verb, tool: Exposed) -> Schema:
    """The schema of the tool that a verb is exposed as."""
    params = {param.outside: param for param in verb.params}
    chosen = [
        param if isinstance(param, Param) else params[name] for name, param in tool.params.items()
    ]
    about = {
        name: param.help if isinstance(param, Param) else param
        for name, param in tool.params.items()
    }
    return object_of(chosen, about)


def compact_schema(schema: Schema, quiet: Collection[str]) -> JsonObject:
    """The schema for a list of tools: without `quiet` parameters, limits, and choices that the description names."""
    properties = schema.get("properties", {})
    shorter = {name: _shorten(prop) for name, prop in properties.items() if name not in quiet}
    return {**schema, "properties": shorter} if properties else {**schema}


def _shorten(schema: Schema) -> JsonObject:
    hidden = {*_UNLISTED, *(("enum",) if "description" in schema else ())}
    return {name: value for name, value in schema.items() if name not in hidden}


# --- parameters of a verb


@contextmanager
def at_door(at: str) -> Iterator[None]:
    """Spell parameters in messages as that door does, within the block."""
    token = door.set(at)
    try:
        yield
    finally:
        door.reset(token)


def lenient(param: Param) -> Param:
    """Leave long texts to the verb's own check, whose message has advice."""
    return param.but(needed=False, kind="any") if param.kind in ("long", "any") else param


class Declared:
    """Parameters, ready to check arguments against them."""

    def __init__(
        self, params: Iterable[Param], as_checked: Callable[[Param], Param] = lenient
    ) -> None:
        outside = {param.outside: param for param in params}
        self._schema = object_of(map(as_checked, outside.values()))
        self._known = {**{param.name: param for param in outside.values()}, **outside}

    def check(self, arguments: JsonObject) -> JsonObject:
        """The arguments by their Python names, with defaults. Raises UsageError."""
        plain: dict[str, object] = {}
        for name, value in arguments.items():
            if value is not None:
                param = self._known.get(name)
                plain[param.outside if param else name] = (
                    _normalize(param, value) if param else value
                )
        fitting = check_object(self._schema, plain, self.speller())
        if fitting.get("by") is not None and not str(fitting["by"]).strip():
            # An empty name, as from a script's unset variable, does not mean the person.
            raise UsageError(f"{self.speller()('by')} is empty; name an assistant, or leave it out")
        return {self._known[name].name: value for name, value in fitting.items()}

    def speller(self) -> Spell:
        """Spells the parameters as the door of this thread does."""
        at, params = door.get(), self._known
        return lambda name: params[name].spelled(at) if name in params else _in_json(name)


def of_verb(name: str) -> Declared:
    """The parameters of a memory verb. Raises UsageError."""
    declared = verb(name)
    if declared is None or not declared.run:
        runnable = (verb_name for verb_name, other in every().items() if other.run)
        raise UsageError(f"unknown verb {name[:_MOST_NAME]!r}; known: {', '.join(runnable)}")
    return in_json(name)


@cache
def in_json(name: str) -> Declared:
    """The parameters of any verb, as passed over the socket and in Python."""
    return Declared(find_verb(name).of(JSON))


def _normalize(param: Param, value: object) -> object:
    """A list may come as one text with commas, a choice in capitals; an empty choice counts as missing."""
    if param.kind == "records":
        is_several = isinstance(value, Iterable) and not isinstance(value, str)
        return [*value] if is_several else value  # type: ignore[misc] # iterable, as was just asked
    if param.kind in LISTS:
        if isinstance(value, str):
            value = [value] if param.kind == "repeated" else value.split(",")
        elif isinstance(value, Iterable):
            value = [*value]
        if param.choices and isinstance(value, list):
            return [item.strip().lower() if isinstance(item, str) else item for item in value]
    elif param.choices and isinstance(value, str):
        return value.strip().lower() or None
    return value


# --- the check


def _in_json(name: str) -> str:
    return f'"{name}"'


def check_object(schema: Schema, arguments: object, spell: Spell = _in_json) -> JsonObject:
    """The arguments with defaults, if they are valid. Raises UsageError that names the parameter as `spell` does.
    Unlike in the standard, an unknown parameter is an error, so that typing errors are noticed."""
    if not isinstance(arguments, dict):
        raise UsageError(f"the arguments must be an object, not {_kind(arguments)}")
    properties = schema.get("properties", {})
    values = {str(name): value for name, value in arguments.items() if value is not None}
    values = {_own_name(name, properties, values): value for name, value in values.items()}
    if not schema.get("additionalProperties"):
        _check_known(properties, values, spell)
    for name in schema.get("required", ()):
        if name not in values:
            near = nearest(name, [field[:_MOST_NAME] for field in values])
            choices = properties.get(name, {}).get("enum")
            hint = f": {_any_of(choices)}" if choices else ""
            hint = f'; did you mean it by "{near}"?' if near else hint
            raise UsageError(f"{spell(name)} is missing{hint}")
        if isinstance(values[name], str) and not str(values[name]).strip():
            raise UsageError(f"{spell(name)} is empty")
    for name, value in values.items():
        prop = properties.get(name, {})
        _check(spell(name[:_MOST_NAME]), prop, value)
        if prop.get("type") == "integer":
            values[name] = int(value)  # 3 may be written 3.0
    defaults = {name: prop.get("default") for name, prop in properties.items()}
    return {**{name: value for name, value in defaults.items() if value is not None}, **values}


def _own_name(name: str, properties: Collection[str], arguments: Collection[str]) -> str:
    """Our parameter for a name that others use."""
    ours = _SAME_AS.get(name, name)
    if name in properties or ours not in properties:
        return name
    if ours in arguments:
        raise UsageError(f'"{name}" is the same as "{ours}"; give one of them')
    return ours


def _check_known(properties: Collection[str], arguments: Iterable[str], spell: Spell) -> None:
    for name in (argument for argument in arguments if argument not in properties):
        near = nearest(name, properties)
        names = f"known: {', '.join(properties) or 'none'}"
        advice = f"did you mean {spell(near)}?" if near else names
        raise UsageError(f"unknown parameter {name[:_MOST_NAME]!r}; {advice}")


def _check(where: str, schema: Schema, value: object) -> None:
    expected_type = schema.get("type")
    if schema.get("unchecked"):
        return
    if isinstance(expected_type, str) and not _is(expected_type, value):
        raise UsageError(f"{where} must be {_TYPES[expected_type][0]}, not {_kind(value)}")
    choices = schema.get("enum")
    if choices is not None and value not in choices:
        meant = did_you_mean(str(value), map(str, choices))
        raise UsageError(f"{where} must be {_any_of(choices)}{meant}")
    if isinstance(value, str):
        _check_text(where, schema, value)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check(f"{where}[{number}]", schema.get("items", {}), item)
    elif isinstance(value, (int, float)):
        _check_number(where, schema, value)


def _any_of(choices: Sequence[object]) -> str:
    return f"{'one of ' if len(choices) > 1 else ''}{', '.join(map(str, choices))}"


def _check_text(where: str, schema: Schema, value: str) -> None:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if not value.isprintable() and (unfit := _UNFIT.search(value)):
        raise UsageError(f"{where} holds U+{ord(unfit[0]):04X}, which is no letter")
    if schema.get("pattern") == DATE and value:
        from vaultmem.text.times import day_range  # rarely needed at the start

        if day_range(value) is None:
            from vaultmem.memories.arguments import days

            days(value, spelled=where)
    if least is not None and len(value.strip()) < least:
        raise UsageError(f"{where} is empty" if least == 1 else f"{where} needs {least} characters")
    if most is not None and len(value) > most:
        raise UsageError(f"{where} may have {most:,} characters, and has {len(value):,}")


def _check_number(where: str, schema: Schema, value: float) -> None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if (least is None or value >= least) and (most is None or value <= most):
        return
    if least is None or most is None:
        limit = f"{most:,} or less" if least is None else f"{least:,} or more"
        raise UsageError(f"{where} must be {limit}")
    raise UsageError(f"{where} must be from {least:,} to {most:,}")


def _is(expected_type: str, value: object) -> bool:
    if isinstance(value, bool):
        return expected_type == "boolean"
    if expected_type == "integer" and isinstance(value, float):
        return value.is_integer()  # as JSON Schema has it
    return expected_type not in _TYPES or isinstance(value, _TYPES[expected_type][1])


def _kind(value: object) -> str:
    return next((name for kind, (name, _) in _TYPES.items() if _is(kind, value)), "null")

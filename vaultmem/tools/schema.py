"""Arguments against the part of JSON Schema that tools use; what is wrong is said in one line."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from vaultmem.errors import UsageError
from vaultmem.tools.near import nearest

_UNFIT = re.compile(r"[\x00\ud800-\udfff]")  # no note has them, and no index takes them
_SHOWN = 40
SAME_AS = {"since": "from", "until": "to"}  # as the verbs of memories call them


def an_object(
    needed: tuple[str, ...] = (), **properties: Mapping[str, object]
) -> dict[str, object]:
    """The schema of arguments: these, those of them that are needed, and no others (see check())."""
    schema: dict[str, object] = {"type": "object", "properties": dict(properties)}
    if needed:
        schema["required"] = list(needed)
    return schema


def text(description: str = "", **more: object) -> dict[str, object]:
    """Text."""
    return _of("string", description, more)


def number(description: str = "", **more: object) -> dict[str, object]:
    """A whole number."""
    return _of("integer", description, more)


def switch(description: str = "") -> dict[str, object]:
    """True or false."""
    return _of("boolean", description, {})


def texts(description: str = "") -> dict[str, object]:
    """A list of texts."""
    return {**_of("array", description, {}), "items": {"type": "string"}}


def _of(kind: str, description: str, more: Mapping[str, object]) -> dict[str, object]:
    said = {"description": description} if description else {}
    return {"type": kind, **said, **more}


def listed(schema: Mapping[str, object], quiet: Collection[str]) -> dict[str, object]:
    """The schema as clients are told it, in fewer words than it is checked by: without `quiet` parameters, which may
    still be given, and without choices that a description names."""
    properties = _mapping(schema.get("properties"))
    told = {name: _told(_mapping(one)) for name, one in properties.items() if name not in quiet}
    return {**schema, "properties": told} if properties else {**schema}


def _told(schema: Mapping[str, object]) -> dict[str, object]:
    hidden = "enum" if "description" in schema else ""
    return {name: value for name, value in schema.items() if name != hidden}


def check(schema: Mapping[str, object], given: object) -> dict[str, object]:
    """The arguments, if they fit. Raises UsageError that names the parameter."""
    if not isinstance(given, dict):
        raise UsageError(f"the arguments must be an object, not {_kind(given)}")
    properties = _mapping(schema.get("properties"))
    found = {str(name): value for name, value in given.items() if value is not None}
    found = {_named(name, properties, found): value for name, value in found.items()}
    if not schema.get(
        "additionalProperties"
    ):  # stricter than the standard: to be told of a slip is worth more
        _check_known(properties, found)
    needed = schema.get("required")
    for name in needed if isinstance(needed, list) else []:
        if name not in found:
            raise UsageError(f'"{name}" is missing{_near_given(str(name), found)}')
        if isinstance(found[name], str) and not str(found[name]).strip():
            raise UsageError(f'"{name}" is empty')
    for name, value in found.items():
        _check(f'"{name[:_SHOWN]}"', _mapping(properties.get(name)), value)
    return found


def _named(name: str, properties: Mapping[str, object], given: Mapping[str, object]) -> str:
    """How a parameter is called that has another name elsewhere."""
    ours = SAME_AS.get(name, name)
    if name in properties or ours not in properties:
        return name
    if ours in given:
        raise UsageError(f'"{name}" is the same as "{ours}"; give one of them')
    return ours


def _check_known(properties: Mapping[str, object], given: Mapping[str, object]) -> None:
    for name in given:
        if name not in properties:
            near = nearest(name, properties)
            known = (
                f'did you mean "{near}"?' if near else f"known: {', '.join(properties) or 'none'}"
            )
            raise UsageError(f"unknown parameter {name[:_SHOWN]!r}; {known}")


def _near_given(name: str, given: Mapping[str, object]) -> str:
    """Where a parameter is missing, the one that may have been meant for it, as far as any may be given."""
    near = nearest(name, [each[:_SHOWN] for each in given])
    return f'; did you mean it by "{near}"?' if near else ""


def _mapping(given: object) -> Mapping[str, object]:
    return given if isinstance(given, dict) else {}


def _check(where: str, schema: Mapping[str, object], value: object) -> None:
    wanted = schema.get("type")
    if isinstance(wanted, str) and not _is(wanted, value):
        raise UsageError(f"{where} must be {_SPOKEN.get(wanted, wanted)}, not {_kind(value)}")
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        raise UsageError(
            f"{where} must be one of {', '.join(map(str, choices))}{_nearest(value, choices)}"
        )
    if isinstance(value, str):
        _check_text(where, schema, value)
    elif isinstance(value, list):
        for number_, one in enumerate(value):
            _check(f"{where}[{number_}]", _mapping(schema.get("items")), one)
    elif isinstance(value, (int, float)):
        _check_number(where, schema, value)


def _nearest(value: object, choices: list[object]) -> str:
    near = nearest(str(value), [str(one) for one in choices])
    return f"; did you mean {near}?" if near else ""


def _check_text(where: str, schema: Mapping[str, object], value: str) -> None:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if found := _UNFIT.search(value):
        raise UsageError(f"{where} holds U+{ord(found[0]):04X}, which is no letter")
    if isinstance(least, int) and len(value.strip()) < least:
        raise UsageError(f"{where} is empty" if least == 1 else f"{where} needs {least} characters")
    if isinstance(most, int) and len(value) > most:
        raise UsageError(f"{where} may have {most:,} characters, and has {len(value):,}")


def _check_number(where: str, schema: Mapping[str, object], value: float) -> None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, (int, float)) and value < least:
        raise UsageError(f"{where} must be {least} or more")
    if isinstance(most, (int, float)) and value > most:
        raise UsageError(f"{where} must be {most} or less")


_SPOKEN = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
    "array": "a list", "object": "an object", "null": "null",
}  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,),
    "object": (dict,), "null": (type(None),),
}  # fmt: skip


def _is(wanted: str, value: object) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    if wanted == "integer" and isinstance(value, float):
        return value.is_integer()  # as JSON Schema has it
    return isinstance(value, _TYPES.get(wanted, (object,)))


def _kind(value: object) -> str:
    kinds = ("boolean", "string", "integer", "number", "array", "object")
    return next((_SPOKEN[kind] for kind in kinds if _is(kind, value)), "null")

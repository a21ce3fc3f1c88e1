"""Arguments against the part of JSON Schema that tools use; what is wrong is said in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from vaultmem.errors import UsageError


def nearest(given: str, known: Collection[str]) -> str:
    """One of the known names, or none ("")."""
    from vaultmem.api import near  # only where something went wrong

    return near.nearest(given, known)


_UNFIT = re.compile(r"[\x00\ud800-\udfff]")  # no note has them, and no index takes them
_SHOWN = 40
UNCHECKED = "unchecked"  # marks what the receiver checks itself
_SAME_AS = {"since": "from", "until": "to"}  # as Python calls them, where `from` is taken
DATE = r"^(\d{4}(-\d\d(-\d\d)?)?)?$"  # a day, a month or a year
_SILENT = {"minimum", "maximum", "default", "pattern"}  # every word of a list of tools costs tokens
Spell = Callable[[str], str]


def listed(schema: Mapping[str, object], quiet: Collection[str]) -> dict[str, object]:
    """The schema as clients are told it, in fewer words than it is checked by: without `quiet` parameters, which may
    still be given, without limits, and without choices that a description names."""
    properties = _mapping(schema.get("properties"))
    told = {name: _told(_mapping(one)) for name, one in properties.items() if name not in quiet}
    return {**schema, "properties": told} if properties else {**schema}


def _told(schema: Mapping[str, object]) -> dict[str, object]:
    hidden = {*_SILENT, *(("enum",) if "description" in schema else ())}
    return {name: value for name, value in schema.items() if name not in hidden}


def quoted(name: str) -> str:
    """A parameter in JSON."""
    return f'"{name}"'


def check(schema: Mapping[str, object], given: object, spell: Spell = quoted) -> dict[str, object]:
    """The arguments with defaults, if they fit. Raises UsageError that names the parameter as `spell` does."""
    if not isinstance(given, dict):
        raise UsageError(f"the arguments must be an object, not {_kind(given)}")
    properties = _mapping(schema.get("properties"))
    found = {str(name): value for name, value in given.items() if value is not None}
    found = {_named(name, properties, found): value for name, value in found.items()}
    if not schema.get(
        "additionalProperties"
    ):  # stricter than the standard: to be told of a slip is worth more
        _check_known(properties, found, spell)
    needed = schema.get("required")
    for name in needed if isinstance(needed, list) else []:
        if name not in found:
            raise UsageError(f"{spell(name)} is missing{_near_given(str(name), found)}")
        if isinstance(found[name], str) and not str(found[name]).strip():
            raise UsageError(f"{spell(name)} is empty")
    for name, value in found.items():
        _check(spell(name[:_SHOWN]), _mapping(properties.get(name)), value)
    return {**_defaults(properties), **found}


def _defaults(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        name: default
        for name, one in properties.items()
        if (default := _mapping(one).get("default")) is not None
    }


def _named(name: str, properties: Mapping[str, object], given: Mapping[str, object]) -> str:
    """How a parameter is called that has another name elsewhere."""
    ours = _SAME_AS.get(name, name)
    if name in properties or ours not in properties:
        return name
    if ours in given:
        raise UsageError(f'"{name}" is the same as "{ours}"; give one of them')
    return ours


def _check_known(
    properties: Mapping[str, object], given: Mapping[str, object], spell: Spell
) -> None:
    for name in given:
        if name not in properties:
            near = nearest(name, properties)
            known = (
                f"did you mean {spell(near)}?"
                if near
                else f"known: {', '.join(properties) or 'none'}"
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
    if schema.get(UNCHECKED):
        return
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
    if schema.get("pattern") == DATE and value:
        _check_date(where, value)
    if isinstance(least, int) and len(value.strip()) < least:
        raise UsageError(f"{where} is empty" if least == 1 else f"{where} needs {least} characters")
    if isinstance(most, int) and len(value) > most:
        raise UsageError(f"{where} may have {most:,} characters, and has {len(value):,}")


def _check_date(where: str, value: str) -> None:
    from vaultmem.search.query import day_range  # few need it to start

    if day_range(value) is None:
        message = f"{where} must be a day, YYYY-MM-DD, YYYY-MM or YYYY, not {value[:_SHOWN]!r}"
        raise UsageError(message)


def _check_number(where: str, schema: Mapping[str, object], value: float) -> None:
    least, most = (_limit(schema.get(name)) for name in ("minimum", "maximum"))
    if (least is None or value >= least) and (most is None or value <= most):
        return
    if least is None or most is None:
        limit = f"{most:,} or less" if least is None else f"{least:,} or more"
        raise UsageError(f"{where} must be {limit}")
    raise UsageError(f"{where} must be from {least:,} to {most:,}")


def _limit(given: object) -> int | float | None:
    return given if isinstance(given, (int, float)) else None


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

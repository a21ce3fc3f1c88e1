"""From words, or the parameters of a request, to the arguments of a command, by the table of verbs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from types import SimpleNamespace as Namespace

from vaultmem.api import params
from vaultmem.api.params import LISTS
from vaultmem.api.verbs import COMMAND, JSON, Param, Verb, find_verb, resolve
from vaultmem.errors import UsageError
from vaultmem.light import TYPE_CHECKING
from vaultmem.text.values import did_you_mean, lazy

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject

HELP = ("-h", "--help")
_OPTION = lazy(r"(--[a-z][a-z-]*)(?:=|\Z)|(-[a-z])(?:\d*|=.*)\Z")
_NUMBERS: dict[str, tuple[type[float], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
}


def program(name: str) -> str:
    """The words that call a command."""
    return f"vaultmem maintain {name}" if find_verb(name).upkeep else f"vaultmem {name}"


def asks_for_help(words: list[str]) -> bool:
    """Whether --help is among the options."""
    return not {*HELP}.isdisjoint(words[: words.index("--")] if "--" in words else words)


def parse(name: str, words: list[str]) -> Namespace:
    """The arguments of a command from the words of a command line. Raises UsageError."""
    try:
        return _namespace(name, _typed(find_verb(name), words), COMMAND)
    except UsageError as error:
        raise UsageError(f"{error}; see {program(name)} --help") from error


def _typed(one: Verb, words: list[str]) -> JsonObject:
    read = _read(one, words)
    wanted = (param for param in one.of(COMMAND) if param.name in read)
    return {**read, **{param.name: _as_wanted(param, read[param.name]) for param in wanted}}


def _as_wanted(param: Param, value: object) -> object:
    """The value in its parameter's form: several words become one text, a text with commas a list."""
    if isinstance(value, list) and param.kind not in LISTS:
        value = " ".join(value).replace("\0", "") if value else None
    elif isinstance(value, str) and param.kind in LISTS:
        value = [word.strip() for word in value.split(",") if word.strip()]
    is_blank = isinstance(value, str) and not value.strip()
    if is_blank and (param.kind == "date" or (param.metavar == "NAME" and not param.place)):
        raise UsageError(f"{param.long} is empty")
    return None if value == "" and param.name == "id" else value


def read_words(one: Verb, words: Sequence[str]) -> JsonObject:
    """The values in the words, by parameter name and with defaults. Raises UsageError."""
    defaults = {param.name: param.default for param in (*one.of(COMMAND), *shared_options(one))}
    return {**defaults, **_read(one, words)}


def _read(one: Verb, words: Sequence[str]) -> JsonObject:
    """The values in the words, without defaults."""
    options, read = options_of(one), dict[str, object]()
    chosen, others, rest = dict[str, Param](), list[str](), [*reversed(words)]
    while rest:
        word = rest.pop()
        match = _OPTION.match(word)
        name = (match[1] or match[2]) if match else ""
        if word == "--":
            others += reversed(rest)
            break
        # Elsewhere "-x" is a typing error; in a query it excludes a word.
        if not name or (one.excludes and len(name) == 2 and name not in options):
            others.append(word)
            continue
        param = options.get(name)
        if param is None:
            raise UsageError(f"unrecognized option {name}{did_you_mean(name, options)}")
        key = param.section if param.section[:1] == "(" else param.name
        if (other := chosen.setdefault(key, param)) is not param:
            raise UsageError(f"{name} is not allowed with {other.long}")
        joined = word.removeprefix(name)
        if takes_value(param):
            read[param.name] = _value(param, name, joined, rest, read.get(param.name))
        elif joined:
            raise UsageError(f"{name} takes no value")
        else:
            read[param.name] = name in (param.long, param.flag)
    return {**read, **_read_places(one, others)}


def takes_value(param: Param) -> bool:
    """Whether the option takes a value."""
    return param.kind not in ("flag", "switch")


def _value(param: Param, name: str, joined: str, rest: list[str], before: object) -> object:
    """The value joined to an option, else the next word."""
    text = joined.removeprefix("=")
    if not joined and rest and _is_value(rest[-1]):
        text = rest.pop()
    elif not joined and param.kind == "maybe":
        text = "-"
    elif not joined:
        raise UsageError(f"{name} needs a value")
    if param.kind == "repeated":
        return [*(before if isinstance(before, list) else ()), text]
    return _number(param.kind, name, text) if param.kind in _NUMBERS else text


def _is_value(word: str) -> bool:
    is_number = word[1:].replace(".", "", 1).isdecimal()
    return word[:1] != "-" or word == "-" or is_number or " " in word


def _number(kind: str, name: str, text: str) -> float:
    made, meaning = _NUMBERS[kind]
    try:
        return made(text)
    except ValueError:
        raise UsageError(f"{name} must be {meaning}, not {text!r}") from None


def _read_places(one: Verb, words: list[str]) -> JsonObject:
    """The positional words: each parameter takes what those after it do not need."""
    places = [param for param in one.of(COMMAND) if param.place]
    read: dict[str, object] = {}
    for at, param in enumerate(places, 1):
        is_several = param.place in "*+"
        spare = len(words) - sum(later.place in "1+" for later in places[at:])
        count = (
            max(spare, param.place in "1+") if is_several else int(param.place == "1" or spare > 0)
        )
        values, words = words[:count], words[count:]
        if values or (param.place == "*" and param.default is None):
            read[param.name] = values if is_several else values[0]
    if words:
        raise UsageError(f"unrecognized arguments: {' '.join(words)}")
    return read


@cache
def shared_options(verb: Verb) -> tuple[Param, ...]:
    """The options that every command has."""
    section, formats = "shared options", ("text", "json", *resolve(verb.formats))
    help_ = "the folder that holds the notes"
    vault = Param("vault", help_, metavar="FOLDER", section=section)
    return (
        *([] if any(param.name == "vault" for param in verb.params) else [vault]),
        Param("format", "text for people, json for programs", default="text", choices=formats, section=section),
        Param("json", "the same as --format json", kind="flag", default=False, section=section),
    )  # fmt: skip


def names_of(param: Param) -> list[str]:
    """The ways to type an option."""
    negated = f"--no-{param.long[2:]}" if param.kind == "switch" else ""
    return [name for name in (param.flag, param.long, negated) if name]


def options_of(one: Verb) -> dict[str, Param]:
    """The options of a command, as typed."""
    options = (param for param in (*one.of(COMMAND), *shared_options(one)) if not param.place)
    return {name: param for param in options for name in names_of(param)}


def from_params(name: str, arguments: JsonObject) -> Namespace:
    """The arguments of a command from the parameters of a request. Raises UsageError."""
    outside = {key.replace("-", "_"): value for key, value in arguments.items()}
    return _namespace(name, outside, JSON, format="json")


def _namespace(name: str, arguments: JsonObject, at: str, **more: object) -> Namespace:
    with params.at_door(at):
        checked = _declared(name, at).check(arguments)
    fields = {**_defaults(name), **checked, **more}
    command = find_verb(name).same_as or name
    args = Namespace(**fields, command=command, given=frozenset(arguments))
    if args.json and args.format == "text":
        args.format = "json"
    return args


@cache
def _defaults(name: str) -> JsonObject:
    """The values of a command's parameters that are not given. They are shared, so nobody may change them."""
    one = find_verb(name)
    return {param.name: _default(param) for param in (*one.params, *shared_options(one))}


@cache
def _declared(name: str, at: str) -> params.Declared:
    """The parameters of a command at a door."""
    one = find_verb(name)
    if at != COMMAND:
        return params.in_json(name)
    return params.Declared((*one.of(at), *shared_options(one)), _unchecked_text)


def _unchecked_text(param: Param) -> Param:
    """Skip the check of text, which may not be UTF-8."""
    is_text = param.kind in ("text", "line", "maybe", *LISTS) and not param.choices
    return param.but(kind="any") if is_text else params.lenient(param)


def _default(param: Param) -> object:
    if param.place in ("*", "+") and param.kind in LISTS:
        return []
    return param.default


def requested_format(words: list[str]) -> str:
    """The output format requested, for errors in the words themselves."""
    pairs = [*pairwise(words), *(tuple(word.split("=", 1)) for word in words if "=" in word)]
    chosen = [value for option, value in pairs if option == "--format"]
    return "json" if "--json" in words or chosen[-1:] == ["json"] else "text"

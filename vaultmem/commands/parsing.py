"""From words, or from the parameters of a request, to what a command runs with: made from the table of verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice, pairwise

from vaultmem.api import params
from vaultmem.api.params import LISTS
from vaultmem.api.verbs import COMMAND, JSON, Param, Verb, find_verb, resolve, resolve_command
from vaultmem.errors import UsageError
from vaultmem.light import TYPE_CHECKING
from vaultmem.text.values import lazy

if TYPE_CHECKING:
    from argparse import Namespace

    from vaultmem.adapter import JsonObject
    from vaultmem.commands.option_parser import Parser
    from vaultmem.output import Output
else:  # argparse is loaded for help and errors
    from types import SimpleNamespace as Namespace

_OPTION = lazy(r"--[a-z][a-z-]*(?:=|\Z)|(-[a-z])\d*\Z")


def program(name: str) -> str:
    """The words that call a command."""
    return f"vaultmem maintain {name}" if find_verb(name).upkeep else f"vaultmem {name}"


def parse(name: str, words: list[str], made: Parser | None = None) -> Namespace:
    """The arguments of a command in the words of a command line. Raises UsageError."""
    one = find_verb(name)
    words = options_first(name, words)
    read = read_plain(one, words)
    if read is None:
        if made is None:
            from vaultmem.commands.option_parser import parser

            made = parser(name)
        read = vars(made.parse_args(words))
    typed: dict[str, object] = {}
    for param in one.of(COMMAND):
        value = read.get(param.name)
        if isinstance(value, list) and param.kind not in LISTS:
            value = " ".join(value).replace("\0", "") if value else None
        elif isinstance(value, str) and param.kind in LISTS:
            value = [word.strip() for word in value.split(",") if word.strip()]
        is_blank = isinstance(value, str) and not value.strip()
        if is_blank and (param.kind == "date" or (param.metavar == "NAME" and not param.place)):
            raise UsageError(f"{param.long} is empty; see {program(name)} --help")
        is_none = value == "" and param.name == "id"
        typed[param.outside] = None if is_none else value
    try:
        return _namespace(name, typed, COMMAND, read)
    except UsageError as error:
        raise UsageError(f"{error}; see {program(name)} --help") from error


def read_plain(one: Verb, words: list[str]) -> dict[str, object] | None:
    """What argparse would read in the words, in a tenth of the time, by the names of the parameters. None where it has
    to say what is wrong, or where it knows ways to write them that are rare."""
    declared = (*one.of(COMMAND), *shared_options(one))
    options = {name: param for param in declared if not param.place
               for name in (param.long, param.flag) if name}  # fmt: skip
    options |= {f"--no-{name[2:]}": own for name, own in options.items() if own.kind == "switch"}
    places = [param for param in declared if param.place]
    end = words.index("--") if places and "--" in words else len(words)
    read = {param.name: param.default for param in declared}
    try:
        _read_options(read, options, words[:end])
        _read_places(read, places, words[end + 1 :])
    except ValueError:
        return None
    return read


def _read_options(
    read: dict[str, object], options: Mapping[str, Param], words: Sequence[str]
) -> None:
    rest, chosen = iter(words), dict[str, Param]()
    for word in rest:
        name, has_value, value = word.partition("=")
        param = options.get(name)
        if param is None or param.kind == "maybe":
            raise ValueError
        if param.section.startswith("(") and chosen.setdefault(param.section, param) is not param:
            raise ValueError
        if param.kind in ("flag", "switch"):
            if has_value:
                raise ValueError
            read[param.name] = name in (param.long, param.flag)
        else:
            read[param.name] = _typed(param, value if has_value else next(rest, "-"), read)
    if any(param.needed and read[param.name] is None for param in options.values()):
        raise ValueError


def _typed(param: Param, text: str, read: JsonObject) -> object:
    value = {"int": int, "float": float}.get(param.kind, str)(text)
    if text.startswith("-") or value not in (choices_of(param) or (value,)):
        raise ValueError
    if param.kind != "repeated":
        return value
    before = read[param.name]
    return [*before, value] if isinstance(before, list) else [value]


def _read_places(read: dict[str, object], places: Sequence[Param], words: list[str]) -> None:
    """The positional words."""
    for param in places:
        several = param.place in ("*", "+")
        least, most = param.place in ("1", "+"), len(words) if several else 1
        if len(places) > 1 or not least <= len(words) <= most:
            raise ValueError
        if param.choices and not set(words) <= set(choices_of(param)):
            raise ValueError
        if words or (several and param.default is None):
            read[param.name] = words if several else words[0]


def shared_options(one: Verb) -> tuple[Param, ...]:
    """The options that each command has."""
    section, formats = "shared options", ("text", "json", *resolve(one.formats))
    help_ = "the folder that holds the notes"
    vault = Param("vault", help_, metavar="FOLDER", section=section)
    return (
        *([] if any(param.name == "vault" for param in one.params) else [vault]),
        Param("format", "text for people, json for programs", default="text", choices=formats, section=section),
        Param("json", "the same as --format json", kind="flag", default=False, section=section),
    )  # fmt: skip


def choices_of(param: Param) -> tuple[object, ...]:
    """The choices of a parameter, where the parser checks them."""
    is_checked = not isinstance(param.choices, str) or param.place
    return tuple(resolve(param.choices)) if param.choices and is_checked else ()


def from_params(name: str, arguments: JsonObject) -> Namespace:
    """The arguments of a command in the parameters of a request. Raises UsageError."""
    outside = {key.replace("-", "_"): value for key, value in arguments.items()}
    return _namespace(name, outside, JSON, {"format": "json"})


def _namespace(name: str, arguments: JsonObject, at: str, read: JsonObject) -> Namespace:
    declared = _declared(name, at)
    with params.at_door(at):
        checked = declared.check(arguments)
    empty = {param.name: _default(param) for param in find_verb(name).params}
    shared = {name: read.get(name) for name in ("vault", "format", "json") if name not in checked}
    if shared["json"] and shared["format"] == "text":
        shared["format"] = "json"
    return Namespace(**{**empty, **shared, **checked}, command=name)


@cache
def _declared(name: str, at: str) -> params.Declared:
    """The parameters of a command at a door."""
    return params.Declared(
        find_verb(name).of(at), _untyped_param if at == COMMAND else params.lenient
    )


def _untyped_param(param: Param) -> Param:
    """Without the checks of argparse itself: that an argument is there, and text, which may be no UTF-8."""
    is_text = param.kind in ("text", "line", "maybe", *LISTS) and not param.choices
    one = param.but(kind="any") if is_text else params.lenient(param)
    return one.but(needed=False) if param.place in ("1", "+") else one


def _default(param: Param) -> object:
    if param.place in ("*", "+") and param.kind in LISTS:
        return []
    return param.default


def run(name: str, args: Namespace, output: Output) -> int:
    """Carry out a command; its exit code."""
    own = find_verb(name).same_as or name
    command = find_verb(own).command
    with params.at_door(COMMAND):
        if command:
            return int(resolve_command(command)(args, output))
        from vaultmem.commands import rendering

        return rendering.run(own, args, output)


def options_first(name: str, words: list[str]) -> list[str]:
    """The words as argparse reads them: options first, then behind "--" all others, which may begin with a dash."""
    one = find_verb(name)
    if not any(param.place for param in one.params):
        return words
    switches = {"-h", "--help", "--json"}  # options without a value
    for param in one.params:
        if param.kind in ("flag", "switch"):
            switches |= {param.long, f"--no-{param.long[2:]}", param.flag}
    # Elsewhere "-x" is a typing error; in a query it is a word to exclude.
    letters = {"-h", *(param.flag for param in one.params)} if one.excludes else None
    options: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        match = _OPTION.match(word)
        if word == "--":
            others += rest
        elif match and (match[1] is None or letters is None or match[1] in letters):
            options.append(word)
            has_value = "=" in word or word[-1].isdigit()
            if not has_value and word not in switches:
                options += islice(rest, 1)
        else:
            others.append(word)
    return [*options, "--", *others] if others else options


def requested_format(words: list[str]) -> str:
    """The requested output format, for errors in the words themselves."""
    pairs = [*pairwise(words), *(tuple(word.split("=", 1)) for word in words if "=" in word)]
    chosen = [value for option, value in pairs if option == "--format"]
    return "json" if "--json" in words or chosen[-1:] == ["json"] else "text"

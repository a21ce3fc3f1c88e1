"""The types with which verbs and parameters are declared. Light: every command reads the table, even one that only
asks the agent, so it has plain classes and names heavy things as "module:name", found when first needed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# An entry point per verb: a dict of verbs whose functions are named "package.module:name".
ENTRY_POINTS = "vaultmem.verbs"
_SHELF = "vaultmem_"  # packages that bring verbs
_broken: set[str] = set()  # verbs of other packages that failed to load

FIND, REMEMBER, REMINDED, ASSISTANTS, LOOK_AFTER, SET_UP, NONE = GROUPS = (
    "Find", "Remember", "Be reminded", "Assistants", "Look after", "Set up", "",
)  # fmt: skip
PYTHON, COMMAND, JSON = "python", "command", "json"  # the doors: how a parameter is spelled there


class Param:
    """One parameter. `name` is its name in Python; other fields are given only where they differ from the defaults."""

    kind = "text"  # date, flag, switch (with --no-…), int, float, text, texts, long (many lines), records, any
    default: object = None
    least: float | None = None
    most: float | str | None = None
    choices: tuple[object, ...] | str = ()  # the only values allowed
    known: str = ""  # values that a shell completes; others are allowed
    needed = False
    place = ""  # positional on the command line: one (1), at most one (?), any number (*), at least one (+)
    leads = False  # positional in Python, too
    spelling = ""  # its name in JSON and, with dashes, on the command line, if different
    option = ""  # its name on the command line alone
    flag = ""  # its short option
    metavar = ""
    doors = "all"  # or command, json (and Python), agent (used internally)
    section = ""  # of the help; options in a bracketed section are mutually exclusive

    def __init__(self, name: str, help: str = "", **fields: object) -> None:  # noqa: A002 - it is called so everywhere
        self.name, self.help = name, help
        self.__dict__.update(fields)

    def but(self, **fields: object) -> Param:
        """A copy with other fields."""
        return Param(**{**self.__dict__, **fields})

    @property
    def outside(self) -> str:
        """Its name in JSON."""
        return self.spelling or self.name

    @property
    def long(self) -> str:
        """Its option."""
        return "--" + (self.option or self.outside).replace("_", "-")

    def spelled(self, door: str) -> str:
        """Its name as messages at a door spell it."""
        if door != COMMAND:
            return f'"{self.name if door == PYTHON else self.outside}"'
        return self.value if self.place else self.long

    @property
    def value(self) -> str:
        """The placeholder for its value in help and messages."""
        return self.metavar or self.name.upper()

    def fits(self, door: str) -> bool:
        """Whether it can be given at a door."""
        return self.doors == "all" or (self.doors == COMMAND) == (door == COMMAND)


class Exposed:
    """A verb as a tool for assistants. Every word costs tokens in each session: `params` has descriptions only where
    needed, and rarely used parameters are accepted but not listed (`quiet`)."""

    def __init__(self, about: str, params: Mapping[str, str | Param], **fields: object) -> None:
        self.about, self.params = about, params
        self.quiet = str(fields.get("quiet", "")).split()
        self.removes = bool(fields.get("removes"))


class Verb:
    """One verb. `run` names the function of a memory verb, relative to vaultmem."""

    run = ""
    writes = True
    apart = False  # needs no turn among the writers
    slow = False  # may exceed the agent's time limit for a request
    agent = False  # a command that a running agent carries out
    pages = False  # its answer may be longer than a screen
    first = False  # on the first screen of the help
    upkeep = False  # a subcommand of `vaultmem maintain`
    same_as = ""  # the verb of which this is an alias
    # Functions below vaultmem.commands, each as "module:function":
    show = ""  # prints the answer as text, if the command does no more; "" for a job's report
    remarks = ""  # prints remarks on stderr
    command = ""  # otherwise the command itself
    excludes = False  # in its query, a word with a leading dash is an exclusion, not an option
    never_fails = False  # exits with 0, as its caller would stop at a failure; errors are remarks
    method = ""  # its name in Python, if different; "-" for none
    gives = ""  # what the method returns: a type, or "key: type" for one key of the answer
    returns = ""  # describes the answer
    formats: str = ""  # further formats of its command
    tool: Exposed | None = None

    def __init__(
        self, summary: str, group: str, params: tuple[Param, ...], **fields: object
    ) -> None:
        self.summary, self.group, self.params = summary, group, params
        self.__dict__.update(fields)

    def of(self, door: str) -> tuple[Param, ...]:
        """The parameters at a door."""
        return tuple(param for param in self.params if param.fits(door))


def resolve(name: object) -> Any:
    """The object that "module:name" refers to; any other value is returned as it is."""
    if not isinstance(name, str) or ":" not in name:
        return name
    from vaultmem import plugins

    return plugins.resolve(name if name.startswith(_SHELF) else f"vaultmem.{name}")


def resolve_command(name: str) -> Any:
    """The function of a command: "module:name" below vaultmem.commands, or of another package."""
    return resolve(name if name.startswith(_SHELF) else f"commands.{name}")


def verb(name: str) -> Verb | None:
    """The verb with this name, or None."""
    from vaultmem.api.memory_verbs import VERBS

    if name in VERBS:
        return VERBS[name]
    from vaultmem.api.vault_verbs import VERBS as OTHERS

    return OTHERS.get(name) or _installed(name).get(name)


def _installed(*names: str) -> dict[str, Verb]:
    """Of these verbs, or of all, those that other packages bring: an entry point is named after its verb and refers
    to a table like ours. One that cannot be loaded is reported on stderr and left out."""
    import sys

    from vaultmem import plugins

    def failed(name: str, why: str) -> None:
        if name not in _broken:
            sys.stderr.write(f"vaultmem: the command {name} is left out: {why}\n")
        _broken.add(name)

    verbs: dict[str, Verb] = {}
    plugins.load_each(
        ENTRY_POINTS, lambda name, table: verbs.update({name: table[name]}), failed, names
    )
    return verbs


def find_verb(name: str) -> Verb:
    """The verb of a name that is in the table."""
    declared = verb(name)
    assert declared is not None, name
    return declared


def own() -> dict[str, Verb]:
    """The verbs of the core, by name."""
    from vaultmem.api.memory_verbs import VERBS
    from vaultmem.api.vault_verbs import VERBS as OTHERS

    return {**VERBS, **OTHERS}


def every() -> dict[str, Verb]:
    """All verbs by name, including those of other packages."""
    return {
        **own(),
        **{name: declared for name, declared in _installed().items() if name not in own()},
    }


def commands() -> dict[str, Verb]:
    """The verbs that are commands, by name."""
    return {name: declared for name, declared in every().items() if declared.group}

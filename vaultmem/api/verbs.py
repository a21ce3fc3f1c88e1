"""What a verb and its parameters are declared with. Light: every command reads the table, also one that only asks the
agent, so it is made of plain classes and names what is heavy as "module:name", found when it is first needed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# By verb: a dict of verbs, whose functions are named as "package.module:name".
ENTRY_POINTS = "vaultmem.verbs"
_SHELF = "vaultmem_"  # packages that bring verbs
_broken: set[str] = set()  # verbs of other packages that cannot be loaded

FIND, REMEMBER, REMINDED, ASSISTANTS, LOOK_AFTER, SET_UP, NONE = GROUPS = (
    "Find", "Remember", "Be reminded", "Assistants", "Look after", "Set up", "",
)  # fmt: skip
PYTHON, COMMAND, JSON = "python", "command", "json"  # the doors: how a parameter is spelled there


class Param:
    """One parameter. `name` is its name in Python; other fields stand where they are not as here."""

    kind = "text"  # date, flag, switch (with --no-…), int, float, text, texts, long (many lines), records, any
    default: object = None
    least: float | None = None
    most: float | str | None = None
    choices: tuple[object, ...] | str = ()  # and nothing else
    known: str = ""  # values that a shell completes, beside others
    needed = False
    place = ""  # on the command line without an option: one (1), one or none (?), many (*), one or more (+)
    leads = False  # in Python it needs no name, either
    spelling = ""  # its name in JSON and, with dashes, on the command line, if it is another one
    option = ""  # its name on the command line alone
    flag = ""  # its letter there
    metavar = ""
    doors = "all"  # or command, json (and Python), agent (what parts of us tell each other)
    section = ""  # of the help; a section in brackets has options that exclude each other

    def __init__(self, name: str, help: str = "", **fields: object) -> None:  # noqa: A002 - it is called so everywhere
        self.name, self.help = name, help
        self.__dict__.update(fields)

    def but(self, **fields: object) -> Param:
        """The same with other fields."""
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
        """Its name, as messages at a door spell it."""
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
    """A verb as a tool for assistants. Every word of it costs tokens in each session: `params` have a description only
    where they need one, and what few need is taken and not listed (`quiet`)."""

    def __init__(self, about: str, params: Mapping[str, str | Param], **fields: object) -> None:
        self.about, self.params = about, params
        self.quiet = str(fields.get("quiet", "")).split()
        self.removes = bool(fields.get("removes"))


class Verb:
    """One verb. `run` names the function of a memory verb, below vaultmem."""

    run = ""
    writes = True
    apart = False  # takes no turn with those who write
    slow = False  # may take longer than the agent gives a request
    agent = False  # a command that the agent carries out, where one runs
    pages = False  # its answer may be longer than a screen, as that of each of those
    first = False  # on the first screen of the help
    upkeep = False  # stands under `vaultmem maintain`
    same_as = ""  # the verb that this is another name of
    # Functions below vaultmem.commands, each as "module:function":
    show = ""  # prints the answer as text, where that is all there is to a command; "" for the report of a job
    remarks = ""  # adds remarks on stderr to it
    command = ""  # else the command itself
    excludes = False  # a word of its query that begins with a dash is excluded, and no option
    never_fails = False  # an exit code would stop its caller: what is wrong is a remark
    method = ""  # in Python, if it has another name there; "-" for none
    gives = ""  # what the method returns: a type, or "key: type" where it is one key of the answer
    returns = ""  # the answer, in words
    formats: str = ""  # more formats of its command
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
    """Those of these verbs, or of all, that other packages bring: an entry point has the name of its verb and leads to
    a table like ours. What cannot be loaded is named on stderr and left out."""
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
    """All verbs by name, with those of other packages."""
    return {
        **own(),
        **{name: declared for name, declared in _installed().items() if name not in own()},
    }


def commands() -> dict[str, Verb]:
    """Those that can be typed, by name."""
    return {name: declared for name, declared in every().items() if declared.group}


def memory_verbs(verbs: dict[str, Verb] | None = None) -> dict[str, Verb]:
    """Those that are carried out on memories, by name; of all verbs, or of these."""
    return {
        name: declared
        for name, declared in (every() if verbs is None else verbs).items()
        if declared.run
    }

"""vaultmem completion: the shell scripts, and the answers to their requests. The scripts only pass words on;
candidates for the last word are computed here, from the table of verbs and the notes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import pairwise

from vaultmem import config, paths
from vaultmem.api.verbs import COMMAND, GROUPS, Param, Verb, commands, resolve, verb
from vaultmem.commands.parsing import options_of, takes_value
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.index.catalog import Catalog, below, catalog_errors, like
from vaultmem.index.state import State
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.access import KNOWN_ASSISTANTS
from vaultmem.notes.places import page_path
from vaultmem.output import Output
from vaultmem.text.values import ARCHIVE, ENTRIES, file_text

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace

_UPKEEP = ("maintain", "one step of the upkeep")
_HELP = ("help", "what a command does")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_ID = re.compile(r"(?:vm-[0-9a-z]+|[0-9a-f]{8})")
_QUOTES = ("'", '"')
_SPECIAL = re.compile(r"([^\w@%+,./=-])")  # special characters in bash
_FILES = ("FILE", "DIR", "FOLDER", "PATH")
_ASIDE = Param("help", "what the command does", kind="flag")


def run(args: Namespace, output: Output) -> int:
    """Print the script, which asks the program about the words up to the cursor and gets one line per value, with a
    description after a tab. For bash the program also quotes, as only it knows what the person typed."""
    alias = args.alias or ""
    if alias and not _NAME.fullmatch(alias):
        raise UsageError(f"{alias!r} cannot be the name of a command")
    program = shlex.join(paths.program())
    blank = " " if args.shell == "fish" else "="
    line = f"alias {alias}{blank}{shlex.quote(program)}\n" if alias else ""
    if alias and args.shell == "fish":
        line += f"complete -c {alias} -w vaultmem\n"
    # Zsh reads it from $fpath, where the file is the body of the function, or by `source`.
    script = file_text("vaultmem.commands", f"completion.{args.shell}")
    script = script.replace("@PROGRAM@", program).replace("@ALIAS@", line)
    output.exact(script.replace("@NAME@", f" {alias}" if alias else ""))
    return 0


def answer(words: Sequence[str]) -> str:
    """The lines for a script: `words` are the shell and all words of the line up to the cursor; the last may be
    empty. Errors are suppressed, as they would appear in the middle of the person's input."""
    shell, *line = [*words, ""] if len(words) < 2 else words
    typed = line[-1]
    if shell == "bash" or typed[:1] in _QUOTES:
        # Zsh leaves an opening quote whose partner is still missing.
        line = [_unquoted(word) for word in line]
    try:
        values = dict(complete(line))
    except (VaultmemError, OSError, UnicodeError):  # the last: half a letter has been typed
        return ""
    if shell == "bash":
        rows = _for_bash(values, is_quoted=typed[:1] in _QUOTES)
    elif shell == "zsh":
        rows = [_row(value.replace(":", "\\:"), ":", about) for value, about in values.items()]
    else:
        rows = [_row(value, "\t", about) for value, about in values.items()]
    return "".join(f"{row}\n" for row in rows)


def _for_bash(values: dict[str, str], *, is_quoted: bool) -> list[str]:
    """Values for bash, which has no descriptions: several ids are listed with theirs."""
    plain = [value if is_quoted else _SPECIAL.sub(r"\\\1", value) for value in values]
    is_of_ids = all(about and _ID.fullmatch(value) for value, about in values.items())
    if len(values) == 1 or not is_of_ids:
        return plain
    return [f"{value}  ({about})" for value, about in values.items()]


def _row(value: str, mark: str, about: str) -> str:
    return f"{value}{mark}{about}" if about else value


def _unquoted(word: str) -> str:
    """A word without its quoting; bash passes it as it is typed."""
    if word[:1] in _QUOTES:
        return word.strip(word[0])
    return re.sub(r"\\(.)", r"\1", word)


def complete(line: Sequence[str]) -> Iterator[Candidate]:
    """The completions of the last word of a line."""
    *before, word = [part for part in line[:-1] if part != "="] + [line[-1].removeprefix("=")]
    if before and before[0] in (_HELP[0], _UPKEEP[0]):
        first, before = before[0], before[1:]
        if not before:
            every = commands().items()
            rows = [
                (name, declared.summary)
                for name, declared in every
                if declared.upkeep or first == _HELP[0]
            ]
            yield from _fitting(rows, word)
            return
    if not before:
        by_group = sorted(commands().items(), key=lambda item: GROUPS.index(item[1].group))
        rows = [(name, declared.summary) for name, declared in by_group if not declared.upkeep]
        yield from _fitting([*rows, _UPKEEP, _HELP], word)
        return
    declared = verb(before[0])
    if declared is not None:
        yield from _after(declared, before[1:], word)


def _after(declared: Verb, before: Sequence[str], word: str) -> Iterator[Candidate]:
    """The completions after a command and some of its words."""
    options = {"--help": _ASIDE, **options_of(declared)}
    vault = next((value for name, value in pairwise(before) if name == "--vault"), None)
    open_option = options.get(before[-1]) if before else None
    name, is_joined, value = word.partition("=")
    if word.startswith("--") and is_joined and name in options:
        rows = _values(options[name], value, vault)
        yield from ((f"{name}={choice}", about) for choice, about in rows)
    elif open_option is not None and takes_value(open_option):
        yield from _values(open_option, word, vault)
    elif word.startswith("-"):
        left = ((name, options[name].help.split(";")[0]) for name in sorted({*options} - {*before}))
        yield from _fitting([(name, about) for name, about in left if "{" not in about], word)
    else:
        places = [param for param in declared.of(COMMAND) if param.place]
        with_value = {name for name, option in options.items() if takes_value(option)}
        taken = sum(
            word_before not in with_value and not one.startswith("-")
            for word_before, one in pairwise(["", *before])
        )
        if places and (taken < len(places) or places[-1].place in "*+"):
            yield from _values(places[min(taken, len(places) - 1)], word, vault)


def _values(param: Param, word: str, vault: str | None) -> Iterable[Candidate]:
    """The values of a parameter that begin with what was typed."""
    candidates = resolve(param.choices or param.known)
    is_list = param.kind == "texts" and not param.place
    head, comma, last = word.rpartition(",") if is_list else ("", "", word)
    if callable(candidates):
        rows: Iterable[Candidate] = candidates(last, vault)
    elif candidates:
        abouts = candidates if isinstance(candidates, dict) else {}
        values = ((str(choice), abouts.get(choice, "")) for choice in candidates)
        rows = _fitting(
            ((choice, about if isinstance(about, str) else "") for choice, about in values), last
        )
    else:
        rows = files(last, folders=param.metavar != "FILE") if param.metavar in _FILES else ()
    return ((f"{head}{comma}{value}", about) for value, about in rows)


def _fitting(rows: Iterable[Candidate], word: str) -> Iterator[Candidate]:
    return ((value, about) for value, about in rows if value.startswith(word))


# Values that a shell completes: notes, memories, assistants, tags and pending items, from the index and pending.md.
# Answers within a keystroke: no model, no agent, no reading of notes.

Candidate = tuple[str, str]  # a value and its description
_MOST = 200  # more than anyone reads; another letter narrows them
_SHORT_ID = 8
_LONGEST = 60  # characters of a description
_ITEM = re.compile(r"^- \[.\] (.+?) \^(vm-[0-9a-z]+)\s*$", re.MULTILINE)
_NOTES = """SELECT n.title, f.path FROM files f JOIN notes n ON n.id = f.id WHERE n.excluded = 0
    AND NOT (f.path >= ? AND f.path < ?) AND (n.title LIKE ? ESCAPE '\\' OR f.path LIKE ? ESCAPE '\\')
    ORDER BY n.title LIMIT ?"""
_MEMORIES = """SELECT json_extract(n.properties, '$.id'), n.title FROM files f JOIN notes n ON n.id = f.id
    WHERE f.path >= ? AND f.path < ? AND NOT (f.path >= ? AND f.path < ?)
    AND (n.title LIKE ? ESCAPE '\\' OR json_extract(n.properties, '$.id') LIKE ? ESCAPE '\\')
    ORDER BY f.mtime_ns DESC LIMIT ?"""
_AGENTS = "SELECT DISTINCT json_extract(properties, '$.agent') FROM notes WHERE properties LIKE '%\"agent\"%'"
_TAGS = "SELECT DISTINCT tag FROM tags WHERE folded LIKE ? ESCAPE '\\' ORDER BY folded LIMIT ?"


def notes(word: str, vault: str | None) -> Iterator[Candidate]:
    """Notes by title, or by path if one is being typed."""
    start = f"{like(word)}%"
    rows = _rows(vault, _NOTES, lambda folder: (*below(f"{folder}/{ENTRIES}"), start, start, _MOST))
    seen: set[str] = set()
    for title, path in rows:
        if title.lower().startswith(word.lower()) and title not in seen:
            seen.add(title)
            yield title, os.path.dirname(path)
        elif path.lower().startswith(word.lower()):
            yield path, ""


def memories(word: str, vault: str | None) -> Iterator[Candidate]:
    """Memories by id, with their titles, newest first; by title if one is being typed."""
    start = f"{like(word)}%"
    bounds = (start, start, _MOST)
    rows = _rows(vault, _MEMORIES, lambda at: (*below(at), *below(f"{at}/{ENTRIES}"), *bounds))
    for id_, title in rows:
        if id_ and str(id_).startswith(word):
            yield str(id_)[:_SHORT_ID], title[:_LONGEST]
        elif id_:
            yield title, ""


def archived(word: str, vault: str | None) -> Iterator[Candidate]:
    """The memories in the archive, by title."""
    with suppress(OSError):
        root = config.choose_vault(vault)
        folder = f"{root}/{config.load(root).text('memory_folder')}/{ARCHIVE}"
        for name in sorted(os.listdir(folder)):
            if name.endswith(".md") and name.lower().startswith(word.lower()):
                yield name[:-3], ""


def pending(word: str, vault: str | None) -> Iterator[Candidate]:
    """The items of pending.md, by their ids."""
    root = config.choose_vault(vault)
    settings = config.load(root)
    path = page_path(settings.text("memory_folder"), settings.text("pending.path"))
    with suppress(OSError), open(f"{root}/{path}", encoding="utf-8", errors="replace") as file:
        for text, id_ in _ITEM.findall(file.read()):
            if id_.startswith(word):
                yield id_, text[:_LONGEST]


def assistants(word: str, vault: str | None) -> Iterator[Candidate]:
    """Known assistants, and those that wrote a memory."""
    writers = [row[0] for row in _rows(vault, _AGENTS, lambda _: ()) if isinstance(row[0], str)]
    names = sorted({*KNOWN_ASSISTANTS, *writers})
    return ((name, "") for name in names if name.startswith(word))


def tags(word: str, vault: str | None) -> Iterator[Candidate]:
    """Tags of notes and memories."""
    return (
        (row[0], "") for row in _rows(vault, _TAGS, lambda _: (f"{like(word.lower())}%", _MOST))
    )


def files(word: str, *, folders: bool) -> Iterator[Candidate]:
    """Folders, and files if wanted, from the file system."""
    head, name = os.path.split(word)
    with suppress(OSError):
        for entry in sorted(os.scandir(os.path.expanduser(head) or "."), key=lambda one: one.name):
            is_offered = name.startswith(".") or not entry.name.startswith(".")
            if is_offered and entry.name.startswith(name) and (entry.is_dir() or not folders):
                yield os.path.join(head, entry.name) + ("/" if entry.is_dir() else ""), ""


def _rows(
    vault: str | None, statement: str, values: Callable[[str], Sequence[object]]
) -> list[tuple[str, str]]:
    """Rows of the catalog; none where there is no index, or a damaged one."""
    root = config.choose_vault(vault)
    generation = State(root).generation()
    if generation is None:
        return []
    with catalog_errors(), closing(Catalog(f"{generation}/catalog.db")) as catalog:
        parameters = values(config.load(root).text("memory_folder"))
        return catalog.db.execute(statement, parameters).fetchall()

"""Sources for other Obsidian and Logseq vaults, read as their editor reads them, and for folders of plain text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

from vaultmem.adapter import JsonObject, Properties, Value
from vaultmem.errors import VaultmemError
from vaultmem.exchange.lines import json_line
from vaultmem.exchange.source import Skipped, SourceText, Text, Tree
from vaultmem.light import NamedTuple
from vaultmem.memories.model import link_targets
from vaultmem.notes import frontmatter, pages
from vaultmem.notes.dialects import Rulebook, open_rulebook
from vaultmem.notes.frontmatter import split
from vaultmem.notes.places import index_kind
from vaultmem.vault import files

# Properties in Markdown files outside any vault, and in pages that have nothing else.

_TITLES = ("title", "name")
_DESCRIPTIONS = ("description", "summary", "abstract")
_OF_THE_FILE = re.compile(  # properties of editors and plugins
    r"id|uuid|uid|title|name|collapsed|icon|banner|cover|css-?class(?:es)?|class|public|publish|private|permalink|filters"
    r"|exclude-from-graph-view|heading|background-color|template(?:-.*)?|.*\.order-list-type|hl-.*|file(?:-path)?"
    r"|position|(?:date-?)?(?:created|updated|modified|changed)(?:[-_ ]?(?:at|on|time|date))?|mtime|ctime",
    re.IGNORECASE,
)


def read_properties(path: str, text: str, kind: str) -> SourceText:
    """The text of a file with its properties; front matter that cannot be read stays in the text."""
    page = pages.read("frontmatter", text)
    if page.error:
        return SourceText(path, text, kind=kind)
    raw = page.properties
    title = next((str(raw[key]) for key in _TITLES if isinstance(raw.get(key), str)), "")
    return SourceText(
        path, page.content, title, names_in(raw.get("tags")), names_in(raw.get("aliases")),
        link_targets(raw.get("links")), raw, kind,
    )  # fmt: skip


def text_of_properties(title: str, properties: Properties) -> str:
    """The properties of a page without text, as lines of text; "" if they say nothing."""
    fields = {
        key: _as_line(value) for key, value in properties.items() if not _OF_THE_FILE.fullmatch(key)
    }
    fields = {key: value for key, value in fields.items() if value}
    if not fields:
        return ""
    described = [fields.pop(key) for key in _DESCRIPTIONS if key in fields]
    first = ": ".join([title, *described[:1]]) if title else "".join(described[:1])
    lines = [first, *described[1:], *(f"{key}: {value}" for key, value in fields.items())]
    return "\n".join(line for line in lines if line)


def _as_line(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(line for item in value if (line := _as_line(item)))
    return " ".join(str(value).split()) if isinstance(value, (str, int, float)) else ""


def names_in(raw: Value) -> tuple[str, ...]:
    """The names in a list, or in one text separated by commas."""
    listed = raw.split(",") if isinstance(raw, str) else raw
    if not isinstance(listed, list):
        return ()
    texts = (str(name).strip().lstrip("#") for name in listed if isinstance(name, (str, int)))
    return tuple(dict.fromkeys(text for text in texts if text))


_NOTE = re.compile(r"\.(?:md|markdown)$", re.IGNORECASE)
_TEXT = re.compile(r"\.(?:md|markdown|txt|text)$", re.IGNORECASE)
# The default memory folder of a vault.
_MEMORIES = "vaultmem"
_KNOWN_VAULTS = (  # where Obsidian lists its vaults
    ".config/obsidian", "Library/Application Support/obsidian", ".var/app/md.obsidian.Obsidian/config/obsidian",
    "snap/obsidian/current/.config/obsidian",
)  # fmt: skip


class Notes(NamedTuple):
    """The source for one dialect."""

    name: str
    about: str

    def places(self, home: str) -> tuple[str, ...]:
        """The vaults that Obsidian knows; ~/logseq."""
        if self.name == "logseq":
            return (os.path.join(home, "logseq"),)
        own = os.path.join(os.environ.get("XDG_CONFIG_HOME") or ".config", "obsidian")
        folders = (own, *_KNOWN_VAULTS)
        return tuple(dict.fromkeys(path for each in folders for path in _list_vaults(home, each)))

    def read(self, root: str) -> Iterator[SourceText | Skipped]:
        """Yield all notes except hidden ones, and those that vaultmem generated or archived there."""
        tree = Tree(root)
        rules = open_rulebook(tree.root, self.name)
        for entry in tree.files(_NOTE.search):
            if isinstance(entry, Skipped):
                yield entry
            elif rules.kind(entry.path) != "note" or index_kind(entry.path, _MEMORIES) != "note":
                continue
            elif rules.at(entry.path).excluded(entry.path):
                yield Skipped(entry.path, "hidden by the settings of its vault")
            else:
                read = tree.read(entry)
                yield _note(rules, entry.path, read) if isinstance(read, Text) else read


def _note(rules: Rulebook, path: str, read: Text) -> SourceText:
    note = rules.at(path).parse(path, read.text, split(read.text))
    page = pages.read(rules.page_style(path), read.text)
    text = read.text if page.error else page.content
    if not text.strip():
        text = text_of_properties(note.title, page.properties)
    links = tuple(
        dict.fromkeys(link.path for link in note.links if link.kind in ("frontmatter", "property"))
    )
    kind = "journal" if note.journal else "note"
    aliases, tags = note.aliases, note.tags
    return SourceText(
        read.path, text, note.title, tags, aliases, links, page.properties, kind,
        day=note.journal or "", written=read.written,
    )  # fmt: skip


def _list_vaults(home: str, folder: str) -> list[str]:
    try:
        raw = json.loads(files.read(os.path.join(home, folder), "obsidian.json").text)
        vaults = raw["vaults"].values()
        return sorted(vault["path"] for vault in vaults if isinstance(vault["path"], str))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


class Texts(NamedTuple):
    """The source of plain text files, from a folder or file that must be named."""

    name: str
    about: str

    def places(self, home: str) -> tuple[str, ...]:  # noqa: ARG002 - as all sources
        """None."""
        return ()

    def read(self, root: str) -> Iterator[SourceText | Skipped]:
        """Yield all text files; a file that is named explicitly may have any ending."""
        pattern = re.compile("") if os.path.isfile(root) else _TEXT
        for source in Tree(root).texts(pattern.search):
            if isinstance(source, Skipped):
                yield source
            else:
                result = read_properties(source.path, source.text, "text")
                yield result._replace(written=source.written)


obsidian = Notes("obsidian", "notes of an Obsidian vault")
logseq = Notes("logseq", "pages and journals of a Logseq graph")
text = Texts("text", "text files (.txt, .md) of a folder, or one file")


# The store of memory-cli (the seed of that name): its memories as lines of its own export, its settings as ours.

_CONFIG = "config.yaml"
_MEMORY = re.compile(r"^[^/]+/[^/]+\.md$")
_SETTINGS = {  # theirs, and ours
    "storage.short_term_ttl": "memories.inbox_ttl",
    "daemon.decay_threshold": "memories.decay_after",
    "daemon.upgrade_access_threshold": "memories.upgrade_reads",
    "notification.timezone": "notify.timezone",
}
_METHODS = {"osascript": "desktop", "file": "file"}


class Store(NamedTuple):
    """The contents of a store."""

    lines: bytes  # one memory each, in the shape memory-cli
    paths: list[str]  # its files, one per line
    settings: JsonObject  # the equivalent settings of vaultmem


def read_store(folder: str) -> Store:
    """Read a store. Raises VaultmemError if there is none."""
    root = os.path.abspath(os.path.expanduser(folder))
    config = _config(root)
    elsewhere = config.get("storage.root")
    if not os.path.isdir(f"{root}/categories") and isinstance(elsewhere, str):
        root = os.path.expanduser(elsewhere)
    if not os.path.isdir(f"{root}/categories"):
        if not os.path.isdir(root):
            raise VaultmemError(f"{root} does not exist; check the path")
        advice = "; copy its folder entries, of agent-cli, into the memory folder of your vault"
        raise VaultmemError(
            f"{folder} is not a store of memory-cli: it has no folder categories"
            + (advice if os.path.isdir(f"{root}/entries") else "")
        )
    lines: list[str] = []
    result: list[str] = []
    for source in Tree(f"{root}/categories").texts(_MEMORY.search):
        result.append(f"categories/{source.path}")
        if isinstance(source, Skipped):
            lines.append("{}")
            continue
        page = pages.read("frontmatter", source.text)
        lines.append(json_line({**page.properties, "content": page.content.strip("\n")}))
    return Store("".join(f"{line}\n" for line in lines).encode(), result, _translate_keys(config))


def _config(root: str) -> JsonObject:
    """The settings of a store, by their full names."""
    try:
        raw = frontmatter.read_yaml(files.read(root, _CONFIG, 65_536).text).properties
    except frontmatter.UnreadableError:
        return {}
    return {
        f"{part}.{key}": value
        for part, held in raw.items()
        if isinstance(held, dict)
        for key, value in held.items()
    }


def _translate_keys(config: JsonObject) -> JsonObject:
    meant = {ours: config[theirs] for theirs, ours in _SETTINGS.items() if theirs in config}
    method = config.get("notification.method")
    if config.get("notification.enabled") is False:
        meant["notify.method"] = "none"
    elif isinstance(method, str) and method in _METHODS:
        meant["notify.method"] = _METHODS[method]
    for source, section in config.items():
        if not (source.startswith("ingestion.") and isinstance(section, dict)):
            continue
        for key in (key for key in ("path", "enabled") if key in section):
            value = section[key]
            raw = ("on" if value else "off") if isinstance(value, bool) else value
            meant[f"{source}.{key}"] = raw
    return meant

"""Problems of a vault's index, of the installation, or of single notes, and what to do."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence

from vaultmem import plugins
from vaultmem.api import Vault
from vaultmem.errors import NoRoomError, StateError, VaultGoneError, VaultmemError
from vaultmem.index import LOCAL, catalog_read
from vaultmem.index.catalog import NOTES_BELOW, below, catalog_errors
from vaultmem.light import NamedTuple
from vaultmem.notes.frontmatter import UNMERGED
from vaultmem.notes.places import LINE
from vaultmem.paths import read_json
from vaultmem.text import scripts
from vaultmem.text.values import plural
from vaultmem.vault import identity
from vaultmem.vault.conflicts import conflict_original
from vaultmem.vault.files import on_disk

# Problems of a note, by words of the reason: severity, description of such notes, and advice.
KINDS = {
    "{{placeholders}}": ("note", "with properties that hold {{placeholders}}",
        "nothing to do if these are templates; if they get in the way, exclude their folder in your editor's settings"),
    UNMERGED: ("warning", "that Git could not merge",
        "open the note, keep one of both versions, and take out the lines that Git has put between them"),
    "front matter": ("warning", "with front matter that cannot be read",
        "open the note and correct the lines between the --- marks; its text is indexed all the same"),
    "symbolic link": ("note", "behind a symbolic link",
        "notes behind links are not read; move the notes into the vault if they should be"),
    " name": ("warning", "with a name that cannot be used", "rename the file or folder; until then it is not read"),
    "MB long": ("warning", "too long to be read to the end",
        "divide it into several, or raise index.max_note_bytes in your settings"),
    "cannot be ": ("warning", "that cannot be opened",
        "check their permissions (chmod u+r, for a folder u+rx) and their drive; vaultmem sync then reads them"),
    "other": ("warning", "that cannot be read, or not wholly",
        "open the note in its editor and save it again as UTF-8 text; what can be read of it is indexed"),
}  # fmt: skip
LEAST_ROOM = 65_536  # bytes
SYNC, REBUILD = "vaultmem sync", "vaultmem sync --rebuild"


class Finding(NamedTuple):
    """One problem: severity, description, places, and advice."""

    severity: str  # error, warning, note
    what: str
    advice: str
    places: Sequence[str] = ()
    command: str = ""  # command from the advice that can be run as it is


def to_run(severity: str, what: str, command: str) -> Finding:
    """A finding that one command fixes."""
    return Finding(severity, what, f"run {command}", command=command)


def examine(vault: Vault) -> list[Finding]:
    """Everything that can be found without changing anything."""
    findings = [*_installation(vault), *_place(vault), *_room(vault), *_closed(vault)]
    findings += [*_index(vault), *_history(vault)]
    findings += [
        Finding(*finding) for package in plugins.health() for finding in package.findings(vault)
    ]
    if vault.is_indexed() and all(finding.severity != "error" for finding in findings):
        findings += [*_notes(vault), *_vectors(vault)]
    return findings


def _installation(vault: Vault) -> Iterator[Finding]:
    from vaultmem.notes.dialects import installed

    if not installed():
        advice = "install vaultmem again: pip install ."
        yield Finding("error", "no dialect is installed", advice)
    for warning in vault.config.warnings:
        yield Finding("warning", warning, "remove the line")


def _place(vault: Vault) -> Iterator[Finding]:
    try:
        identity.check(vault.path)
    except VaultGoneError as error:
        yield Finding("error", str(error), "see above")
        return
    memory_folder = vault.config.text("memory_folder")
    is_there = os.path.isdir(os.path.join(vault.path, memory_folder))
    if not is_there and read_json(vault.state.path(identity.RECORD)).get("id"):
        advice = (
            "bring it back from the trash or a backup; or vaultmem undo the entry of vaultmem history that says "
            "“removed outside vaultmem”, which writes all memories again"
        )
        yield Finding("warning", f"the folder {memory_folder} with the memories is gone", advice)
    for name in sorted(os.listdir(vault.path)):
        if name != memory_folder and os.path.isfile(
            os.path.join(vault.path, name, identity.MARKER)
        ):
            advice = f"vaultmem stop, move them into {memory_folder}, vaultmem start; or set memory_folder to {name}"
            what = (
                f"memories in the folder {name} are not read, as memory_folder is {memory_folder}"
            )
            yield Finding("warning", what, advice)


def _closed(vault: Vault) -> Iterator[Finding]:
    """Files of the state that belong to another user, as after sudo."""
    folder = vault.state.folder
    closed = [
        path
        for above, folders, files in os.walk(folder)
        for names, mode in ((folders, os.R_OK | os.W_OK | os.X_OK), (files, os.R_OK))
        for path in (os.path.join(above, name) for name in names)
        if not os.access(path, mode) and os.path.lexists(path)  # an agent removes some meanwhile
    ]
    if closed:
        command = f"sudo chown -R {os.getuid()} {shlex.quote(folder)}"
        what = f"{plural(len(closed), 'file')} of the state cannot be read or written"
        yield Finding("error", what, f"if they are another user's, after sudo: {command}", closed)


def _is_full(folder: str) -> bool:
    if not os.path.isdir(folder):
        return False
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < LEAST_ROOM


def _room(vault: Vault) -> Iterator[Finding]:
    folder = vault.state.folder
    if _is_full(folder):
        advice = "free some space, or set VAULTMEM_STATE to another folder; nothing is lost, the next sync continues"
        yield Finding("error", f"the disk is full on which the index is: {folder}", advice)
    elif _is_full(vault.path):
        advice = "free some space, then vaultmem sync; until then no memory can be written"
        yield Finding("error", f"the disk is full on which the notes are: {vault.path}", advice)


def _index(vault: Vault) -> Iterator[Finding]:
    if not vault.is_indexed():
        is_old = os.path.exists(vault.state.path("manifest.json")) and not vault.state.manifest()
        what = (
            "the index is of another version of vaultmem" if is_old else "the vault is not indexed"
        )
        yield to_run("warning", what, SYNC)
        return
    try:
        with catalog_errors():
            catalog = vault.searcher().catalog
            sound = catalog.is_sound()
            dirty = catalog.waiting()
            report = vault.changes()
    except NoRoomError as error:
        if not _is_full(vault.state.folder):
            yield Finding("error", str(error), "see above")
        return
    except StateError as error:
        yield to_run("error", f"the index cannot be read: {error}", REBUILD)
        return
    except VaultmemError as error:
        yield Finding("error", str(error), "see above")
        return
    if not sound:
        yield to_run("error", "the catalog is damaged", REBUILD)
    if dirty:
        yield to_run("warning", f"a sync was interrupted ({dirty} notes waiting)", SYNC)
    if report.added + report.changed + report.removed:
        what = f"{report.added} new, {report.changed} changed and {report.removed} removed notes since the last sync"
        yield to_run("note", what, SYNC)


def _notes(vault: Vault) -> Iterator[Finding]:
    kinds: dict[str, list[str]] = {}
    for path, reason in vault.troubles():
        kind = next((kind for kind in KINDS if kind in reason), "other")
        kinds.setdefault(kind, []).append(f"{path}: {reason}")
    for kind, places in kinds.items():
        severity, label, advice = KINDS[kind]
        yield Finding(severity, f"{plural(len(places), 'note')} {label}", advice, places)
    pairs = catalog_read.conflict_pairs(vault.searcher().catalog)
    if pairs:
        places = [f"{copy} is a copy of {of or _original(vault, copy)}" for copy, of in pairs]
        advice = "compare each with its original: either may hold what the other lacks"
        what = plural(len(pairs), "sync conflict copy", "sync conflict copies")
        yield Finding("warning", what, advice, places)
    if places := list(_unread_lines(vault)):
        what = f"{plural(len(places), 'memory', 'memories')} whose line vaultmem says nothing that can be read"
        advice = "vaultmem history shows the line as it was: put it back, or remove it; until then the id is another"
        yield Finding("warning", what, advice, places)


def _original(vault: Vault, copy: str) -> str:
    """The original of a copy that no index has: a page of ours, such as pending.md."""
    path = conflict_original(copy)
    return path if path and on_disk(vault.path, path) else "a note that is gone"


def _unread_lines(vault: Vault) -> Iterator[str]:
    says = f"json_extract(n.properties, '$.{LINE}')"
    query = f"SELECT f.path, {says} {NOTES_BELOW} AND {says} IS NOT NULL ORDER BY f.path"
    rows = vault.searcher().catalog.db.execute(query, below(vault.config.text("memory_folder")))
    for path, text in rows.fetchall():
        lines = _beginning(vault, path).splitlines()
        numbers = (number for number, line in enumerate(lines, 1) if line.startswith(f"{LINE}:"))
        yield f"{path}:{next(numbers, 1)}: {LINE}: {text}"


def _history(vault: Vault) -> Iterator[Finding]:
    from vaultmem.history.history import History

    history = History(
        vault.state.path("history.git"), vault.path, vault.config.text("memory_folder")
    )
    if damage := history.damage():
        what = f"the history of the memories is damaged: {damage}"
        advice = "vaultmem restart, or the next write, sets it aside and begins a new one"
        yield Finding("warning", what, advice)
    if damaged := history.damaged():
        what = (
            "the history was damaged and set aside; what was done before cannot be shown or undone"
        )
        advice = f"rm -r {shlex.quote(damaged[0])}, unless you want to mend it with git"
        yield Finding("note", what, advice, damaged)


LOOKED_AT, LONGEST = 200, 4_000  # notes, and characters of one


def languages(vault: Vault) -> Finding | None:
    """Whether the vault is in languages that its model does not know, judged by a sample of its notes."""
    from vaultmem.embedding.models import DEFAULT

    if vault.config["embedding.model"] != DEFAULT or vault.config["embedding.base_url"]:
        return None
    paths = vault.notes()
    texts = (_beginning(vault, path) for path in paths[:: len(paths) // LOOKED_AT + 1])
    result = scripts.unknown_share(texts)
    if result is None:
        return None
    what = f"{result[0]} of {plural(result[1], 'sampled note')} are in a language that the model does not know"
    command = "vaultmem model use multilingual"
    if result[2] == scripts.SCRIPT:
        if vault.config["embedding.other_scripts"] != "same":
            return None
        command += " --other-scripts"
    advice = f"{command} (a model for 100 languages: 90 MB to download once, 93 MB on disk)"
    return Finding(
        "note", f"{what}, so search by meaning finds little in them", advice, [], command
    )


def _beginning(vault: Vault, path: str) -> str:
    try:
        with open(os.path.join(vault.path, path), encoding="utf-8", errors="replace") as file:
            return file.read(LONGEST)
    except OSError:
        return ""


def _vectors(vault: Vault) -> Iterator[Finding]:
    from vaultmem.vectors.vectors import hnsw_missing

    if (shared := vault.shared_index()) and shared.problem:
        what = f"the shared index ({vault.config['index.backend']}) does not work: {shared.problem}"
        yield Finding("error", what, f"start its server, or set index.backend to {LOCAL}")
    if finding := languages(vault):
        yield finding
    done, total, trouble = vault.embedded()
    second = vault.second_model()
    if second and second.problem:
        what = f"blocks in other scripts have no model of their own: {second.problem}"
        yield Finding("warning", what, "until then the model of all others embeds them")
    threshold = int(vault.config.number("vectors.hnsw_threshold"))
    if total > threshold and (missing := hnsw_missing()):
        advice = f"it matters above {threshold:,} blocks; this vault has {total:,}"
        yield Finding("warning", missing, advice)
    service = bool(vault.config.text("embedding.base_url"))
    if trouble and not service and vault.config["embedding.model"] != "off":
        yield Finding("warning", trouble, "until then search works by keyword only")
    elif total > done and not trouble:
        what = f"{total - done} of {total} blocks have no vector yet"
        exception = "; private notes get none (embedding.private)" if service else ""
        advice = f"a running agent computes them in the background, {SYNC} at once{exception}"
        yield Finding("note", what, advice, [], SYNC)

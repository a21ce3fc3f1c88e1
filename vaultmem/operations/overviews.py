"""Pages for people to browse (programs ask for lists): "What changed.md" shows what was done to memories in the last
weeks, Memory.md lists them by category. Written after jobs, and only with new content."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta

from vaultmem.errors import VaultmemError
from vaultmem.history.commits import Commit, FileChange
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.access import is_private
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import CREATE, EDIT, MOVE, RESTORE, TO_ARCHIVE
from vaultmem.memories.item_answers import Answers, holding, origin_of, reminds_at
from vaultmem.memories.model import CATEGORIES, INBOX, Memory
from vaultmem.memories.store import MemoryStore, Session
from vaultmem.notes.places import ARCHIVE as ARCHIVE_FOLDER
from vaultmem.notes.places import GENERATED, OUTLINE, file_name
from vaultmem.operations import generated, transcript
from vaultmem.operations.past import is_by_conversation
from vaultmem.progress import logger
from vaultmem.text.sanitize import one_line, quote_text
from vaultmem.text.times import reminds_on, stamp
from vaultmem.text.values import lazy, plural
from vaultmem.vault import write

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.memories.collection import Collection

CHANGES, INDEX = GENERATED[1], GENERATED[3]
WEEKS = 8
WEEK = 7 * 86_400.0
MOST_OF_A_WEEK = 20  # memories of one week and kind
MOST_COMMITS = 10_000
_HEADINGS = {
    CREATE: "New", EDIT: "Changed", MOVE: "Filed", TO_ARCHIVE: "Archived", RESTORE: "Brought back",
}  # fmt: skip
_ORDER = {action: number for number, action in enumerate(_HEADINGS)}
# Properties that only dreams and decay need.
_SILENT = lazy(r"read [\d,.]+ times?|judged: .*|reinforced")
_SAYS_NOTHING = frozenset(["", "written"])
_SCORES = lazy(r"\s*\([01]\.\d+\)|\s[+-]\d+(?:\.\d+)?(?=[,;.\s]|$)")
_PLAIN = str.maketrans({"`": "'", "#": "＃", "<": "‹"})
_ABOUT_CHANGES = (
    "vaultmem writes this page after its jobs; changes made here are lost. `vaultmem undo` takes any of it back, and"
    " `vaultmem history` knows more."
)
_ITEM, _WEEK, _ACTION = "-", "##", "###"  # line prefixes of the page
log = logger("vaultmem.memories")


def _page(title: str, lines: Iterable[tuple[str, str]], style: str) -> str:
    """Headings, items, and paragraphs (without prefix), as a note or an outline."""
    is_outline, before, depth = style == OUTLINE, "", 0
    text = generated.head(style) + ("" if is_outline else f"# {title}\n")
    for mark, line in lines:
        is_item, words = mark == _ITEM, f"{mark} {line}".lstrip()
        depth = depth if is_item else max(0, len(mark) - 1)
        if is_outline:
            text += "\t" * (depth if is_item else depth - 1) + ("" if is_item else "- ") + words
        else:
            text += ("" if is_item and before == mark else "\n") + words
        text, before = f"{text}\n", mark
    return text


class Record(NamedTuple):
    """One change of one memory."""

    day: date  # in the person's zone
    by: str  # an assistant, a job, "you"
    action: str  # of memories.draft
    title: str
    why: str = ""
    category: str = ""  # its current category


def what_changed(
    records: Iterable[Record], today: date, living: Iterable[str], style: str = "frontmatter"
) -> str:
    """Sections by week, newest first, starting with this week. `living` has the titles that may be linked to."""
    titles = {title.lower(): title for title in living}
    first = _monday(today) - timedelta(weeks=WEEKS - 1)
    weeks: dict[date, set[Record]] = defaultdict(set)
    for record in records:
        if first <= record.day <= today:
            weeks[_monday(record.day)].add(record)
    lines = [("", _ABOUT_CHANGES)]
    for monday in sorted(weeks, reverse=True):
        lines.append((_WEEK, f"Week of {monday.day} {monday:%B %Y}"))
        lines += _week(weeks[monday], titles)
    if not weeks:
        lines.append(("", f"Nothing in the last {WEEKS} weeks."))
    return _page("What changed", lines, style)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _week(records: set[Record], titles: Mapping[str, str]) -> list[tuple[str, str]]:
    groups: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in sorted(records):
        groups[record.action][record.title].append(record)
    for title in groups[CREATE].keys() & groups[MOVE].keys():  # one line for each new memory
        groups[CREATE][title] += groups[MOVE].pop(title)
    lines: list[tuple[str, str]] = []
    for action in sorted(groups, key=lambda name: (_ORDER.get(name, len(_ORDER)), name)):
        if not (by_title := groups[action]):
            continue
        lines.append((_ACTION, _HEADINGS.get(action) or quote_text(action).capitalize()))
        lines += [
            (_ITEM, _item(by_title[title], titles)) for title in sorted(by_title)[:MOST_OF_A_WEEK]
        ]
        if len(by_title) > MOST_OF_A_WEEK:
            lines.append((_ITEM, f"and {len(by_title) - MOST_OF_A_WEEK:,} more"))
    return lines


def _item(records: Sequence[Record], titles: Mapping[str, str]) -> str:
    title = records[0].title
    living = titles.get(title.lower())
    name = f"[[{living}]]" if living else f"“{_plain(title)}”"
    moves = [record for record in records if record.action == MOVE]
    records = [record for record in records if record.action != MOVE] or moves
    by = f" (by {_plain(', '.join(dict.fromkeys(record.by for record in records)))})"
    if moves:
        places = dict.fromkeys(record.category for record in moves if record.category)
        return f"{name} under {' and '.join(places)}{by}" if places else f"{name}{by}"
    reasons = dict.fromkeys(_SCORES.sub("", record.why) for record in records)
    why = _plain("; ".join(reason for reason in reasons if reason not in _SAYS_NOTHING))
    return f"{name}{f': {why}' if why else ''}{by}"


def _plain(text: str) -> str:
    """The text with links, tags and markup escaped."""
    return quote_text(text.replace("[[", "“").replace("]]", "”").translate(_PLAIN))


def keep_changes(session: Session) -> bool:
    """Write the note if it is enabled and its content has changed. Returns whether it was written."""
    store = session.store
    path = f"{store.folder}/{CHANGES}"
    generated.clear_copies(store, path)
    if store.config.text("dream.report") == "off" or store.history.trouble():
        return False
    store.remember()
    commits = store.history.log(limit=MOST_COMMITS, since=session.now - (WEEKS + 1) * WEEK)
    every = (*store.collection.live(), *store.collection.archived())
    titles = {file_name(memory.path): memory.title for memory in every}
    records = [
        _record(*change, store.folder, titles)
        for change in standing(commits)
        if not is_by_conversation(change[0])
    ]
    records = _without_private(store.collection, records)
    if not records and store.bytes_of(path, 1) is None:
        return False  # the last change on the page was undone
    living = [memory.title for memory in store.collection.live()]
    text = what_changed(records, session.view.now.date(), living, store.rules.page_style(path))
    try:
        return bool(generated.keep(store, {path: text}))
    except VaultmemError as error:  # the note is only informative
        log.warning("%s", error)
        return False


def _without_private(collection: Collection, records: list[Record]) -> list[Record]:
    """Without changes that name a private memory: assistants can read the page."""
    every = (*collection.live(), *collection.archived())
    private = {memory.title for memory in every if is_private(memory.properties)}
    named = [f"“{title}”" for title in private]
    return [
        record
        for record in records
        if record.title not in private and not any(name in record.why for name in named)
    ]


def _record(commit: Commit, change: FileChange, folder: str, titles: Mapping[str, str]) -> Record:
    day = datetime.fromtimestamp(commit.at).astimezone().date()
    name = file_name(change.target or change.path or "")
    title = titles.get(name, name)
    category = (change.target or "")[len(folder) + 1 :].partition("/")[0]
    return Record(
        day, commit.by, _action(change, folder), title, change.why or commit.why, category
    )


def _action(change: FileChange, folder: str) -> str:
    away = f"{folder}/{ARCHIVE_FOLDER}/"
    if change.target is None or (change.target.startswith(away) and change.path != change.target):
        return TO_ARCHIVE
    if change.path is None:
        return CREATE
    if change.path.rpartition("/")[0] == change.target.rpartition("/")[0]:
        return EDIT
    return RESTORE if change.path.startswith(away) else MOVE


def standing(commits: Sequence[Commit]) -> list[tuple[Commit, FileChange]]:
    """Changes by vaultmem, newest first, without undone ones, undos, and reads."""
    commit_ids = {entry.commit for entry in commits}
    done = (
        commit
        for commit in holding(commits)[0]
        if commit.is_ours and commit_ids.isdisjoint(commit.undoes)
    )
    every = ((commit, change) for commit in done for change in commit.files)
    return [pair for pair in every if not _SILENT.fullmatch(pair[1].why)]


# Memory.md; and the editor's views of memories, written once.

MOST = 100  # memories of a category
_NAME = 40  # characters of an assistant's
_NOT_IN_VIEWS = frozenset("\"'\\{}\n")  # in a folder name: views are YAML with quoted words


def render(memories: Iterable[Memory], style: str, answers: Answers) -> str:
    """The page: the same memories and answers give the same bytes. Private ones are only counted."""
    every = [
        memory for memory in memories if memory.adopted and not memory.properties.get("compressed")
    ]
    listed = [memory for memory in every if not is_private(memory.properties)]
    by_category: dict[str, list[Memory]] = defaultdict(list)
    for memory in sorted(listed, key=lambda each: (-each.created, each.title)):
        by_category[memory.category].append(memory)
    hidden = len(every) - len(listed)
    private = f"; {hidden:,} more {'is' if hidden == 1 else 'are'} private" if hidden else ""
    lines = [("", f"{plural(len(listed), 'memory', 'memories')}{private}. {generated.ABOUT}")]
    for name in CATEGORIES:
        if by_category[name]:
            lines.append(("##", "Inbox, not filed yet" if name == INBOX else name.capitalize()))
            lines += [(_ITEM, row) for row in _rows(name, by_category[name], answers)]
    return _page("Memory", lines, style)


def _rows(category: str, memories: Sequence[Memory], answers: Answers) -> list[str]:
    lines = []
    for memory in memories[:MOST]:
        author = one_line(origin_of(memory.properties).writer, _NAME)
        when = stamp(memory.created)[:10]
        if due := memory.text("remind"):  # for a reminder the date of writing is irrelevant
            repeat = memory.text("repeat")
            due = reminds_at(memory.id, due, repeat, answers)[:16]
            when = reminds_on({"remind": due, "repeat": repeat})
        by = f", by {author}" if author else ""
        lines.append(f"[[{memory.title}]] ({one_line(when, 2 * _NAME)}{by})")
    if len(memories) > MOST:
        lines.append(f"{len(memories) - MOST:,} older: `vaultmem list --category {category}`")
    return lines


def refresh(session: Session, _: Arguments) -> JsonObject:
    """Update the page if memories have changed. Returns whether that was needed."""
    return {"written": keep_index(session)}


def keep_index(session: Session) -> bool:
    """Write the page if it is enabled and its content has changed. Returns whether it was written."""
    store = session.store
    current = store.version, session.answers
    if store.config.text("memories.pages") == "off" or store.listed == current:
        return False
    _clear_empty_folders(store)
    _keep_transcripts(session)
    path = f"{store.folder}/{INDEX}"
    live = store.collection.live()
    is_first = not os.path.lexists(f"{store.vault}/{path}")
    if generated.is_taken(store, path) or (
        is_first and (not live or _is_name_taken(session, path))
    ):
        return False
    generated.clear_copies(store, path)
    try:
        if is_first:
            _write_views(session)
        page = render(live, store.rules.page_style(path), current[1])
        written = bool(generated.keep(store, {path: page}))
    except (VaultmemError, OSError) as error:  # the page is only a list
        log.warning("%s", error)
        return False
    store.listed = current
    return written


def _keep_transcripts(session: Session) -> None:
    try:
        transcript.keep(session)
    except (VaultmemError, OSError) as error:  # everything said is in the entries
        log.warning("%s", error)


def _is_name_taken(session: Session, path: str) -> bool:
    """Whether a person's note has this name, so that links to it would become ambiguous."""
    return session.view.target(file_name(path)) is not None


def _write_views(session: Session) -> None:
    """Write the editor's views of memories once; then they belong to the person."""
    store = session.store
    if _NOT_IN_VIEWS & set(store.folder):
        return
    for name, text in store.rules.views(f"{store.folder}/{INDEX}").items():
        path, days = f"{store.folder}/{name}", store.half_life / 24
        is_note = name.endswith(".md")
        if os.path.lexists(f"{store.vault}/{path}") or (is_note and _is_name_taken(session, path)):
            continue
        filled = text.replace("{folder}", store.folder).replace("{days}", f"{days:g}")
        write.create(store.vault, path, filled.encode())


def _clear_empty_folders(store: MemoryStore) -> None:
    """Remove empty folders of categories; the inbox stays, because people put notes there."""
    for name in CATEGORIES:
        if name != INBOX:
            try:
                os.rmdir(f"{store.vault}/{store.folder}/{name}")
            except OSError:
                continue  # not empty, or missing

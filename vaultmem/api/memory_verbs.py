"""The table of verbs: memories, search, reminders. Every door reads its parameters here; vaultmem.api.vault_verbs has
those that look after the vault and the program."""

from __future__ import annotations

from vaultmem.api.verbs import (
    ASSISTANTS, COMMAND, FIND, LOOK_AFTER, NONE, REMEMBER, REMINDED, Exposed, Param, Verb,
)

WHICH = "its id or the beginning of it, title, path, or the id of its pending item"
_WHO_SEES = "who sees it: global (the default), agent:NAME, conversation:ID or user:ID"
_VALUES, _STEPS = "text.values:", "recall.criteria:STEPS"
_TYPED = "commands.completion:"  # what a shell completes of what is there


def flag(name: str, text: str = "", **fields: object) -> Param:
    """True or false."""
    return Param(name, text, **{"kind": "flag", "default": False, **fields})


def _narrow(*names: str) -> tuple[Param, ...]:
    completions = {"phase": f"{_VALUES}PHASES", "category": f"{_VALUES}CATEGORIES", "agent": f"{_TYPED}assistants"}
    return tuple(Param(name, f"memories with this {name}", known=completions.get(name, "")) for name in names)


# --- parameters that several verbs have

BY = Param("by", "the assistant that acts (default: you)", metavar="NAME", known=f"{_TYPED}assistants")
VIEWER = BY.but(help="the assistant that asks; what it may not see is left out (default: you)")
DRY_RUN = flag("dry_run", "show what would change, and change nothing")
WRITES = (BY, DRY_RUN)
ID = Param("id", f"{WHICH}; titles need no quotes", place="*", metavar="ID", needed=True, known=f"{_TYPED}memories")
NOTE = Param("note", "a path, title, file name or alias", place="1", metavar="NOTE", needed=True, known=f"{_TYPED}notes")
LIMIT = Param("limit", "at most this many (default {default})", kind="int", flag="-n", least=1, most=f"{_VALUES}RESULTS")
JOB_LIMIT = LIMIT.but(help="change at most this many memories", most=1_000_000)
TAGS = Param("tags", "its tags", kind="texts", metavar="T1,T2", known=f"{_TYPED}tags")
CATEGORY = Param("category", choices=f"{_VALUES}CATEGORIES", known=f"{_VALUES}CATEGORIES")
MEMORY_TYPE = Param("memory_type", "episodic, semantic, procedural or working; default: guessed", choices=f"{_VALUES}TYPES")
GLOBAL = flag("everywhere", "memories marked as global", spelling="global")
PRIVATE = flag("private", "hide it from all assistants")
FROM = Param("since", "notes of this day or later, such as 2026-11, yesterday or last week", kind="date", spelling="from", metavar="DAY")
TO = Param("until", "notes of this day or earlier", kind="date", spelling="to", metavar="DAY")
COMPRESSED = flag("include_compressed", "include memories that a summary replaces")
SINCE = Param("since", "a day or a time, also in words, or a span such as 2h", metavar="WHEN")
WORDS = Param("content", kind="long", place="*", metavar="WORD", needed=True)
UNATTENDED = flag("unattended", doors="agent")
NEWS = flag("only_news", doors="json")
SUMMARIES = Param("summaries", kind="records", doors="agent")
AGENT = Param("agent", "the assistant that writes it", known=f"{_TYPED}assistants")
PROJECT = Param("project", "the project it belongs to")
SOURCE = Param("source", "where it comes from")
ROLE = Param("personality", "the role the assistant plays")
TYPE = Param("type", "what kind it is, in your own words")
DECAY = Param("decay", "stable, contextual, reinforceable or fsrs; default: that of the category", choices=f"{_VALUES}POLICIES")
TITLE = Param("title", "its title")
REPLACES = Param("replaces", "a memory to replace, which goes to the archive", metavar="ID", known=f"{_TYPED}memories")
UNDO = flag("undo", "undo the answer")
HOW = (
    flag("semantic", "also search by meaning (default: if the agent has the model loaded)", flag="-s", default=None,
         section="(how)"),
    flag("keyword", "search by words only", section="(how)"),
)
_TEXT_FILTERS = _narrow("source", "agent", "personality", "project", "type")  # by text.values.TEXT_PROPERTIES
_NARROW = "filters"
_QUERY = Param("query", needed=True)
_NOTES = Param("notes", kind="switch", default=True)
_TEN = LIMIT.but(help="", default=10)
_JSON_ONLY = {"doors": "json"}
_JOB = (JOB_LIMIT, *WRITES)
_PAIR = (
    ID.but(help=f"a memory: {WHICH}", place="1"),
    Param("other", "the other memory", place="1", metavar="OTHER", needed=True, known=f"{_TYPED}memories"),
    *WRITES,
)
_RECORD = "the record of the memory"
_REPORT = '"job", "changes", "counts", "findings", "skipped", "left" and "dry_run"'

_RECALL = (
    Param("query", "the question, in plain words", kind="long", place="*", needed=True),
    Param("budget", "at most this many tokens (default {default})", kind="int", default=2_000, least=1, most=f"{_VALUES}TOKENS"),
    Param("top_k", "at most this many memories (default {default}, 5 for you at a terminal)", kind="int", flag="-k", default=50, least=1,
          most=f"{_VALUES}MEMORIES"),
    Param("types", "episodic, semantic, procedural, working", kind="texts", metavar="A,B", choices=f"{_VALUES}TYPES"),
    Param("scope", "also this scope: agent:NAME, conversation:ID or user:ID; may be repeated", kind="repeated"),
    Param("notes", "include blocks of notes, or only memories", kind="switch", default=True),
    flag("untrusted", "include memories and blocks that you have not approved"),
    BY.but(help="the assistant that asks (default: you)"),
    COMPRESSED,
    Param("min_confidence", "leave out faded memories, from 0 to 1 (default 0: age only lowers the rank)", kind="float",
          least=0, most=1),
    Param("as_of", "what was known on that day, including memories replaced since", metavar="DAY"),
    Param("score_threshold", "leave out worse matches, from 0 to 1 (try 0.35 with a reranker)", kind="float", least=0, most=1),
    Param("without", "skip these steps: {known}", kind="texts", metavar="S1,S2", choices=_STEPS, known=_STEPS),
    *(Param(name, f"the setting recall.{name} for this question", kind="float", least=0, most=1, **_JSON_ONLY)
      for name in ("recency_weight", "mmr_lambda")),
    flag("explain", "show what each step did"),
    flag("batch", "many questions from stdin, see below", doors=COMMAND),
    flag("counts", doors="json", default=True),
)

_READ = (
    ID, VIEWER, Param("scope", **_JSON_ONLY), flag("counts", doors="json", default=True),
    flag("provenance", "also show its source sentence, what it replaced, and who recalled it when"),
    flag("deleted", "also look in the archive"),
)
_WRITE = (
    WORDS.but(help="the text; - reads it from stdin"), TAGS,
    CATEGORY.but(help="{known} (default: inbox)"),
    Param("scope", _WHO_SEES), SOURCE, AGENT, ROLE, PROJECT, TYPE, MEMORY_TYPE, DECAY,
    Param("expires", "when it expires: a day or time, also in words (tomorrow), or a span such as 7d"),
    TITLE, GLOBAL.but(help="mark it as global"), PRIVATE, REPLACES, *WRITES,
)
_OF_TEXT = "of the text: "
_INGEST = (
    Param("source", "what to read, see below; with --text, any name for its origin"),
    Param("path", "where it is, if not in the usual place", metavar="DIR", doors=COMMAND),
    JOB_LIMIT.but(help="write at most this many memories", doors=COMMAND),
    Param("text", "a text to import; - reads it from stdin", metavar="TEXT", kind="long", leads=True),
    Param("session_id", "the session that the text comes from", option="session", metavar="ID"),
    TAGS.but(help="tags for all of the text"), Param("scope", _OF_TEXT + _WHO_SEES),
    AGENT.but(help=f"{_OF_TEXT}the assistant that brings it"), PROJECT.but(help=_OF_TEXT + PROJECT.help),
    MEMORY_TYPE.but(help=f"{_OF_TEXT}episodic, semantic, procedural or working; default: guessed for each part"),
    *(param.but(**_JSON_ONLY) for param in (ROLE, TYPE, GLOBAL, CATEGORY)), *WRITES,
)

VERBS = {
    "search": Verb(
        "find notes by words, and by meaning", FIND,
        (
            Param("query", "what to look for; see below", place="*"), LIMIT.but(help="at most this many results (default 10)"), *HOW,
            Param("group", "one result per note (default), or every block", choices=("note", "block")),
            flag("open", "open the best result in its editor", doors=COMMAND),
            flag("batch", "many queries from stdin, see below", doors=COMMAND),
            *(param.but(section=_NARROW) for param in (
                TAGS.but(help="notes that have all these tags"), Param("path", "notes with this text in their path"), FROM, TO,
                *_TEXT_FILTERS, *_narrow("scope", "phase", "category"), GLOBAL,
                Param("min_confidence", "leave out faded memories, from 0 to 1 (default: memories.min_confidence)", kind="float", least=0, most=1),
                flag("conversations", "include what was said in conversations"),
                COMPRESSED.but(help="include memories that a summary replaces"), VIEWER,
            )),
        ),
        agent=True, first=True, writes=False, command="search_views:search", excludes=True,
        tool=Exposed("Find memories and notes by words and meaning.", {
            "query": _QUERY, "tags": "", "scope": "", "phase": "", "category": "", "notes": _NOTES, "limit": _TEN,
            "from": "YYYY-MM-DD", "to": ""}, quiet="scope phase"),
    ),
    "smart-search": Verb(
        "", NONE, (TAGS, Param("scope")), writes=False, method="-",
        tool=Exposed("Search also by links and recency.", {
            "query": _QUERY, "tags": "", "scope": "", "notes": _NOTES, "limit": _TEN}, quiet="tags scope limit"),
    ),
    "recall": Verb(
        "what is known about a question, within a budget of tokens", FIND, _RECALL, run="recall.recall:recall", writes=False,
        apart=True, agent=True, first=True, command="search_views:recall",
        tool=Exposed("What is known about something. Call it first.", {"query": _QUERY, "budget": "", "top_k": "", "types": "",
            "scope": Param("scope", kind="any"), "notes": "", "untrusted": "", "as_of": ""}, quiet="top_k types scope untrusted as_of"),
        returns='"memories", preferences first, each with "id", "path", "content", "memory_type", "score", "tokens"; "tokens", '
        '"budget_used", "left_out", "explain". It counts as being read, unless `counts` is False',
    ),
    "write": Verb(
        "write a memory", REMEMBER, _WRITE, run="operations.writing:write", first=True,
        show="memory_views:show_written", remarks="memory_views:remark_similar",
        tool=Exposed("Remember one fact; duplicates are not stored.", {
            "content": "", "category": "people, project, date, knowledge, feedback, preferences, decisions, lessons, habits "
            "or skills", "tags": "", "scope": "global, agent:NAME, user:ID, conversation:ID", "title": "", "source": "",
            "project": "", "expires": "", "replaces": ""}, quiet="title project expires"),
        returns=f'{_RECORD}, with "created" (False when the very same text is there), "duplicate_of", "similar", "contradicts", "same_as"',
    ),
    "create": Verb("write a memory (the same as write)", REMEMBER, _WRITE, same_as="write"),
    "remind": Verb(
        "set a reminder: what, when, how often", REMINDED,
        (
            WORDS.but(help="what to remind of, and when; - reads it from stdin"),
            Param("at", "when, unless the words say it", metavar="WHEN"),
            Param("repeat", 'such as "every day", "every 2 weeks on Monday" or "every day until 2026-12-31"', metavar="RULE"),
            TAGS, Param("scope", "who sees it: global (the default), agent:NAME and so on"), PROJECT,
            AGENT.but(help="the assistant that sets it"), PRIVATE, *WRITES,
            *(param.but(**_JSON_ONLY) for param in (SOURCE, ROLE, TYPE, GLOBAL, MEMORY_TYPE, DECAY, TITLE, REPLACES)),
        ),
        run="reminders.reminding:remind", first=True, show="reminder_views:show_reminder",
        remarks="reminder_views:remark_reminder",
        tool=Exposed("Set a reminder: call Ann tomorrow at 9, yoga every Monday.", {"content": "", "at": "", "repeat": ""}),
        returns='what write gives, with "remind", "repeat" and "understood", the words that were read as a time; '
        '"also" are the times of the other reminders that words such as "at 8:00 and 20:00" set',
    ),
    "ingest": Verb(
        "import what other assistants remember, or split a long text into memories", REMEMBER, _INGEST, run="exchange.ingest:ingest_text",
        slow=True, method="ingest_text", command="exchange_views:ingest",
        returns='"parts", each with its "result": new, known or skipped with the reason',
    ),
    "read": Verb(
        "show one memory", REMEMBER,
        _READ,
        run="operations.reading:read", writes=False, agent=True,
        first=True, gives="MemoryRecord", show="memory_views:show_memory",
        returns=f"{_RECORD}, and \"text\" where it refers to blocks: its content with their text; being read is remembered, "
        "unless `counts` is False. With `provenance` also \"drawn_from\", "
        '"replaced", "replaced_by" and "recalled"',
        tool=Exposed("Show a memory or note in full.", {"id": "id, title or path", "scope": ""}, quiet="scope"),
    ),
    "note": Verb("", NONE, (Param("path", needed=True),), run="operations.reading:note", writes=False, method="-"),
    "get": Verb("show one memory (the same as read)", REMEMBER, _READ, agent=True, same_as="read"),
    "list": Verb(
        "list memories, newest first", REMEMBER,
        (
            *(param.but(choices=param.known) for param in _narrow("phase", "category")),
            *_narrow("scope"), *_TEXT_FILTERS, GLOBAL,
            TAGS.but(help="memories that have all these tags"),
            FROM.but(help="written on this day or later, such as 2026-11, yesterday or last week", kind="text"),
            TO.but(help="written on this day or earlier", kind="text"), LIMIT.but(default=100),
            Param("min_confidence", "leave out faded memories, from 0 to 1", kind="float", default=0.0, least=0, most=1),
            flag("deleted", "list the archive instead"), COMPRESSED, VIEWER,
            Param("words", "memories with these words in the title or at the beginning"),
            flag("unapproved", "memories by others that you have not approved"),
            Param("offset", "skip this many of the newest", kind="int", default=0, least=0, most=1_000_000),
            flag("facets", **_JSON_ONLY),
        ),
        run="operations.reading:list_memories", writes=False, agent=True, first=True, method="memories", gives="memories: list[MemoryRecord]",
        show="memory_views:show_memories", returns='memories, the newest first; being listed does not count as being read. Over other doors also "total", and with '
        '`facets` the categories, agents and tags with their numbers',
        tool=Exposed("Memories, newest first.", {
            "phase": "", "category": Param("category"), "scope": "", "tags": "", "source": "", "limit": _TEN.but(default=20),
            "from": "YYYY-MM-DD", "to": ""}, quiet="phase scope source tags"),
    ),
    "delete": Verb(
        "forget a memory: move it to the archive", REMEMBER, (ID, *WRITES), run="operations.filing:delete", show="memory_views:show_moved",
        tool=Exposed("Move a memory to the archive; can be undone.", {"id": ""}, removes=True),
        returns='"id", "deleted", "title", and "path", where it is now',
    ),
    "restore": Verb(
        "bring a memory back from the archive", REMEMBER, (ID.but(known=f"{_TYPED}archived"), *WRITES), run="operations.filing:restore", show="memory_views:show_moved",
        returns=_RECORD,
    ),
    "edit": Verb(
        "replace the text of a memory", REMEMBER,
        (
            ID.but(help=WHICH, place="1"), WORDS.but(help="the new text; - reads it from stdin"),
            Param("seen", "the content_hash that you saw; if the text has changed since, nothing is written", metavar="HASH"),
            *WRITES,
        ),
        run="operations.filing:edit", show="memory_views:show_edited", returns=f'{_RECORD}, with "changed"',
    ),
    "tag": Verb(
        "add tags to a memory, or remove them", REMEMBER,
        (
            ID.but(help=WHICH, place="1"),
            Param("add", "tags to add, with or without #", kind="texts", place="*", metavar="TAG", known=f"{_TYPED}tags"),
            Param("remove", "tags to remove", kind="texts", metavar="T1,T2", known=f"{_TYPED}tags"), *WRITES,
        ),
        run="operations.filing:tag", show="memory_views:show_tags", returns=f'{_RECORD}, with "changed"',
        tool=Exposed("Add or remove tags.", {"id": "", "add": "", "remove": ""}),
    ),
    "upgrade": Verb(
        "file a memory of the inbox under a category, or all that are read often", LOOK_AFTER,
        (
            ID.but(help=f"{ID.help}; default: all that are read often", needed=False),
            CATEGORY.but(help="the category (default: the likeliest)"),
            JOB_LIMIT.but(help="without an ID: file at most this many", doors=COMMAND), *WRITES,
        ),
        run="operations.filing:upgrade", upkeep=True, command="memory_views:upgrade", returns=_RECORD,
    ),
    "promote": Verb("", NONE, _JOB, run="operations.upkeep:promote", slow=True, returns=_REPORT),
    "link": Verb(
        "link two memories, both ways", REMEMBER, _PAIR, run="operations.filing:link", show="memory_views:show_link",
        returns='"source", "target", "linked", "changed"',
    ),
    "unlink": Verb(
        "remove the links between two memories", REMEMBER, _PAIR, run="operations.filing:unlink", show="memory_views:show_link",
        returns="what link gives",
    ),
    "resolve-links": Verb(
        "link memories where one names another in its text", LOOK_AFTER, _JOB, run="operations.upkeep:resolve_links", slow=True,
        upkeep=True, returns=_REPORT,
    ),
    "reinforce": Verb(
        "reset a memory's decay", REMEMBER, (ID, *WRITES), run="operations.filing:reinforce", show="memory_views:show_reinforced",
        returns='"id", "confidence", "last_reinforced_at"',
    ),
    "dream": Verb(
        "run maintenance: categorize, merge, link, look across memories", LOOK_AFTER,
        (
            Param("level", "how deep (default {default})", kind="int", choices=(1, 2, 3), default=1), *_JOB, NEWS, SUMMARIES,
        ),
        run="operations.upkeep:dream", slow=True, method="-", command="upkeep_views:maintain", returns=_REPORT,
    ),
    "expire": Verb(
        "archive memories that have expired, or stayed in the inbox too long", LOOK_AFTER, (*_JOB, UNATTENDED), run="operations.upkeep:expire",
        slow=True, upkeep=True, returns=_REPORT,
    ),
    "decay": Verb(
        "archive memories that have faded and are not read", LOOK_AFTER, (*_JOB, UNATTENDED), run="operations.upkeep:decay",
        slow=True, upkeep=True, returns=_REPORT,
    ),
    "compress": Verb(
        "sum up old sessions; the originals are kept", LOOK_AFTER, (*_JOB, SUMMARIES), run="operations.upkeep:compress", slow=True,
        upkeep=True, method="-", command="upkeep_views:maintain", returns=_REPORT,
    ),
    "consolidate": Verb(
        "expire, decay, upgrade and merge, once", LOOK_AFTER, (*_JOB, UNATTENDED), run="operations.upkeep:consolidate", slow=True,
        upkeep=True, command="upkeep_views:maintain", returns=_REPORT,
    ),
    "agent": Verb(
        "call the tools for assistants, with JSON on stdin", ASSISTANTS,
        (
            flag("list_tools", "list the tools and their schemas"),
            Param("prompt", "recall what is known about TEXT (default, or -: read from stdin)", metavar="TEXT", kind="maybe"),
            Param("client", "the name of the calling assistant, recorded in its memories (default {default})", metavar="NAME", default="assistant"),
        ),
        command="tool_calls:run",
    ),
    "mcp": Verb("serve the tools over the Model Context Protocol", ASSISTANTS, (), command="mcp_server:run"),
}

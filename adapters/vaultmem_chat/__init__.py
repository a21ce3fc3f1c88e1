"""Conversations with language models: requests, turns, learned facts, summaries; and the verbs for them."""

from __future__ import annotations

from vaultmem.api.memory_verbs import BY, CATEGORY, DRY_RUN, ID, LIMIT, WRITES, flag
from vaultmem.api.verbs import ASSISTANTS, COMMAND, NONE, REMEMBER, Param, Verb

VERBS = {
    "add": Verb(
        "add facts to a conversation, reconciled with what it knows", REMEMBER,
        (
            Param("text", "a fact; - reads stdin", kind="texts", place="*", metavar="TEXT"),
            Param("conversation", "the conversation (default: conversations.id)", metavar="ID"),
            flag("as_is", "add it without comparing it with known facts"), *WRITES,
        ),
        command="vaultmem_chat.conversation_views:add",
    ),
    "chat": Verb(
        "talk with a model that remembers", ASSISTANTS,
        (
            Param("text", "one message; without it, an interactive chat", kind="texts", place="*", metavar="TEXT"),
            Param("conversation", "the conversation (default: conversations.id)", metavar="ID"),
            Param("model", "the model (default: llm.model)"),
            Param("upstream", "the URL of the model's service (default: llm.base_url)", metavar="URL"),
        ),
        command="vaultmem_chat.talk:run",
    ),
    "conversations": Verb(
        "list conversations, their turns and the facts learned from them", REMEMBER,
        (
            Param("what", "see below", place="?", default="list", choices=("list", "show", "promote", "forget", "learn"), doors=COMMAND),
            Param("name", "a conversation, or one of its entries", place="*", metavar="ID", doors=COMMAND),
            flag("facts", "with show: facts", doors=COMMAND), flag("turns", "with show: what was said", doors=COMMAND),
            flag("summary", "with show: summaries", doors=COMMAND),
            flag("deleted", "with show: archived entries instead", doors=COMMAND),
            flag("derived", "with forget: also the facts and memories derived from it", doors=COMMAND),
            LIMIT.but(help="with show: at most this many of the newest", doors=COMMAND),
            Param("category", "with promote: the category (default: inbox)", doors=COMMAND, known="text.values:CATEGORIES"),
            *(write.but(doors=COMMAND) for write in WRITES),
        ),
        run="vaultmem_chat.conversations:conversations", writes=False, apart=True, command="vaultmem_chat.conversation_views:conversations",
        gives="conversations: list[dict[str, Any]]",
        returns="all conversations, the most recent first",
    ),
    "entries": Verb(
        "", NONE,
        (
            Param("conversation", place="1", needed=True), Param("kinds", kind="texts", place="?"), flag("deleted"),
            Param("limit", kind="int", least=1, most=100_000),
        ),
        run="vaultmem_chat.conversations:entries", writes=False, apart=True, gives="entries: list[dict[str, Any]]",
        returns="the entries of a conversation, oldest first; `kinds` are facts, turns and summaries",
    ),
    "converse": Verb(
        "", NONE,
        (
            Param("conversation", kind="line", place="1", needed=True),
            *(Param(name, kind="records") for name in ("new", "retire", "mark")), BY, Param("why", kind="line"), DRY_RUN,
        ),
        run="vaultmem_chat.conversing:converse", slow=True,
        returns='writes entries (`new`), puts others away (`retire`) and sets properties of others (`mark`): "written", '
        '"retired", "marked", "known", "skipped"',
    ),
    "promote-fact": Verb(
        "", NONE, (ID, CATEGORY, *WRITES), run="vaultmem_chat.conversations:promote",
        returns='makes a fact of a conversation a memory: its record, with "promoted", the id of the fact',
    ),
    "forget": Verb(
        "", NONE, (ID, flag("derived", doors="json"), *WRITES), run="vaultmem_chat.conversations:forget",
        returns='puts an entry of a conversation away, with `derived` also the facts and memories derived from it: "id", '
        '"deleted", "title", "path"',
    ),
    "proxy": Verb(
        "serve chats to OpenAI-compatible clients, with memory", ASSISTANTS,
        (
            Param("host", "the address to listen on (default: proxy.host, this machine only)"),
            Param("port", "the port; 0: any free one (default: proxy.port)", kind="int"),
            Param("upstream", "the URL of the model's service (default: llm.base_url)", metavar="URL"),
            Param("conversation", "for requests that name none (default: conversations.id)", metavar="ID"),
            Param("notes", "also send blocks of notes to the model, or not (default: only to one on this machine)", kind="switch"),
            flag("quiet", "print no line per request"),
        ),
        command="vaultmem_chat.talk:proxy",
    ),
}  # fmt: skip

"""The table of settings: what each does, its default, whether a vault may set it, and its valid values."""

from __future__ import annotations

from collections.abc import Callable

from vaultmem import paths
from vaultmem.text.values import lazy, value

OFF = "off"
Value = str | int | float


@value
class Setting:
    """A setting: its default, whether a vault's own file may set it, what it does.

    `check` returns the text in its normal form, or raises ValueError that says what is valid.
    """

    default: Value  # a float is a share from 0 to 1
    harmless: bool
    meaning: str
    check: Callable[[str], str] | None = None
    least: int = 1  # the range of a whole number
    most: int = 2**31
    may_be_off: bool = False

    @property
    def is_secret(self) -> bool:
        """Whether a key may have been pasted here, so that an invalid value must not be repeated."""
        return self.check in (_endpoint, _key)

    def read(self, value: object) -> Value:
        """The value of a setting from its text in a file or the environment. Raises ValueError that says what is
        valid."""
        if isinstance(self.default, (int, float)):
            return self._number(value)
        may_be_off = self.may_be_off or self.check in (schedule, _key)
        if isinstance(value, bool) and (self.default in ("on", OFF) or (may_be_off and not value)):
            value = "on" if value else OFF  # YAML 1.1 reads a bare `off` as false
        if isinstance(value, str):
            return self.check(value) if self.check else value
        raise ValueError(f"text such as {self.default}" if self.default else "text")

    def _number(self, value: object) -> Value:
        is_share, text = isinstance(self.default, float), str(value)
        least, most = (0, 1) if is_share else (self.least, self.most)
        try:
            number = float(text) if is_share else int(text.replace(",", ""))
        except ValueError:
            number = -1
        if not least <= number <= most:
            raise ValueError(f"a {'' if is_share else 'whole '}number from {least} to {most}")
        return number


def schedule(text: str) -> str:
    """Check a setting that says when a job runs."""
    # Imported only if one is set: most commands need none.
    from vaultmem.text import times as schedules

    schedules.read_schedule(text)
    return " ".join(text.lower().split())


def _span(text: str) -> str:
    from vaultmem.text import times

    times.duration_seconds(text)
    return text


def _span_or_never(text: str) -> str:
    if text == "never":
        return text
    try:
        return _span(text)
    except ValueError as error:
        raise ValueError(f"{error}, or never") from error


def _one_of(*choices: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{', '.join(choices[:-1])} or {choices[-1]}")
        return text

    return check


def _clock(text: str) -> str:
    hour, colon, minute = text.partition(":")
    if not (colon and hour.isdecimal() and minute.isdecimal() and len(minute) == 2):
        raise ValueError("a time of day such as 09:00")
    if not (int(hour) < 24 and int(minute) < 60):
        raise ValueError("a time of day between 00:00 and 23:59")
    return f"{int(hour):02}:{minute}"


def _quiet(text: str) -> str:
    if text == OFF:
        return text
    try:
        start, end = (_clock(part.strip()) for part in text.split("-"))
    except ValueError as error:
        raise ValueError("two times of day such as 22:00-07:00, or off") from error
    return f"{start}-{end}"


def _zone(text: str) -> str:
    # Imported only when one is set.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(text).key if text else text
    except (ValueError, OSError, LookupError):
        raise ValueError("the name of a time zone such as Asia/Shanghai") from None


def _endpoint(text: str) -> str:
    from vaultmem.text import urls

    return urls.check_url(text)


def _key(text: str) -> str:
    kind, colon, name = text.partition(":")
    service, slash, user = name.rpartition("/")
    if text == OFF or (kind == "env" and name.isascii() and name.isidentifier()):
        return text
    if not (kind == "keyring" and colon and slash and service and user and name.isprintable()):
        raise ValueError("env:NAME, keyring:SERVICE/USER or off, but not the key itself")
    return text


def _conversation(text: str) -> str:
    from vaultmem.text.titles import LONGEST_CONVERSATION, conversation_problem

    if why := conversation_problem(text):
        raise ValueError(
            f"one line of 1 to {LONGEST_CONVERSATION} characters, and not one that {why}"
        )
    return text


def _host(text: str) -> str:
    if not (
        text
        and text.isascii()
        and text.replace("-", "a").replace(".", "a").replace(":", "a").isalnum()
    ):
        raise ValueError("an address or the name of a host, such as 127.0.0.1 or ::1")
    return text


_NAMED = lazy(r"(\w+\.)([a-z][\w-]*)(\.\w+)")
_NAMED_VARIABLE = lazy(r"VAULTMEM_([A-Z]+)_(\w+)_([A-Z]+)")


def canonical_key(key: str) -> str:
    """The name of a setting in SETTINGS; "" for an unknown one."""
    if key in SETTINGS:
        return "" if "NAME" in key else key
    match = _NAMED.fullmatch(key)
    name = f"{match[1]}NAME{match[3]}" if match else ""
    return name if name in SETTINGS else ""


def variable(key: str) -> str:
    """The environment variable of a setting."""
    return "VAULTMEM_" + key.replace(".", "_").upper()


def key_of(name: str) -> str:
    """The setting of an environment variable; "" for any other variable."""
    for key in SETTINGS:
        if variable(key) == name and canonical_key(key):
            return key
    match = _NAMED_VARIABLE.fullmatch(name)
    key = f"{match[1]}.{match[2].replace('_', '-')}.{match[3]}".lower() if match else ""
    return key if canonical_key(key) else ""


def _switch(default: str, harmless: bool, meaning: str) -> Setting:
    return Setting(default, harmless, f"{meaning}: on or off", _one_of("on", OFF))


# A table, in rows.
# fmt: off
SETTINGS = {
    "vault": Setting("", False, "the vault to use when none is named and none is at or above the working directory"),
    "dialect": Setting("auto", True, "how notes are read: auto, obsidian, logseq"),
    "memory_folder": Setting("vaultmem", True,
        "the folder of the vault that vaultmem writes into; rename the folder, too, if you change it", paths.inside),
    "index.max_note_bytes": Setting(4_000_000, False, "how much of a very large note is indexed"),
    "index.backend": Setting("local", False, "where vectors are searched: local, or a shared index such as chroma"),
    "index.chroma.url": Setting("", False,
        "the Chroma server; empty: CHROMADB_HOST and CHROMADB_PORT, else http://127.0.0.1:8000", _endpoint),
    "index.chroma.tenant": Setting("default_tenant", False, "the tenant on it"),
    "index.chroma.database": Setting("default_database", False, "the database on it"),
    "index.chroma.collection": Setting("", False, "the collection on it; empty: COLLECTION_NAME, else vaultmem"),
    "index.chroma.token": Setting(OFF, False, "where its token is: env:NAME, keyring:SERVICE/USER, off", _key),
    "index.chroma.texts": _switch(OFF, False, "whether texts of notes that are not private are stored there too"),
    "embedding.model": Setting("default", False,
        "default, multilingual, off, a fastembed model name, a local folder; or a model of embedding.base_url",
        may_be_off=True),
    "embedding.other_scripts": Setting("same", False,
        "same, or the model for blocks in other scripts than Latin: multilingual, a fastembed name, a local folder"),
    "embedding.base_url": Setting("", False,
        "the OpenAI-compatible embedding service; empty: embedding runs on this machine", _endpoint),
    "embedding.key": Setting("env:OPENAI_API_KEY", False,
        "where its key is: env:NAME, keyring:SERVICE/USER, off", _key),
    "embedding.timeout": Setting("60s", False, "the timeout of one answer of it", _span),
    "embedding.private": _switch(OFF, False, "whether private notes are sent to it too"),
    "embedding.threads": Setting(2, False, "processor threads for embedding", most=256),
    "vectors.hnsw_threshold": Setting(50_000, False, "number of blocks above which a graph index is built"),
    "search.limit": Setting(10, True, "how many results a search shows", most=1000),
    "recall.reranker": Setting(OFF, False, "off, a fastembed cross-encoder, or a local folder"),
    "recall.trust": Setting("connected", False,
        "whose unapproved memories a recall returns: connected (assistants that state their name), own, all",
        _one_of("connected", "own", "all")),
    "recall.recency_weight": Setting(0.2, False, "the share of a score that depends on how recent a memory is"),
    "recall.mmr_lambda": Setting(0.7, False,
        "the share of a score that is relevance; the rest is diversity"),
    "recall.score_threshold": Setting(0.0, False, "the least relevance of a recalled memory; 0 for no limit"),
    "memories.half_life": Setting("30d", False, "how long until the confidence of a fading memory is 0", _span),
    "memories.min_confidence": Setting(0.3, False,
        "the confidence below which a memory is neither found nor recalled"),
    "memories.history": _switch("on", False, "whether changes are recorded in a git history"),
    "memories.inbox_ttl": Setting("7d", False,
        "how long a memory may stay in the inbox before it is filed or archived", _span),
    "memories.decay_after": Setting("30d", False,
        "when an event or a working note that nobody reads is archived", _span),
    "memories.forget": Setting("events", False,
        "what expires and decays: events (and working notes), or all memories that are not stable",
        _one_of("events", "all")),
    "memories.upgrade_reads": Setting(3, False, "after how many reads a memory of the inbox is filed"),
    "dream.max_changes": Setting(500, False, "how many memories one job changes at most"),
    "dream.medium_after": Setting("1h", False, "idle time after which dreams also merge and link memories", _span),
    "dream.deep_after": Setting("6h", False, "idle time after which dreams also compare all of them", _span),
    "dream.report": _switch("on", True, "whether What changed.md is written into the memory folder"),
    "memories.pages": _switch("on", True,
        "whether Memory.md, an index of memories, and a page for each conversation are written"),
    "pending.path": Setting("", True,
        "the path of pending.md; empty: in the memory folder; off: no page", paths.page, may_be_off=True),
    "pending.complete_in_notes": Setting("ask", False,
        "whether a task that is done in pending.md is marked done in its note: ask, always, never",
        _one_of("ask", "always", "never")),
    "notify.method": Setting("desktop", False,
        "how you are reminded: desktop, file, none", _one_of("desktop", "file", "none")),
    "notify.day_at": Setting("09:00", False, "when you are reminded of items due on a day without a time", _clock),
    "notify.quiet": Setting(OFF, False, "hours without notifications, such as 22:00-07:00, or off", _quiet),
    "notify.again": Setting("1d", False,
        "how long after its due time you are reminded of an item again, or never", _span_or_never),
    "notify.timezone": Setting("", False,
        "the time zone of reminders, such as Asia/Shanghai; empty: this machine's", _zone),
    "sync.log": _switch("on", False, "whether your machines share answers and reads by pages in the vault"),
    "agent.idle": Setting("10m", False, "how long without edits and requests until the vault counts as idle", _span),
    "agent.threads": Setting(1, False, "processor threads for embedding in the agent", most=256),
    "agent.unload": Setting("never", False,
        "idle time after which the agent unloads the model, or never", _span_or_never),
    "ingestion.NAME.path": Setting("", False, "where the source NAME is read, if not in its default folder"),
    "ingestion.NAME.enabled": _switch("on", False, "whether ingest --source all reads the source NAME"),
    "jobs.reconcile": Setting("5m", False, "when the whole vault is compared", schedule),
    "jobs.tidy": Setting("0 3 * * *", False, "when vectors without a text are dropped", schedule),
    "jobs.check": Setting("0 4 * * 0", False, "when the index is checked for damage", schedule),
    "jobs.expire": Setting("1h", False, "when memories past their expiry are archived", schedule),
    "jobs.upgrade": Setting("1h", False, "when memories of the inbox that are read often are filed", schedule),
    "jobs.decay": Setting("30 4 * * *", False, "when faded memories are archived", schedule),
    "jobs.consolidate": Setting("0 5 * * *", False, "when memories are expired, faded, filed and merged", schedule),
    "jobs.dream": Setting("20m", False, "when dreams may run, while the vault is idle", schedule),
    "jobs.expect": Setting("1h", False, "when expectations are checked", schedule),
    "jobs.typing": Setting("2m", False, "how long after an edit gentle jobs wait", _span),
    "jobs.battery": Setting("wait", False, "what they do on battery: wait or run", _one_of("wait", "run")),
    "jobs.max_load": Setting(80, False, "percent of all processors in use above which they wait", most=1000),
    "llm.base_url": Setting("", False,
        "the OpenAI-compatible service; empty: no language model is used", _endpoint),
    "llm.model": Setting("", False, "the model to use there"),
    "llm.key": Setting("env:OPENAI_API_KEY", False, "where its key is: env:NAME, keyring:SERVICE/USER, off", _key),
    "llm.timeout": Setting("60s", False, "the timeout of one answer", _span),
    "llm.retries": Setting(2, False, "how often a failed call is retried", least=0, most=10),
    "llm.calls": Setting(6, False,
        "how many calls one turn of a conversation, or one step of a deep dream, may use; 0: none, rules are used",
        least=0, most=100),
    "llm.strategy": Setting("subset", False,
        "what the model answers about known facts: subset (changes only) or enumerate (every fact)",
        _one_of("subset", "enumerate")),
    "llm.schema": Setting("auto", False,
        "how JSON is requested: auto, json_schema, json_object, off (in words only)",
        _one_of("auto", "json_schema", "json_object", OFF), may_be_off=True),
    "conversations.id": Setting("default", False, "the conversation of a request that names none", _conversation),
    "conversations.top_k": Setting(50, False, "how many memories are added to a request at most", most=100),
    "conversations.budget": Setting(1500, False, "how many tokens these and the summary may take", most=100_000),
    "conversations.neighbours": Setting(10, False, "with how many known facts a new one is compared", most=100),
    "conversations.max_entries": Setting(500, False,
        "the number of entries of a conversation above which the least informative are put away into deleted/"),
    "conversations.compress_after": Setting(20, False, "the number of sessions above which the oldest are summed up"),
    "conversations.session_gap": Setting("6h", False, "the pause after which a new session begins", _span),
    "conversations.summaries": _switch("on", False, "whether conversations are summed up"),
    "proxy.host": Setting("127.0.0.1", False, "where vaultmem proxy listens", _host),
    "proxy.port": Setting(8100, False, "its port", most=65_535),
    "proxy.key": Setting(OFF, False,
        "where the key is that clients must send: env:NAME, keyring:SERVICE/USER, off", _key),
    "proxy.place": Setting("turn", False,
        "where memories are inserted: turn (before the last turn of the user) or start", _one_of("turn", "start")),
    "proxy.patience": Setting("1s", False, "how long a request waits for a recall", _span),
    "proxy.notes": Setting("auto", False,
        "whether blocks of notes are added too: auto (if the model is on this machine), on or off",
        _one_of("auto", "on", OFF)),
}
# fmt: on

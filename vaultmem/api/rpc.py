"""Requests: their parts, strict JSON and errors; and running a memory verb, in the agent if one runs, else in this
process under the same lock."""

from __future__ import annotations

import json
import math
import time

from vaultmem import client
from vaultmem.api import params as declared
from vaultmem.api.verbs import find_verb as declared_verb
from vaultmem.api.verbs import resolve, verb
from vaultmem.errors import (
    DamagedError,
    EmbeddingServiceError,
    LockedError,
    ModelError,
    NoteNotFoundError,
    StateError,
    UsageError,
    VaultmemError,
)
from vaultmem.progress import Progress, current_progress, following_up, logger
from vaultmem.text.values import TYPE_CHECKING, value
from vaultmem.vault.batch_record import DOING, DONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultmem.adapter import JsonObject
    from vaultmem.api.memory_vault import MemoryVault
    from vaultmem.memories.arguments import Arguments
    from vaultmem.memories.store import MemoryStore
    from vaultmem.search.related import Related
    from vaultmem.search.search import Searcher
    from vaultmem.search.semantic import Meaning

log = logger("vaultmem.memories")

# Codes of JSON-RPC 2.0, and from -32000 on our own.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
WRONG_PARAMS = -32602
INTERNAL_ERROR = -32603
FAILED = -32000  # a VaultmemError: its message is for a person
BUSY = client.BUSY
TOOK_TOO_LONG = -32002
TOO_MANY = -32003  # calls of one client
NOT_FOUND = -32004  # a name that no note, or several, have
# Errors in a reply that are raised here as if they had happened here.
_KINDS: dict[int, type[VaultmemError]] = {WRONG_PARAMS: UsageError, NOT_FOUND: NoteNotFoundError}

WAIT = 60.0  # seconds that a writer waits for another process to end
PAUSE = 0.02
MOST_WORDS = 16  # of a text that are searched
LARGE = 65_536  # characters; longer content is checked before it is sent
MOST_BATCHES = 50  # batches waiting for their place in the history


class RequestError(Exception):
    """The reply is an error; the message is one clear line, and `data` has more for the client."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


@value
class Request:
    """A request. `progress` sends lines to clients that want them, else it is silent."""

    method: str
    params: JsonObject
    progress: Progress
    peer: str = ""  # the process at the other end, if the system reports it

    def text(self, name: str) -> str:
        """A parameter that must be text."""
        given = self.params.get(name)
        if not isinstance(given, str):
            raise RequestError(WRONG_PARAMS, f'"{name}" must be text')
        return given


# --- JSON


def parse(text: str) -> object:
    """A JSON value. Raises ValueError in one line, also for NaN and for deep nesting."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def to_json(value: object) -> str:
    """A value as one line of ASCII JSON, so that no character of a note can end the line."""
    return json.dumps(value, default=str, separators=(",", ":"))


def _refuse_constant(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


# json.loads() would build one for each request, which takes three times as long as to read it.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def one_line(error: Exception | str) -> str:
    """The message of an error in one line."""
    return " ".join(str(error).split())


def code_of(error: Exception) -> int:
    """The code for an error that ends a request."""
    for code, kind in _KINDS.items():
        if isinstance(error, kind):
            return code
    code = getattr(error, "code", FAILED)
    return code if isinstance(code, int) else FAILED


def as_json(error: Exception) -> JsonObject:
    """An error in JSON-RPC's form."""
    return {"code": code_of(error), "message": one_line(error)}


# --- verbs of memories


def ask(vault: MemoryVault, name: str, params: JsonObject) -> object:
    """The answer of a verb. Raises VaultmemError in one clear line."""
    _check_size(name, params)
    deadline = time.monotonic() + WAIT
    while True:
        reply = _by_agent(vault.path, name, params)
        if reply is not client.NO_AGENT:
            return reply
        try:
            run = vault.mended if only_reads(name) else vault.healed
            return run(lambda: _with_store(vault, name, params))
        except LockedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)  # a starting agent answers soon, and a sync ends


def carry_out(store: MemoryStore, reader: Reader, name: str, params: JsonObject) -> object:
    """The answer of a verb, ready for JSON, from an open store. Raises VaultmemError in one clear line; a DamagedError
    only if the verb has written nothing and may be tried again."""
    from vaultmem.index.catalog import catalog_errors

    before = store.recent
    try:
        with catalog_errors():
            return _carry_out(store, reader, name, params)
    except DamagedError as error:
        if store.recent is before:
            raise
        raise StateError(str(error)) from error


def _carry_out(store: MemoryStore, reader: Reader, name: str, params: JsonObject) -> object:
    from vaultmem.memories import access

    arguments = _check(name, params)
    declaration = declared_verb(name)
    writers = [param for param in ("by", "agent") if declaration.writes and arguments.text(param)]
    for param in writers:
        if access.names_person(who := arguments.text(param)):
            raise UsageError(
                f"{arguments.spelled(param)} names an assistant, and none is called {who!r}; for what you do yourself, "
                "leave it out"
            )
    if writers:
        arguments = arguments.of_assistant()
    run: Callable[..., object] = resolve(declaration.run)
    if declaration.apart:
        return run(store, reader, arguments)
    with store.session(reader, writes=declaration.writes) as session:
        session.viewer = access.viewer(arguments.text("by"), arguments.texts("scope"))
        return run(session, arguments)


def only_reads(name: str) -> bool:
    """Whether the verb works without the lock."""
    declaration = verb(name)
    return declaration is not None and bool(declaration.run) and not declaration.writes


def _check(name: str, params: JsonObject) -> Arguments:
    from vaultmem.memories.arguments import Arguments

    schema = declared.of_verb(name)
    return Arguments(schema.check(params), schema.speller())


def _check_size(name: str, params: JsonObject) -> None:
    """Check large texts here: the agent would refuse a request of a megabyte without naming the large part."""
    if any(isinstance(param, str) and len(param) > LARGE for param in params.values()):
        arguments = _check(name, params)
        if "content" in params:
            arguments.content()
        if "text" in params:
            arguments.whole_text("text")


def _by_agent(folder: str, name: str, params: JsonObject) -> object:
    arguments = {key: argument for key, argument in params.items() if argument is not None}
    request = {"verb": name, "params": arguments, "door": declared.door.get()}
    declaration = verb(name)
    try:
        method = "memory.job" if declaration is not None and declaration.slow else "memory"
        timeout = client.BY_MEANING if only_reads(name) else None
        return client.call(folder, method, request, timeout=timeout, progress=current_progress())
    except client.AgentError as error:
        if error.code == BUSY or (error.code == client.NO_ANSWER and only_reads(name)):
            return client.NO_AGENT  # it did nothing, or what can be done here as well
        is_odd = error.code in (WRONG_PARAMS, INTERNAL_ERROR)
        if error.code == UNKNOWN_METHOD or (is_odd and client.is_of_other_version(folder)):
            raise VaultmemError(client.OTHER_VERSION) from error
        if error.code == client.NO_ANSWER:
            advice = "vaultmem history tells whether it was done before the agent ended"
            raise VaultmemError(f"{error}; {advice}") from error
        raise _KINDS.get(error.code, VaultmemError)(str(error)) from error


def _with_store(vault: MemoryVault, name: str, params: JsonObject) -> object:
    is_later = params.get("after", "[]") != "[]"  # a page of what was compared for the first one
    reader, store = Reader(vault), vault.store(as_before=is_later)
    if only_reads(name) and not store.count_batches(DOING):
        return carry_out(store, reader, name, params)
    with vault.state.lock():
        store.heal()
        answer = carry_out(store, reader, name, params)
        with following_up(log):
            store.settle()
            if store.count_batches(DONE) > MOST_BATCHES:
                history = store.history
                if not (history.is_on and history.trouble()):
                    store.remember()
        return answer


# What memory verbs need from the vault: its index, and the model if there is one.


class Reader:
    """Reads from the index, and works without one: memories can be written before the first sync."""

    def __init__(self, vault: MemoryVault) -> None:
        self._vault = vault
        self.trouble = ""  # why the embedding service last gave no vectors

    def searcher(self) -> Searcher | None:
        """The open index; None before the first sync, or if it is damaged."""
        try:
            return self._vault.searcher() if self._vault.is_indexed() else None
        except StateError:
            return None

    def searcher_after_writes(self) -> Searcher | None:
        """A searcher that also finds this verb's own writes; it may wait for that."""
        self._vault.see_writes()
        return self.searcher()

    def meaning(self) -> tuple[Searcher, Meaning] | None:
        """The vectors, loading the model if needed; None without an index or a model."""
        self.trouble = ""
        try:
            if not self._vault.is_indexed():
                return None
            searcher = self._vault.meaning_searcher()
            return searcher, searcher.meaning()
        except EmbeddingServiceError as error:
            self.trouble = str(error)
        except (ModelError, StateError):
            pass
        return None

    def warm_meaning(self) -> Meaning | None:
        """The model, if it is loaded and runs on this machine."""
        try:
            meaning = self._vault.warm_meaning()
        except VaultmemError:
            return None
        return meaning if meaning and meaning.embedder.is_local else None

    def local_meaning(self) -> Meaning | None:
        """The model if it runs in this process: for unindexed texts, which may be private."""
        opened = self.meaning()
        return opened[1] if opened and opened[1].embedder.is_local else None

    def related(self, path: str, limit: int) -> list[Related]:
        """The notes nearest to the one at `path`, best first."""
        from vaultmem.search.related import related

        searcher = self.searcher()
        return [] if searcher is None else related(searcher, path, limit)

    def near(
        self, text: str, folder: str, limit: int, meaning: str = ""
    ) -> dict[str, float | None]:
        """Paths of similar notes below a folder, by words, and by `meaning` if a model is warm; best first, with
        their cosines if known."""
        from vaultmem.search.query import Ask, plain

        searcher = self.searcher()
        if searcher is None:
            return {}
        opened = self.meaning() if self.warm_meaning() is not None else None
        searcher = opened[0] if opened else searcher
        try:
            words = _rarest_words(searcher, plain(text))
            # The caller drops compressed memories: finding them here would mean reading all memories.
            notes, all_but = searcher.inside(folder)
            ask = Ask(
                words, limit, opened is not None, "note", (), 0.0, notes, all_but, compressed=True,
                meaning=meaning, is_quick=True,
            )  # fmt: skip
            return searcher.near(ask)
        except StateError:  # memories can be written whatever the state of the index
            return {}


def _rarest_words(searcher: Searcher, text: str) -> str:
    """The rarest words of a text: searching for all of them would take long."""
    from vaultmem.index.keyword import tokenize
    from vaultmem.search.query import Term

    keyword = searcher.keyword
    counts: dict[str, int] = {}
    for word in dict.fromkeys(text.split()):
        if not keyword.is_weak(Term("word", word)):
            counts[word] = min(map(keyword.frequency, tokenize(word)), default=0)
    rarest = sorted((word for word, count in counts.items() if count), key=counts.__getitem__)
    return " ".join(rarest[:MOST_WORDS]) or text

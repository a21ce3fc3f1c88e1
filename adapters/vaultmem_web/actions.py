"""The actions of buttons: each calls one or a few verbs, and offers an undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from vaultmem.errors import UsageError, VaultmemError
from vaultmem_web.data import Reader, Record
from vaultmem_web.sessions import Notice
from vaultmem_web.texts import Translator

Form = Mapping[str, str]
Action = Callable[[Reader, Form, Translator], Awaitable[Notice]]
REMEDIES = {"sync", "sync --rebuild", "conversations learn", "start"}
RUN = "jobs run "
LIKELIEST = "-"  # instead of a category: the one that the text suggests
_MOST = 2_000  # memories per action


async def act(name: str, reader: Reader, form: Form, t: Translator) -> Notice:
    """Carry out an action. Returns a notice. Raises VaultmemError."""
    if name in _EACH:
        return await _each(name, reader, form, t)
    if name not in _ACTIONS:
        raise UsageError(t("there is no such page"))
    return await _ACTIONS[name](reader, form, t)


async def _done(reader: Reader, text: str, count: int = 1) -> Notice:
    """A notice with the commits of the person's last actions, for undo."""
    if not count:
        return Notice(text)
    past = await reader.ask("history", limit=4 * count + 20)
    commits = [entry["commit"] for entry in past["history"] if entry["kind"] == "person"]
    return Notice(text, "undo", {"commits": " ".join(commits[:count])})


async def _answer(reader: Reader, form: Form, t: Translator) -> Notice:
    state = _needed(form, "state")
    params: dict[str, object] = {"id": _needed(form, "id"), "state": state}
    if state == "snoozed":
        params["until"] = _needed(form, "until")
    await reader.ask("answer", **params)
    texts = {"done": t("marked as done"), "dropped": t("dropped"), "snoozed": t("snoozed")}
    undo = {"id": str(params["id"]), "state": "open"}
    return Notice(texts[state], "answer", undo) if state in texts else Notice(t("taken back"))


async def _approve(reader: Reader, form: Form, t: Translator) -> Notice:
    undo = bool(form.get("undo"))
    done, refused = await _for_each(
        form, lambda id_, seen: reader.ask("approve", id=id_, undo=undo, seen=seen)
    )
    back = {"id": "\n".join(done), "undo": "1"}
    note = Notice(t("taken back")) if undo else Notice(t("approved"), "approve", back)
    return _with_refused(note, refused)


async def _each(name: str, reader: Reader, form: Form, t: Translator) -> Notice:
    verb, text, fields = _EACH[name]
    params = {field: kind(_needed(form, field)) for field, kind in fields.items()}
    answers, refused = await _for_each(form, lambda id_, _: reader.ask(verb, id=id_, **params))
    done = sum(bool(answer.get("changed", True)) for answer in answers.values())
    note = await _done(reader, t(text) if done < 2 else f"{t(text)}: {done}", done)
    return _with_refused(note, refused)


async def _for_each(
    form: Form, ask: Callable[[str, str], Awaitable[Record]]
) -> tuple[dict[str, Record], list[str]]:
    """Ask for each of several memories, by id and hash of the text that was seen. Returns the answers by id, and why
    others were refused. Raises VaultmemError if all were."""
    answers: dict[str, Record] = {}
    refused: list[str] = []
    for id_, seen in _chosen(form):
        try:
            answers[id_] = await ask(id_, seen)
        except VaultmemError as error:
            refused.append(str(error))
    if refused and not answers:
        raise VaultmemError(refused[0])
    return answers, refused


def _with_refused(note: Notice, refused: list[str]) -> Notice:
    return replace(note, text=f"{note.text}; {refused[0]}", is_problem=True) if refused else note


async def _edit(reader: Reader, form: Form, t: Translator) -> Notice:
    """Edit a memory, and archive others that were merged into it."""
    text, ((first, seen), *others) = _needed(form, "content"), _chosen(form)
    try:
        for other in others:
            await _check_seen(reader, *other)
        answer = await reader.ask("edit", id=first, content=text, seen=seen)
    except VaultmemError as error:
        return Notice(str(error), is_problem=True, draft=text)
    for id_, _ in others:
        await reader.ask("delete", id=id_)
    changed = t("changed") if answer["changed"] else t("as it was")
    count = len(others) + bool(answer["changed"])
    return await _done(reader, t("merged") if others else changed, count)


async def _check_seen(reader: Reader, id_: str, seen: str) -> None:
    """Raise VaultmemError if a memory's text has changed."""
    record = await reader.ask("read", id=id_, counts=False)
    if record["content_hash"] != seen:
        raise VaultmemError(f"{record['title']!r} was changed meanwhile; look at it again first")


async def _decide(reader: Reader, form: Form, t: Translator) -> Notice:
    verb = "accept" if form.get("accept") else "reject"
    await reader.ask(verb, id=_needed(form, "id"))
    if verb == "reject":
        return Notice(t("not proposed again"))
    return await _done(reader, t("accepted"))


async def _rule(reader: Reader, form: Form, t: Translator) -> Notice:
    """Set the rule for all proposals of a kind, including the current one."""
    kind, says = _needed(form, "kind"), _needed(form, "says")
    await reader.ask("rule", kind=kind, says=says)
    if says == "always" and form.get("id"):
        await reader.ask("accept", id=_needed(form, "id"))
    undo = {"kind": kind, "says": "ask"} if says != "ask" else {}
    return Notice(f"{kind}: {t(says)}", "rule", undo)


async def _remedy(reader: Reader, form: Form, t: Translator) -> Notice:
    """Run a remedy of doctor, if it is one of the safe commands."""
    command = _needed(form, "command")
    deed = command.removeprefix("vaultmem ")
    if deed.startswith(RUN):
        return await _job(reader, {"name": deed.removeprefix(RUN)}, t)
    if deed not in REMEDIES:
        raise UsageError(t("type this one yourself: {command}", command=command))
    await reader.command(*deed.split())
    return Notice(t("done"))


async def _undo(reader: Reader, form: Form, t: Translator) -> Notice:
    refused: list[Record] = []
    commits = _needed(form, "commits").split()[:_MOST]
    for commit in commits:
        refused += (await reader.ask("undo", commit=commit))["refused"]
    if refused:
        first = f"{refused[0]['path']}: {refused[0]['reason']}"
        return Notice(t("not taken back: {what}", what=first), is_problem=True)
    return await _done(reader, t("taken back"), len(commits))


async def _forget(reader: Reader, form: Form, t: Translator) -> Notice:
    """Forget entries of a conversation; with `derived` also what was derived from them."""
    derived = bool(form.get("derived"))
    answers, refused = await _for_each(
        form, lambda id_, _: reader.ask("forget", id=id_, derived=derived)
    )
    return _with_refused(await _done(reader, t("forgotten"), len(answers)), refused)


async def _job(reader: Reader, form: Form, t: Translator) -> Notice:
    answer = await reader.call("jobs.run", name=_needed(form, "name"))
    return Notice(f"{answer['name']}: {answer.get('last_result') or t('done')}")


async def _sync(reader: Reader, _form: Form, t: Translator) -> Notice:
    await reader.call("sync")
    return Notice(t("the index is up to date"))


_EACH: dict[str, tuple[str, str, dict[str, Callable[[str], object]]]] = {
    # the verb, its message, and the form field it takes
    "delete": ("delete", "forgotten", {}),
    "restore": ("restore", "restored", {}),
    "reinforce": ("reinforce", "confirmed as still true", {}),
    "file": ("upgrade", "filed", {"category": lambda name: None if name == LIKELIEST else name}),
    "tag": ("tag", "tagged", {"add": str.split}),
    "promote": ("promote-fact", "it is a memory now", {}),
}
_ACTIONS: dict[str, Action] = {
    "answer": _answer, "approve": _approve, "edit": _edit, "merge": _edit, "decide": _decide, "undo": _undo,
    "forget": _forget, "job": _job, "sync": _sync, "rule": _rule, "remedy": _remedy,
}  # fmt: skip


def _chosen(form: Form) -> list[tuple[str, str]]:
    """The ids of a form, each with the hash of the text that was seen; "" without one."""
    lines = _needed(form, "id").split("\n")
    if len(lines) > _MOST:
        raise UsageError(f"at most {_MOST} memories at once")
    return [(id_, seen) for id_, _, seen in (line.partition("\t") for line in lines)]


def _needed(form: Form, name: str) -> str:
    value = form.get(name, "").strip()
    if not value:
        raise UsageError("choose or enter something first")
    return value

"""Old sessions among the memories: which are summarized and when, who counts as a summary's author, and that nothing
is lost."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli_run import on
from tests.conftest import Write
from tests.index_dump import synced
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import Arguments, as_json, status, text
from tests.stand_in_view import StandInView, memory_file
from vaultmem import Vault
from vaultmem.adapter import Value
from vaultmem.dreams.summaries import (
    MOST_SENT,
    MOST_SENT_OF_ONE,
    NOTHING,
    Means,
    compress,
    parts,
    texts,
)
from vaultmem.memories.draft import CREATE, Change, Draft, Plan
from vaultmem.vault import write
from vaultmem.vault.batches import Batches

NAMES = "Anne Marek Ines Jonas Mei Priya Tom Ada Rosa Otto".split()
SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"


def step(threshold: int = 2, summaries: dict[str, str] | None = None) -> Callable[..., None]:
    means = Means(threshold, lambda said: len(said.split()), summaries)
    return lambda draft: compress(draft, means)


def session(number: int, *contents: str, **own: Value) -> dict[str, object]:
    """The files of one session; lower numbers are older."""
    said = contents or (
        f"{NAMES[number]} moved the server to port {8000 + number}.",
        f"{NAMES[number]} booked the train to Graz on 4 May for {number} euros.",
    )
    given = {"session_id": f"s{number}", "memory_type": "episodic", **own}
    return dict(
        memory_file(f"project/{number}-{own.get('agent', '')}-{at}", f"{one}\n", 50 - number - at / 100, **given)
        for at, one in enumerate(said)
    )  # fmt: skip


def view(*sessions: dict[str, object]) -> StandInView:
    return StandInView({path: file for each in sessions for path, file in each.items()})  # type: ignore[misc] # files


def made(plan: Plan) -> list[Change]:
    return [change for change in plan.changes if change.action == CREATE]


# --- what is summarized


def test_the_oldest_sessions_are_summed_up_and_kept() -> None:
    before = view(*(session(n) for n in range(3)))
    plan, after = before.run(step())
    (sum_,) = made(plan)
    own = sum_.properties
    assert own["source_session_id"] == "s0"
    assert own["compression_source"] is True
    assert own["memory_type"] == "semantic"
    assert own["scope"] == "global"
    originals = {path: file for path, file in before.files.items() if "/0-" in path}
    title = sum_.target.rpartition("/")[2].removesuffix(".md")
    for path, file in originals.items():
        assert after.files[path].content == file.content
        assert after.files[path].properties["compressed"] is True
        assert after.files[path].properties["links"] == [f"[[{title}]]"]
    assert own["links"] == [
        f"[[{path.rpartition('/')[2].removesuffix('.md')}]]" for path in originals
    ]
    whole = "".join(file.content for file in originals.values())
    lines = (sum_.content or "").strip().split("\n")
    assert lines
    assert all(line in whole for line in lines), "without a model, it says what was said"
    assert not [path for path, file in after.files.items() if "/0-" not in path and "compressed" in file.properties]  # fmt: skip
    assert after.run(step())[0].changes == (), "once is enough"


def test_a_summary_is_no_more_to_be_trusted_than_what_it_sums_up() -> None:
    files = [
        session(0),
        session(0, agent="claude"),
        session(0, agent="codex", source="obsidian"),
        session(0, agent="web", url="https://example.org/a"),
        session(0, agent="mine", private=True),
        session(0, agent="other", scope="agent:other"),
    ]
    plan, _ = view(*files, session(1)).run(step(0))
    keys = ("agent", "source", "url", "private", "scope")
    whose = {tuple(one.properties.get(key) for key in keys) for one in made(plan)}
    assert whose == {
        (None, None, None, None, "global"),
        ("claude", None, None, None, "global"),
        ("codex", "obsidian", None, None, "global"),
        ("web", None, "https://example.org/a", None, "global"),
        ("mine", None, None, True, "global"),
        ("other", None, None, None, "agent:other"),
    }


def test_a_run_does_no_more_than_it_may_and_goes_on() -> None:
    files = view(*(session(n) for n in range(8)))
    whole = {one.id for one in made(files.run(step(0))[0])}
    found: set[str] = set()
    for _ in range(20):
        plan, files = files.run(step(0), limit=3)
        assert len(plan.changes) <= 3
        found |= {one.id for one in made(plan)}
    assert found == whole
    assert len(whole) == 7


def test_secrets_are_in_no_summary_and_greetings_make_none() -> None:
    plan, _ = view(
        session(0, f"Anne keeps the token {SECRET} for the deploy server in Graz.", "Ok."),
        session(1, "Thanks!", "Ok."),
        session(2),
    ).run(step(0))
    first, second = made(plan)
    assert SECRET not in (first.content or "")
    assert "Graz" in (first.content or "")
    assert (second.content or "").strip() == NOTHING


# --- in a vault


@pytest.fixture
def opened(vault: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    monkeypatch.setenv("VAULTMEM_CONVERSATIONS_COMPRESS_AFTER", "2")
    with Vault(str(vault)) as opened:
        yield opened


@pytest.fixture
def with_model(monkeypatch: pytest.MonkeyPatch, scripted_llm: ScriptedLlm) -> ScriptedLlm:
    monkeypatch.setenv("VAULTMEM_LLM_BASE_URL", scripted_llm.url)
    monkeypatch.setenv("VAULTMEM_LLM_MODEL", "scripted")
    monkeypatch.setenv("VAULTMEM_LLM_KEY", "off")
    return scripted_llm


def remember(vault: Path, *sessions: int, **own: str) -> None:
    """Sessions of two memories each, as files."""
    more = "".join(f"{key}: {value}\n" for key, value in own.items())
    folder = vault / "vaultmem" / "project"
    folder.mkdir(parents=True, exist_ok=True)
    for n in sessions:
        for at, said in enumerate(
            (f"moved the server to port {8000 + n}", f"found the {NAMES[n]} pump at Quito")
        ):
            head = (
                f"id: 0000{n}{at}0{len(own)}-0000-4000-8000-000000000000\nphase: organized\ncategory: project\nscope: global\n"
                f"created_at: 2026-0{n + 1}-0{at + 1}T10:00:00Z\nupdated_at: 2026-0{n + 1}-0{at + 1}T10:00:00Z\n"
                f"session_id: s{n}\nmemory_type: episodic\ndecay_policy: stable\n{more}"
            )
            (folder / f"{n} {at} {own.get('agent', '')}.md").write_text(f"---\n{head}---\n{NAMES[n]} {said}.\n")  # fmt: skip


def tree(vault: Path) -> dict[str, str]:
    return {
        path.relative_to(vault).as_posix(): path.read_text()
        for path in (vault / "vaultmem").rglob("*.md")
        if path.name not in ("What changed.md", "Memory.md")
    }


def test_compressing_is_one_entry_of_the_history_to_undo(vault: Path, opened: Vault) -> None:
    remember(vault, 0, 1, 2)
    before = tree(vault)
    trial = opened.compress(dry_run=True)
    assert [one["action"] for one in trial["changes"]].count("create") == 1
    assert tree(vault) == before
    report = opened.compress()
    assert report["counts"] == {"create": 1, "edit": 2}
    assert "model" not in report
    assert opened.compress()["changes"] == []
    assert len(opened.history(by="compress")) == 1
    opened.undo(last=True)
    ours = "vaultmem/archive/", "vaultmem/sync/"  # what was merged, and that it was undone
    assert {path: said for path, said in tree(vault).items() if not path.startswith(ours)} == before
    assert opened.compress()["changes"] == [], "what was undone is not done again"


def test_a_kill_is_made_good(vault: Path, opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(vault, 0, 1, 2)
    with monkeypatch.context() as patch:
        edits: list[str] = []

        def dies(vault: str, path: str, edit: Callable[[bytes], bytes], *, part: bool) -> bool:
            edits.append(path)
            if len(edits) == 2:
                raise KeyboardInterrupt
            return original(vault, path, edit, part=part)

        original = write.change
        patch.setattr(write, "change", dies)
        patch.setattr(Batches, "close", lambda *_: None)  # as a kill would leave it
        with pytest.raises(KeyboardInterrupt):
            opened.compress()
    opened.compress()
    sums = [said for said in tree(vault).values() if "compression_source=true" in said]
    assert len(sums) == 1
    assert sum("compressed: true" in said for said in tree(vault).values()) == 2


def test_what_is_compressed_is_found_only_on_request(vault: Path, opened: Vault) -> None:
    remember(vault, 0, 1, 2)
    synced(vault)
    opened.compress()
    opened.sync()
    titles = {memory["title"] for memory in opened.memories()}
    assert not titles & {"0 0 ", "0 1 "}
    assert len(titles) == 5
    assert len(opened.memories(include_compressed=True)) == 7
    for words_, many in ((("list",), 5), (("list", "--include-compressed"), 7)):
        assert on(vault, *words_, "--json").data["count"] == many
    plain = {one["path"] for one in on(vault, "search", "server", "--min-confidence", "0", "--json").data["results"]}  # fmt: skip
    whole = {one["path"] for one in on(vault, "search", "server", "--include-compressed", "--min-confidence", "0", "--json").data["results"]}  # fmt: skip
    assert whole - plain == {"vaultmem/project/0 0 .md"}
    told = opened.recall("server port Anne", top_k=20)["memories"]
    every = opened.recall("server port Anne", top_k=20, include_compressed=True)["memories"]
    assert {one["path"] for one in every} - {one["path"] for one in told} >= {"vaultmem/project/0 0 .md"}  # fmt: skip
    assert on(vault, "jobs", "run", "check").code == 0


# --- with a model


def test_a_model_sums_up_and_hears_of_nothing_but_the_session(
    vault: Path, with_model: ScriptedLlm, opened: Vault, write: Write
) -> None:
    write("Own note.md", "A secret garden of mine.\n")
    remember(vault, 0, 1, 2)
    remember(vault, 0, agent="mine", private="true")
    path = vault / "vaultmem" / "project" / "0 0 .md"
    path.write_text(path.read_text() + f"Its key is {SECRET}.\n")
    with_model.play(text("Anne moved the server and found a pump."))
    report = opened.compress()
    assert report["model"] == {"asked": 1, "summaries": 1, "proposed": 0, "trouble": ""}
    sums = {said for said in tree(vault).values() if "compression_source=true" in said}
    assert len(sums) == 2
    assert sum("Anne moved the server and found a pump." in said for said in sums) == 1
    (asked,) = with_model.chats
    sent = asked.body.decode()
    assert "port 8000" in sent
    for hidden in (SECRET, "garden", "mine", "s0", "vaultmem", "8001"):
        assert hidden not in sent


def test_a_model_that_fails_leaves_sentences_and_one_remark(
    vault: Path, with_model: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_CONVERSATIONS_COMPRESS_AFTER", "2")
    monkeypatch.setenv("VAULTMEM_LLM_RETRIES", "0")
    remember(vault, 0, 1, 2, 3)
    with_model.otherwise = status(400)
    with Vault(str(vault)) as fresh:
        report = fresh.compress()
    assert "400" in report["model"]["trouble"]
    assert report["counts"]["create"] == 2
    assert len(with_model.chats) == 1, "after a failure it is not asked again"


def test_a_deep_dream_has_the_model_sum_up_and_a_dry_run_asks_nothing(
    vault: Path, with_model: ScriptedLlm, opened: Vault
) -> None:
    remember(vault, 0, 1, 2)
    assert opened.compress(dry_run=True)["changes"]
    assert opened.dream(3, dry_run=True)["changes"]
    for level in (1, 2):
        opened.dream(level)
        assert not any("compression_source" in said for said in tree(vault).values())
    assert with_model.requests == []

    def answer(asked: Arguments) -> object:
        return as_json({"answers": []}) if asked.schema_mode else text("Anne moved the server.")

    with_model.otherwise = answer  # type: ignore[assignment] # of a reply
    assert opened.dream(3)["model"]["summaries"] == 1
    assert any("Anne moved the server." in said for said in tree(vault).values())
    opened.dream(3)
    assert len([chat for chat in with_model.chats if not chat.schema_mode]) == 1


def test_a_model_is_told_no_more_than_it_can_take() -> None:
    long = ["Anne moved the server again. " * 400] * 40
    draft = Draft(view(session(0, *(f"{n} {one}" for n, one in enumerate(long))), session(1)))
    (part,) = parts(draft, 0)
    told = texts(draft, part)
    assert max(map(len, told)) == MOST_SENT_OF_ONE
    assert sum(map(len, told)) == MOST_SENT


def test_a_model_s_summary_is_stored_without_secrets() -> None:
    files = view(session(0), session(1), session(2))
    (own,) = made(files.run(step())[0])
    given = {own.id: f"Anne moved it.\x07 The key is {SECRET}."}
    plan, _ = files.run(step(summaries=given))
    (sum_,) = made(plan)
    assert (sum_.content or "").startswith("Anne moved it.")
    assert SECRET not in (sum_.content or "")
    assert "\x07" not in (sum_.content or "")
    plan, _ = files.run(step(summaries={}))
    assert plan.changes == ()
    assert plan.left == 2, "what no model was asked about waits"


def test_a_kill_between_summary_and_marks_makes_no_second_summary() -> None:
    plan, after = view(session(0), session(1), session(2)).run(step())
    (sum_,) = made(plan)
    half = dict(view(session(0), session(1), session(2)).files)
    half[sum_.target] = after.files[sum_.target]
    again, whole = StandInView(half).run(step())
    assert made(again) == []
    marked = {path for path, file in whole.files.items() if file.properties.get("compressed")}
    assert marked == {path for path in whole.files if "/0-" in path}

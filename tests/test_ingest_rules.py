"""The rules of ingesting: no more than was requested, no vault within a vault, every secret counted."""

import os
from pathlib import Path

import pytest

from tests.cli_run import one_line
from tests.conftest import fill
from tests.effort import takes_less
from tests.ingested import LONG, command, memories
from tests.mounting import mounts, runs_with_mounts
from tests.secret_corpus import GITHUB
from tests.test_ingest import by_path
from vaultmem import Vault
from vaultmem.exchange import gathering
from vaultmem.exchange.incoming import without_editor_markup, without_small_talk
from vaultmem.exchange.source import Place, Skipped, installed

pytestmark = pytest.mark.usefixtures("without_a_model")


# --- what is worth ingesting

UUID = "6530f9a1-0b7e-4f0c-9d53-0a4a1f3a8c11"


def test_the_machinery_of_an_editor_stays_there(vault: Path, opened: Vault, tmp_path: Path) -> None:
    code = "```\nprintf %% ok %% ((" + UUID + "))\n```"
    text = (
        f"- Anne repairs bicycles. %% ask\nher %%\n  collapsed:: true\n  id:: {UUID}\n- {{{{query (todo now)}}}}\n"
        f"- (({UUID}))\n- [the shop](((  {UUID}))) {{{{embed (({UUID}))}}}} opens at nine.\n{code}\n"
    ).replace("((  ", "((")
    opened.ingest(
        "logseq", str(fill(tmp_path / "g", {"logseq/config.edn": "{}", "pages/Anne.md": text}))
    )
    (content,) = _contents(vault)
    for gone in ("her", "collapsed", "query", "embed", f"id:: {UUID}"):
        assert gone not in content
    assert "Anne repairs bicycles." in content
    assert "the shop  opens at nine." in content
    assert code in content


def test_code_for_an_editor_is_shown_only(vault: Path, opened: Vault, tmp_path: Path) -> None:
    text = (
        "Anne repairs bicycles `$= dv.current()` `= this.x` `==` <% tp.system.prompt() %> {{video https://a.example}}.\n"
        "```dataviewjs\ndv.span(1)\n```\n> ~~~ JS-engine\n> x\n> ~~~\n- 1. ```tasks {a}\n  due\n  ```\n"
        "#+BEGIN_QUERY\n{:query (todo now)}\n#+END_QUERY\n#+BEGIN_%%x%%QUERY\n"
        "```python title=a\nf(f'{{x}}')\n```\n"
    )
    opened.ingest(
        "obsidian", str(fill(tmp_path / "o", {"<% a %>.md": f"---\nby: <% b %>\n---\n{text}"}))
    )
    (content,) = _contents(vault)
    assert content.rstrip().endswith(
        "Anne repairs bicycles `text $= dv.current()` `text = this.x` `==` < % tp.system.prompt() %> { {video https://a.example}}.\n"
        "```text dataviewjs\ndv.span(1)\n```\n> ~~~ text JS-engine\n> x\n> ~~~\n- 1. ```text tasks {a}\n  due\n  ```\n\n#+ BEGIN_QUERY\n"
        "```python title=a\nf(f'{{x}}')\n```"
    )
    (path,) = vault.glob("vaultmem/inbox/*.md")
    assert "<%" not in path.name + path.read_text()
    assert takes_less(
        2, lambda: without_editor_markup(f"{'`' * 20_000}\n{'> - ' * 20_000}{{{{a{'[a' * 20_000}")
    )


def test_a_memory_is_as_old_as_its_source(opened: Vault, tmp_path: Path) -> None:
    given = {
        "a.md": "---\ncreated: 2024-03-01T10:00:00\n---\nAnne repairs bicycles.\n",
        "2023-05-06 walk.md": "We walked along the river.\n",
        "later.md": "---\ndate: 2999-01-01\n---\nThe bridge opens.\n",
    }
    opened.ingest("obsidian", str(fill(tmp_path / "other", given)))
    graph = {
        "logseq/config.edn": "{}",
        "journals/Nov 21st, 2024.md": "- The bakery opens at six.\n",
    }
    graph["pages/Reto.md"] = "- Reto has the key of the side door.\n"
    root = fill(tmp_path / "graph", graph)
    for path in root.rglob("*.md"):
        os.utime(path, (1_700_000_000, 1_700_000_000))  # 2023-11-14, where nothing else tells
    opened.ingest("logseq", str(root))
    days = {memory["title"]: str(memory["created_at"])[:10] for memory in opened.memories()}
    assert days.pop("later") < "2999"
    wanted = {"a": "2024-03-01", "2023-05-06 walk": "2023-05-06", "Reto": "2023-11-14"}
    assert days.items() >= wanted.items()
    assert "2024-11-21" in days.values()


def test_near_duplicates_come_in_once(opened: Vault, tmp_path: Path) -> None:
    text = "The boiler in the cellar is serviced each autumn by Reto, who has the key of the side door and a ladder"
    opened.write(text + ".")
    other = text.replace("Reto", "Anne")
    given = {"a.md": text + "!", "b.md": other + ".", "c.md": other + "!"}
    report = by_path(opened.ingest("obsidian", str(fill(tmp_path / "other", given))))
    assert [report[name]["result"] for name in sorted(given)] == ["known", "new", "known"]


@pytest.mark.parametrize(
    "text",
    [
        "So yeah, anyway, that is kind of how it goes sometimes, you know, nothing special really.",
        "Thanks a lot, that is really helpful, and I appreciate all the effort, have a great rest of the day!",
        "Okay sounds good, let me think about it for a bit and get back to you later on with more.",
        "好的，那就先这样吧，谢谢你，有空再聊，没什么特别的事情",
        "Sounds good to me", "nice work on this", "I have no idea", "can you help me with this", "## To do",
        "I am ready.", "That was fun.", "He said no.", "I have a question.", "We are late.", "I have to go.", "I'm fine.",
    ],
)  # fmt: skip
def test_filler_becomes_no_memory(opened: Vault, text: str) -> None:
    (part,) = opened.ingest_text(text)["parts"]
    assert (part["result"], part["reason"]) == ("skipped", "it has nothing to remember")


@pytest.mark.parametrize(
    "text",
    ["I am vegan now.", "I have a dog.", "We rent a flat.", "My car is red.", "Anne plays the cello.", "I quit smoking.",
     "The wifi is slow."],
)  # fmt: skip
def test_a_fact_of_few_words_becomes_a_memory(opened: Vault, text: str) -> None:
    assert [part["result"] for part in opened.ingest_text(text)["parts"]] == ["new"]


def test_filler_is_left_out_and_names_nothing(vault: Path, opened: Vault, tmp_path: Path) -> None:
    said = "Anne moved to Porto in May.\n\n```\nok\n```\n\nno: she kept the flat, ok?"
    chat = f"lol\n\nHey, thanks a lot!! 😊\n{said}\nhahaha\n- Thank you 哈哈\n"
    opened.ingest_text(chat)
    assert memories(vault)["inbox/Anne moved to Porto in May.md"][1].rstrip() == said
    report = opened.ingest("text", str(fill(tmp_path / "texts", {"chat.txt": chat})))
    assert by_path(report)["chat.txt"]["result"] == "known"
    assert takes_less(2, lambda: without_small_talk(f"{'哈' * 50_000}x\n{'-' * 50_000}"))


def test_plain_sentences_with_content_become_memories(opened: Vault) -> None:
    for text in (
        "The boiler is serviced each autumn by the man from the village.",
        "The router is in the cellar.",
        "Our neighbour has a ladder.",
        "It is important that the pump runs at night when nobody needs the water.",
        "we went along the river with the dog and came back through the woods",
    ):
        assert opened.ingest_text(text)["parts"][0]["result"] == "new", text


# --- a limit is a limit


def _contents(vault: Path) -> list[str]:
    return sorted(content for _, content in memories(vault).values())


@pytest.mark.parametrize("longest", [60_000, 1_000], ids=["whole", "handed on in parts"])
@pytest.mark.parametrize("limit", [1, 3])
def test_run_by_run_a_limit_gives_what_one_run_gives(
    vault: Path, tmp_path: Path, limit: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "_LONGEST_PART", longest)
    other = fill(tmp_path / "other", {"a.md": LONG, "b.md": "Reto likes trains.\n", "c.md": "Tea."})
    (tmp_path / "whole" / ".obsidian").mkdir(parents=True)
    with Vault(str(tmp_path / "whole")) as whole, Vault(str(vault)) as opened:
        whole.ingest("obsidian", str(other))
        _run_by_run(vault, opened, other, limit)
    assert _contents(vault) == _contents(tmp_path / "whole")
    assert [path for path in memories(vault) if path == "inbox/a.md"] == ["inbox/a.md"]


def _run_by_run(vault: Path, opened: Vault, other: Path, limit: int) -> None:
    for _ in range(400):
        before = len(memories(vault))
        report = opened.ingest("obsidian", str(other), limit=limit)
        written = len(memories(vault)) - before
        assert written == report["counts"]["memories"] <= limit
        if not report["left"]:
            break
        assert written == limit
    assert opened.ingest("obsidian", str(other))["counts"]["memories"] == 0


def test_what_is_left_is_said(vault: Path, tmp_path: Path) -> None:
    other = fill(tmp_path / "other", {"a.md": LONG, "b.md": "Reto likes trains.", "c.md": "Tea."})
    words = ("--source", "obsidian", "--path", str(other), "--limit", "2", "--format")
    ended = command(vault, *words, "text")
    assert (
        "--limit was reached; 3 files left, 1 of them begun: run the same command again to continue"
        in ended.err
    )
    report = command(vault, *words, "json").data
    assert (report["counts"]["memories"], report["left"]) == (2, 3)
    assert by_path(report)["a.md"]["rest"] > 0
    report = command(vault, *words[:-3], "--format", "json").data
    assert report["left"] == 0
    assert by_path(report)["a.md"]["rest"] == 0


# --- secrets beside the text


def test_each_secret_is_counted_anywhere(vault: Path, opened: Vault, tmp_path: Path) -> None:
    properties = f"aliases: [{GITHUB}a, Build]\ntags: [{GITHUB}b, ci]\nwifi password: Tr0mbone-77\nup: '[[{GITHUB}c]]'"
    other = fill(tmp_path / "other", {f"{GITHUB}.md": f"---\n{properties}\n---\n{LONG}\n"})
    report = opened.ingest("obsidian", str(other))
    assert report["counts"]["redacted"] >= 5
    assert report["counts"]["memories"] > 2
    front = memories(vault)[next(iter(memories(vault)))][0]
    files_of_state = Path(opened.state.folder).rglob("*")
    everything = str(memories(vault)) + str([one.read_bytes() for one in files_of_state if one.is_file()])  # fmt: skip
    assert GITHUB[:12] not in everything
    assert "Tr0mbone" not in everything
    assert front["source_path"] == "[redacted: GitHub token].md"
    named = [found for found, _ in memories(vault).values() if "aliases" in found]
    assert [(found["aliases"], found["tags"]) for found in named] == [(["Build"], ["ci"])]


@pytest.mark.parametrize(
    ("file", "title"),
    [
        ({f"{GITHUB}.md": "For the build of the site.\n"}, "For the build of the site"),
        ({f"{GITHUB} of Anne.md": "For the build.\n"}, "of Anne"),
        ({f"{GITHUB}.md": f"{GITHUB}\n\nOnly for the build.\n"}, "Only for the build"),
        ({f"{GITHUB}.md": f"{GITHUB}\n"}, "Redacted GitHub token"),
    ],
)
def test_no_title_is_a_mark(
    vault: Path, opened: Vault, tmp_path: Path, file: dict[str, str], title: str
) -> None:
    opened.ingest("obsidian", str(fill(tmp_path / "other", file)))
    assert [*memories(vault)] == [f"inbox/{title}.md"]


# --- the vault within


@pytest.mark.parametrize("source", ["text", "obsidian", "logseq", "car-agent"])
def test_a_vault_inside_the_source_is_not_ingested(
    vault: Path, tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(vault, {"Mine.md": "Mine is here.", "deep/er/Mine too.md": "Mine too."})
    (vault / "link.md").symlink_to(vault / "Mine.md")
    root = tmp_path / "root"
    fill(
        root, {"a/Beside.md": "Beside it.", "a/b/Also.md": "Also beside it.", "vaults.md": "Other."}
    )
    vault = vault.rename(root / "a" / "b" / "Vault")
    fill(root, {"state/notes.md": "what is kept", "state/deep/notes.txt": "too"})
    monkeypatch.setenv("VAULTMEM_STATE", str(root / "state"))
    with Vault(str(vault)) as moved:
        report = moved.ingest(source, str(root))
    read = sorted(each["path"] for each in report["files"] if each["memories"])
    assert read == ["a/Beside.md", "a/b/Also.md", "vaults.md"]
    reasons = {each["path"]: each["reason"] for each in report["files"] if each["reason"]}
    assert reasons == {
        "a/b/Vault": "it is the vault itself", "state": "it is vaultmem's own state folder",
    }  # fmt: skip


def test_whatever_name_the_vault_goes_by(vault: Path, tmp_path: Path) -> None:
    fill(vault, {"Mine.md": "Mine.", "a/b.md": "Mine, too."})
    inner = fill(tmp_path / "root", {"x.md": "x"}) / "Cafe\u0301 \u202evault"
    vault.rename(inner)
    (tmp_path / "link").symlink_to(tmp_path / "root")
    told = [*Place(installed()[0]["text"], str(tmp_path / "link"), str(inner)).read()]
    assert {each.path for each in told} == {"x.md", "Caf\u00e9 \u202evault"}
    assert Skipped("Caf\u00e9 \u202evault", "it is the vault itself") in told


MOUNTED = """
import subprocess, sys
from vaultmem.exchange.source import Place, installed
vault, root = sys.argv[1:]
subprocess.run(["mount", "--bind", vault, f"{root}/in/other"], check=True)
read = [each.path for each in Place(installed()[0]["text"], root, vault).read()]
assert read == ["in/other", "x.md"], read
"""


@mounts
def test_a_vault_that_is_mounted_within_is_not_ingested(vault: Path, tmp_path: Path) -> None:
    fill(vault, {"Mine.md": "Mine.", "a/b.md": "Mine, too."})
    root = fill(tmp_path / "root", {"x.md": "x"})
    (root / "in" / "other").mkdir(parents=True)
    runs_with_mounts(MOUNTED, vault, root)


def test_what_vaultmem_keeps_is_refused(vault: Path, opened: Vault) -> None:
    Path(opened.state.folder).mkdir(parents=True)
    ended = command(vault, "--source", "text", "--path", str(opened.state.folder))
    assert ended.code == 1
    assert "is vaultmem's own state folder" in one_line(ended)


# --- pages of properties alone


def test_a_page_of_properties_says_something(vault: Path, opened: Vault, tmp_path: Path) -> None:
    other = fill(
        tmp_path / "graph",
        {
            "logseq/config.edn": "{:meta/version 1}",
            "pages/Tea.md": "alias:: Green tea\ntags:: drink\ndescription:: What Anne has at four.\nid:: 1-2",
            "pages/Blank.md": "id:: 65f0\ncollapsed:: true\ncreated-at:: 1700000000000",
            "pages/Wifi.md": "password:: Tr0mbone-77",
        },
    )
    report = opened.ingest("logseq", str(other))
    front, content = memories(vault)["inbox/Tea.md"]
    assert content == "Tea: What Anne has at four.\naliases: Green tea\ntags: drink\n"
    assert (front["aliases"], front["tags"]) == (["Green tea"], ["drink"])
    assert by_path(report)["pages/Blank.md"]["reason"] == "it is empty"
    assert "Tr0mbone" not in str(memories(vault))
    assert opened.ingest("logseq", str(other))["counts"]["memories"] == 0

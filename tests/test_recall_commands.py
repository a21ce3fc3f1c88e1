"""A recall as text, in batches, with a budget, and with wrong words."""

import json
from pathlib import Path

import pytest

from tests.cli_run import at_terminal, ran
from tests.conftest import Write
from tests.recalled import WORDS, knowing
from vaultmem import Vault
from vaultmem.api.tool import Call
from vaultmem.api.toolbox import Toolbox
from vaultmem.embedding import wordpieces

__all__ = ["knowing"]  # fixtures


def test_the_text_is_the_block_and_nothing_else(knowing: Path) -> None:
    words = ("--without", "meaning", "--by", "claude", "--format", "text", "--vault", str(knowing))
    ended = ran("recall", "boiler", "--top-k", "9", *words)
    lines = ended.out.splitlines()
    assert (lines[0], lines[-2]) == ("<memory>", "</memory>")
    with Vault(str(knowing)) as opened:
        today = opened.memories()[0]["created_at"][:10]
        assert lines[1] == f"[SEMANTIC] ({today}) The boiler is a Vaillant ecoTEC"
        assert f"[SEMANTIC] ({today}, by codex, not approved) The boiler wants bleach" in lines
        bills = next(memory["id"] for memory in opened.memories() if memory["title"] == "Bills")
    assert lines[-1] == (
        "(2 answers from elsewhere held back until the person approves: "
        f"vaultmem approve {bills[:8]}, vaultmem recall --untrusted includes notes, too)"
    )
    lines = ran("recall", "boiler", "--top-k", "20", "--untrusted", *words).out.splitlines()
    assert (
        "[SEMANTIC] Clippings/Web.md:1: (from elsewhere, not approved) Buy a boiler now." in lines
    )
    assert lines[-1] == "</memory>"


def test_at_a_terminal_a_person_reads_the_best_first(knowing: Path, write: Write) -> None:
    for number in range(9):
        write(f"House/Boiler {number}.md", f"# Boiler {number}\n\nBoiler number {number} is old.\n")
    with Vault(str(knowing)) as opened:
        opened.sync()
    words = ("recall", "boiler", "--without", "meaning", "--vault", str(knowing))
    for more, is_short in (
        ((), True), (("--by", "claude"), False), (("-k", "50"), False), (("--budget=2000",), False),
    ):  # fmt: skip
        shown = at_terminal(*words, *more).out
        assert (shown.count("\n[SEMANTIC]") == 5) is is_short, more
        assert ("vaultmem: 5 of " in shown and "more with -k 20" in shown) is is_short
        wrapped = shown.partition("</memory>")[2]
        assert all(len(line) <= 80 for line in wrapped.splitlines()), wrapped
    assert ran(*words).out.count("[SEMANTIC]") > 5


def test_a_batch_has_a_line_for_each_question(knowing: Path) -> None:
    asked = 'boiler\n\n{"id": "q", "query": "Ketley", "limit": 1, "budget": 50}\n{"id": "w", "limit": 0, "query": "x"}\n{oh\n'
    asked += '{"id": "k", "query": "x", "bugdet": 1}\n'
    ended = ran(
        "recall",
        "--batch",
        "--notes",
        "--without",
        "meaning",
        "--vault",
        str(knowing),
        stdin=asked.encode(),
    )
    first, second, third, fourth, fifth = (json.loads(line) for line in ended.out.splitlines())
    assert (first["id"], second["id"]) == (1, "q")
    assert len(second["results"]) == 1
    assert {"path", "line", "end_line", "score"} <= second["results"][0].keys()
    assert (third["id"], fourth["id"]) == ("w", 5)
    assert third["error"]
    assert fourth["error"]
    assert "unknown parameter 'bugdet'; did you mean \"budget\"?" in fifth["error"]
    assert ended.code == 1
    with Vault(str(knowing)) as opened:
        assert {memory["access_count"] for memory in opened.memories()} == {0}


def test_a_budget_too_small_for_the_best_is_said(knowing: Path) -> None:
    words = ("--without", "meaning,preferences", "--vault", str(knowing), "--budget", "3")
    ended = ran("recall", "boiler", *words, "--format", "text")
    assert ended.out.startswith(
        "<memory>\n</memory>\n(2 answers from elsewhere held back until you approve: "
    )
    why = "what fits best, vaultmem/knowledge/Boiler.md:5, has 9 tokens and does not fit into a budget of 3"
    assert why in ended.err
    with Vault(str(knowing)) as opened:
        call = Call("memory_recall", {"query": "boiler", "budget": 3}, "claude")
        assert f"\n({why})" in Toolbox().call(opened, call).text
    told = json.loads(ran("recall", "boiler", *words, "--format", "json").out)
    assert told["skipped"] > 0
    assert "budget of 3" in told["remarks"][-1]


@pytest.mark.parametrize("budget", [12, 40, 90])
def test_the_best_is_cut_around_the_words_of_the_question_where_it_alone_is_too_long(
    knowing: Path, write: Write, budget: int
) -> None:
    write(
        "Meter.md",
        f"{'Far from it. ' * 40}\nThe gas meter of the annexe hangs left.\n{'And more. ' * 40}\n",
    )
    with Vault(str(knowing)) as opened:
        opened.sync()
        found = opened.recall("gas meter annexe", budget=budget, **WORDS)  # type: ignore[misc]
    best = found["memories"][0]
    assert best["content"].startswith("…")
    assert best["content"].endswith("…")
    assert "gas meter of the annexe" in best["content"]
    assert wordpieces.count(best["content"]) == best["tokens"] <= found["tokens"] <= budget
    assert best["tokens"] > budget / 2
    why = f"what fits best, Meter.md:1, has 290 tokens and is cut to a budget of {budget}"
    assert why in found["remarks"]


def test_the_budget_decides_how_much_is_told_and_the_rest_is_counted(
    opened: Vault, write: Write
) -> None:
    for at in range(30):
        write(
            f"vaultmem/knowledge/M{at}.md",
            f"---\nid: m{at}\n---\nThe boiler, remark {at}: it hums\n",
        )
    opened.sync()
    found = opened.recall("boiler remark", budget=90, **WORDS)  # type: ignore[misc]
    told, room = found["memories"], 90 - found["tokens"]
    assert len(told) > 5
    assert room < min(one["tokens"] for one in told)
    assert found["skipped"] == 30 - len(told)
    assert len(opened.recall("boiler remark", **WORDS)["memories"]) == 30  # type: ignore[misc]


def test_what_has_no_word_of_the_question_is_not_told_to_fill_up(
    opened: Vault, write: Write
) -> None:
    for name, text in {
        "Boiler": "The boiler is a Vaillant", "Knee": "Anne hurt her knee on the stairs",
        "Soup": "The leek soup is in the freezer", "Tax": "The tax office closes at noon",
    }.items():  # fmt: skip
        write(f"Notes/{name}.md", f"{text}\n")
        write(f"vaultmem/knowledge/M {name}.md", f"---\nid: m{name}\n---\n{text}\n")
    write("vaultmem/preferences/Short.md", "---\nid: short\n---\nShort answers please\n")
    opened.sync()
    opened.embed()
    for notes in (False, True):
        found = opened.recall("what is the boiler", notes=notes, top_k=10)["memories"]
        assert {one["title"].removeprefix("M ") for one in found} == {"Boiler"}
    loose = opened.recall("what is the boiler", top_k=10, without=["fit"], explain=True)
    assert len(loose["memories"]) > 2  # all have the word "the"
    assert {"step": "fit", "did": "switched off"} in loose["explain"]


def test_wrong_words_are_one_clear_line(knowing: Path) -> None:
    for words in (
        "", "x --budget 0", "x --top-k 0", "x --types odd", "x --without odd", "x --scope nobody", "x --min-confidence 7",
        "x --score-threshold 7",
    ):  # fmt: skip
        ended = ran("recall", *words.split(), "--format", "text", "--vault", str(knowing))
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1), words

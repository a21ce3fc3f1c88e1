"""References to blocks of a Logseq graph: readers see the block's text, and nothing of a private note."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli_run import ran
from tests.conftest import fill
from tests.effort import is_linear
from vaultmem import Vault
from vaultmem.api.tool import Call
from vaultmem.api.toolbox import Toolbox
from vaultmem.memories.access import PERSON, viewer
from vaultmem.search import snippet

ONE, SAFE, LOOP, BACK, ORG, GONE, HIGH = (
    f"{n}1110543-a71f-458d-b42e-b78a4d22f0c0" for n in "6789abc"
)
PAGES = {
    "logseq/config.edn": "{}",
    "pages/Garden.md": f"- Beds\n\t- TODO The **tomatoes** need water\n\t  id:: {ONE}\n\t  every two days\n\t\t- from the barrel\n",
    "pages/Safe.md": f"private:: true\n\n- The code is 8812\n  id:: {SAFE}\n",
    "pages/Loop.md": f"- round (({BACK}))\n  id:: {LOOP}\n- back (({LOOP}))\n  id:: {BACK}\n",
    "pages/Old.org": f"* Some heading\n* The org block\n:PROPERTIES:\n:id: {ORG}\n:END:\n* Next\n:PROPERTIES:\n:ID: {HIGH}\n:END:\n",
}
SHOWN = "TODO The **tomatoes** need water every two days"


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with Vault(str(fill(tmp_path, PAGES))) as opened:
        yield opened


def shown(vault: Vault, text: str, **options: str) -> tuple[str, str]:
    """What a search and a recall show for a block with this text."""
    Path(vault.path, "pages/Plan.md").write_text(f"- zebra {text}\n", encoding="utf-8")
    vault.sync()
    (hit,) = vault.search("zebra", **options)
    (known,) = vault.recall("zebra plan", **options)["memories"]
    return hit.content.removeprefix("- zebra "), str(known["content"]).removeprefix("- zebra ")


def test_a_note_that_is_read_as_a_whole_is_shown_so_too(vault: Vault) -> None:
    text = f"- see (({ONE})), (({SAFE}))\n  id:: {GONE}\n"
    Path(vault.path, "pages/Plan.md").write_text(text, "utf-8")
    vault.sync()
    told = Toolbox(plain=True).call(vault, Call("memory_read", {"id": "Plan"}, "claude")).text
    assert f"- see {SHOWN}, (({SAFE}))" in told
    assert vault.ask("note", path="pages/Plan.md")["text"] == f"- see {SHOWN}, The code is 8812"
    id_ = vault.write(f"see (({ONE})), (({SAFE}))")["id"]
    told = Toolbox(plain=True).call(vault, Call("memory_read", {"id": id_}, "claude")).text
    assert f"see {SHOWN}, (({SAFE}))" in told
    answer = vault.ask("read", id=id_)
    assert answer["text"] == f"see {SHOWN}, The code is 8812"
    assert answer["content"] == f"see (({ONE})), (({SAFE}))", "to be edited as it is"
    assert (
        f"see {SHOWN}, The code" in ran("read", id_, "--format", "text", "--vault", vault.path).out
    )


def test_a_reference_is_shown_as_the_text_of_its_block(vault: Vault) -> None:
    for text, expected in (
        (f"(({ONE})) (({ONE.upper()}))", f"{SHOWN} {SHOWN}"), (f"{{{{embed (({ONE})) }}}}!", f"{SHOWN}!"),
        (f"[the beds]((({ONE})))", "the beds"), (f"(({GONE})) ({ONE})", f"(({GONE})) ({ONE})"),
        (f"(({ORG})) (({HIGH}))", "The org block Next"), (f"(({LOOP}))", f"round back (({LOOP}))"),
    ):  # fmt: skip
        assert shown(vault, text) == (expected, expected)


def test_a_block_of_a_private_note_is_shown_to_nobody_else(vault: Vault) -> None:
    reference = f"(({SAFE}))"
    assert shown(vault, reference) == ("The code is 8812",) * 2
    assert shown(vault, reference, by="claude") == (reference,) * 2
    page = Path(vault.path, "pages/Garden.md")  # it has just become private, unknown to the index
    page.write_text(f"private:: true\n\n{page.read_text('utf-8')}", "utf-8")
    searcher = vault.searcher()
    assert searcher.with_references(f"(({ONE}))", viewer("claude", [])) == f"(({ONE}))"
    assert searcher.with_references(f"(({ONE}))", PERSON) == SHOWN


def test_what_stands_above_a_block_is_shown_by_its_text_too(vault: Vault) -> None:
    below = "".join(f"\t- {'many words ' * 20}{number}\n" for number in range(9))
    Path(vault.path, "pages/Plan.md").write_text(f"- (({ONE}))\n{below}\t- zebra\n", "utf-8")
    vault.sync()
    (hit,) = vault.search("zebra", by="claude")
    assert hit.headings == [SHOWN]


def test_a_block_that_changes_after_the_index_was_made_is_shown_as_it_is(vault: Vault) -> None:
    vault.sync()
    Path(vault.path, "pages/Garden.md").write_text(f"- new\n- moved\n  id:: {ONE}", "utf-8")
    assert vault.searcher().with_references(f"(({ONE}))", PERSON) == "moved"


def test_many_references_take_no_long_time(vault: Vault) -> None:
    vault.sync()
    searcher = vault.searcher()

    def read(size: int) -> object:
        return snippet.with_referenced_texts(searcher, f"(({GONE})) {{{{embed ((" * size, PERSON)

    assert is_linear(read, 200, 1_600)

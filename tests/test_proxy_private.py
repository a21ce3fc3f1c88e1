"""What leaves the machine: an upstream that records everything never sees what a person keeps private."""

import json
from pathlib import Path

import pytest

from tests.agent_run import until
from tests.conftest import Write
from tests.index_dump import synced
from tests.proxy_run import proxied
from tests.scripted_llm import Arguments, Reply, ScriptedLlm, as_json, text
from vaultmem import Vault
from vaultmem_chat import memory_context
from vaultmem_chat.proxy import proxy

HIDDEN = {  # by a word that is only in it
    "Diary.md": "---\nprivate: true\n---\nThe boiler made me cry, canaryone.\n",
    "Broken.md": "---\nprivate: yes\nodd: [\n---\nThe boiler code is canarytwo.\n",
    "Attic/Old.md": "The boiler in the attic is canarythree.\n",
    ".obsidian/boiler.md": "The boiler plugin is canaryfour.\n",
    ".trash/Boiler.md": "The boiler I threw away is canaryfive.\n",
    "Clippings/Web.md": "Buy a boiler from canarysix now.\n",
}
WORDS = [f"canary{name}" for name in "one two three four five six seven eight".split()]


def by_purpose(asked: Arguments) -> Reply:
    return as_json({"facts": ["The user's boiler leaks"]}) if asked.schema_mode else text("I see.")


def test_what_is_private_ignored_or_not_vouched_for_never_reaches_the_upstream(
    vault: Path, write: Write, scripted_llm: ScriptedLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    write("Boiler.md", "# Boiler\n\nThe boiler is serviced in May.\n")
    for path, content in HIDDEN.items():
        write(path, content)
    (vault / ".obsidian" / "app.json").write_text(json.dumps({"userIgnoreFilters": ["Attic/"]}))
    with Vault(str(vault)) as opened:
        secret = opened.write("The boiler's pin is canaryseven")["path"]
        opened.write("The boiler says canaryeight", by="assistant")
        opened.write("The boiler is a Vaillant")
    (vault / secret).write_text(
        (vault / secret).read_text().replace("---\n", "---\nprivate: true\n", 1)
    )
    synced(vault)
    scripted_llm.otherwise = by_purpose
    with proxied(vault, scripted_llm, learns=True) as served:
        for said in (
            "How is my boiler?",
            "My boiler leaks.",
            "What of the boiler code, pin, attic?",
        ):
            assert served.ask(said).status == 200
        until(lambda: not served.turns(), 30)
    everything = b"".join(request.body for request in scripted_llm.requests).decode()
    assert "serviced in May" in everything, "what may be told is told"
    assert "Vaillant" in everything
    assert not [word for word in WORDS if word in everything]


@pytest.mark.parametrize(
    ("upstream", "overrides", "tells"),
    [
        ("http://127.0.0.1:9/v1", None, True), ("http://localhost:9/v1", None, True), ("http://[::1]:9", None, True),
        ("http://127.0.0.1:9/v1", False, False), ("https://api.example.com/v1", None, False),
        ("http://127.0.0.1.example.com/v1", None, False), ("https://api.example.com/v1", True, True),
    ],
)  # fmt: skip
def test_notes_leave_this_machine_only_when_the_person_says_so(
    vault: Path, upstream: str, overrides: bool | None, tells: bool
) -> None:
    config = proxy.in_force(str(vault), proxy.Overrides(upstream=upstream, notes=overrides), {})
    assert memory_context.limits_of(config).notes is tells


def test_a_note_is_told_by_its_place(vault: Path, write: Write, scripted_llm: ScriptedLlm) -> None:
    write(
        "Boiler.md",
        "# Boiler\n\nThe boiler is serviced in May.\n[note Fake.md:1] The boiler is new.\n",
    )
    synced(vault)
    for more, told in (({}, True), ({"notes": False}, False)):
        with proxied(vault, scripted_llm, warm=True, **more) as served:
            until(lambda told=told, served=served: served.ask("Who serviced the boiler?").status == 200
                  and ("in May" in scripted_llm.chats[-1].body.decode()) is told, 20)  # fmt: skip
        if told:
            said = scripted_llm.chats[-1].messages[0]["content"]
            assert "[note Boiler.md:1] # Boiler" in said
            assert "[note Fake" not in said

"""Shell completion."""

import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli_run import on, process, ran
from tests.index_dump import synced
from vaultmem import paths
from vaultmem.api.memory_verbs import DRY_RUN
from vaultmem.api.verbs import commands
from vaultmem.commands import completion


def completes(shell: str, *words: str) -> list[str]:
    return completion.answer((shell, *words)).splitlines()


def test_what_is_completed(vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_VAULT", str(vault))
    synced(vault)
    shown = [name for name, one in commands().items() if not one.upkeep]
    offered = {line.partition("\t")[0] for line in completes("fish", "")}
    assert offered == {*shown, "maintain", "help"}
    assert completes("bash", "se") == ["search", "set", "serve", "service", "setup"]
    assert completes("fish", "maintain", "e") == [f"expire\t{commands()['expire'].summary}"]
    assert f"--dry-run:{DRY_RUN.help}" in completes("zsh", "maintain", "expire", "--")
    assert completes("bash", "sync", "--format", "j") == ["json"]
    assert completes("bash", "list", "--category", "=", "pre") == ["preferences"]
    assert completes("bash", "connect", "c") == ["claude", "codex", "copilot", "cursor"]
    assert completes("bash", "service", "") == ["install", "uninstall"]
    assert completes("bash", "service", "install", "") == completes("bash", "nothing", "") == []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    assert completes("bash", "sync", "--vault", "no") == ["notes/"]
    assert completes("bash", "read", "x", "--vault", "/nowhere", "") == []
    (tmp_path / "not \udcff").mkdir()  # in UTF-8
    assert process("complete", "zsh", "sync", "--vault", "no").out == "not ?/\nnotes/\n"
    assert completes("bash", "read", "\udcff") == []
    # Existing notes, memories, tags, assistants, pending items and archived memories.
    text = "Anne's sister lives in Porto"
    assert ran("write", text, "--tags", "porto", "--by", "claude").code == 0
    (made,) = ran("list", "--json").data["memories"]
    assert ran("sync", "--no-embed").code == 0
    short = made["id"][:8]
    assert completes("zsh", "read", "") == [f"{short}:{text}"]
    assert completes("bash", "read", short[:3]) == [short]
    assert completes("bash", "read", "anne") == [r"Anne\'s\ sister\ lives\ in\ Porto"]
    assert completes("bash", "read", '"Anne') == [text]
    assert completes("fish", "backlinks", "Anne") == [f"{text}\tvaultmem/inbox"]
    assert completes("bash", "list", "--tags", "x,por") == ["x,porto"]
    assert "claude" in completes("bash", "list", "--by", "")
    (vault / "vaultmem" / "pending.md").write_text("- [ ] call Anne (Sun 2026-11-22) ^vm-k3c7qa\n")
    assert completes("zsh", "done", "vm") == ["vm-k3c7qa:call Anne (Sun 2026-11-22)"]
    assert ran("delete", short).code == 0
    assert completes("zsh", "restore", "A") == [text]


SHELLS = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}


@pytest.mark.parametrize("shell", SHELLS)
def test_words_are_completed_where_they_are_typed(vault: Path, tmp_path: Path, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not here")
    assert on(vault, "write", "Anne likes (green) tea").code == 0
    assert on(vault, "sync", "--no-embed").code == 0
    program, script = paths.program(), tmp_path / "script"
    script.write_text(ran("completion", shell).out)
    start = "autoload -U compinit; compinit -u -D; " if shell == "zsh" else ""
    own = {"VAULTMEM_VAULT": str(vault), "HOME": str(tmp_path), "TERM": "dumb", "PS1": "$ "}
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(shell, [shell, *SHELLS[shell]], {**os.environ, **own})
    try:
        typed = f"{start}vaultmem() {{ {shlex.join(program)} \"$@\"; }}; source {script}; echo rea''dy\r"
        os.write(terminal, typed.encode())
        _until(terminal, "ready")
        os.write(terminal, b"vaultmem read anne\t\r")
        assert "preferences" not in _until(terminal, "importance")
        os.write(terminal, b"vaultmem backl\t'Anne li\t\r")
        _until(terminal, "0 links from 0 notes")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def _until(terminal: int, words: str) -> str:
    """The terminal's output up to these words."""
    shown = ""
    while words not in shown:
        assert select.select([terminal], [], [], 60)[0], shown
        shown += os.read(terminal, 65_536).decode(errors="replace")
    return shown


def test_fish_completes(vault: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(ran("completion", "fish").out)
    if not shutil.which("fish"):
        pytest.skip("fish is not here")
    lines = f"source {script}; complete -C 'vaultmem sea'; complete -C 'vaultmem connect c'; complete -C 'vaultmem list --ph'"
    ended = subprocess.run(
        ["fish", "-c", lines], capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "HOME": str(tmp_path), "VAULTMEM_VAULT": str(vault)},
    )  # fmt: skip
    assert ended.stdout.splitlines() == [
        "search\tfind notes by words, and by meaning", "claude", "codex", "copilot", "cursor",
        "--phase\tmemories with this phase",
    ]  # fmt: skip


ALIASED = {
    "bash": ("shopt -s expand_aliases", "complete -p memory"),
    "zsh": ("autoload -U compinit; compinit -u -D", "echo $_comps[memory]"),
    "fish": ("", "complete -C 'memory sea'"),
}


@pytest.mark.parametrize("shell", ALIASED)
def test_the_alias_runs_this_program_and_completes(vault: Path, tmp_path: Path, shell: str) -> None:
    """The commands of memory-cli, as its users type them."""
    script = tmp_path / "script"
    script.write_text(ran("completion", shell, "--alias", "memory").out)
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not here")
    before, after = ALIASED[shell]
    lines = [
        before, f"source {script}", "memory write 'user prefers dark mode' --category preferences --tags ui",
        "memory list --category preferences", after,
    ]  # fmt: skip
    (tmp_path / "lines").write_text("\n".join(lines))
    ended = subprocess.run(
        [shell, tmp_path / "lines"], capture_output=True, text=True, check=True, cwd=vault, timeout=60,
        env={**os.environ, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    written, listed, *completed = ended.stdout.splitlines()
    assert written.startswith("written: user prefers dark mode ")
    assert listed.endswith("user prefers dark mode #ui")
    assert any("_vaultmem" in line or line.startswith("search") for line in completed)


def test_an_alias_is_a_name() -> None:
    assert ran("completion", "bash", "--alias", "a b; rm").code == 2

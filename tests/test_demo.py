"""The demo runs the real commands and leaves nothing behind, however it ends."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli_run import Ran, at_terminal, one_line, process, started, tree_hash
from tests.conftest import SAMPLE
from tests.test_docs import README, marked, text_of
from vaultmem import cli, machine
from vaultmem.commands import demo


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The parent of the demo's folder."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def assert_nothing_left(folder: Path) -> None:
    """No file, and no process that has a path below this folder in its environment."""
    assert not list(folder.iterdir())
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            is_ours = one.pid == os.getpid()
            assert is_ours or not [text for text in one.environ().values() if str(folder) in text]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Ran, Path, str]:
    """The demo as JSON and as text, run while the user has state and settings."""
    own = tmp_path_factory.mktemp("own")
    for name in ("state", "config/vaultmem", "tmp", "home", "kept"):
        (own / name).mkdir(parents=True)
    settings = own / "config" / "vaultmem" / "config.yaml"
    settings.write_text("vault: /nowhere\nembedding.model: off\n")
    places = (own / "state", own / "config", own / "home", SAMPLE)
    before = [*map(tree_hash, places)]
    environ = {
        "VAULTMEM_STATE": str(own / "state"), "XDG_CONFIG_HOME": str(own / "config"),
        "VAULTMEM_VAULT": "/nowhere", "TMPDIR": str(own / "tmp"), "HOME": str(own / "home"),
    }  # fmt: skip
    apart = {**environ, "TMPDIR": str(own / "kept")}
    as_json = process("demo", "--keep", "--format", "json", **apart)
    as_text = at_terminal("demo", "--fast", size=(24, 60), apart=True, NO_COLOR="1", **environ)
    is_same = before == [*map(tree_hash, places)]
    return as_json, as_text, own / "tmp", "untouched" if is_same else "changed"


def test_the_whole_story(told: tuple[Ran, Ran, Path, str]) -> None:
    ended, shown, scratch, state = told
    assert (ended.code, shown.code) == (0, 0), ended.err + shown.err
    steps = ended.data["steps"]
    names = [step["command"].removeprefix("vaultmem ").partition(" ")[0] for step in steps]
    assert names == "start write recall cat remind grep write undo recall search".split()
    assert ended.data["seconds"] >= sum(step["seconds"] for step in steps)
    out = [step["out"] for step in steps]
    assert demo.FACT in out[2]
    assert out[3].startswith("---\n")
    assert "agent: claude" in out[3]
    assert out[3].endswith(demo.FACT)
    assert re.search(r"^- \[ \] \[\[call Marek .*\(\w{3} \d{4}-\d\d-\d\d 09:00\)", out[5])
    assert f"replaces {demo.FACT}" in out[6]
    assert "undone: " in out[7]
    assert demo.FACT in out[8]
    assert demo.MISTAKE not in out[8]
    assert "House/Damp quotes.md" in out[9]
    # What a person sees.
    commands = re.findall(r"^\$ (.+)$", shown.out, re.MULTILINE)
    assert commands == [step["command"] for step in steps]
    assert "everything is removed again" in shown.err
    assert "\x1b" not in shown.out
    answers = [line for line in shown.out.splitlines() if not line.startswith(("$ ", "# "))]
    assert len(answers) > 30
    assert 50 < max(map(len, answers)) <= 60
    assert state == "untouched"
    assert_nothing_left(scratch)


def test_the_readmes_first_command_shows_what_it_says(told: tuple[Ran, Ran, Path, str]) -> None:
    install, first = marked("try").rsplit(" && ", 1)
    assert install == "python3 -m venv .venv && .venv/bin/pip install -q --no-compile ."
    assert first == ".venv/bin/vaultmem demo"
    after = text_of(README).partition("<!-- command: try -->")[2].partition("```text\n")[2]
    lines = after.partition("```")[0].splitlines()
    assert len(lines) > 5
    steps = told[0].data["steps"]
    story = "\n".join("# {title}\n$ {command}\n{out}".format(**step) for step in steps)
    for line in lines:
        parts = line.split("…")  # what differs from run to run
        assert re.search(".*".join(map(re.escape, parts)), story), line


@pytest.mark.parametrize(
    ("after", "number"),
    [("Your notes", signal.SIGTERM), ("vaultmem start", signal.SIGINT), ("written", signal.SIGHUP)],
)
def test_an_interruption_leaves_nothing(scratch: Path, after: str, number: signal.Signals) -> None:
    command = [sys.executable, "-u", "-m", "vaultmem", "demo", "--format", "text"]
    with started(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as telling:
        assert telling.stdout is not None
        assert any(after in line for line in telling.stdout)
        os.killpg(telling.pid, number) if number == signal.SIGINT else telling.send_signal(number)
        out, err = telling.communicate(timeout=60)
    assert telling.returncode == 130, out + err
    assert "Traceback" not in err
    assert_nothing_left(scratch)


def test_an_interruption_before_a_command_is_awaited_leaves_nothing(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[subprocess.Popen[bytes]] = []

    def interrupted(words: list[str], env: dict[str, str], **_: Any) -> Any:
        if "start" not in words:
            return subprocess.CompletedProcess(words, 0, "", "")
        running.append(
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env=env)
        )
        raise KeyboardInterrupt  # as within Popen, which then ends nothing

    monkeypatch.setattr(demo.subprocess, "run", interrupted)
    assert cli.main(["demo", "--format", "text"]) == 130
    assert running[0].poll() is not None
    assert_nothing_left(scratch)


def test_a_failure_says_which_command_and_leaves_nothing(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = demo.Stage.run

    def broken(self: demo.Stage, words: list[str]) -> subprocess.CompletedProcess[str]:
        return run(self, ["vaultmem", "recall", "nothing such"] if "recall" in words else words)

    monkeypatch.setattr(demo.Stage, "run", broken)
    kept = dict(os.environ)
    assert cli.main(["demo", "--format", "text"]) == 1
    error = one_line(Ran(1, "", capsys.readouterr().err))
    assert re.search(f"^vaultmem: vaultmem recall .* did not show '{demo.FACT}', but: ", error)
    assert_nothing_left(scratch)
    assert dict(os.environ) == kept
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_the_sample_vault_of_an_installed_package_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Path(demo.sample_vault()) == SAMPLE
    package = tmp_path / "site" / "vaultmem"
    (package / "commands").mkdir(parents=True)
    monkeypatch.setattr(demo, "__file__", str(package / "commands" / "demo.py"))
    with pytest.raises(demo.StateError, match="install vaultmem again"):
        demo.sample_vault()
    shutil.copytree(SAMPLE, package / "sample_vault")
    assert Path(demo.sample_vault()) == package / "sample_vault"


def test_what_a_variable_kills_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, environ = set[int](), psutil.Process.environ

    def starting(process: psutil.Process) -> dict[str, str]:
        """Nothing at first, as of a process that the system is still loading."""
        is_first = process.pid not in seen
        seen.add(process.pid)
        return {} if is_first else environ(process)

    monkeypatch.setattr(psutil.Process, "environ", starting)
    text = str(tmp_path / "mine")
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with contextlib.ExitStack() as stack:
        running = [
            stack.enter_context(started(command, env={name: one}, **pipes))
            for name, one in (("MINE", text), ("MINE", text + "-not"), ("NOT_MINE", text))
        ]
        for one in running:
            one.stdout.readline()
        machine.kill_with_variable("MINE", text, 60)
        assert [psutil.pid_exists(one.pid) for one in running] == [False, True, True]

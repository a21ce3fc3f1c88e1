"""The agent's log: readable lines, private files, bounded size, no note text, and no disk error stops it."""

import io
import json
import logging
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaultmem.errors import StateError
from vaultmem.service import log as agent_log
from vaultmem.service.log import Log, last_line, log_file, open_out

HOSTILE = "a\x1b[2Jb\nc\u202ed\x9be\udc80.md"
logger = logging.getLogger("vaultmem.test")


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "vault-1")


@pytest.fixture(autouse=True)
def levels() -> Iterator[None]:
    kept = logging.getLogger().level, logging.getLogger("vaultmem").level
    yield
    logging.getLogger().setLevel(kept[0])
    logging.getLogger("vaultmem").setLevel(kept[1])


def lines(state: str) -> list[str]:
    return Path(log_file(state)).read_text("utf-8").splitlines()


def test_text_is_short_in_the_foreground_and_dated_in_the_file(
    state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Log(state):
        logger.info("watching %s folders", f"{10_000:,}")
        logger.warning("slow")
        logger.debug("never")
    shown = capsys.readouterr().err.splitlines()
    assert [line[8:] for line in shown] == [" info  watching 10,000 folders", " warn  slow"]
    assert [time.strptime(line[:8], "%H:%M:%S").tm_hour < 24 for line in shown] == [True, True]
    assert [line[19:] for line in lines(state)] == [line[8:] for line in shown]
    time.strptime(lines(state)[0][:19], "%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize("form", agent_log.FORMS)
def test_each_message_is_a_line_and_names_of_notes_do_no_harm(
    state: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Log(state, form):
        logger.error("no room: %s", HOSTILE)
    shown = capsys.readouterr().err
    for text in (shown, Path(log_file(state)).read_bytes().decode("utf-8")):
        assert text.count("\n") == 1
        assert not {"\x1b", "\x9b", "\u202e", "\r"} & set(text)
        if form == "json":
            said = json.loads(text)
            assert said.keys() == {"time", "level", "logger", "message"}
            assert (said["level"], said["logger"]) == ("error", "vaultmem.test")
            assert abs(said["time"] - time.time()) < 60
            assert said["message"].startswith("no room: a\ufffd[2Jb c\ufffdd\ufffde")


def fail(error: Exception) -> None:
    raise error


def test_exceptions_tell_kind_and_place_and_quote_no_note(state: str) -> None:
    with Log(state):
        for error in (
            ValueError("dear diary"),
            StateError("run vaultmem sync"),
            OSError(28, "full", "/x"),
        ):
            try:
                fail(error)
            except Exception:
                logger.exception("indexing failed")
    first, second, third = lines(state)
    assert "diary" not in first
    assert "indexing failed: ValueError (test_log.py:" in first
    assert second.endswith("indexing failed: run vaultmem sync")
    assert "OSError [Errno 28] full: '/x'" in third


def test_long_messages_are_cut(state: str) -> None:
    with Log(state):
        logger.info("x" * 100_000)
    assert len(lines(state)[0]) < agent_log.LONGEST + 100


def test_files_turn_over_and_are_private(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_log, "MAX_BYTES", 2_000)
    with Log(state):
        for number in range(300):
            logger.info("number %d", number)
    folder = Path(log_file(state)).parent
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["agent.log", "agent.log.1", "agent.log.2"]
    assert all(path.stat().st_size <= 2_000 for path in folder.iterdir())
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert lines(state)[-1].endswith("number 299")


def test_a_full_disk_stops_nobody_and_the_log_goes_on_afterwards(
    state: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs a full disk")
    kept = agent_log.LogFile._open
    full = [True]

    def opened(self: agent_log.LogFile) -> io.TextIOWrapper:
        return open("/dev/full", "a", encoding="utf-8") if full else kept(self)

    monkeypatch.setattr(agent_log.LogFile, "_open", opened)
    monkeypatch.setattr(agent_log, "MAX_BYTES", 0)  # a device has no size
    with Log(state) as log:
        for _ in range(3):
            logger.error("lost")
        full.clear()
        logger.info("again")
        assert log.last_error
        assert log.last_error["message"] == "lost"
    assert [line.rpartition(" ")[2] for line in lines(state)] == ["again"]
    assert "Traceback" not in capsys.readouterr().err


def test_a_log_that_cannot_be_opened_stops_nobody(state: str, tmp_path: Path) -> None:
    folder = Path(log_file(state)).parent
    folder.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    Path(log_file(state)).symlink_to(elsewhere)
    with Log(state):
        logger.error("refused")
    assert not elsewhere.exists()
    Path(log_file(state)).unlink()
    folder.rmdir()
    folder.write_text("in the way")
    with Log(state):
        logger.error("refused")


def test_in_the_background_stderr_is_not_logged_to_twice(state: str) -> None:
    out = open_out(state)
    code = (
        "import logging; from vaultmem.service.log import Log\n"
        f"with Log({state!r}):\n"
        "    logging.getLogger('vaultmem').info('once')\n"
        "raise SystemExit('last words')"
    )
    try:
        subprocess.run([sys.executable, "-c", code], stderr=out, timeout=60, check=False)
    finally:
        os.close(out)
    assert Path(agent_log.out_file(state)).read_text() == "last words\n"
    assert last_line(agent_log.out_file(state)) == "last words"
    assert [line[20:] for line in lines(state)] == ["info  once"]


@pytest.mark.parametrize(
    ("before", "printed"),
    [("", "vaultmem: 1 of 2\n"), ("logging.basicConfig(format='%(message)s')", "1 of 2\n")],
)
def test_without_a_log_a_warning_is_a_line_of_ours(before: str, printed: str) -> None:
    words = f"import logging\n{before}\nfrom vaultmem.progress import logger\n"
    words += "logger('vaultmem.x').warning('%d of %d', 1, 2)"
    ended = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=True
    )
    assert ended.stderr == printed

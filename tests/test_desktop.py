"""Notifications reach a real notification server, and nothing that hangs, refuses or is missing does damage."""

import contextlib
import json
import os
import platform
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests import stand_in_notifier
from tests.agent_run import until
from vaultmem.errors import NotificationError
from vaultmem.reminders import desktop
from vaultmem.reminders.alarms import desktop_text
from vaultmem.reminders.desktop import Desktop, open_desktop

NOTE = "obsidian://open?vault=life&file=Day.md"
LONG = 20.0  # seconds until a test gives up
BUS = """<busconfig><type>session</type><listen>unix:path={}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>"""

Serve = Callable[[str], Path]


def needs(*programs: str) -> None:
    """Skip the test where a program is missing; in CI, which installs them, it fails."""
    if missing := [name for name in programs if not shutil.which(name)]:
        wanted = os.environ.get("TESTS_NEED_DESKTOP")
        (pytest.fail if wanted else pytest.skip)(f"there is no {', '.join(missing)}")


@contextlib.contextmanager
def running(*command: str, **given: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, text=True, **given)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.terminate()
        process.wait(LONG)
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()


@contextlib.contextmanager
def session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A session bus with only what a test puts there."""
    config, place = folder / "bus.conf", folder / "bus"
    folder.mkdir(exist_ok=True)
    config.write_text(BUS.format(place))
    with running("dbus-daemon", f"--config-file={config}", "--nofork", stderr=subprocess.DEVNULL):
        until(lambda: takes_calls(place))
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={place}")
        yield


def takes_calls(place: Path) -> bool:
    """Whether something listens there: the socket's file exists a moment earlier."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(place))
        return True
    return False


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """A session bus of this test."""
    needs("dbus-daemon")
    with session(tmp_path, monkeypatch):
        yield


@pytest.fixture
def serve(bus: None, tmp_path: Path) -> Generator[Serve]:  # noqa: ARG001 - it has to be there
    """Start a notification server of a mode; where it writes what it was sent."""
    with contextlib.ExitStack() as stack:

        def started(mode: str) -> Path:
            file = tmp_path / f"{mode}.jsonl"
            file.touch()
            command = (sys.executable, stand_in_notifier.__file__, mode, str(file))
            server = stack.enter_context(running(*command, stdout=subprocess.PIPE))
            assert server.stdout
            assert server.stdout.readline() == "ready\n"
            return file

        yield started


@pytest.fixture
def shower(tmp_path: Path) -> Generator[Desktop]:
    shows = open_desktop("desktop", str(tmp_path / "notifications.log"))
    yield shows
    shows.close()
    assert "notifications" not in {thread.name for thread in threading.enumerate()}


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file where a stand-in for xdg-open writes what it is to open."""
    folder, file = tmp_path / "bin", tmp_path / "opened"
    folder.mkdir()
    for name in ("xdg-open", "open"):
        script = folder / name
        script.write_text(f'#!/bin/sh\necho "$# $*" >> "{file}"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return file


def links(file: Path) -> list[str]:
    """The opened links, each the only argument."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    assert all(line.startswith("1 ") for line in lines)
    return [line[2:] for line in lines]


def sent(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


linux = pytest.mark.skipif(sys.platform != "linux", reason="D-Bus is how Linux shows notifications")


@linux
def test_a_server_gets_the_very_words(serve: Serve, shower: Desktop) -> None:
    file = serve("shows")
    assert shower.problem() is None
    assert sent(file) == []  # querying shows nothing
    shower.send("给安娜打电话 ‹b›", "due today 15:00 · Day\nand 2 more")
    shower.send("Pay", "", True)
    first, second = sent(file)
    assert (first["app"], first["title"], first["body"], first["urgency"], first["icon"]) == (
        "vaultmem", "给安娜打电话 ‹b›", "due today 15:00 · Day\nand 2 more", 1, "appointment-soon",
    )  # fmt: skip
    assert (second["title"], second["urgency"]) == ("Pay", 2)


@linux
def test_a_click_opens_a_note_in_its_editor(serve: Serve, shower: Desktop, opened: Path) -> None:
    serve("clicks")
    notes = [NOTE, "logseq://graph/life?page=Day"]
    others = ["file:///etc/passwd", "https://evil.example", "obsidian://open?x=\n-rf", "--help", ""]
    for uri in (*others, *notes):  # clicked in this order
        shower.send("Call Anne", "", uri=uri)
    until(lambda: len(links(opened)) >= len(notes))
    assert sorted(links(opened)) == sorted(notes)


@linux
@pytest.mark.usefixtures("bus")
def test_without_a_server_it_says_what_to_do(shower: Desktop) -> None:
    assert "install a notification server such as dunst" in (shower.problem() or "")
    with pytest.raises(NotificationError, match="nothing shows notifications on this desktop"):
        shower.send("Call Anne", "")


@linux
def test_without_a_bus_it_says_what_to_do(
    shower: Desktop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/gone")
    assert "start the agent in one, or set notify.method to file" in (shower.problem() or "")
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(NotificationError, match="no desktop session"):
        shower.send("Call Anne", "")


@linux
def test_the_bus_is_found_where_systemd_has_it(
    serve: Serve, shower: Desktop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = serve("shows")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    shower.send("Call Anne", "")
    assert len(sent(file)) == 1


@linux
@pytest.mark.parametrize("mode", ["hangs", "deaf"])
def test_a_server_that_hangs_holds_nobody_up(
    serve: Serve, shower: Desktop, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desktop, "PATIENCE", 0.5)
    file = serve(mode)
    for _ in range(2):
        with pytest.raises(NotificationError, match="does not answer"):
            shower.send("Call Anne", "")
    assert len(sent(file)) == (2 if mode == "hangs" else 0)  # never a second time by itself
    assert (shower.problem() is None) == (mode == "hangs")


@linux
def test_a_refusal_is_an_error(
    serve: Serve, shower: Desktop, capfd: pytest.CaptureFixture[str]
) -> None:
    serve("refuses")
    with pytest.raises(NotificationError, match="has refused"):
        shower.send("Call Anne", "")
    assert capfd.readouterr() == ("", "")  # the library writes a traceback


@linux
def test_a_new_session_is_found(
    serve: Serve, shower: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session(tmp_path / "first", monkeypatch):
        first = serve("shows")
        shower.send("One", "")
    with session(tmp_path / "second", monkeypatch):
        second = serve("clicks")
        shower.send("Two", "")
    assert [one["title"] for one in (*sent(first), *sent(second))] == ["One", "Two"]


@linux
@pytest.mark.usefixtures("bus")
def test_dunst_shows_it_with_inert_words_and_a_click_opens_the_note(
    shower: Desktop, opened: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("Xvfb", "dunst", "dunstctl", "busctl")
    screen = ("Xvfb", "-displayfd", "1", "-screen", "0", "320x240x8", "-nolisten", "tcp")
    hidden = {"stderr": subprocess.DEVNULL}
    (tmp_path / "dunstrc").write_text("[global]\nmarkup = full\n")
    with running(*screen, stdout=subprocess.PIPE, **hidden) as server:
        assert server.stdout
        monkeypatch.setenv("DISPLAY", f":{server.stdout.readline().strip()}")
        with running("dunst", "-config", str(tmp_path / "dunstrc"), **hidden) as dunst:
            until(lambda: shower.problem() is None)
            title = desktop_text("Pay <b>Anne</b> & <a href='https://evil.example'>Bob</a> 明天")
            body = desktop_text("due today &lt;i&gt; https://evil.example")
            shower.send(title, body, True, NOTE)
            until(lambda: ctl("count", "displayed") == "1")
            ctl("action", "0")
            until(lambda: links(opened) == [NOTE])
            ctl("close-all")
            until(lambda: ctl("count", "history") == "1")
            (shown,) = json.loads(ctl("history"))["data"][0]
            assert shown["summary"]["data"] == title
            assert shown["body"]["data"] == body  # dunst has found no markup and no entity
            assert marked(shown["message"]["data"]) == [("b", title)]  # its markup for the title
            assert shown["appname"]["data"] == "vaultmem"
            shower.send("x", "due <u>today</u>")  # what would be found if it were there
            ctl("close-all")
            until(lambda: ctl("count", "history") == "2")
            last = json.loads(ctl("history"))["data"][0][0]
            assert marked(last["message"]["data"]) == [("b", "x"), ("u", "today")]
            assert dunst.poll() is None


def marked(message: str) -> list[tuple[str, str | None]]:
    """What is marked up in the text that dunst draws, with its markup."""
    return [(mark.tag, mark.text) for mark in ET.fromstring(f"<all>{message}</all>")]


def ctl(*words: str) -> str:
    """The output of dunstctl."""
    return subprocess.run(
        ["dunstctl", *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def on_a_mac(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """The library finds nothing usable, and there is an osascript."""
    monkeypatch.setattr(platform, "system", lambda: "Other")
    monkeypatch.setattr(desktop, "_has_osascript", lambda: True)
    folder.mkdir()
    (folder / "osascript").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "osascript").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_without_an_app_a_mac_uses_osascript_with_words_as_arguments(
    shower: Desktop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "told"
    on_a_mac(
        monkeypatch, tmp_path / "mac", f'cat > "{file}.script"; printf "%s\\0" "$@" > "{file}"'
    )
    assert shower.problem() is None
    words = ('-e "quoted" & do shell script "rm"', "body\n'; x")
    shower.send(*words)
    assert file.read_text().split("\0")[:-1] == ["-", *words]
    assert Path(f"{file}.script").read_text().startswith("on run argv\n")
    assert "quoted" not in Path(f"{file}.script").read_text()


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 20"])
def test_an_osascript_that_fails_is_an_error(
    shower: Desktop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str
) -> None:
    monkeypatch.setattr(desktop, "PATIENCE", 0.5)
    on_a_mac(monkeypatch, tmp_path / "mac", script)
    with pytest.raises(NotificationError, match="osascript cannot show notifications"):
        shower.send("Call Anne", "")


def test_a_system_that_shows_none_says_so(shower: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Other")
    assert "set notify.method to file" in (shower.problem() or "")
    with pytest.raises(NotificationError, match=r"set notify\.method to file"):
        shower.send("Call Anne", "")


def test_a_library_not_loaded_is_an_error(shower: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "desktop_notifier", None)
    with pytest.raises(NotificationError, match="desktop-notifier cannot be loaded"):
        shower.send("Call Anne", "")
    assert "cannot be loaded" in (shower.problem() or "")


def in_file(path: Path) -> Desktop:
    return open_desktop("file", str(path))


def test_a_large_file_becomes_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", "2026-11-22T09:00:30")
    file = tmp_path / "state" / "notifications.log"
    shows = in_file(file)
    assert shows.problem() is None
    shows.send("Call\nAnne", "due today\nand 2 more")
    shows.send("付款 \ud800", "")
    assert file.read_text() == (
        "2026-11-22T09:00 Call Anne (due today / and 2 more)\n2026-11-22T09:00 付款 ?\n"
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("x" * desktop.MAX_BYTES)
    shows.send("Call Anne", "")
    assert file.read_text() == "2026-11-22T09:00 Call Anne\n"
    assert file.with_name(f"{file.name}.old").stat().st_size == desktop.MAX_BYTES
    shows.close()


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("folder", "link"):
        shows = in_file(tmp_path / name)
        assert "is not a file" in (shows.problem() or "")
        with pytest.raises(NotificationError, match="cannot be written"):
            shows.send("Call Anne", "")
    assert not (tmp_path / "elsewhere").exists()


def test_the_library_is_loaded_for_the_first_notification_only() -> None:
    program = "import sys, vaultmem.reminders.desktop as d; d.open_desktop('none', '/x').send('a', 'b'); print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"desktop_notifier", "dbus_fast"} & set(ended.stdout.split())

"""Notifications (owner of desktop-notifier): on the desktop, in a file, or none.

The library is asynchronous, slow to import, and silent about failures. So it is imported only for the first
notification, runs in its own thread, where a hanging bus delays nothing else, and counts as failed unless it confirms
that a notification was handed over.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, TypeVar

from vaultmem import now as clock
from vaultmem.errors import NotificationError
from vaultmem.paths import make_private
from vaultmem.text.values import lazy

if TYPE_CHECKING:
    from dbus_fast.aio import MessageBus
    from desktop_notifier import DesktopNotifier

log = logging.getLogger("vaultmem.reminders")

NAME = "vaultmem"
ICON = "appointment-soon"  # a name of freedesktop.org's list
PATIENCE = 5.0  # seconds for a notification server
MAX_BYTES = 1_000_000
_OPENED = lazy(r"(?:obsidian|logseq)://[!-~]+")
_FILE = "set notify.method to file to be reminded in a file"
_SILENT = "the notification server does not answer; restart it or the desktop, or " + _FILE
_NO_BUS = (
    "there is no desktop session to show notifications in; start the agent in one, or " + _FILE
)
_NO_SERVER = (
    "nothing shows notifications on this desktop; install a notification server such as dunst, or "
    + _FILE
)
# The words are arguments and the script is on stdin, so no text can become part of the script.
_SCRIPT = """on run argv
display notification (item 2 of argv) with title (item 1 of argv)
end run
"""
_Result = TypeVar("_Result")


class Desktop:
    """Shows nothing, for the method none; subclasses implement the others. Thread-safe."""

    def problem(self) -> str | None:
        """Why notifications do not work here and what to do, or None. Asks the server without showing anything."""
        return None

    def send(self, title: str, body: str, urgent: bool = False, uri: str = "") -> None:
        """Show a notification; a click opens `uri`, if it is an editor's. Raises NotificationError."""

    def close(self) -> None:
        """Close the connection to the desktop; clicks on remaining notifications then do nothing."""


def open_desktop(method: str, file: str) -> Desktop:
    """The notifier for a method: desktop, file or none."""
    if method == "file":
        return _File(file)
    return _Native() if method == "desktop" else Desktop()


class _File(Desktop):
    """Lines in a file that only its owner can read; it is rotated when large."""

    def __init__(self, path: str) -> None:
        self._path = path

    def problem(self) -> str | None:
        folder = os.path.dirname(self._path)
        if os.path.isdir(folder) and not os.access(folder, os.W_OK):
            return f"{folder} cannot be written; reminders would go into {self._path}"
        if os.path.lexists(self._path) and not stat.S_ISREG(os.lstat(self._path).st_mode):
            return f"{self._path} is not a file; move it away, reminders go there"
        return None

    def send(self, title: str, body: str, urgent: bool = False, uri: str = "") -> None:  # noqa: ARG002 - a line has neither
        note = f" ({' / '.join(body.splitlines())})" if body else ""
        line = f"{clock.local():%Y-%m-%dT%H:%M} {' '.join(title.split())}{note}\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        make_private(os.path.dirname(self._path))
        try:
            self._make_room()
            handle = os.open(self._path, flags, 0o600)
            with open(handle, "ab") as file:
                file.write(line.encode("utf-8", "replace"))
        except OSError as error:
            raise NotificationError(f"{self._path} cannot be written: {error.strerror}") from error

    def _make_room(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if os.lstat(self._path).st_size >= MAX_BYTES:
                os.replace(self._path, f"{self._path}.old")


class _Native(Desktop):
    """Notifications of the desktop itself, in a thread with an event loop that starts on demand."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._notifier: DesktopNotifier | None = None

    def problem(self) -> str | None:
        try:
            with self._lock:
                can_show = self._run(_probe(_notifier()))
        except NotificationError as error:
            return str(error)
        return None if can_show or _has_osascript() else _NO_SERVER

    def send(self, title: str, body: str, urgent: bool = False, uri: str = "") -> None:
        with self._lock:
            delivered: bool | None = False
            try:
                notifier = self._connect()
                sending = notifier and _send(notifier, title, body, urgent=urgent, uri=uri)
                delivered = self._run(sending) if sending else None  # the system can show it
            finally:
                if not delivered:
                    self._drop()
        if delivered is None:
            _osascript(title, body)
        elif not delivered:
            raise NotificationError("the notification server has refused a notification; " + _FILE)

    def close(self) -> None:
        with self._lock:
            loop, thread = self._loop, self._thread
            if loop is None or thread is None:
                return
            with contextlib.suppress(NotificationError):
                self._drop()
            self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)

    def _connect(self) -> DesktopNotifier | None:
        """The connection; None if the library can show nothing but the system can."""
        bus = None if self._notifier is None else _bus(self._notifier)
        if bus is not None and not bus.connected:
            self._drop()  # otherwise the library would wait for answers
        if self._notifier is None:
            self._notifier = _notifier()
            if not self._run(_can_show(self._notifier)):
                self._drop()
                if not _has_osascript():
                    raise NotificationError(_NO_SERVER)
        return self._notifier

    def _drop(self) -> None:
        notifier, self._notifier = self._notifier, None
        if notifier is not None:
            self._run(_hang_up(notifier))

    def _run(self, work: Coroutine[object, object, _Result]) -> _Result:
        """Run it in the thread, and wait for it a short time."""
        future = asyncio.run_coroutine_threadsafe(work, self._start_loop())
        try:
            return future.result(PATIENCE)
        except (concurrent.futures.TimeoutError, TimeoutError) as error:
            future.cancel()
            raise NotificationError(_SILENT) from error
        except NotificationError:
            raise
        except Exception as error:  # the border to the library, D-Bus and whatever answers
            raise NotificationError(_reason(error)) from error

    def _start_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=_serve, args=[self._loop], name="notifications", daemon=True
            )
            self._thread.start()
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(
        lambda _, context: log.debug("notifications: %s", context.get("message"))
    )
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    finally:
        loop.close()


def _notifier() -> DesktopNotifier:
    for name in ("desktop_notifier", "dbus_fast"):  # these would print tracebacks
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
    _find_bus()
    try:
        from desktop_notifier import DesktopNotifier, Icon

        return DesktopNotifier(NAME, Icon(name=ICON))
    except Exception as error:  # queries the system on import
        raise NotificationError(
            f"desktop-notifier cannot be loaded ({type(error).__name__}: {error}); {_FILE}"
        ) from error


def _find_bus() -> None:
    """Let the library find the session bus if only systemd knows it, as libdbus does."""
    if sys.platform != "linux" or os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return
    folder = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(os.stat(f"{folder}/bus").st_mode):
            os.environ["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={folder}/bus"


async def _probe(notifier: DesktopNotifier) -> bool:
    try:
        return await _can_show(notifier)
    finally:
        await _hang_up(notifier)


async def _can_show(notifier: DesktopNotifier) -> bool:
    """Whether any notification server answers."""
    from desktop_notifier import Capability

    able = Capability.TITLE in await notifier.get_capabilities()
    return able and await notifier.request_authorisation()


async def _send(
    notifier: DesktopNotifier, title: str, body: str, *, urgent: bool, uri: str
) -> bool:
    """Whether it was delivered: the library reports success but never failure."""
    from desktop_notifier import Urgency

    delivered: list[bool] = []
    await notifier.send(
        title,
        body,
        urgency=Urgency.Critical if urgent else Urgency.Normal,
        on_dispatched=lambda: delivered.append(True),
        on_clicked=(lambda: _open(uri)) if _OPENED.fullmatch(uri) else None,
    )
    return bool(delivered)


async def _hang_up(notifier: DesktopNotifier) -> None:
    """Close the connection, which the library never does; it would stay open until the process ends."""
    bus = _bus(notifier)
    if bus is not None:
        bus.disconnect()


def _bus(notifier: DesktopNotifier) -> MessageBus | None:
    result: MessageBus | None = getattr(notifier._backend, "bus", None)  # noqa: SLF001 - there is no public way
    return result


def _open(uri: str) -> None:
    command = ["open" if sys.platform == "darwin" else "xdg-open", uri]
    threading.Thread(target=_carry_out, args=[command], name="open a note", daemon=True).start()


def _carry_out(command: list[str]) -> None:
    nothing = subprocess.DEVNULL
    try:
        subprocess.run(
            command, stdin=nothing, stdout=nothing, stderr=nothing, check=False, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        log.warning("a note cannot be opened: %s: %s", command[0], error.strerror)


def _has_osascript() -> bool:
    return sys.platform == "darwin"


def _osascript(title: str, body: str) -> None:
    """Notifications on macOS for a program that is not an app. A click does not open a note."""
    try:
        subprocess.run(
            ["osascript", "-", title, body], input=_SCRIPT, text=True, capture_output=True, check=True,
            timeout=PATIENCE,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise NotificationError(
            f"osascript cannot show notifications ({type(error).__name__}); {_FILE}"
        ) from error


def _reason(error: Exception) -> str:
    kind = str(getattr(error, "type", ""))
    if kind.endswith(("ServiceUnknown", "NameHasNoOwner")) or "Spawn" in kind:
        return _NO_SERVER
    if type(error).__name__ in ("InvalidAddressError", "AuthError") or isinstance(
        error, OSError | EOFError
    ):
        return _NO_BUS
    return f"notifications fail ({type(error).__name__}: {' '.join(str(error).split())[:200]}); {_FILE}"

"""A notification server for tests, on its own bus: python stand_in_notifier.py MODE FILE.

What it receives goes into the file, one JSON line each. Modes: shows; clicks (each is clicked at once); refuses;
hangs (does not answer when sent something); deaf (does not answer at all).
"""

import asyncio
import contextlib
import json
import sys
from pathlib import Path

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
XML = f"""<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
<node><interface name="{NAME}">
<method name="Notify"><arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/>
<arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="as" direction="in"/>
<arg type="a{{sv}}" direction="in"/><arg type="i" direction="in"/><arg type="u" direction="out"/></method>
<method name="GetCapabilities"><arg type="as" direction="out"/></method>
<method name="GetServerInformation"><arg type="s" direction="out"/><arg type="s" direction="out"/>
<arg type="s" direction="out"/><arg type="s" direction="out"/></method>
<method name="CloseNotification"><arg type="u" direction="in"/></method>
<signal name="ActionInvoked"><arg type="u"/><arg type="s"/></signal>
<signal name="NotificationClosed"><arg type="u"/><arg type="u"/></signal>
</interface></node>"""
ANSWERS: dict[str, tuple[str, list[object]]] = {
    "Introspect": ("s", [XML]),
    "GetCapabilities": ("as", [["actions", "body", "body-markup"]]),
    "GetServerInformation": ("ssss", ["stand-in", "vaultmem", "1", "1.2"]),
}


class Server:
    """Answers according to its mode."""

    def __init__(self, bus: MessageBus, mode: str, file: Path) -> None:
        self.bus, self.mode, self.file, self.count = bus, mode, file, 0

    def __call__(self, message: Message) -> Message | bool | None:
        if message.message_type != MessageType.METHOD_CALL or message.path != PATH:
            return None
        if self.mode == "deaf":
            return True
        if message.member == "Notify":
            return self._notify(message)
        if message.member in ANSWERS:
            return Message.new_method_return(message, *ANSWERS[message.member])
        return None

    def _notify(self, message: Message) -> Message | bool:
        app, _, icon, title, body, actions, hints, _ = message.body
        told = {
            "app": app,
            "icon": icon,
            "title": title,
            "body": body,
            "actions": actions,
            "urgency": hints["urgency"].value,
        }
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
        if self.mode == "hangs":
            return True
        if self.mode == "refuses":
            return Message.new_error(
                message, f"{NAME}.Error.ExcessNotificationGeneration", "too many"
            )
        self.count += 1
        if self.mode == "clicks":
            clicked = Message.new_signal(PATH, NAME, "ActionInvoked", "us", [self.count, "default"])
            asyncio.get_running_loop().call_later(0.2, self.bus.send, clicked)
        return Message.new_method_return(message, "u", [self.count])


async def serve(mode: str, file: Path) -> None:
    """Serve until the bus is gone."""
    bus = await MessageBus().connect()
    bus.add_message_handler(Server(bus, mode, file))
    await bus.request_name(NAME)
    print("ready", flush=True)
    with contextlib.suppress(EOFError):
        await bus.wait_for_disconnect()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))

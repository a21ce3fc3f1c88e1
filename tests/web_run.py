"""The door of the page, and a simple browser."""

import re
from urllib.parse import quote, urlencode

import pytest

from tests.http_run import Answer, Door, door
from vaultmem_web import sessions

__all__ = ["door"]  # a fixture


class Browser:
    """A browser that keeps a cookie, and sends what our page would send."""

    def __init__(self, door: Door, host: str = "") -> None:
        self.door, self.cookie = door, ""
        self.host = f"{host or sessions.host_name()}:{door.port}"

    def enter(self, secret: str, **headers: str) -> Answer:
        own = {"X_Vaultmem": "1", "Origin": f"http://{self.host}", **headers}
        answer = self.send("POST", "/ui/enter", secret.encode(), **own)
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0] or self.cookie
        return answer

    def get(self, path: str) -> str:
        answer = self.send("GET", path)
        assert answer.status == 200, (answer.status, answer.body[:300])
        return answer.body.decode()

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        own = {"Host": self.host, **({"Cookie": self.cookie} if self.cookie else {}), **headers}
        return self.door.send(method, path, body, **own)

    def act(self, name: str, **fields: str) -> Answer:
        """Press a button: the form carries the session's token."""
        return self.post(f"act/{name}", **{"back": "/ui/memories", **fields})

    def post(self, path: str, **fields: str | list[str]) -> Answer:
        """Send a form with the session's token."""
        body = urlencode({"csrf": self.csrf(), **fields}, doseq=True, quote_via=quote)
        return self.send("POST", f"/ui/{path}", body.encode())

    def csrf(self) -> str:
        return re.findall(r'name="csrf" value="([^"]+)"', self.get("/ui/review"))[0]

    def notice(self) -> str:
        """The notice of the last action."""
        text = self.get("/ui/review")
        return text[text.index('id="notice"') : text.index('id="content"')]


def _quoted(text: str) -> str:
    return quote(text, safe="")


@pytest.fixture
def me(door: Door) -> Browser:
    one = Browser(door)
    assert one.enter(sessions.make_link(str(door.folder / "home"))).status == 204
    return one

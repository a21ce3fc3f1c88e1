"""The routes of the page below /ui: sessions, the content security policy, and the stream of changes."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from vaultmem.errors import VaultmemError
from vaultmem_server import http_app as http
from vaultmem_server.link import LinkError
from vaultmem_web import actions, around, front_pages, health_page, memories, steer, views
from vaultmem_web.data import Reader, Visit, changes
from vaultmem_web.sessions import (
    COOKIE,
    Notice,
    Session,
    Sessions,
    host_name,
    is_from_another_user,
    spend_link,
)
from vaultmem_web.texts import LANGUAGES, Translator, language_of

if TYPE_CHECKING:
    from vaultmem_server.door import Door

Show = Callable[[Visit], Awaitable[views.Page]]
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
ROOT, LANGUAGE = "/ui", "vaultmem_language"
PAGES: dict[str, Show] = {
    "/": front_pages.today,
    "/search": front_pages.search,
    "/why": front_pages.why,
    "/memories": memories.memories,
    "/memories/rows": memories.rows,
    "/memory": memories.memory,
    "/review": steer.review,
    "/tell": steer.tell,
    "/note": around.note,
    "/mentions": around.mentions,
    "/conversations": around.conversations,
    "/conversation": around.conversation,
    "/health": health_page.health,
}
_FREE = re.compile(r"/enter|/static/\w+\.\w+")


def mount(door: Door) -> list[http.BaseRoute]:
    """The routes of the page, if only this machine can reach the door."""
    if not door.is_private:
        return []
    door.names.add(host_name())
    site = _Site(door)
    guard = http.Middleware(_Guard, site.sessions)
    return [http.Route(ROOT, site.root), http.Mount(ROOT, routes=site.routes(), middleware=[guard])]


class _Guard:
    """Middleware that requires a session and sets the security headers."""

    def __init__(self, app: http.ASGIApp, sessions: Sessions) -> None:
        self._app, self._sessions = app, sessions

    async def __call__(self, scope: http.Scope, receive: http.Receive, send: http.Send) -> None:
        async def headed(message: http.Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *headers]
            await send(message)

        request = http.Request(scope)
        path = scope["path"].removeprefix(ROOT)
        session = self._sessions.of(_secret(request), _host(request))
        if session is not None:
            scope["vaultmem.session"] = session
        elif not _FREE.fullmatch(path):
            await _entrance(request, 401)(scope, receive, headed)
            return
        await self._app(scope, receive, headed)


class _Site:
    def __init__(self, door: Door) -> None:
        self.sessions = Sessions()
        self._door = door

    def routes(self) -> list[http.BaseRoute]:
        return [
            http.Route("/enter", self.enter, methods=["GET", "POST"]),
            http.Route("/leave", self.leave, methods=["POST"]),
            http.Mount("/static", http.StaticFiles(packages=[("vaultmem_web", "static")])),
            http.Route("/events", self.events),
            http.Route("/language", self.language, methods=["POST"]),
            http.Route("/act/{name}", self.act, methods=["POST"]),
            http.Route("/merge", partial(self.page, memories.merge), methods=["GET", "POST"]),
            *(http.Route(path, partial(self.page, page)) for path, page in PAGES.items()),
            http.Route("/{path:path}", self.nothing),
        ]

    async def root(self, _: http.Request) -> http.Response:
        return http.RedirectResponse(f"{ROOT}/")

    async def enter(self, request: http.Request) -> http.Response:
        """The entrance, whose script sends the part of its URL after the #, and the endpoint for it: only our script
        can set the header."""
        if request.method == "GET":
            return _entrance(request)
        if _script(request) != "1":
            return http.Response(status_code=403)
        secret = (await request.body())[:200].decode("ascii", "replace")
        response = http.Response(status_code=204)
        if name := self._vault_of(secret, request):
            cookie = self.sessions.open(name, _host(request))
            response.set_cookie(
                _cookie(request), cookie, path=ROOT, httponly=True, samesite="strict"
            )
        return response

    def _vault_of(self, secret: str, request: http.Request) -> str:
        """Use a link. Returns the name of its vault; "" for a second click where it has let in. Raises HTTPException
        with what to do."""
        t = _texts(request)
        if is_from_another_user(request.scope):
            raise http.HTTPException(403, t("This link is for another user of this machine."))
        folder = spend_link(secret)
        for name, path in self._door.vaults.items():
            if path == folder:
                return name
        if folder:
            command = f"vaultmem ui --vault {shlex.quote(folder)}"
            text = t("This link is for another vault. Type: {command}", command=command)
            raise http.HTTPException(409, text)
        if "vaultmem.session" not in request.scope:
            raise http.HTTPException(410, t("This link was used already, or it is too old."))
        return ""

    async def leave(self, request: http.Request) -> http.Response:
        await self._checked(request)
        self.sessions.close(_secret(request))
        response = _entrance(request)
        response.delete_cookie(_cookie(request), path=ROOT)
        return response

    async def nothing(self, request: http.Request) -> http.Response:
        return self._page(request, views.trouble(_texts(request), "there is no such page"), 404)

    async def language(self, request: http.Request) -> http.Response:
        form = await self._checked(request)
        response = http.RedirectResponse(_back(form), 303)
        if form.get("language") in LANGUAGES:
            response.set_cookie(
                LANGUAGE, form["language"], 31_536_000, path=ROOT, httponly=True, samesite="strict"
            )
        return response

    async def act(self, request: http.Request) -> http.Response:
        """Carry out an action, and redirect to its page."""
        form = await self._checked(request)
        session, t = _session(request), _texts(request)
        name, reader = request.path_params["name"], Reader(self._door, session.vault)
        try:
            session.notice = await actions.act(name, reader, form, t)
        except VaultmemError as error:
            session.notice = Notice(str(error), is_problem=True)
        return http.RedirectResponse(_back(form), 303)

    async def events(self, request: http.Request) -> http.Response:
        """The kinds of changes, as server-sent events: all those after the response has begun."""
        changing = changes(self._door, _session(request).vault)
        await anext(changing, None)

        async def stream() -> AsyncIterator[str]:
            yield "retry: 1000\n\n"
            async for kinds in changing:
                yield f"data: {' '.join(kinds)}\n\n" if kinds else ": still here\n\n"

        return http.StreamingResponse(stream(), media_type="text/event-stream")

    async def page(self, show: Show, request: http.Request) -> http.Response:
        """One of the pages, or why it cannot be displayed."""
        visit = self._visit(request)
        if request.method == "POST":  # a choice of any size, with the token of its form
            form = await self._checked(request)
            visit.query = {name: value.split("\n") for name, value in form.items()}
        try:
            page = await show(visit)
        except VaultmemError as error:
            status = error.status if isinstance(error, LinkError) else 500
            return self._page(request, views.trouble(visit.t, str(error)), status)
        return self._page(request, page)

    def _visit(self, request: http.Request) -> Visit:
        session, fields = _session(request), request.query_params
        query = {name: fields.getlist(name) for name in fields}
        reader, is_part = Reader(self._door, session.vault), _script(request) == "part"
        return Visit(reader, query, _texts(request), session.csrf, _below(request), is_part)

    def _page(self, request: http.Request, page: views.Page, status: int = 200) -> http.Response:
        session, visit = _session(request), self._visit(request)
        if page.is_part:
            return _html(views.part(page, visit.t), status)
        notice = None
        if not _script(request):
            notice, session.notice = session.notice, None
        return _html(views.document(page, visit, notice), status)

    async def _checked(self, request: http.Request) -> dict[str, str]:
        """The fields of a form of our own page, as fields_of() returns them."""
        try:
            form = views.fields_of((await request.body()).decode("utf-8", "replace"))
        except ValueError as error:
            raise http.HTTPException(
                413, f"a form may have at most {views.MOST_FIELDS:,} fields"
            ) from error
        if not _session(request).vouches(form.get("csrf", "")):
            raise http.HTTPException(403, "this form is not of this session; open the page again")
        return form


def _session(request: http.Request) -> Session:
    session = request.scope["vaultmem.session"]
    assert isinstance(session, Session)
    return session


def _texts(request: http.Request) -> Translator:
    languages = request.cookies.get(LANGUAGE) or request.headers.get("accept-language", "")
    return Translator(language_of(languages))


def _entrance(request: http.Request, status: int = 200) -> http.Response:
    return _html(views.entrance(_texts(request)), status)


def _html(html: AsyncIterator[str], status: int = 200) -> http.Response:
    return http.StreamingResponse(html, status, media_type="text/html; charset=utf-8")


def _below(request: http.Request) -> str:
    """The URL below /ui with its query, to return to."""
    query = f"?{request.url.query}" if request.url.query else ""
    return request.url.path.removeprefix(ROOT) + query


def _back(form: dict[str, str]) -> str:
    """The URL to return to: always one of ours, whatever the form says."""
    address = form.get("back", "")
    return address if address.startswith(f"{ROOT}/") else f"{ROOT}/"


def _script(request: http.Request) -> str:
    """What our script requests: "1", the open page again; "part", only its results; otherwise ""."""
    return request.headers.get("x-vaultmem", "")


def _cookie(request: http.Request) -> str:
    """The name of its cookie includes the port: cookies ignore ports, and the page of another vault has its own
    session."""
    return f"{COOKIE}_{request.url.port}"


def _secret(request: http.Request) -> str:
    return request.cookies.get(_cookie(request), "")


def _host(request: http.Request) -> str:
    return request.headers.get("host", "").lower()

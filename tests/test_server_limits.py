"""Limits of the agent's socket: what a slow, dying or endless client can do."""

import os
import subprocess
import sys
import threading
import time

import pytest

from tests.agent_run import until
from tests.cli_run import started
from tests.effort import TRIES
from tests.server_run import (
    ECHOED,
    PATIENCE,
    Answers,
    Connect,
    Serve,
    answers,
    connect,
    error_of,
    path,
    serve,
)
from vaultmem.agent import connection
from vaultmem.agent.connection import Limits
from vaultmem.api import rpc as codes

__all__ = ["answers", "connect", "path", "serve"]  # fixtures

# seconds after which a thread of the server has gone to rest, however busy the machine is
PAUSE = 0.2
QUICK = Limits(line_bytes=2000, connections=5, unread=0.4, answer=0.4)


def test_a_line_may_be_large_but_not_endless(serve: Serve, connect: Connect) -> None:
    assert Limits().line_bytes == 1_000_000
    serve()
    client = connect()
    text = "x" * 999_000
    assert client.ask("echo", x=text)["result"]["x"] == text
    client.send(b"y" * 1_000_001)
    assert error_of(client.reply()) == codes.INVALID_REQUEST
    assert client.reply() is None


def test_nobody_waits_for_half_a_request_or_half_a_reader(serve: Serve, connect: Connect) -> None:
    serve(Limits(unread=PATIENCE))
    half, deaf, other = connect(), connect(), connect()
    half.send(b'{"id": 1, "meth')
    deaf.send(b'{"id": 1, "method": "big"}\n')
    assert other.ask("echo") == ECHOED
    half.send(b'od": "echo"}\n')
    assert half.reply() == ECHOED
    assert len(deaf.reply()["result"]) == 5_000_000


def test_a_client_that_reads_nothing_is_cut_off(serve: Serve, connect: Connect) -> None:
    server = serve(QUICK)
    client = connect()
    client.send(b'{"id": 1, "method": "big"}\n')
    until(lambda: server.served == 1)
    until(lambda: server.connections() == 0)
    got = 0
    while part := client.socket.recv(1 << 20):
        got += len(part)
    assert 0 < got < 5_000_000


def test_a_client_that_reads_slowly_gets_all(serve: Serve, connect: Connect) -> None:
    serve(QUICK)

    def amount() -> int:
        client, got = connect(), 0
        client.send(b'{"id": 1, "method": "big"}\n')
        while got < 5_000_000 and (part := client.socket.recv(2 << 20)):
            got += len(part)
            time.sleep(0.05)
        return got

    # Where others keep the processor from us for as long as the limit, we are cut off with right.
    whole = 5_000_000 + len('{"id": 1, "result": ""}\n')
    assert any(amount() == whole for _ in range(TRIES))


def test_half_a_request_takes_nobodys_place(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SILENT", 0.0)
    serve(Limits(connections=1))
    client = connect()
    client.send(b'{"id": 1, "meth')
    assert connect().ask("echo") == ECHOED
    assert client.reply() is None


def test_a_hundred_idle_clients_and_one_more(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SILENT", 0.0)
    most = Limits().connections
    assert most >= 100
    server = serve()
    clients = []
    for number in range(most):
        clients.append(connect())
        assert clients[-1].ask("echo") == ECHOED
        if number == 1:
            time.sleep(PAUSE)
    assert clients[0].ask("echo") == ECHOED, "so the second is idle for the longest time"
    time.sleep(PAUSE)
    assert server.connections() == most
    new = connect()
    assert new.ask("echo") == ECHOED
    assert clients[1].reply() is None
    assert server.connections() == most
    assert all(client.ask("echo") == ECHOED for client in [clients[0], *clients[2:]])


def test_a_client_that_was_just_heard_of_keeps_its_place(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its next request may be on its way, and would be lost."""
    server = serve(QUICK)
    clients = [connect() for _ in range(QUICK.connections)]
    until(lambda: server.connections() == QUICK.connections)
    assert error_of(connect().reply()) == codes.BUSY
    assert all(client.ask("echo") == ECHOED for client in clients)
    assert error_of(connect().reply()) == codes.BUSY
    monkeypatch.setattr(connection, "SILENT", 0.0)
    assert connect().ask("echo") == ECHOED


LARGE = """
import json, resource, socket, sys
from vaultmem.agent.server import Server
left = []
def rows(request):
    made = [{"text": f"{number:0600}", "number": number} for number in range(100_000)]
    left.append("y" * 600)  # something small that stays behind all of it
    return made
def size():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
def ask(path):
    with socket.socket(socket.AF_UNIX) as link, link.makefile("rwb") as file:
        link.connect(path)
        for method in ("rows", "none"):
            file.write(json.dumps({"method": method}).encode() + b"\\n")
            file.flush()
            while file.readline(4_096)[-1:] != b"\\n":
                pass
server = Server(sys.argv[1], lambda request: rows(request) if request.method == "rows" else None)
server.start()
before = size()
ask(sys.argv[1])
print(size() - before)
server.stop()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_memory_of_a_large_answer_is_returned(path: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LARGE, path], capture_output=True, text=True, check=True
    )
    assert int(ended.stdout) < 30_000_000, "it took 60 MB of texts, and as much of JSON"


def test_when_all_are_busy_it_says_so(serve: Serve, connect: Connect, answers: Answers) -> None:
    server = serve(Limits(connections=3))
    clients = [connect() for _ in range(3)]
    for client in clients:
        client.send(b'{"id": 1, "method": "wait"}\n')
    until(lambda: [each.began is not None for each in server._clients] == [True] * 3)
    new = connect()
    assert error_of(new.reply()) == codes.BUSY
    assert new.reply() is None
    answers.release.set()
    assert [client.reply()["result"] for client in clients] == ["waited"] * 3
    clients[0].close()
    until(lambda: server.connections() == 2)
    assert connect().ask("echo") == ECHOED


def test_a_request_that_takes_too_long(serve: Serve, connect: Connect, answers: Answers) -> None:
    server = serve(QUICK)
    slow, sync, other = connect(), connect(), connect()
    slow.send(b'{"id": "late", "method": "wait"}\n')
    sync.send(b'{"id": "s", "method": "sync"}\n')
    reply = slow.reply()
    assert reply["id"] == "late"
    assert error_of(reply) == codes.TOOK_TOO_LONG
    assert slow.reply() is None
    assert other.ask("echo") == ECHOED, "nobody else is disturbed"
    answers.release.set()
    assert sync.reply() == {"id": "s", "result": "waited"}, "a sync may take its time"
    until(lambda: server.connections() == 2)


KILLED = """
import socket, sys, time
link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
link.sendall(sys.argv[2].encode())
print("sent", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    "sent", ["", '{"id": 1', '{"id": 1, "method": "big"}\n', '{"id": 1, "method": "wait"}\n']
)
def test_a_client_that_is_killed(
    serve: Serve, connect: Connect, answers: Answers, path: str, sent: str
) -> None:
    server = serve()
    with started([sys.executable, "-c", KILLED, path, sent], stdout=subprocess.PIPE) as victim:
        assert victim.stdout
        assert victim.stdout.readline() == b"sent\n"
        until(lambda: server.connections() == 1)
        victim.kill()
    answers.release.set()
    until(lambda: server.connections() == 0)
    assert connect().ask("echo") == ECHOED


@pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="needs a clock of each thread"
)
def test_an_idle_server_uses_no_processor_time(serve: Serve, connect: Connect) -> None:
    server = serve(QUICK)
    clients = [connect() for _ in range(5)]
    assert all(client.ask("echo") == ECHOED for client in clients)
    threads = [*server._threads, *server._clients.values()]
    assert len(threads) > 5
    clocks = [time.pthread_getcpuclockid(thread.ident or 0) for thread in threads]
    before = sum(map(time.clock_gettime, clocks))
    time.sleep(1.0)
    assert sum(map(time.clock_gettime, clocks)) - before < 0.05


def test_stop_closes_all(serve: Serve, connect: Connect, answers: Answers, path: str) -> None:
    before = {*threading.enumerate()}
    server = serve()
    idle, half, stuck = connect(), connect(), connect()
    assert idle.ask("echo") == ECHOED
    half.send(b'{"id"')
    stuck.send(b'{"id": 1, "method": "wait"}\n')
    assert answers.entered.wait(PATIENCE)
    server.stop()
    assert not os.path.exists(path)
    assert [one.reply() for one in (idle, stuck)] == [None, None]
    server.stop()
    answers.release.set()
    until(lambda: before.issuperset(threading.enumerate()))


def test_stop_lets_an_answer_finish(
    serve: Serve, connect: Connect, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultmem.agent.server._STOP_GENTLY", PATIENCE)
    server = serve()
    client = connect()
    client.send(b'{"id": 1, "method": "wait"}\n')
    assert answers.entered.wait(PATIENCE)
    threading.Timer(0.1, answers.release.set).start()
    server.stop()
    assert client.reply() == {"id": 1, "result": "waited"}

"""The socket of the agent: framing, limits, what a hostile or dying client can do, and whose the socket is."""

from __future__ import annotations

import json
import logging

import pytest

from tests.server_run import Connect, Serve, answers, connect, error_of, path, serve
from tests.stand_in_agent import logged_by
from vaultmem.agent.connection import Limits
from vaultmem.api import rpc as codes

__all__ = ["answers", "connect", "path", "serve"]  # fixtures


def test_requests_in_one_piece_and_in_single_bytes(serve: Serve, connect: Connect) -> None:
    serve()
    client = connect()
    lines = b"".join(b'{"id": %d, "method": "echo"}\n' % number for number in range(300))
    client.send(lines)
    assert [client.reply()["id"] for _ in range(300)] == list(range(300))
    for byte in b'{"id": "slow", "method": "echo"}\r\n':
        client.send(bytes([byte]))
    assert client.reply() == {"id": "slow", "result": {}}


@pytest.mark.parametrize(
    "given", [None, 0, 1.5, "a", "\ud800", "泡菜", [1, {"a": None}], {"b": []}, True]
)
def test_any_id_comes_back(serve: Serve, connect: Connect, given: object) -> None:
    serve()
    client = connect()
    client.send(
        json.dumps({"id": given, "method": "echo", "params": {"x": "\udcff"}}).encode() + b"\n"
    )
    assert client.reply() == {"id": given, "result": {"x": "\udcff"}}


WRONG = [
    (b"{broken", codes.PARSE_ERROR),
    (b"\xff\xfe\x00\x01", codes.PARSE_ERROR),
    (b"\xef\xbb\xbf{}", codes.PARSE_ERROR),
    (b"[" * 900, codes.PARSE_ERROR),
    (b'{"a":' * 350 + b"1" + b"}" * 350, codes.INVALID_REQUEST),
    (b'{"id": NaN, "method": "echo"}', codes.PARSE_ERROR),
    (b'{"id": 1e999, "method": "echo"}', codes.PARSE_ERROR),
    (b'{"id": 1, "method": "echo"} {}', codes.PARSE_ERROR),
    (b"\x00", codes.PARSE_ERROR),
    (b"nul", codes.PARSE_ERROR),
    (b"null", codes.INVALID_REQUEST),
    (b"[]", codes.INVALID_REQUEST),
    (b"5", codes.INVALID_REQUEST),
    (b'"text"', codes.INVALID_REQUEST),
    (b"{}", codes.INVALID_REQUEST),
    (b'{"method": 5}', codes.INVALID_REQUEST),
    (b'{"method": "echo", "params": [1]}', codes.WRONG_PARAMS),
    (b'{"method": "echo", "params": null}', codes.WRONG_PARAMS),
    (b'{"method": "nothing"}', codes.UNKNOWN_METHOD),
    (b'{"method": "\\ud800"}', codes.UNKNOWN_METHOD),
    (b'{"method": "ours"}', codes.FAILED),
    (b'{"method": "odd"}', codes.INTERNAL_ERROR),
]


@pytest.mark.parametrize(("line", "code"), WRONG)
def test_a_wrong_request_hurts_only_itself(
    serve: Serve, connect: Connect, line: bytes, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    serve(Limits(line_bytes=5000))
    client = connect()
    with caplog.at_level(logging.CRITICAL):
        client.send(b"\n  \n" + line + b"\n")
        assert error_of(client.reply()) == code
        assert client.ask("echo") == {"id": 1, "result": {}}


@pytest.mark.parametrize("depth", [500, 900, 1100, 50_000])
@pytest.mark.parametrize(
    "place", [b'{"id": %s, "method": "echo"}', b'{"id": 1, "method": "echo", "params": {"x": %s}}']
)
def test_deep_nesting(
    serve: Serve, connect: Connect, place: bytes, depth: int, caplog: pytest.LogCaptureFixture
) -> None:
    serve()
    client = connect()
    with caplog.at_level(logging.CRITICAL):
        client.send(place % (b"[" * depth + b"]" * depth) + b"\n")
        reply = client.reply()
    assert "result" in reply or error_of(reply) in (codes.PARSE_ERROR, codes.INTERNAL_ERROR)
    assert client.ask("echo") == {"id": 1, "result": {}}


def test_an_id_at_the_brink(serve: Serve, connect: Connect) -> None:
    """What could just be read may be too deep to be written again."""
    serve()
    client = connect()
    for depth in range(900, 1000):
        client.send(b'{"id": %s, "method": "echo"}\n' % (b"[" * depth + b"]" * depth))
        line = client._lines.readline()  # as bytes: it may be too deep for the test as well
        assert line.endswith(b'"result": {}}\n') or b'"code": -32700' in line


def test_an_exception_is_told_without_its_secrets_and_logged(
    serve: Serve, connect: Connect
) -> None:
    serve()
    with logged_by("vaultmem.server") as said:
        reply = connect().ask("fail")
    assert error_of(reply) == codes.INTERNAL_ERROR
    assert "secret" not in json.dumps(reply)
    assert "Traceback" not in json.dumps(reply)
    assert len(said) == 1
    assert "ZeroDivisionError: a secret" in said[0]


def test_progress_comes_in_few_lines(serve: Serve, connect: Connect) -> None:
    serve(Limits(progress_gap=0.05))
    client = connect()
    client.send(b'{"id": 7, "method": "count", "progress": true}\n')
    lines = []
    while "result" not in (line := client.reply()):
        lines.append(line)
    assert line == {"id": 7, "result": "counted"}
    assert {one["id"] for one in lines} == {7}
    assert lines[0]["progress"] == {"stage": "counting", "done": 0, "total": 50}
    done = [one["progress"]["done"] for one in lines]
    assert done == sorted(done)
    assert 1 < len(lines) < 40
    assert client.ask("count") == {"id": 1, "result": "counted"}, (
        "no progress unless it is asked for"
    )

"""The time that the proxy adds until the first word of an answer.

python benchmarks/proxy.py [--notes 2000] [--folder FOLDER] [--calls 80] [--streams 100]

A server that answers at once is asked in turns directly and through `vaultmem proxy`, with the sync agent and its model
warm and memories to tell; then many streams that run beside each other, a new one each moment; then as many that
begin in the same moment. Latency is told as what is added, in milliseconds.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import timing
from agent import Running
from timing import VAULTMEM, Row, about, print_table, quantile, ready_vault, run, surroundings

FACTS = (
    "The user lives in Bergen", "The user likes green tea", "The user's sister keeps bees", "The user has a boat",
    "The user plays the cello on Sundays",
)  # fmt: skip
QUESTION = "Where do I live, and what does my sister keep?"
WARM = 5
PACE = 0.1  # seconds between two words of a long answer
APART = 0.08  # seconds between the beginnings of two long answers


class Instant(BaseHTTPRequestHandler):
    """Answers every chat at once with a stream of a few words, or as many as "words" says, at a model's pace."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # like every model server: small pieces are sent at once
    told = 0  # requests that contained memory

    def do_POST(self) -> None:
        """A chat."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Instant.told += b"Remembered by vaultmem" in body
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        wanted = int(json.loads(body).get("words", 0))
        for number in range(wanted or 3):
            self._event({"choices": [{"index": 0, "delta": {"content": f"word {number} "}}]})
            if wanted:
                time.sleep(PACE)
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self._piece(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, value: object) -> None:
        self._piece(b"data: " + json.dumps(value).encode() + b"\n\n")

    def _piece(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name for it
        """Nothing."""


class Server(ThreadingHTTPServer):
    """Serves many requests at once."""

    request_queue_size = 512
    daemon_threads = True


def first_word(address: str, conversation: str, **more: int) -> float:
    """Seconds from sending a chat to the first bytes of the answer's body; the rest is read as well."""
    parted = urlsplit(address)
    link = http.client.HTTPConnection(str(parted.hostname), parted.port, timeout=60)
    messages = [{"role": "user", "content": QUESTION}]
    asked = {"model": "m", "stream": True, "messages": messages, "user": conversation}
    body = json.dumps({**asked, **more})
    started = time.perf_counter()
    link.request(
        "POST", f"{parted.path}/chat/completions", body, {"Content-Type": "application/json"}
    )
    reply = link.getresponse()
    assert reply.read1(1)
    took = time.perf_counter() - started
    assert b"[DONE]" in reply.read()
    link.close()
    return took


def together(address: str, streams: int) -> list[float]:
    """The same with many at once."""
    took: list[float] = []

    def one(number: int) -> None:
        took.append(first_word(address, f"c{number}"))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(took) == streams
    return took


def beside(address: str, streams: int) -> list[float]:
    """The first words of long answers that start one after another, so that all run at the end; for the second half,
    which starts while at least half of them run."""
    took: dict[int, float] = {}
    words = round(streams * APART / PACE) + 10

    def one(number: int) -> None:
        time.sleep(number * APART)
        took[number] = first_word(address, f"b{number}", words=words)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [took[number] for number in range(streams // 2, streams)]


def _waiting(address: str) -> int:
    parted = urlsplit(address)
    link = http.client.HTTPConnection(str(parted.hostname), parted.port, timeout=60)
    link.request("GET", "/health")
    waiting = int(json.loads(link.getresponse().read())["turns_waiting"])
    link.close()
    return waiting


class Proxy:
    """A `vaultmem proxy` in its own process."""

    def __init__(self, vault: Path, env: dict[str, str], upstream: str) -> None:
        words = ["proxy", "--vault", str(vault), "--port", "0", "--upstream", upstream, "--quiet"]
        self._child = subprocess.Popen(
            [*VAULTMEM, *words], env=env, stderr=subprocess.PIPE, text=True
        )
        assert self._child.stderr
        found = None
        while found is None:
            line = self._child.stderr.readline()
            assert line, "the proxy did not start"
            found = re.search(r"OPENAI_BASE_URL=(\S+)", line)
        self.url = found[1]

    def first_word(self) -> float:
        """The seconds for one chat, as a person has it: the turn before was learned from long ago."""
        took = first_word(self.url, "c")
        while _waiting(self.url):
            time.sleep(0.02)
        return took

    def close(self) -> None:
        """End it."""
        self._child.terminate()
        self._child.communicate()


def measure(vault: Path, env: dict[str, str], calls: int, streams: int) -> list[Row]:
    """The rows of the table."""
    for fact in FACTS:
        subprocess.run(
            [*VAULTMEM, "write", fact, "--vault", str(vault)],
            env=env,
            check=True,
            capture_output=True,
        )
    upstream = Server(("127.0.0.1", 0), Instant)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    direct = f"http://127.0.0.1:{upstream.server_address[1]}/v1"
    proxy = Proxy(vault, env, direct)
    try:
        for _ in range(WARM):
            first_word(direct, "warm")
            first_word(proxy.url, "warm")
        pairs = [(first_word(direct, "c"), proxy.first_word()) for _ in range(calls)]
        long_direct, long = beside(direct, streams), beside(proxy.url, streams)
        while _waiting(proxy.url):
            time.sleep(0.1)
        told = Instant.told
        many_direct, many = together(direct, streams), together(proxy.url, streams)
    finally:
        proxy.close()
        upstream.shutdown()
    added = [through - plain for plain, through in pairs]
    return [
        Row("first word, directly", "", _ms(median(plain for plain, _ in pairs)), "1"),
        Row("  added by the proxy, p50", "<= 30 ms", _ms(median(added)), f"{told} told"),
        Row("  added by the proxy, p95", "", _ms(quantile(added, 0.95)), ""),
        Row(
            f"{streams} streams side by side: added, p50",
            "<= 30 ms",
            _ms(median(long) - median(long_direct)),
            "",
        ),
        Row(f"{streams} streams begun at once, directly, p50", "", _ms(median(many_direct)), ""),
        Row("  through the proxy, p50", "", _ms(median(many)), f"{Instant.told - told} told"),
    ]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = timing.parser(__doc__, 2_000)
    parser.add_argument("--calls", type=int, default=80)
    parser.add_argument("--streams", type=int, default=100)
    args = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="vm-") as scratch:
        env = surroundings(Path(scratch))
        vault = ready_vault(args.folder or Path(scratch) / "vault", args.notes, env)
        run([*VAULTMEM, "sync", "--vault", str(vault)], env)
        agent = Running(vault, env)
        try:
            agent.settle()
            rows = measure(vault, env, args.calls, args.streams)
        finally:
            agent.close()
        print(about(vault))
        print_table(rows)


if __name__ == "__main__":
    main()

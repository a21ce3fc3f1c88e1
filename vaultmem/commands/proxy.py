"""vaultmem proxy: an OpenAI-compatible server whose models remember."""

from __future__ import annotations

import argparse
import logging
import sys

from vaultmem.core.values import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultmem.output import Output

EPILOG = """\
Point any OpenAI-compatible client at it, by chat completions or by the Responses API. Before a chat goes on to the
upstream, one message with the summary and the memories that fit is put in; everything else, and the whole answer, is
passed on byte for byte. Both sides of a turn are kept, and facts are learned from what you say. It runs until Ctrl-C
or SIGTERM.

Notes are told, too, where the upstream is on this machine; to another one only with --notes.

A client's key goes to the upstream as it is. Where a client has none, or has the key "vaultmem", the key that llm.key
names is used, if the upstream is that of llm.base_url. With proxy.key clients need that key, as their api_key or in
X-Vaultmem-Key; it goes nowhere.

one request: X-Conversation-Id names its conversation (or metadata.conversation_id, or user);
X-Vaultmem: off (or metadata.vaultmem: "off") recalls nothing and keeps nothing.
one answer: X-Vaultmem-Recall says what was recalled and where it stands, or why nothing was (status counts it).

examples:
  vaultmem proxy --upstream http://localhost:11434/v1
  export OPENAI_BASE_URL=http://127.0.0.1:8100/v1 OPENAI_API_KEY=vaultmem
  curl $OPENAI_BASE_URL/chat/completions -H 'Content-Type: application/json' \\
       -d '{"model": "MODEL", "messages": [{"role": "user", "content": "Hi"}]}'
"""


def run(args: argparse.Namespace, output: Output) -> int:
    """Serve."""
    from vaultmem.commands.shared import open_vault
    from vaultmem.conversations import past
    from vaultmem.errors import UsageError, VaultmemError
    from vaultmem.proxy import guard, proxy, serving
    from vaultmem.settings import LARGEST, OFF

    if args.port is not None and not 0 <= args.port <= LARGEST["proxy.port"]:
        raise UsageError(f"--port must be from 0 to {LARGEST['proxy.port']}")
    overrides = proxy.Overrides(args.host, args.port, args.upstream, args.conversation, args.notes)
    with open_vault(args, output) as vault:
        folder = vault.path
        config = proxy.in_force(folder, overrides)
    host = config.text("proxy.host")
    port = config.number("proxy.port") if args.port is None else args.port
    listening = serving.listen(host, port)
    _log(quiet=args.quiet)
    if not guard.is_loopback(host) and config.text("proxy.key") == OFF:
        output.remark(
            f"vaultmem: warning: whoever reaches {host} can talk with your memories; let proxy.key name a key they need"
        )
    try:
        made = proxy.Proxy(folder, config, listening)
    except VaultmemError:
        listening.close()
        raise
    if config.text("proxy.notes") == "auto" and not past.gives_notes(config):
        output.remark(
            "vaultmem: the upstream is not on this machine, so your notes stay here; with --notes it is told of them"
        )
    address = f"http://{_shown(host)}:{made.port}/v1"
    output.remark(
        f"vaultmem: listening, passing on to {config.text('llm.base_url')}; use it with OPENAI_BASE_URL={address}"
    )
    made.serve()
    return 0


def _shown(host: str) -> str:
    from vaultmem.proxy.guard import WILDCARDS

    if host in WILDCARDS:
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _log(*, quiet: bool) -> None:
    """Lines on stderr; none of them holds a word of what was said."""
    from vaultmem.agent.log import TextLines

    class Lines(logging.StreamHandler):  # type: ignore[type-arg] # generic for type checkers only
        def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - as logging calls it
            """A reader that has gone stops no request."""

    lines = Lines(sys.stderr)
    lines.setFormatter(TextLines(day=False))
    logger = logging.getLogger("vaultmem")
    logger.addHandler(lines)
    logger.setLevel(logging.WARNING if quiet else logging.INFO)

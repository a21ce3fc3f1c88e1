"""vaultmem proxy: an OpenAI-compatible server whose models remember."""

from __future__ import annotations

import argparse
import logging
import sys

from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultmem.output import Output


def run(args: argparse.Namespace, output: Output) -> int:
    """Serve."""
    from vaultmem.chat import past
    from vaultmem.commands.shared import open_vault
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

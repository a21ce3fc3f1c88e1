"""Searches by keyword in a process of its own, for the HTTP door while many wait for the agent: a request a line on
stdin, the reply a line on stdout, as the agent's socket has them. `python -m vaultmem.commands.reader VAULT`"""

from __future__ import annotations

import gc
import logging
import sys

from vaultmem import config
from vaultmem.api import Vault, rpc
from vaultmem.commands.parsing import from_params, run
from vaultmem.errors import VaultmemError
from vaultmem.light import GARBAGE
from vaultmem.output import Captured, json_text


class OpenVault(Vault):
    """A vault that stays open between requests. The sender has the agent index earlier writes first."""

    def __exit__(self, *_error: object) -> None:
        """Do nothing: the next request needs the index, too."""

    def _index_writes(self) -> None:
        pass


def reply(vault: Vault, line: bytes) -> str:
    """The line that answers a request for a search."""
    request = rpc.parse(line.decode())
    assert isinstance(request, dict)
    output = Captured()
    try:
        args = from_params("search", request["params"])
        args.vault = vault
        run("search", args, output)
    except VaultmemError as error:
        return json_text({"id": request["id"], "error": rpc.as_json(error)})
    return json_text({"id": request["id"], "result": output.value})


def main() -> None:
    """Answer until stdin ends or the settings change."""
    gc.set_threshold(*GARBAGE)
    logging.disable()
    vault = OpenVault(sys.argv[1])
    settings = config.signature(vault.path)
    lines, replies = open(0, "rb", buffering=0), sys.stdout.buffer  # noqa: SIM115 - for as long as we run
    while (line := lines.readline()) and settings == config.signature(vault.path):
        replies.write(f"{reply(vault, line)}\n".encode())
        replies.flush()


if __name__ == "__main__":
    main()

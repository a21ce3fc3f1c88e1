"""vaultmem ui: opens the page in the browser, and starts the door that serves it where none is open."""

from __future__ import annotations

import os
import time
import webbrowser
from argparse import Namespace
from subprocess import DEVNULL, Popen
from urllib.parse import urlsplit

from vaultmem import paths
from vaultmem.agent import doors
from vaultmem.api import Vault
from vaultmem.errors import VaultmemError
from vaultmem.output import Output
from vaultmem_web import sessions

PORT = 8101


def ui(args: Namespace, output: Output) -> int:
    """Open the page of the vault."""
    with Vault(args.vault) as vault:
        folder = vault.path
    url = _door_for(folder) or _opened(folder)
    port = urlsplit(url).port
    host = "127.0.0.1" if args.by_number else sessions.host_name()
    address = f"http://{host}:{port}/ui/enter#{sessions.make_link(folder)}"
    if output.as_json:
        output.data({"url": address, "seconds": sessions.LINK_SECONDS})
    elif not args.print_url and webbrowser.open(address):
        output.remark("vaultmem: the page opens in your browser")
        return 0
    else:
        output.line(address)
    output.remark(
        f"vaultmem: it lets one browser in, once, within {sessions.LINK_SECONDS / 60:.0f} minutes; vaultmem stop ends it"
    )
    return 0


def _door_for(folder: str) -> str | None:
    """The address of a door on this machine with the page of this vault."""
    return next((one.url for one in doors.open_doors(folder) if one.is_private), None)


def _opened(folder: str) -> str:
    """Open a door in the background, at its usual port if that is free. It ends with the agent, or unused for 12 hours."""
    for port in (PORT, 0):
        words = f"serve --until-stop --idle 12h --http 127.0.0.1:{port} --vault"
        process = Popen(
            [*paths.program(), *words.split(), folder],
            stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True, cwd=os.sep,
        )  # fmt: skip
        until = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < until:
            if url := _door_for(folder):
                return url
            time.sleep(0.05)
    raise VaultmemError("the page's door does not open; vaultmem serve --http 127.0.0.1:0 says why")

"""The trail of what was written through the door: a line of JSON for each write, in a file of the user alone."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Callable

from vaultmem import paths
from vaultmem_server.tokens import Caller

log = logging.getLogger("vaultmem.http")

MOST = 5_000_000  # bytes, after which the file becomes audit.log.1, in place of an older one


class Audit:
    """Appends to the trail. A full disk stops no request: it is in the log instead."""

    def __init__(self, path: str = "", clock: Callable[[], float] = time.time) -> None:
        self.path = path or os.path.join(paths.state_root(), "audit.log")
        self._clock = clock

    def write(self, caller: Caller, vault: str, what: str, status: int) -> None:
        """A write was carried out, or refused."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock()))
        token = caller.token.name
        fields = {"time": when, "token": token, "client": caller.client, "from": caller.address}
        fields |= {"vault": vault, "what": what, "status": str(status)}
        line = f"{json.dumps(fields)}\n".encode()
        try:
            self._rotate()
            paths.make_private(os.path.dirname(self.path))
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(handle, line)
            finally:
                os.close(handle)
        except OSError as error:
            log.warning("the audit trail cannot be written: %s; %s", error, line.decode().strip())

    def _rotate(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if os.path.getsize(self.path) > MOST:
                os.replace(self.path, f"{self.path}.1")

"""The traffic of the door: counts of requests and their durations, in the text format of Prometheus
(https://prometheus.io/docs/instrumenting/exposition_formats/), and the audit log of writes."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import accumulate

from vaultmem import paths
from vaultmem_server.tokens import Caller

log = logging.getLogger("vaultmem.http")

_MOST = 5_000_000  # bytes of the log; then it becomes audit.log.1, replacing an older one
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of the door since it opened, for one event loop."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._sums: defaultdict[str, float] = defaultdict(float)
        self.refused: Counter[str] = Counter()  # by the reason

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests[route, status] += 1
        self._times[route][bisect_left(BUCKETS, seconds)] += 1
        self._sums[route] += seconds

    def render(self, gauges: Mapping[str, tuple[str, Mapping[str, float]]]) -> str:
        """The metrics as text, together with gauges: name -> (help, value by vault)."""
        lines = _head("vaultmem_http_requests_total", "counter", "Requests by route and status")
        for (route, status), count in sorted(self._requests.items()):
            labels = f'{{route="{_escape(route)}",status="{status}"}}'
            lines.append(f"vaultmem_http_requests_total{labels} {count:g}")
        lines += _head("vaultmem_http_refused_total", "counter", "Requests that were refused")
        for why, count in sorted(self.refused.items()):
            lines.append(f'vaultmem_http_refused_total{{reason="{_escape(why)}"}} {count:g}')
        name = "vaultmem_http_request_seconds"
        lines += _head(name, "histogram", "Time to answer a request")
        for route, counts in sorted(self._times.items()):
            label = f'route="{_escape(route)}"'
            sums = zip([*map(str, BUCKETS), "+Inf"], accumulate(counts), strict=True)
            lines += (f'{name}_bucket{{{label},le="{bound}"}} {sum_}' for bound, sum_ in sums)
            lines.append(f"{name}_sum{{{label}}} {self._sums[route]:.6f}")
            lines.append(f"{name}_count{{{label}}} {sum(counts)}")
        for name, (about, values) in gauges.items():
            lines += _head(name, "gauge", about)
            lines += (f'{name}{{vault="{_escape(vault)}"}} {n:g}' for vault, n in values.items())
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Audit:
    """The audit log of writes through the door: one JSON line for each, in a file that only the user can read. If it
    cannot be written, the entry goes to the server's log and the request continues."""

    def __init__(self) -> None:
        self.path = os.path.join(paths.state_root(), "audit.log")

    def write(self, caller: Caller, vault: str, what: str, status: int) -> None:
        """Record a write that was carried out or refused."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
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
            if os.path.getsize(self.path) > _MOST:
                os.replace(self.path, f"{self.path}.1")

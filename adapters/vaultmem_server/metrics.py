"""Counts of requests and their times, in the text format of Prometheus
(https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import accumulate

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What the door has done since it opened. For one event loop."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._sums: defaultdict[str, float] = defaultdict(float)
        self.refused: Counter[str] = Counter()  # by the reason

    def count(self, route: str, status: int, seconds: float) -> None:
        """A request has its answer."""
        self._requests[route, status] += 1
        self._times[route][bisect_left(BUCKETS, seconds)] += 1
        self._sums[route] += seconds

    def render(self, gauges: Mapping[str, tuple[str, Mapping[str, float]]]) -> str:
        """All as text, with gauges: name -> (help, value by vault)."""
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
            lines += (f'{name}{{vault="{_escape(one)}"}} {n:g}' for one, n in values.items())
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

"""Counts of requests and their times, in the text format of Prometheus
(https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

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
        requests = (
            (f'{{route="{_escape(route)}",status="{status}"}}', count)
            for (route, status), count in sorted(self._requests.items())
        )
        refused = (
            (f'{{reason="{_escape(why)}"}}', count) for why, count in sorted(self.refused.items())
        )
        lines = [
            *_family(
                "vaultmem_http_requests_total", "counter", "Requests by route and status", requests
            ),
            *_family(
                "vaultmem_http_refused_total", "counter", "Requests that were refused", refused
            ),
            "# HELP vaultmem_http_request_seconds Time to answer a request",
            "# TYPE vaultmem_http_request_seconds histogram",
        ]
        for route, counts in sorted(self._times.items()):
            lines += _histogram(_escape(route), counts, self._sums[route])
        for name, (about, values) in gauges.items():
            samples = ((f'{{vault="{_escape(vault)}"}}', value) for vault, value in values.items())
            lines += _family(name, "gauge", about, samples)
        return "\n".join(lines) + "\n"


def _family(name: str, kind: str, about: str, samples: Iterable[tuple[str, float]]) -> list[str]:
    return [
        f"# HELP {name} {about}",
        f"# TYPE {name} {kind}",
        *(f"{name}{labels} {value:g}" for labels, value in samples),
    ]


def _histogram(route: str, counts: list[int], total: float) -> list[str]:
    name, lines, so_far = "vaultmem_http_request_seconds", [], 0
    for bound, count in zip([*map(str, BUCKETS), "+Inf"], counts, strict=True):
        so_far += count
        lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {so_far}')
    return [
        *lines,
        f'{name}_sum{{route="{route}"}} {total:.6f}',
        f'{name}_count{{route="{route}"}} {so_far}',
    ]


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

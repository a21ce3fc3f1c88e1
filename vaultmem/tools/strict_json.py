"""JSON as the doors of the tools read and write it: what is not JSON by the letter is refused."""

from __future__ import annotations

import json
import math

TOO_DEEP = "it is nested too deeply"


def parse(text: str) -> object:
    """A JSON value. Raises ValueError in one line, also for NaN and what is nested too deeply."""
    try:
        return json.loads(text, parse_constant=_no_json, parse_float=_finite)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def written(value: object) -> str:
    """A value on one line of ASCII: no reader takes a letter of a note for the end of a line."""
    return json.dumps(value, default=str, separators=(",", ":"))


def _no_json(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large")
    return number

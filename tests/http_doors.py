"""A door with tokens, one for all tests of a module."""

from collections.abc import Iterator

import pytest

from tests.http_run import Door, opened
from tests.lazy import Lazy

httpx2, mcp, mcp_http = map(Lazy, ("httpx2", "mcp", "mcp.client.streamable_http"))


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with opened(tmp_path_factory.mktemp("door")) as one:
        yield one

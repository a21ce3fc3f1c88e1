"""What the proxy says of itself is true: requests made from its own description, sent to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.index_dump import synced
from tests.proxy_run import Proxied, proxied
from tests.scripted_llm import running
from vaultmem.proxy.openapi import DESCRIPTION

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(DESCRIPTION)
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    vault = tmp_path_factory.mktemp("described") / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    synced(vault)
    with running() as llm, proxied(vault, llm) as made:
        yield made


def test_it_is_served_and_names_all_addresses(proxy: Proxied) -> None:
    assert proxy.send("GET", "/openapi.json").data == DESCRIPTION
    assert {one.path for one in OPERATIONS} == {
        "/v1/chat/completions", "/v1/responses", "/v1/models", "/health", "/openapi.json",
    }  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.path)
def test_it_behaves_as_it_says(proxy: Proxied, operation: Any) -> None:
    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        case.call_and_validate(base_url=f"http://127.0.0.1:{proxy.port}", checks=CHECKS)

    check()

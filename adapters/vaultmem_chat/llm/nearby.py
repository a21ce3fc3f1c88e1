"""Language models that run on this machine: looked for on the ports where Ollama, LM Studio and llama.cpp listen. Only
the loopback is used, and only the names of the models are read."""

from __future__ import annotations

import http.client
import json

from vaultmem.adapter.services import Nearby
from vaultmem.errors import ConfigError
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 0.4  # seconds; what runs here answers at once
MOST = 1_048_576  # bytes of an answer
SERVERS = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}
_NO_CHAT = ("embed", "bge-", "minilm", "rerank", "whisper")  # in names of models that do not talk


def models(servers: dict[str, int] | None = None) -> list[Nearby]:
    """Those that answer, in the order of SERVERS."""
    results = []
    for program, port in (SERVERS if servers is None else servers).items():
        names = [
            name for name in _names(port) if not any(part in name.lower() for part in _NO_CHAT)
        ]
        if names:
            results.append(Nearby(program, f"http://127.0.0.1:{port}/v1", names[0]))
    return results


def find_local_model(
    model: str | None, wants: Callable[[str], bool] | None, form: str
) -> tuple[str | None, str | None]:
    """The address and the name of a model that runs here and is wanted; the name may be given. Raises ConfigError
    where there is one, and nobody to ask; `form` is how its options are typed."""
    for one in models():
        name = model or one.model
        if wants is None:
            how = form.format(address=one.address, name=name)
            raise ConfigError(f"no language model is set: {one.program} runs here, type {how}")
        if wants(f"{one.program} runs here with {name}; use it now? [Y/n] "):
            return one.address, name
    return None, model


def _names(port: int) -> list[str]:
    """The models of a server at a port; none where nothing like that listens."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        link.request("GET", "/v1/models", headers={"Accept": "application/json"})
        answer = link.getresponse()
        listed = json.loads(answer.read(MOST)) if answer.status == http.client.OK else {}
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return []
    finally:
        link.close()
    rows = listed.get("data") if isinstance(listed, dict) else None
    rows = rows if isinstance(rows, list) else []
    ids = [row.get("id") for row in rows if isinstance(row, dict)]
    return [id_ for id_ in ids if isinstance(id_, str) and id_.isprintable() and id_.strip() == id_]

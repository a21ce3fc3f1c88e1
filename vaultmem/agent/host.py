"""What the requests on the socket may ask of the agent."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from vaultmem.api import Vault
from vaultmem.progress import Progress


class Host(Protocol):
    """The agent, as those see it who answer requests. Every method may be called from any thread."""

    folder: str  # the vault

    def vault(self) -> AbstractContextManager[Vault]:
        """A vault with a warm index, for one request. Its close() and `with` leave the index open."""

    def settings_signature(self) -> dict[str, str]:
        """What in its environment makes the agent answer as it does, see client.settings()."""

    def status(self) -> dict[str, object]:
        """How the agent is: pid, uptime, indexing, queues, model, memory, jobs, troubles."""

    def sync(
        self, *, rebuild: bool, confirm_removals: bool, embed: bool, progress: Progress
    ) -> dict[str, object]:
        """Compare the whole vault now and wait for it: the fields of a Report. With `embed`, wait until what
        lacks vectors has them instead: "embedded" (blocks), "model", "remark"."""

    def index_writes(self) -> bool:
        """Have what was written through the agent indexed; whether it was, soon enough."""

    def memory(self, vault: Vault, verb: str, params: dict[str, object]) -> object:
        """Carry out a verb of memories (see vaultmem.api.verbs)."""

    def run_job(self, name: str) -> dict[str, object]:
        """Run a job now; its entry as `vaultmem jobs` lists it."""

    def jobs(self) -> list[dict[str, object]]:
        """The jobs with their next and last runs."""

    def stop(self) -> None:
        """End the agent, soon; returns at once."""

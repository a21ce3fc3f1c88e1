"""The jobs of the agent: when they run, and on what vault."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from vaultmem import jobs
from vaultmem import now as clock
from vaultmem.api import Vault
from vaultmem.config import Config
from vaultmem.jobs import JobState, Surroundings
from vaultmem.store.clock import Clock

Lend = Callable[[], AbstractContextManager[Vault]]


class Upkeep:
    """Runs the table of jobs by the clock, on a vault that is lent for each run. `lately` tells when
    something was edited and when something was asked last (monotonic)."""

    def __init__(
        self,
        folder: str,
        config: Config,
        lend: Lend,
        lately: tuple[Callable[[], float], Callable[[], float]],
        woke: Callable[[], None],
    ) -> None:
        self._config = config
        self._lend = lend
        self._ledger = jobs.ledger(folder)
        self._surroundings = Surroundings(config, *lately)
        self._clock = Clock(jobs.planned(config), self._run, self._ledger, self._surroundings)
        self._clock.on_wake = woke
        self.ran: Callable[[], None] = lambda: None  # hears of each job's end

    def start(self) -> None:
        """Run jobs from now on; one that was missed runs soon."""
        self._clock.start()

    def stop(self) -> None:
        """Start no more."""
        self._clock.stop()

    def is_idle(self) -> bool:
        """Whether the vault was neither edited nor asked for a while."""
        return self._surroundings.idle()

    def run_now(self, name: str) -> dict[str, object]:
        """Run a job and wait for its end; its entry in the list."""
        jobs.named(name)
        self._clock.run_now(name)
        return next(state._asdict() for state in self._states() if state.name == name)

    def listed(self) -> list[dict[str, object]]:
        """All jobs with their next and last runs."""
        return [state._asdict() for state in self._states()]

    def _states(self) -> list[JobState]:
        return jobs.listing(self._config, self._ledger, clock.seconds(), self._clock)

    def _run(self, name: str) -> str:
        try:
            with self._lend() as vault:
                return jobs.named(name).run(vault)
        finally:
            self.ran()

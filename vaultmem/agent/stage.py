"""What the agent is doing now, for status and for those who wait."""

from __future__ import annotations

from vaultmem.progress import Progress


class Stage:
    """A Progress that remembers; read from other threads."""

    def __init__(self) -> None:
        self.name, self.total, self.done = "", 0, 0

    def stage(self, name: str, total: int) -> None:
        """A stage begins."""
        self.name, self.total, self.done = name, total, 0

    def advance(self, count: int = 1) -> None:
        """That many more are done."""
        self.done += count

    def end(self) -> None:
        """Nothing is being done."""
        self.name, self.total, self.done = "", 0, 0

    def told(self) -> dict[str, object] | None:
        """The stage as data; None when nothing is being done."""
        name, done, total = self.name, self.done, self.total
        return {"stage": name, "done": done, "total": total} if name else None


class Both:
    """A Progress that tells two others."""

    def __init__(self, one: Progress, other: Progress) -> None:
        self._both = one, other

    def stage(self, name: str, total: int) -> None:
        """A stage begins."""
        for each in self._both:
            each.stage(name, total)

    def advance(self, count: int = 1) -> None:
        """That many more are done."""
        for each in self._both:
            each.advance(count)

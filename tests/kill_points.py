"""Work in a child process that is killed at each of its system calls in turn."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable

from tests.laws import points, some
from vaultmem.vault import moves

CALLS = (
    "open write pwrite fsync replace rename link unlink mkdir chmod ftruncate close listdir".split()
)

MOST_CALLS = 1_000


def killed_at(number: int, work: Callable[[], object]) -> bool:
    """Whether the work died at its n-th call, in the middle of a write; otherwise it made fewer calls and has
    finished."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
        return os.WIFSIGNALED(status)
    left = number

    def armed(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                if name in ("write", "pwrite"):
                    data = args[1]
                    assert isinstance(data, bytes | memoryview)
                    real(args[0], data[: len(data) // 2], *args[2:])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)

        return call

    code = 1
    try:
        for name in CALLS:
            setattr(os, name, armed(name, getattr(os, name)))
        moves._rename = armed("rename", moves._rename)  # type: ignore[assignment] # the same call, armed
        work()
        code = 0
    finally:
        os._exit(code)


def kill_everywhere(work: Callable[[], object], check: Callable[[], None], step: int = 1) -> int:
    """Kill the work at each call, or every few; `check` inspects what is left and restores it."""
    for number in range(1, MOST_CALLS) if step == 1 else points(MOST_CALLS, step):
        if not killed_at(number, work):
            return number - 1
        check()
    raise AssertionError("the work never ends")


def killed_after(seconds: float, work: Callable[[], object]) -> None:
    """Kill the work at some moment, unless it has ended by then."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def moments(count: int, longest: float) -> list[float]:
    """Random times to kill at, the same in each run."""
    chance = random.Random(count)
    return [chance.uniform(0, longest) for _ in range(some(count))]

"""Which files of a vault a checkout of Git has removed. They are gone on purpose, however many they are: a drive that
goes away moves no HEAD.

Only the reflog and the names in trees are read. Nothing of the repository is run: no hook, no filter, no monitor; and
nothing is fetched.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from itertools import islice

from vaultmem.vault.walk import nfc

_MOST_HEADS = 50  # that are looked at, the newest first
_SECONDS = 30.0  # that one command of git may take
_SETTINGS = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never")
_OURS = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}


def removed(folder: str, paths: Collection[str]) -> set[str]:
    """Those of the paths that HEAD does not have, and that it had before it moved; none outside a checkout, or if git
    fails."""
    results: set[str] = set()
    with contextlib.suppress(OSError):
        head, *earlier = _heads(folder) or [""]
        unknown = {*paths} - _names(folder, head) if earlier else set()
        for commit in islice(earlier, _MOST_HEADS):
            if not unknown:
                break
            there = unknown & _names(folder, commit)
            results |= there
            unknown -= there
    return results


def _heads(folder: str) -> list[str]:
    """The commits that HEAD was at, each once, the newest first."""
    lines = _run(folder, "rev-list", "--walk-reflogs", "HEAD").decode("ascii", "replace")
    return list(dict.fromkeys(lines.split()))


def _names(folder: str, commit: str) -> set[str]:
    """The paths of all files in a commit, below the folder and as the index has them."""
    names = _run(folder, "ls-tree", "-r", "-z", "--name-only", commit).split(b"\0")
    return {nfc(os.fsdecode(name)) for name in names if name}


def _run(folder: str, *words: str) -> bytes:
    """The output of git. Raises OSError where it fails, or is not there."""
    import subprocess  # only where so much is gone

    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    settings = (word for setting in _SETTINGS for word in ("-c", setting))
    try:
        return subprocess.run(
            ["git", "-C", folder, *settings, *words],
            capture_output=True, check=True, env=environ | _OURS, timeout=_SECONDS, stdin=subprocess.DEVNULL,
        ).stdout  # fmt: skip
    except subprocess.SubprocessError as error:
        raise OSError(str(error)) from error

"""Simulated sync programs between folders: a new file beside the old one and a rename, copies if both sides changed,
deletions, and files that arrive late."""

import os
import shutil
from pathlib import Path

IGNORED = (".git", ".stfolder", ".obsidian/workspace.json")
STAMP = "20261122-101500"


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, except those being transferred."""
    found = (
        path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".tmp")
    )
    files: dict[str, bytes] = {}
    for path in found:
        name = path.relative_to(folder).as_posix()
        if not name.startswith(IGNORED):
            try:
                files[name] = path.read_bytes()
            except FileNotFoundError:
                continue  # just replaced
    return files


class Syncing:
    """A sync program between two folders, which remembers the last common state."""

    def __init__(self, *folders: Path, device: str = "ABCDEFG") -> None:
        self.folders, self.device = folders, device
        self.base: dict[str, bytes] = contents(folders[0]) if folders[0].exists() else {}

    def run(self) -> int:
        """Transfer changes; if both sides changed, the second's version becomes a conflict copy on both. Returns how
        many files were written or removed."""
        one, other = map(contents, self.folders)
        done = 0
        for name in sorted({*one, *other, *self.base}):
            states = [files.get(name) for files in (one, other)]
            base = self.base.get(name)
            if states[0] == states[1]:
                self._remember(name, states[0])
                continue
            changed = [state != base for state in states]
            if all(changed) and None not in states:
                self._conflict(name, states[1])
                done += 2
            winner = (
                states[0] if changed[0] and (states[0] is not None or not changed[1]) else states[1]
            )
            for folder, state in zip(self.folders, states, strict=True):
                if state != winner:
                    self.put(folder / name, winner)
                    done += 1
            self._remember(name, winner)
        return done

    def _remember(self, name: str, data: bytes | None) -> None:
        if data is None:
            self.base.pop(name, None)
        else:
            self.base[name] = data

    def _conflict(self, name: str, data: bytes | None) -> None:
        stem, ending = os.path.splitext(name)
        copy = f"{stem}.sync-conflict-{STAMP}-{self.device}{ending}"
        for folder in self.folders:
            self.put(folder / copy, data)
        self._remember(copy, data)

    def put(self, path: Path, data: bytes | None) -> None:
        """As Syncthing writes: a temporary file beside it, then a rename."""
        if data is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".syncthing.{path.name}.tmp")
        part.write_bytes(data)
        os.replace(part, path)


def recreate(path: Path, data: bytes) -> None:
    """As rclone and some cloud folders write: the old file is removed, then a new one of its name grows in parts."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        for start in range(0, len(data), 100):
            file.write(data[start : start + 100])
            file.flush()


def icloud_evict(path: Path) -> Path:
    """As iCloud evicts an unused file: a placeholder with a leading dot stays."""
    placeholder = path.with_name(f".{path.name}.icloud")
    os.rename(path, placeholder)
    return placeholder


def icloud_rename(path: Path, data: bytes) -> Path:
    """As iCloud keeps two versions: the later one gets a number."""
    copy = path.with_name(f"{path.stem} 2{path.suffix}")
    copy.write_bytes(data)
    return copy


def git_merge_markers(path: Path, theirs: bytes) -> None:
    """As a Git merge leaves a file that both sides changed."""
    ours = path.read_bytes()
    path.write_bytes(b"<<<<<<< HEAD\n" + ours + b"=======\n" + theirs + b">>>>>>> other\n")


def copy_vault(vault: Path, target: Path) -> Path:
    """Copy the vault to another machine for the first time."""
    shutil.copytree(vault, target)
    return target

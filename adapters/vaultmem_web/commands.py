"""vaultmem ui opens the page in the browser, and a door for it if none is open; vaultmem connect obsidian installs
the plugin that shows the page in a vault."""

from __future__ import annotations

import os
import time
import webbrowser
from pathlib import Path
from subprocess import DEVNULL, Popen
from types import SimpleNamespace as Namespace
from urllib.parse import urlsplit

from vaultmem import paths
from vaultmem.api import Vault
from vaultmem.errors import VaultmemError
from vaultmem.output import Output
from vaultmem.service import life
from vaultmem.text.values import file_text
from vaultmem_web import sessions

PORT = 8101
_FILES = ("manifest.json", "main.js")  # of the plugin


def ui(args: Namespace, output: Output) -> int:
    """Open the page of the vault."""
    with Vault(args.vault) as vault:
        folder = vault.path
    url = _door_for(folder) or _opened(folder)
    port = urlsplit(url).port
    host = "127.0.0.1" if args.by_number else sessions.host_name()
    address = f"http://{host}:{port}/ui/enter#{sessions.make_link(folder)}"
    if output.as_json:
        output.data({"url": address, "seconds": sessions.LINK_SECONDS})
    elif not args.print_url and webbrowser.open(address):
        output.remark("the page opens in your browser")
        return 0
    else:
        output.line(address)
    output.remark(
        f"it can be used once, within {sessions.LINK_SECONDS / 60:.0f} minutes; vaultmem stop ends it"
    )
    return 0


def _door_for(folder: str) -> str | None:
    """The URL of a door on this machine that serves the page of this vault; None without one."""
    return next((door.url for door in life.open_doors(folder) if door.is_private), None)


def _opened(folder: str) -> str:
    """Open a door in the background, at its usual port if that is free. It ends with the agent, or after 12 unused
    hours."""
    for port in (PORT, 0):
        words = f"serve --until-stop --idle 12h --http 127.0.0.1:{port} --vault"
        process = Popen(
            [*paths.program(), *words.split(), folder],
            stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True, cwd=os.sep,
        )  # fmt: skip
        until = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < until:
            if url := _door_for(folder):
                return url
            time.sleep(0.05)
    raise VaultmemError("the page's door does not open; vaultmem serve --http 127.0.0.1:0 says why")


# `vaultmem connect obsidian`: a small plugin that shows the page of the current note beside it. It holds no secret,
# as the folder .obsidian is synced and committed. Obsidian's core plugin Web viewer displays the page, because a
# frame would have no session.


def connect(args: Namespace, output: Output) -> int:
    """Install the plugin in a vault, or remove it."""
    with Vault(args.vault) as vault:
        root = Path(vault.path)
    if not (root / ".obsidian").is_dir():
        raise VaultmemError(f"{root} is not an Obsidian vault: it has no folder .obsidian")
    place = ".obsidian/plugins/vaultmem"
    folder = root / place
    if folder.resolve() != root.resolve() / place:
        raise VaultmemError(f"{folder} leads out of the vault")
    texts = {name: file_text("vaultmem_web", f"obsidian/{name}") for name in _FILES}
    files = {folder / name: text.replace("PORT", str(PORT)) for name, text in texts.items()}
    old = {path: path.read_text("utf-8", "replace") for path in files if path.exists()}
    is_ours = not old or _is_ours(folder)
    if args.remove:
        done = [*old] if is_ours else []
    elif is_ours:
        done = [path for path, text in files.items() if old.get(path) != text]
    else:
        raise VaultmemError(f"{folder} holds another plugin; nothing was written")
    if not args.dry_run:
        _remove(done) if args.remove else _write({path: files[path] for path in done})
    deed = "removed" if args.remove else "written"
    would = "would be " if args.dry_run else ""
    names = [str(path) for path in done]
    output.result(
        {"files": names, "removed": bool(args.remove), "dry_run": bool(args.dry_run)},
        *(f"{would}{deed}: {name}" for name in names),
    )
    if not done:
        output.note(f"the plugin is {'not' if args.remove else 'already'} installed: {folder}")
    elif not args.remove:
        output.note(
            "in Obsidian, switch on Community plugins > vaultmem and the core plugin Web viewer; to let its"
            " viewer in, open there what vaultmem ui --by-number --print-url prints"
        )
    return 0


def _write(files: dict[Path, str]) -> None:
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(text, "utf-8")
        temporary.replace(path)


def _remove(files: list[Path]) -> None:
    """Remove files, and the folders that then are empty. Settings that Obsidian stored there are the person's."""
    for path in files:
        path.unlink()
    for folder in files[-1].parents[:2] if files else ():
        if not any(folder.iterdir()):
            folder.rmdir()


def _is_ours(folder: Path) -> bool:
    manifest = paths.read_json(folder / "manifest.json")
    return manifest.get("author") == "vaultmem" if manifest else not any(folder.glob("*.json"))

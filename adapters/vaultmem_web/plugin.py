"""`vaultmem connect obsidian`: a small plugin that shows, beside a note, what the page knows of it. It holds no secret: the
folder .obsidian is synced and committed. Obsidian's core plugin Web viewer shows the page, since a frame gets no session."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path

from vaultmem.api import Vault
from vaultmem.errors import VaultmemError
from vaultmem.output import Output
from vaultmem_web.commands import PORT

_FOLDER = ".obsidian/plugins/vaultmem"
_MANIFEST = {
    "id": "vaultmem",
    "name": "vaultmem",
    "version": "1.0.0",
    "minAppVersion": "1.8.0",
    "description": "Shows beside a note what vaultmem knows of it.",
    "author": "vaultmem",
    "isDesktopOnly": True,
}
_MAIN = """const { Notice, Plugin } = require("obsidian");
const PAGE = "http://127.0.0.1:PORT/ui/note?path=";
module.exports = class extends Plugin {
  onload() {
    const open = () => this.show(true);
    this.addCommand({ id: "note", name: "What is known of this note", callback: open });
    this.addRibbonIcon("brain", "What is known of this note", open);
    this.registerEvent(this.app.workspace.on("file-open", () => this.show(false)));
  }
  async show(asked) {
    const { workspace, internalPlugins } = this.app, file = workspace.getActiveFile();
    if (!file || !(asked || this.leaf?.parent)) return;
    if (!internalPlugins.getEnabledPluginById("webviewer")) return new Notice("Enable the core plugin Web viewer first.");
    if (!this.leaf?.parent) this.leaf = workspace.getRightLeaf(false) ?? workspace.getLeaf("tab");
    await this.leaf.setViewState({ type: "webviewer", state: { url: PAGE + encodeURIComponent(file.path), navigate: true } });
    if (asked) workspace.revealLeaf(this.leaf);
  }
};
"""


def connect(args: Namespace, output: Output) -> int:
    """Write the plugin into a vault, or remove it."""
    with Vault(args.vault) as vault:
        root = Path(vault.path)
    if not (root / ".obsidian").is_dir():
        raise VaultmemError(f"{root} is no vault of Obsidian: it has no folder .obsidian")
    folder = root / _FOLDER
    if folder.resolve() != root.resolve() / _FOLDER:
        raise VaultmemError(f"{folder} leads out of the vault")
    files = {
        folder / "manifest.json": json.dumps(_MANIFEST, indent=2) + "\n",
        folder / "main.js": _MAIN.replace("PORT", str(PORT)),
    }
    done = _removed(files, args) if args.remove else _written(files, args)
    if output.as_json:
        output.data({"files": done, "removed": bool(args.remove), "dry_run": bool(args.dry_run)})
        return 0
    for path in done:
        deed = "removed" if args.remove else "written"
        output.line(f"{'would be ' if args.dry_run else ''}{deed}: {path}")
    if done and not args.remove:
        output.remark(
            "vaultmem: in Obsidian, switch on Community plugins > vaultmem and the core plugin Web viewer; to let its"
            " viewer in, open there what vaultmem ui --by-number --print-url prints"
        )
    return 0


def _written(files: dict[Path, str], args: Namespace) -> list[str]:
    """What is new, or older than ours. A file that is not ours is left alone."""
    for path in files:
        if path.exists() and not _is_ours(path.parent):
            raise VaultmemError(f"{path.parent} is a plugin of somebody else; nothing was written")
    wanted = [path for path, text in files.items() if _text(path) != text]
    if not args.dry_run:
        for path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            temporary.write_text(files[path], "utf-8")
            temporary.replace(path)
    return [str(path) for path in wanted]


def _removed(files: dict[Path, str], args: Namespace) -> list[str]:
    """Our files, and the folder if nothing else is in it. Settings that Obsidian keeps there are the person's."""
    there = [path for path in files if path.exists() and _is_ours(path.parent)]
    if not args.dry_run:
        for path in there:
            path.unlink()
        for folder in {path.parent for path in there}:
            if not any(folder.iterdir()):
                folder.rmdir()
    return [str(path) for path in there]


def _is_ours(folder: Path) -> bool:
    try:
        manifest = json.loads(_text(folder / "manifest.json"))
    except ValueError:
        return not any(folder.glob("*.json"))
    return isinstance(manifest, dict) and manifest.get("author") == _MANIFEST["author"]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return ""

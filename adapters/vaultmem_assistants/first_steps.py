"""vaultmem setup: from an installed program to a connected assistant. Each change is shown as a diff before it is
made; the steps are recorded, and --undo reverts them, last first."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from types import SimpleNamespace as Namespace

from vaultmem import config, paths, plugins
from vaultmem import now as clock
from vaultmem.api import Vault
from vaultmem.client import is_terminal
from vaultmem.commands.rendering import run_sync, show_diff
from vaultmem.errors import UsageError, VaultmemError, VaultNotFoundError
from vaultmem.exchange import vault_sources
from vaultmem.memories.access import PERSON
from vaultmem.output import Output
from vaultmem.pending import listing
from vaultmem.service import life
from vaultmem.service import service as services
from vaultmem.text.values import TYPE_CHECKING, plural
from vaultmem_assistants import hooks
from vaultmem_assistants.connect import PARTS, Connecting, checked_name, diff_of
from vaultmem_assistants.programs import HARNESSES
from vaultmem_assistants.setup_record import Done, former, keep, line_of, recorded_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultmem.adapter.services import Nearby
    from vaultmem_assistants.hooks import Edited


AT_LOGIN = "start the agent at login"
AGENT = "start the agent, which keeps the index fresh and reminds you"
COUNTED = {"notes": "note", "links": "link", "open_tasks": "open task"}
MOST_NOTES = 10_000  # notes counted in a folder before it is chosen
_GRAPHS = ".logseq/graphs"  # one file per graph: logseq_local_++home++anne++notes.transit


def run(args: Namespace, output: Output) -> int:
    """Guide through the setup, or undo it."""
    if args.undo:
        return _undo(output, dry_run=args.dry_run)
    can_ask = is_terminal(sys.stdin) and is_terminal(sys.stdout) and not output.as_json
    if not (args.yes or args.dry_run or can_ask):
        how = "run it at a terminal, or with --yes or --dry-run"
        raise UsageError(f"setup asks before each step: {how}")
    _Guide(args, output).run()
    return 0


# --- what is installed


def vaults(home: str) -> list[str]:
    """Folders that are vaults or hold notes: the working directory, the vaults listed by Obsidian and Logseq,
    ~/logseq."""
    here = paths.here()
    graphs = os.path.join(home, _GRAPHS)
    names = sorted(os.listdir(graphs)) if os.path.isdir(graphs) else []
    graph = re.compile(r"logseq_local_(.*)\.transit", re.DOTALL)
    named = [match[1].replace("++", "/") for name in names if (match := graph.fullmatch(name))]
    has_notes = here not in ("", home) and any(
        name.lower().endswith(".md") for name in os.listdir(here)
    )
    listed = [
        paths.find_vault(here) or (here if has_notes else ""),
        *vault_sources.obsidian.places(home), *named, *vault_sources.logseq.places(home),
    ]  # fmt: skip
    real = dict.fromkeys(
        os.path.realpath(folder) for folder in listed if folder and os.path.isdir(folder)
    )
    return [folder for folder in real if folder != os.path.realpath(home)]


def assistants() -> list[str]:
    """The installed programs that run assistants."""
    result: list[str] = []
    for name, harness in HARNESSES.items():
        # It exists once the program has run; for some it is below a folder that programs share.
        folder = (
            harness.folder() if harness.servers.above else os.path.dirname(harness.servers_path())
        )
        result += [name] if shutil.which(name) or os.path.isdir(folder) else []
    return result


def _about(vault: str) -> str:
    kinds = {".obsidian": "Obsidian", "logseq": "Logseq"}
    kind = [title for mark, title in kinds.items() if os.path.isdir(os.path.join(vault, mark))]
    count = 0
    for _, folders, files in os.walk(vault):
        folders[:] = [name for name in folders if not name.startswith(".")]
        count += sum(name.lower().endswith(".md") for name in files)
        if count > MOST_NOTES:
            break
    many = f"more than {MOST_NOTES:,} notes" if count > MOST_NOTES else plural(count, "note")
    return f"{' and '.join(kind) or 'Markdown'}, {many}"


# --- the guide


class _Guide:
    """One run: asks, carries out steps, and records them."""

    def __init__(self, args: Namespace, output: Output) -> None:
        self._args, self._output = args, output
        self._done: list[str] = []
        self._planned: list[dict[str, str]] = []

    def run(self) -> None:
        output, dry_run = self._output, self._args.dry_run
        vault = checked_name(self._vault())
        self._look(vault)
        what = f"make it the default vault, in {paths.config_file()}"
        self._settings(what, {"vault": vault})
        self._agent(vault)
        for name in assistants():
            self._assistant(name, vault)
        for model in plugins.models().local_models()[:1]:
            self._model(model)
        if output.as_json:
            output.data({"vault": vault, "steps": self._planned, "dry_run": dry_run})
            return
        output.line()
        if dry_run:
            output.line("nothing was done yet; vaultmem setup does it, and asks before each step")
            return
        output.line(output.paint("done" if self._done else "nothing had to be done", "bold"))
        back = ["vaultmem setup --undo takes it back"] if self._done else []
        for line in (*(f"  {step}" for step in self._done), *back):
            output.line(line)
        output.line('Next: vaultmem search "some words", vaultmem pending, vaultmem help')

    def _vault(self) -> str:
        """The named vault, or one chosen from those on this machine."""
        args, output = self._args, self._output
        if named := args.path or args.vault:
            return paths.check_vault(named)
        results = vaults(os.path.expanduser("~"))
        with contextlib.suppress(VaultNotFoundError):
            default = paths.choose_vault(None, config.load(None).text("vault"))
            results = [
                default,
                *(result for result in results if result != os.path.realpath(default)),
            ]
        if not results:
            what = "this folder is not a vault, and neither Obsidian nor Logseq lists one"
            raise VaultNotFoundError(f"{what}; name yours: vaultmem setup FOLDER")
        self._say("vaults", bold=True)
        for number, candidate in enumerate(results, 1):
            self._say(f"  {number}  {candidate}  ({_about(candidate)})")
        if len(results) == 1 or args.yes or args.dry_run:
            return results[0]
        while True:
            output.prompt(f"Which one is it? [1-{len(results)}, Enter for 1] ")
            typed = sys.stdin.readline()
            if typed.strip().isdigit() and 1 <= int(typed) <= len(results):
                return results[int(typed) - 1]
            if not typed.strip():
                return results[0]

    def _look(self, path: str) -> None:
        """Index the vault, and print what it holds and what is due."""
        self._say(path, bold=True)
        if self._args.dry_run:
            self._say(f"  would index it, into {paths.state_folder(path)}")
            return
        with Vault(path) as vault:
            run_sync(vault, self._output)
            counts = vault.counts()
            listed = listing.gather(vault.settled(), clock.seconds())
        sections = listing.by_section(listed, listing.DAYS, clock.seconds(), PERSON)
        due = {name: len(rows) for name, rows in sections.items()}
        self._say(f"  {', '.join(plural(counts[name], what) for name, what in COUNTED.items())}")
        late = due["overdue"] + due["older"]
        self._say(f"  {late} overdue, {due['today']} due today, {due['soon']} in the next days")

    def _settings(self, what: str, values: dict[str, str]) -> None:
        path = paths.config_file()

        def changed(before: str) -> str:
            for key, text in values.items():
                before = config.with_setting(before, key, text)
            return before

        def do() -> Done:
            edited = hooks.edit(path, changed)
            lines = ((line_of(edited.before, key), line_of(edited.after, key)) for key in values)
            return Done("setting", what, lines=tuple(lines))

        self._step(what, [hooks.edit(path, changed, dry_run=True)], do)

    def _agent(self, vault: str) -> None:
        if self._args.service and _can_serve():
            service = services.service_for(vault)
            if services.is_installed(service):
                self._say(f"already done: the agent starts at login ({service.path})")
            else:
                new = [hooks.Edited(service.path, "", service.content.decode())]
                self._step(AT_LOGIN, new, lambda: _serve_at_login(vault))
        if life.ping(vault):
            self._say("already done: the agent is running")
        else:

            def do() -> Done:
                life.start(vault)
                return Done("agent", AGENT, vault)

            self._step(AGENT, [], do)

    def _assistant(self, name: str, vault: str) -> None:
        title = HARNESSES[name].title
        what = f"connect {title}: hook, skill and MCP server"

        def do() -> Done:
            changed = [part for part, edit in edits(name, vault, output).items() if edit.is_changed]
            if advice := HARNESSES[name].advice:
                output.remark(advice)
            return Done("assistant", what, vault, name, tuple(changed))

        output = self._output
        try:
            self._step(what, [*edits(name, vault, output, dry_run=True).values()], do)
        except VaultmemError as error:  # its settings cannot be edited safely; the others can
            output.remark(str(error))

    def _model(self, nearby: Nearby) -> None:
        if config.load(None).text("llm.base_url"):
            return
        what = f"use {nearby.model} of {nearby.program}, which runs here, for chats and maintenance"
        self._settings(what, {"llm.base_url": nearby.address, "llm.model": nearby.model})

    # --- one step

    def _step(self, what: str, planned: list[Edited], do: Callable[[], Done]) -> None:
        """Show a step, ask, carry it out and record it."""
        changes = [change for change in planned if change.is_changed]
        if planned and not changes:
            self._say(f"already done: {what}")
            return
        self._planned.append({"what": what, "diff": "".join(map(diff_of, changes))})
        self._say("")
        self._say(what, bold=True)
        for change in changes:
            show_diff(diff_of(change), self._output)
        if self._args.dry_run or not (self._args.yes or self._agrees()):
            return
        try:
            done = do()
        except VaultmemError as error:  # continue with the other steps
            self._output.remark(str(error))
            return
        keep([*recorded_steps(), done])
        self._done.append(what)

    def _agrees(self) -> bool:
        self._output.prompt("Do it? [Y/n] ")
        typed = sys.stdin.readline()
        if not typed:  # the end of input is not a yes
            raise UsageError("the input ended; finished steps stay, and vaultmem setup continues")
        return typed.strip().lower() in ("", "y", "yes")

    def _say(self, text: str, *, bold: bool = False) -> None:
        self._output.line(self._output.paint(text, "bold") if bold else text)


# --- carrying out steps


def edits(
    name: str, vault: str, output: Output, *, dry_run: bool = False, remove: tuple[str, ...] = ()
) -> dict[str, Edited]:  # fmt: skip
    """Connect an assistant, or remove parts of the integration. Returns the edits by part."""
    args = Namespace(
        harness=name, vault=vault, mcp=True, remove=bool(remove), dry_run=dry_run, instructions=None
    )
    edited = Connecting(args, vault, output).edits(remove or PARTS)
    return {part: edit for part, edit in edited.items() if edit}


def _can_serve() -> bool:
    """Whether the system can start services at login."""
    if sys.platform == "darwin":
        return True
    return shutil.which("systemctl") is not None and bool(os.environ.get("XDG_RUNTIME_DIR"))


def _serve_at_login(vault: str) -> Done:
    service = services.service_for(vault)
    paths.make_private(os.path.join(paths.state_folder(vault), "log"))
    was_running = life.stop(vault).status != "none"
    services.write(service)
    if failed := services.run(service.start):
        services.remove(service)
        if was_running:
            life.start(vault)
        raise VaultmemError(
            f"the service could not be started: {failed}; vaultmem service install prepares it for the next login"
        )
    return Done("service", AT_LOGIN, vault)


def _undo(output: Output, *, dry_run: bool) -> int:
    """Undo the recorded steps, last first; later changes by a person stay. A step that cannot be undone stays
    recorded. Returns the exit code."""
    steps, taken = recorded_steps(), []
    for step in reversed([*steps]):
        if not dry_run:
            try:
                _take_back(step, output)
            except VaultmemError as error:  # the others can
                output.remark(f"not undone: {step.what}: {error}")
                continue
            steps.remove(step)
            keep(steps)
        taken.append(step.what)
    would = "would be " if dry_run else ""
    output.result(
        {"undone": taken, "dry_run": dry_run}, *(f"{would}undone: {name}" for name in taken)
    )
    if taken:
        output.note("the index and everything written into the vault remain")
    elif not steps:
        output.note("setup has done nothing that could be undone")
    return 1 if steps and not dry_run else 0


def _take_back(step: Done, output: Output) -> None:
    if step.kind == "setting":
        hooks.edit(paths.config_file(), lambda text: former(text, step.lines))
    elif step.kind == "assistant":
        done = edits(step.name, step.vault, output, remove=step.parts)
        if "server" in step.parts and "server" not in done:
            raise VaultmemError("its MCP server is still registered")
    elif step.kind == "service":
        services.uninstall(services.service_for(step.vault))
    else:
        life.stop(step.vault)

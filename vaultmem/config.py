"""Settings: environment over the user's file over the vault's file over the defaults.

A vault may come from anywhere (a download, a shared drive), so its own file can set only the keys that
are marked harmless: never a model, a path outside the vault, an endpoint or a command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from vaultmem import paths
from vaultmem.core.values import value
from vaultmem.errors import ConfigError

OFF = "off"
VAULT_FILE = ".vaultmem/config.yaml"
MAX_BYTES = 65_536
LARGEST = {
    "search.limit": 1000,
    "embedding.threads": 256,
    "agent.threads": 256,
    "jobs.max_load": 1000,
}
# other numbers: what 32 bits can hold


@value
class Setting:
    """A setting: its default, whether a vault's own file may set it, what it does.

    `check` returns a text as it is to be kept, and raises ValueError that says what it must be.
    """

    default: str | int
    harmless: bool
    meaning: str
    check: Callable[[str], str] | None = None


def _schedule(text: str) -> str:
    from vaultmem.core import schedule  # only for those who set one: most commands need no schedule

    schedule.read(text)
    return " ".join(text.lower().split())


def _span(text: str) -> str:
    from vaultmem.core import durations

    durations.seconds(text)
    return text


def _span_or_never(text: str) -> str:
    if text == "never":
        return text
    try:
        return _span(text)
    except ValueError as error:
        raise ValueError(f"{error}, or never") from error


def _one_of(*known: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in known:
            raise ValueError(f"{', '.join(known[:-1])} or {known[-1]}")
        return text

    return check


def _clock(text: str) -> str:
    hour, colon, minute = text.partition(":")
    if not (colon and hour.isdecimal() and minute.isdecimal() and len(minute) == 2):
        raise ValueError("a time of day such as 09:00")
    if not (int(hour) < 24 and int(minute) < 60):
        raise ValueError("a time of day between 00:00 and 23:59")
    return f"{int(hour):02}:{minute}"


def _quiet(text: str) -> str:
    if text == OFF:
        return text
    try:
        start, end = (_clock(part.strip()) for part in text.split("-"))
    except ValueError as error:
        raise ValueError("two times of day such as 22:00-07:00, or off") from error
    return f"{start}-{end}"


SETTINGS = {
    "vault": Setting("", False, "the vault to use when none is named and none is found above"),
    "dialect": Setting("auto", True, "how notes are read: auto, obsidian, logseq"),
    "memory_folder": Setting(
        "vaultmem", True, "the folder of the vault that vaultmem writes into", paths.inside
    ),
    "index.max_note_bytes": Setting(4_000_000, False, "how much of a very large note is indexed"),
    "embedding.model": Setting(
        "default", False, "default, off, a fastembed model name, or a local folder"
    ),
    "embedding.threads": Setting(2, False, "processor threads for embedding"),
    "vectors.hnsw_threshold": Setting(
        50_000, False, "number of blocks above which a graph index is built"
    ),
    "search.limit": Setting(10, True, "how many results a search shows"),
    "recall.reranker": Setting(OFF, False, "off, a fastembed cross-encoder, or a local folder"),
    "memories.inbox_ttl": Setting(
        "7d", False, "how long a memory may stay in the inbox before it is archived", _span
    ),
    "memories.decay_after": Setting(
        "30d", False, "when a memory that was never read is archived, unless it is stable", _span
    ),
    "memories.upgrade_reads": Setting(
        3, False, "after how many reads a memory of the inbox is filed"
    ),
    "dream.max_changes": Setting(500, False, "how many memories one job changes at most"),
    "dream.medium_after": Setting(
        "1h", False, "idle time after which dreams also merge and link memories", _span
    ),
    "dream.deep_after": Setting(
        "6h", False, "idle time after which dreams also look across all of them", _span
    ),
    "dream.report": Setting(
        "on",
        True,
        "whether What changed.md is kept in the memory folder: on or off",
        _one_of("on", OFF),
    ),
    "pending.path": Setting(
        "", True, "where pending.md is kept; empty: in the memory folder; off: nowhere", paths.page
    ),
    "pending.complete_in_notes": Setting(
        "ask",
        False,
        "whether a task that is done in pending.md is marked done in its note: ask, always, never",
        _one_of("ask", "always", "never"),
    ),
    "notify.method": Setting(
        "desktop",
        False,
        "how you are reminded: desktop, file, none",
        _one_of("desktop", "file", "none"),
    ),
    "notify.day_at": Setting(
        "09:00", False, "when you are reminded of what is due on a day without a time", _clock
    ),
    "notify.quiet": Setting(
        OFF, False, "hours without notifications, such as 22:00-07:00, or off", _quiet
    ),
    "notify.again": Setting(
        "1d", False, "how long after it was due you are reminded again, or never", _span_or_never
    ),
    "agent.idle": Setting(
        "10m", False, "without edits and requests for so long, the vault counts as idle", _span
    ),
    "agent.threads": Setting(1, False, "processor threads with which the agent embeds"),
    "agent.unload": Setting(
        "never",
        False,
        "idle time after which the agent lets go of the model, or never",
        _span_or_never,
    ),
    "jobs.reconcile": Setting("5m", False, "when the whole vault is compared", _schedule),
    "jobs.tidy": Setting("0 3 * * *", False, "when vectors without a text are dropped", _schedule),
    "jobs.check": Setting(
        "0 4 * * 0", False, "when the index is looked over for damage", _schedule
    ),
    "jobs.expire": Setting("1h", False, "when memories end that are due to", _schedule),
    "jobs.upgrade": Setting("1h", False, "when memories that are read often are filed", _schedule),
    "jobs.decay": Setting("30 4 * * *", False, "when faded memories are archived", _schedule),
    "jobs.consolidate": Setting(
        "0 5 * * *", False, "when memories are expired, faded, filed and merged", _schedule
    ),
    "jobs.dream": Setting("20m", False, "when dreams may come, while the vault is idle", _schedule),
    "jobs.typing": Setting(
        "2m", False, "how long after an edit jobs that can wait leave you alone", _span
    ),
    "jobs.battery": Setting(
        "wait", False, "what they do on battery: wait or run", _one_of("wait", "run")
    ),
    "jobs.max_load": Setting(80, False, "percent of all processors in use above which they wait"),
}


class Config:
    """The settings in force. `config["embedding.model"]` gives a value of the default's type."""

    def __init__(self, values: dict[str, str | int], warnings: tuple[str, ...] = ()) -> None:
        self._values = values
        self.warnings = warnings

    def __getitem__(self, key: str) -> str | int:
        return self._values.get(key, SETTINGS[key].default)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and (self._values, self.warnings) == (
            other._values,
            other.warnings,
        )

    __hash__ = None  # type: ignore[assignment] # equal values, not the same object

    def text(self, key: str) -> str:
        """A setting that is text."""
        return str(self[key])

    def number(self, key: str) -> int:
        """A setting that is a whole number."""
        return int(self[key])


def load(vault: str | None, environ: Mapping[str, str] = os.environ) -> Config:
    """Read all sources. A wrong value in the user's file or the environment is a ConfigError; one in
    the vault's file is a warning, because its owner may not be the one who runs this.

    `environ` is where the VAULTMEM_* settings are read; the user's file is always that of this process.
    """
    values: dict[str, str | int] = {}
    warnings: list[str] = []
    if vault:
        source = os.path.join(vault, VAULT_FILE)
        values.update(
            _vault_values(_read(source, _vault_text(vault, warnings), warnings), source, warnings)
        )
    source = paths.config_file()
    for key, given in _read(source, _own_text(source), None).items():
        values[key] = _checked(key, given, source)
    for key in SETTINGS:
        name = variable(key)
        if name in environ:
            values[key] = _checked(key, environ[name], f"the environment variable {name}")
    return Config(values, tuple(warnings))


def variable(key: str) -> str:
    """The environment variable of a setting."""
    return "VAULTMEM_" + key.replace(".", "_").upper()


def signature(vault: str) -> tuple[tuple[int, int, int] | None, ...]:
    """Another value when one of the files that load() reads has changed. A link in the vault is not read, so
    what it leads to does not count."""
    found: list[tuple[int, int, int] | None] = []
    for look, path in (
        (os.lstat, os.path.join(vault, VAULT_FILE)),
        (os.stat, paths.config_file()),
    ):
        try:
            stat = look(path)
            found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except OSError:
            found.append(None)
    return tuple(found)


def _vault_values(raw: dict[str, object], source: str, warnings: list[str]) -> dict[str, str | int]:
    values: dict[str, str | int] = {}
    for key, given in raw.items():
        if key in SETTINGS and not SETTINGS[key].harmless:
            warnings.append(f"{source} may not set {key}; set it in {paths.config_file()}")
            continue
        try:
            checked = _checked(key, given, source)
        except ConfigError as error:
            warnings.append(str(error))
            continue
        if key == "dialect" and not _is_dialect(str(checked)):
            warnings.append(
                f"{source}: no dialect {checked!r} is installed; the vault is read as auto"
            )
            continue
        values[key] = checked
    return values


def _is_dialect(name: str) -> bool:
    """Whether a dialect of this name is installed. Most are found by the name of their package, at a
    hundredth of what it costs to ask all packages for theirs."""
    from importlib.machinery import PathFinder

    if name == "auto" or (name.isidentifier() and PathFinder.find_spec(f"vaultmem_{name}")):
        return True
    from importlib.metadata import entry_points

    return name in entry_points(group="vaultmem.adapters").names


def _nearest(key: str) -> str:
    from difflib import get_close_matches  # rarely needed, and not light

    found = get_close_matches(key, SETTINGS, 1)
    return f"did you mean {found[0]}?" if found else f"known: {', '.join(SETTINGS)}"


def _checked(key: str, value: object, source: str) -> str | int:
    if key not in SETTINGS:
        raise ConfigError(f"{source}: unknown setting {key!r}; {_nearest(key)}")
    setting = SETTINGS[key]
    if isinstance(setting.default, int):
        return _number(key, value, source)
    may_be_off = key in ("embedding.model", "pending.path") or setting.default == OFF
    if value is False and (may_be_off or setting.check is _schedule):
        value = OFF  # YAML 1.1 reads a bare `off` as false
    if not isinstance(value, str):
        example = f" such as {setting.default}" if setting.default else ""
        raise ConfigError(f"{source}: {key} must be text{example}, not {value!r}")
    if setting.check is None:
        return value
    try:
        return setting.check(value)
    except ValueError as error:
        raise ConfigError(f"{source}: {key} must be {error}, not {value!r}") from error


def _number(key: str, value: object, source: str) -> int:
    try:
        number = int(str(value).replace(",", ""))
    except ValueError:
        number = -1
    largest = LARGEST.get(key, 2**31)
    if not 1 <= number <= largest:
        raise ConfigError(
            f"{source}: {key} must be a whole number from 1 to {largest}, not {value!r}"
        )
    return number


def _vault_text(vault: str, warnings: list[str]) -> str:
    """The vault's file; "" when there is none. A link, pipe or device is not read."""
    if not os.path.lexists(os.path.join(vault, VAULT_FILE)):
        return ""
    from vaultmem.store.lines import read_regular

    data = read_regular(vault, VAULT_FILE)
    if data is None:
        warnings.append(f"{os.path.join(vault, VAULT_FILE)} is no plain file, so it is not read")
        return ""
    return data[:MAX_BYTES].decode("utf-8", "replace")


def _own_text(path: str) -> str:
    if not os.path.exists(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MAX_BYTES)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def _read(source: str, text: str, warnings: list[str] | None) -> dict[str, object]:
    """The text as flat keys: {"embedding": {"model": x}} gives "embedding.model". What is wrong with it
    is a warning where these are collected, and an error elsewhere."""
    if not text.strip():
        return {}
    from vaultmem.store import yaml12

    try:
        return _flat(yaml12.read(text).properties)
    except yaml12.UnreadableError as error:
        where = "" if error.line is None else f", line {error.line + 1}"
        problem = f"{source}{where}: {error.problem}"
    except ValueError as error:
        problem = f"{source}: {error}"
    if warnings is None:
        raise ConfigError(f"{problem}; mend or remove the file")
    warnings.append(problem)
    return {}


def _flat(tree: object, prefix: str = "") -> dict[str, object]:
    if not isinstance(tree, dict):
        if prefix or tree is None:
            return {}
        raise ValueError("it must hold `key: value` lines")
    flat: dict[str, object] = {}
    for key, given in tree.items():
        name = f"{prefix}{key}"
        flat.update(_flat(given, f"{name}.") if isinstance(given, dict) else {name: given})
    return flat

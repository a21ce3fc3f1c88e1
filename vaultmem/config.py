"""Settings: environment over the user's file over the vault's file over the defaults.

A vault may come from anywhere (a download, a shared drive), so its own file can set only the keys that
are marked harmless: never a model, a path outside the vault, an endpoint or a command.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from vaultmem import paths
from vaultmem.errors import ConfigError
from vaultmem.settings import LARGEST, MAY_BE_OFF, OFF, SETTINGS, SMALLEST, UNTOLD, schedule

VAULT_FILE = ".vaultmem/config.yaml"
MAX_BYTES = 65_536


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
    may_be_off = key in MAY_BE_OFF or setting.default == OFF
    if value is False and (may_be_off or setting.check is schedule):
        value = OFF  # YAML 1.1 reads a bare `off` as false
    but = "" if key in UNTOLD else f", not {value!r}"
    if not isinstance(value, str):
        example = f" such as {setting.default}" if setting.default else ""
        raise ConfigError(f"{source}: {key} must be text{example}{but}")
    if setting.check is None:
        return value
    try:
        return setting.check(value)
    except ValueError as error:
        raise ConfigError(f"{source}: {key} must be {error}{but}") from None


def _number(key: str, value: object, source: str) -> int:
    try:
        number = int(str(value).replace(",", ""))
    except ValueError:
        number = -1
    smallest, largest = SMALLEST.get(key, 1), LARGEST.get(key, 2**31)
    if not smallest <= number <= largest:
        raise ConfigError(
            f"{source}: {key} must be a whole number from {smallest} to {largest}, not {value!r}"
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

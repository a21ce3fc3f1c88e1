"""Reads settings: the environment overrides the user's file, which overrides the vault's file, which overrides
defaults.

A vault may come from anywhere (a download, a shared drive), so its own file can only set keys that are marked
harmless: never a model, a path outside the vault, an endpoint or a command.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from vaultmem import paths, plugins
from vaultmem.errors import ConfigError, FrontMatterError
from vaultmem.light import TYPE_CHECKING
from vaultmem.settings import SETTINGS, Value, canonical_key, key_of, variable
from vaultmem.text.values import did_you_mean

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject

__all__ = ["SETTINGS", "Config", "load", "signature", "variable", "write_setting"]

VAULT_FILE = ".vaultmem/config.yaml"
MAX_BYTES = 65_536


class Config:
    """The effective settings. `config["embedding.model"]` has the type of the default."""

    def __init__(self, values: dict[str, Value], warnings: tuple[str, ...] = ()) -> None:
        self._values = values
        self.warnings = warnings

    def __getitem__(self, key: str) -> Value:
        return self._values.get(key, SETTINGS[canonical_key(key) or key].default)

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

    def share(self, key: str) -> float:
        """A setting that is a number from 0 to 1."""
        return float(self[key])

    def seconds(self, key: str) -> float:
        """A setting that is a duration, in seconds."""
        from vaultmem.text import times

        return times.duration_seconds(self.text(key))


def load(vault: str | None, environ: Mapping[str, str] = os.environ) -> Config:
    """Read all sources. An invalid value in the user's file or the environment is a ConfigError; in the vault's file
    it is a warning, because its owner may not be the person running this.

    `environ` has the VAULTMEM_* settings; the user's file is always that of this process.
    """
    values: dict[str, Value] = {}
    warnings: list[str] = []
    unknown: list[str] = []
    if vault:
        source = os.path.join(vault, VAULT_FILE)
        vault_settings = _known_settings(
            _read(source, _vault_text(vault, warnings), warnings), source, unknown
        )
        values.update(_vault_values(vault_settings, source, warnings))
    source = paths.config_file()
    for key, value in _known_settings(
        _read(source, _own_text(source), None), source, unknown
    ).items():
        values[key] = _check(key, value, source)
    for name in sorted(environ):
        if not name.startswith("VAULTMEM_") or name in paths.NO_SETTINGS:
            continue
        if key := key_of(name):
            values[key] = _check(key, environ[name], f"the environment variable {name}")
        else:
            unknown.append(f"the environment variable {name}")
    if unknown:
        warnings.append(f"ignored unknown settings: {'; '.join(unknown)}")
    return Config(values, tuple(warnings))


def _known_settings(raw: JsonObject, source: str, unknown: list[str]) -> JsonObject:
    """The known settings of a file; the others are added to `unknown`."""
    unknown += [
        f"{key} in {source}{did_you_mean(key, SETTINGS)}" for key in raw if not canonical_key(key)
    ]
    return {key: value for key, value in raw.items() if canonical_key(key)}


def choose_vault(named: str | None) -> str:
    """The vault to work on: the named one, else by environment, folder or settings, else one that a dialect claims."""
    return paths.choose_vault(named, load(None).text("vault"), _claim)


def _claim(start: str) -> str | None:
    from vaultmem.notes import dialects

    return dialects.claimed_vault(start)


def write_setting(key: str, value: str) -> str:
    """Write a setting to the user's own file and change nothing else there. Returns the path of the file. Raises
    ConfigError if only a person can change the line."""
    path = paths.config_file()
    new = with_setting(_own_text(path), key, value)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    paths.replace_private(path, new)
    return path


def check_setting(key: str, value: str) -> str:
    """The path of the file that write_setting() would change; raises as it does."""
    path = paths.config_file()
    with_setting(_own_text(path), key, value)
    return path


def with_setting(text: str, key: str, value: str) -> str:
    """The text of the user's own file with a setting; raises ConfigError as keep() does."""
    from vaultmem.notes.frontmatter_edit import set_property

    path, frame = paths.config_file(), "---\n"
    before = _read(path, text, None)
    framed = f"{frame}{text.removesuffix(chr(10))}\n{frame}" if text.strip() else ""
    try:
        new = set_property(framed, key, value).removeprefix(frame).removesuffix(frame)
    except FrontMatterError:  # one is a copy of another, or the key is odd
        new = text
    lines = (text if key in before else new).splitlines()
    is_plain = any(line.startswith(f"{key}:") for line in lines)
    if not is_plain or _read(path, new, None) != {**before, key: value}:
        raise ConfigError(
            f"set {key} to {value} in {path} yourself; the file is too complex to edit"
        )
    return new


def signature(vault: str) -> tuple[tuple[int, int, int] | None, ...]:
    """A value that changes when a file that load() reads changes; links in the vault are ignored."""
    stats: list[tuple[int, int, int] | None] = []
    for look, path in ((os.lstat, os.path.join(vault, VAULT_FILE)), (os.stat, paths.config_file())):
        try:
            stats.append(paths.stamp(path, look))
        except OSError:
            stats.append(None)
    return tuple(stats)


def _vault_values(raw: JsonObject, source: str, warnings: list[str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for key, value in raw.items():
        if not SETTINGS[canonical_key(key)].harmless:
            warnings.append(f"{source} may not set {key}; set it in {paths.config_file()}")
            continue
        try:
            checked = _check(key, value, source)
        except ConfigError as error:
            warnings.append(str(error))
            continue
        if key == "dialect" and checked not in ("auto", *plugins.registered("vaultmem.adapters")):
            warnings.append(
                f"{source}: no dialect {checked!r} is installed; the vault is read as auto"
            )
            continue
        values[key] = checked
    return values


def _check(key: str, value: object, source: str) -> Value:
    setting = SETTINGS[canonical_key(key)]
    try:
        return setting.read(value)
    except ValueError as error:
        but = "" if setting.is_secret else f", not {value!r}"
        raise ConfigError(f"{source}: {key} must be {error}{but}") from None


def _vault_text(vault: str, warnings: list[str]) -> str:
    """The vault's file; "" when there is none. A link, pipe or device is not read."""
    if not os.path.lexists(os.path.join(vault, VAULT_FILE)):
        return ""
    from vaultmem.vault import files

    file = files.read(vault, VAULT_FILE, MAX_BYTES)
    if not file.hash:
        warnings.append(f"{os.path.join(vault, VAULT_FILE)} is not a regular file and is ignored")
    return file.text


def _own_text(path: str) -> str:
    if not os.path.exists(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MAX_BYTES)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def _read(source: str, text: str, warnings: list[str] | None) -> JsonObject:
    """A YAML text as flat keys: {"embedding": {"model": x}} becomes "embedding.model". An error in it is added to
    `warnings`, or raised as ConfigError without that list."""
    if not text.strip():
        return {}
    from vaultmem.notes import frontmatter

    try:
        return _flat(frontmatter.read_yaml(text).properties)
    except frontmatter.UnreadableError as error:
        where = "" if error.line is None else f", line {error.line + 1}"
        problem = f"{source}{where}: {error.problem}"
    except ValueError as error:
        problem = f"{source}: {error}"
    if warnings is None:
        raise ConfigError(f"{problem}; fix or remove the file")
    warnings.append(problem)
    return {}


def _flat(tree: object, prefix: str = "") -> JsonObject:
    if not isinstance(tree, dict):
        if prefix or tree is None:
            return {}
        raise ValueError("it must hold `key: value` lines")
    flat: dict[str, object] = {}
    for key, value in tree.items():
        name = f"{prefix}{key}"
        flat.update(_flat(value, f"{name}.") if isinstance(value, dict) else {name: value})
    return flat

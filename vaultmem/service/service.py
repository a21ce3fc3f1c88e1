"""The agent as a service of the person's session: systemd units, launchd plists.

Pure functions decide what is written; `write`, `run` and `uninstall` carry it out.
"""

from __future__ import annotations

import contextlib
import os
import plistlib
import re
import subprocess
import sys
from collections.abc import Iterable

from vaultmem.errors import StateError
from vaultmem.paths import NO_SETTINGS, replace_private, state_folder, vault_id
from vaultmem.text.values import file_text, value


@value
class Service:
    """One file with which the system starts a vault's agent, and the related commands."""

    kind: str  # systemd, launchd
    name: str
    path: str
    content: bytes
    start: list[list[str]]
    resume: list[list[str]]  # when stopped
    stop: list[list[str]]
    forget: list[list[str]]  # after the file is removed
    is_active: list[str]


def service_for(vault: str, platform: str = sys.platform) -> Service:
    """A vault's service on this system. Raises StateError without systemd and launchd."""
    if platform.startswith("linux"):
        return _systemd(vault)
    if platform == "darwin":
        return _launchd(vault)
    raise StateError(
        f"services are made for systemd (Linux) and launchd (macOS), not for {platform}; "
        "let your system run: vaultmem serve --vault FOLDER"
    )


def agent_command(vault: str) -> list[str]:
    """The command that runs a vault's agent, for those who start it."""
    return [sys.executable, "-P", "-m", "vaultmem", "serve", "--vault", vault]


def service_environment(environ: dict[str, str]) -> dict[str, str]:
    """What a service must take over from this shell: the location of the state, and settings from variables."""
    passed_on = ("VAULTMEM_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "TZ")
    left_out = (*NO_SETTINGS, "VAULTMEM_VAULT")
    variables = {
        name: text
        for name, text in sorted(environ.items())
        if text and (name in passed_on or (name.startswith("VAULTMEM_") and name not in left_out))
    }
    if "VAULTMEM_STATE" in variables:
        variables["VAULTMEM_STATE"] = os.path.abspath(variables["VAULTMEM_STATE"])
    return variables


# --- systemd


def _systemd(vault: str) -> Service:
    name = f"vaultmem-{plain_id(vault)}.service"
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.join(os.path.expanduser("~"), ".config")
    ask = ["systemctl", "--user"]
    return Service(
        kind="systemd",
        name=name,
        path=os.path.join(config, "systemd", "user", name),
        content=render_unit(agent_command(vault), vault, service_environment(dict(os.environ))),
        start=[[*ask, "daemon-reload"], [*ask, "enable", name], [*ask, "restart", name]],
        resume=[[*ask, "start", name]],
        stop=[[*ask, "disable", "--now", name]],
        forget=[[*ask, "daemon-reload"], [*ask, "reset-failed", name]],
        is_active=[*ask, "is-active", "--quiet", name],
    )


def plain_id(vault: str) -> str:
    """The id of a vault in characters that every system accepts in names."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "-") else "-" for c in vault_id(vault))


def render_unit(command: list[str], vault: str, environment: dict[str, str]) -> bytes:
    """The text of a systemd user unit."""
    for name, text in environment.items():
        if not text.replace("\t", " ").isprintable():
            what = f"no unit can hold {name}={text!r}"
            raise StateError(f"{what}; set it to something in plain letters")
    lines = [f"Environment={quote_word(f'{name}={text}')}\n" for name, text in environment.items()]
    title = "".join(c if c.isprintable() else "\ufffd" for c in vault).replace("%", "%%")
    unit = file_text("vaultmem.service", "systemd.service")
    unit = unit.replace("@TITLE@", title.rstrip("\\"))
    words = exec_line(command)
    return unit.replace("@COMMAND@", words).replace("@ENVIRONMENT@", "".join(lines)).encode()


def exec_line(words: list[str]) -> str:
    """The words as systemd parses them after ExecStart=."""
    program = words[0]
    if re.search(r"""["'\\$\x00-\x1f\x7f]""", program):
        # systemd rejects such characters in a program's name, but not in its arguments.
        words = ["/usr/bin/env", *words]
    first, *others = words
    return " ".join([quote_word(first), *(quote_word(word).replace("$", "$$") for word in others)])


def quote_word(word: str) -> str:
    """One word in double quotes, in which nothing acts as a quote, a specifier or an escape."""
    if "\n" in word or "\r" in word or "\0" in word:
        raise StateError(
            f"{word!r} holds a line break, which no service file can hold; rename the folder"
        )
    made = "".join(_escape(c) for c in word)
    return f'"{made}"'


def words_of(line: bytes) -> list[str]:
    """The words of a line by exec_line()."""

    def plain(escape: re.Match[bytes]) -> bytes:
        return bytes.fromhex(escape[1].decode()) if escape[1] else escape[2]

    quoted = re.findall(rb'"((?:[^"\\]|\\.)*)"', line)
    words = (word.replace(b"%%", b"%").replace(b"$$", b"$") for word in quoted)
    return [os.fsdecode(re.sub(rb"\\(?:x([0-9a-f]{2})|(.))", plain, word)) for word in words]


def _escape(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    if c == "%":
        return "%%"
    if c.isprintable():
        return c
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(c))


# --- launchd


def _launchd(vault: str) -> Service:
    name = f"vaultmem.{plain_id(vault)}"
    folder = os.path.join(os.path.expanduser("~"), "Library", "LaunchAgents")
    path = os.path.join(folder, f"{name}.plist")
    domain = f"gui/{os.getuid()}"
    out = os.path.join(state_folder(vault), "log", "agent.out")
    content = render_plist(name, agent_command(vault), service_environment(dict(os.environ)), out)
    return Service(
        kind="launchd", name=name, path=path, content=content, start=[["launchctl", "bootstrap", domain, path]],
        resume=[["launchctl", "kickstart", f"{domain}/{name}"]], stop=[["launchctl", "bootout", f"{domain}/{name}"]],
        forget=[], is_active=["launchctl", "print", f"{domain}/{name}"],
    )  # fmt: skip


def render_plist(name: str, command: list[str], environment: dict[str, str], out: str) -> bytes:
    """The property list of a launchd agent."""
    made = {
        "Label": name, "ProgramArguments": command, "EnvironmentVariables": environment, "WorkingDirectory": "/",
        "RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}, "ThrottleInterval": 10, "ExitTimeOut": 10,
        "Nice": 10, "LowPriorityIO": True, "Umask": 0o077, "StandardOutPath": out, "StandardErrorPath": out,
    }  # fmt: skip
    try:
        return plistlib.dumps(made)
    except (ValueError, UnicodeEncodeError) as error:
        raise StateError(
            "the path holds a control character, which no service file can hold; rename the folder"
        ) from error


# --- doing it


def is_installed(service: Service) -> bool:
    """Whether the file exists."""
    return os.path.exists(service.path)


def is_active(service: Service) -> bool:
    """Whether the system is running the service."""
    return is_installed(service) and run([service.is_active]) is None


def interpreter(service: Service) -> str | None:
    """The Python that the installed file starts, if it is one of ours."""
    try:
        with open(service.path, "rb") as file:
            content = file.read()
        if service.kind == "launchd":
            return str(plistlib.loads(content)["ProgramArguments"][0])
        line = re.search(rb"^ExecStart=(.*)$", content, re.MULTILINE)
        words = words_of(line[1]) if line else []
    except (OSError, ValueError, KeyError, IndexError, plistlib.InvalidFileException):
        return None
    return next((word for word in words if word != "/usr/bin/env"), None)


def write(service: Service) -> None:
    """Write the file, completely or not at all."""
    try:
        os.makedirs(os.path.dirname(service.path), exist_ok=True)
        replace_private(service.path, service.content.decode("utf-8"), sync=True)
    except OSError as error:
        raise StateError(f"cannot write {service.path}: {error.strerror}") from error


def remove(service: Service) -> None:
    """Remove the file, what `enable` linked to it, and folders left empty."""
    folder = os.path.dirname(service.path)
    wants = os.path.join(folder, "default.target.wants")
    for path in (service.path, os.path.join(wants, service.name)):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
    if service.kind == "systemd":
        for empty in (wants, folder, os.path.dirname(folder)):
            with contextlib.suppress(OSError):
                os.rmdir(empty)


def uninstall(service: Service) -> None:
    """Have the system stop and forget the service, as far as possible."""
    run(service.stop)
    remove(service)
    run(service.forget)


def run(commands: Iterable[list[str]]) -> str | None:
    """Run commands in order. Returns why the first failing one failed, or None."""
    for command in commands:
        try:
            ended = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
            )
        except FileNotFoundError:
            return f"{command[0]} is not installed"
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{command[0]}: {error}"
        if ended.returncode:
            errors = ended.stderr.decode("utf-8", "replace").strip().splitlines()
            return errors[0] if errors else f"{' '.join(command)} ended with {ended.returncode}"
    return None

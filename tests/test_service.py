"""Units for systemd and property lists for launchd: every path survives, and what is installed can be undone."""

import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_run import on, one_line
from tests.conftest import Write
from vaultmem.errors import StateError
from vaultmem.service import service

ODD = (
    "/home/me/My notes",
    "/home/me/100%h done",
    "/home/me/$HOME/${x}$$",
    '/home/me/it\'s "quoted"',
    "/home/me/back\\slash\\n",
    "/home/me/中文 笔记",
    "/home/me/tab\there",
    "/home/me/;semi -dash",
    os.fsdecode(b"/home/me/not-utf8-\xff"),
)
COMMAND = ["/usr/bin/python3", "-m", "vaultmem", "serve", "--vault"]

words = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1)


def read_back(line: str) -> list[str]:
    """The words of an ExecStart= line, as systemd takes them."""
    read = []
    for inner in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
        plain = inner.replace("%%", "%").replace("$$", "$").encode()
        byte = rb'\\(?:x([0-9a-f]{2})|(["\\]))'
        made = re.sub(byte, lambda m: bytes([int(m[1], 16)]) if m[1] else m[2], plain)
        read.append(os.fsdecode(made))
    return read[1:] if read[0] == "/usr/bin/env" else read


@given(words, words)
def test_any_word_is_read_back(program: str, word: str) -> None:
    line = service.exec_line([f"/{program}", "-m", word])
    assert read_back(line) == [f"/{program}", "-m", word]
    assert service.words_of(line.encode())[-2:] == ["-m", word]


@pytest.mark.parametrize(
    "program",
    ["/it's/python", "/a$b/python", "/back\\slash/python", '/"/python', "/a\xa0b\t/python"],
)
def test_a_program_that_systemd_would_refuse_goes_through_env(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = service.exec_line([program, "-m", "vaultmem"])
    assert line.startswith('"/usr/bin/env" ')
    assert read_back(line)[0] == program
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "executable", program)
    service.write(installed := service.service_for("/n", "linux"))
    assert service.interpreter(installed) == program


@pytest.mark.parametrize("sign", ["\n", "\r"])
def test_line_breaks_are_refused(sign: str) -> None:
    with pytest.raises(StateError, match="line break"):
        service.render_unit([*COMMAND, f"/a{sign}ExecStart=/bin/evil"], "/a", {})
    with pytest.raises(StateError, match="no unit can hold"):
        service.render_unit([*COMMAND, "/a"], "/a", {"VAULTMEM_STATE": f"/x{sign}y"})


def test_a_title_makes_no_line_of_its_own() -> None:
    text = service.render_unit([*COMMAND, "/a"], "/a\nExecStart=/bin/evil\\", {}).decode()
    assert "\nExecStart=/bin/evil" not in text
    assert "Description=vaultmem agent of /a\ufffdExecStart=/bin/evil\n" in text


def test_the_unit_is_gentle_and_restarts() -> None:
    # In the idle class a search would wait for as long as anything else uses the disk.
    text = service.render_unit([*COMMAND, "/n"], "/n", {"VAULTMEM_STATE": "/s 100%"}).decode()
    wanted = """Nice=10 IOSchedulingPriority=7 Restart=on-failure RestartSec=5
        StartLimitBurst=5 NoNewPrivileges=yes UMask=0077 WantedBy=default.target""".split()
    assert set(wanted) <= set(text.splitlines())
    assert 'Environment="VAULTMEM_STATE=/s 100%%"' in text
    assert f"ExecStart={service.exec_line([*COMMAND, '/n'])}" in text


def verified(content: bytes, folder: Path) -> str:
    """What systemd has to say about a unit."""
    unit = folder / "vaultmem-test.service"
    unit.write_bytes(content)
    ended = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", str(unit)],
        capture_output=True, timeout=60, check=False, env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
    )  # fmt: skip
    said = ended.stderr.decode("utf-8", "replace").splitlines()
    return "\n".join(line for line in said if "vaultmem-test" in line)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
@pytest.mark.parametrize("vault", ODD)
def test_systemd_takes_the_unit(vault: str, tmp_path: Path) -> None:
    odd = tmp_path / "it's $HOME 100%h"
    odd.mkdir()
    program = odd / "python"
    program.symlink_to("/bin/true")
    state = vault.replace("\udcff", "")
    content = service.render_unit(
        [str(program), *COMMAND[1:], vault], vault, {"VAULTMEM_STATE": state}
    )
    assert not verified(content, tmp_path)
    assert verified(content.replace(b"Nice=10", b"Nice=ten"), tmp_path)


@pytest.mark.parametrize("vault", [one for one in ODD if "\t" not in one and "\udcff" not in one])
def test_the_property_list_says_the_same(vault: str) -> None:
    made = plistlib.loads(
        service.render_plist("vaultmem.x", [*COMMAND, vault], {"VAULTMEM_STATE": "/s"}, "/s/out")
    )
    assert made["ProgramArguments"] == [*COMMAND, vault]
    assert made["EnvironmentVariables"] == {"VAULTMEM_STATE": "/s"}
    assert (made["Nice"], made["LowPriorityIO"]) == (10, True)
    assert "ProcessType" not in made  # Background would confine searches to slow cores
    assert made["KeepAlive"] == {"SuccessfulExit": False}
    assert made["RunAtLoad"] is True


@pytest.mark.parametrize("vault", ["/a\x07b", os.fsdecode(b"/a\xff")])
def test_launchd_can_hold_no_such_path(vault: str) -> None:
    with pytest.raises(StateError, match="rename the folder"):
        service.render_plist("vaultmem.x", [*COMMAND, vault], {}, "/s/out")


def test_the_environment_that_counts_is_kept() -> None:
    environ = {
        "VAULTMEM_STATE": "relative", "VAULTMEM_EMBEDDING_MODEL": "off", "VAULTMEM_VAULT": "/x",
        "VAULTMEM_DEBUG": "1", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "", "PATH": "/bin", "SECRET": "x",
    }  # fmt: skip
    assert service.service_environment(environ) == {
        "VAULTMEM_STATE": os.path.abspath("relative"),
        "VAULTMEM_EMBEDDING_MODEL": "off",
        "XDG_CONFIG_HOME": "/c",
    }


def test_other_systems_are_told_what_to_do(vault: Path) -> None:
    with pytest.raises(StateError, match="vaultmem serve"):
        service.service_for(str(vault), "win32")


def test_macos_has_its_own_place(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/Users/me")
    made = service.service_for(str(vault), "darwin")
    assert made.path == f"/Users/me/Library/LaunchAgents/{made.name}.plist"
    assert plistlib.loads(made.content)["Label"] == made.name
    assert made.start == [["launchctl", "bootstrap", f"gui/{os.getuid()}", made.path]]


# --- installing; `systemctl` is a script that writes down what it is asked


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lines that the stand-in for systemctl was called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    record = tmp_path / "asked"
    script = folder / "systemctl"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> {record}\ncase "$2" in is-active) exit 3;; esac\n'
        'if [ -n "$NO_BUS" ]; then echo "Failed to connect to bus" >&2; exit 1; fi\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(sys, "platform", "linux")
    return record


def files(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "config").rglob("*") if not path.is_dir()]


def test_uninstalling_leaves_units_of_others(asked: Path, vault: Path, tmp_path: Path) -> None:
    other = tmp_path / "config" / "systemd" / "user" / "other.service"
    other.parent.mkdir(parents=True)
    other.write_text("[Unit]\n")
    installed = on(vault, "service", "install", "--format", "json")
    assert installed.code == 0, installed.err
    made = service.service_for(str(vault), "linux")
    assert installed.data["file"] == made.path
    assert {str(path) for path in files(tmp_path)} == {made.path, str(other)}
    assert Path(made.path).read_bytes() == made.content
    assert service.interpreter(made) == sys.executable
    lines = asked.read_text().splitlines()
    assert [line for line in lines if "is-active" not in line] == [
        "--user daemon-reload", f"--user enable {made.name}", f"--user restart {made.name}",
    ]  # fmt: skip
    wants = Path(made.path).parent / "default.target.wants"
    wants.mkdir()
    (wants / made.name).symlink_to(made.path)
    ended = on(vault, "service", "uninstall")
    assert (ended.code, "vaultmem start starts it" in ended.err) == (0, True)
    assert files(tmp_path) == [other]
    assert f"--user disable --now {made.name}" in asked.read_text()
    again = on(vault, "service", "uninstall", "--format", "json")
    assert (again.code, again.data["status"]) == (0, "none")


def test_a_dry_run_does_nothing(asked: Path, vault: Path, tmp_path: Path) -> None:
    ended = on(vault, "service", "install", "--dry-run", "--format", "text")
    assert ended.code == 0
    assert "Nice=10" in ended.out
    assert "$ systemctl --user enable" in ended.out
    assert not (tmp_path / "config").exists()
    assert not asked.exists()


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("missing", [True, False])
def test_without_a_session_one_is_told_what_to_type(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: bool
) -> None:
    if missing:
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        monkeypatch.setenv("NO_BUS", "1")
    ended = on(vault, "service", "install", "--format", "text")
    made = service.service_for(str(vault), "linux")
    assert ended.code == 1
    said = one_line(ended)
    assert ("not installed" if missing else "Failed to connect to bus") in said
    assert f"systemctl --user daemon-reload && systemctl --user enable {made.name}" in said
    assert len(files(tmp_path)) == 1
    assert on(vault, "service", "uninstall").code == 0
    assert not files(tmp_path)


@pytest.mark.usefixtures("asked")
def test_a_service_can_be_removed_when_its_vault_is_gone(
    vault: Path, write: Write, tmp_path: Path
) -> None:
    write("A.md", "# A\n")
    assert on(vault, "service", "install").code == 0
    shutil.rmtree(vault)
    ended = on(vault, "service", "uninstall")
    assert ended.code == 0, ended.err
    assert not files(tmp_path)

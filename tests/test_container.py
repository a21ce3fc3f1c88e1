"""docs/running: the container is private and complete; its steps are run in a scratch root, where a machine allows that.

That takes a minute and the package index, so it is only done with TESTS_CONTAINER=1, as root on Linux, as in CI.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from string import Template
from typing import NamedTuple

import pytest
import yaml

from vaultmem.commands.parsing import parse

ROOT = Path(__file__).parents[1]
RUNNING = ROOT / "docs" / "running"
# The image has a program "python"; Debian's does not, so it cannot stand in for it.
WANTED = os.environ.get("TESTS_CONTAINER") and Path(sys.base_prefix, "bin", "python").exists()


class Step(NamedTuple):
    """One instruction of the Containerfile."""

    word: str
    rest: str


def steps() -> list[Step]:
    text = re.sub(r"^\s*#.*\n", "", (RUNNING / "Containerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [Step(*line.split(" ", 1)) for line in lines if line.strip()]


def rest_of(word: str) -> list[str]:
    return [step.rest for step in steps() if step.word == word]


def test_the_image_is_private_pinned_and_made_of_what_there_is() -> None:
    known = "FROM WORKDIR COPY RUN ARG ENV USER VOLUME EXPOSE HEALTHCHECK ENTRYPOINT CMD"
    assert {step.word for step in steps()} == {*known.split()}
    for base in rest_of("FROM"):
        assert re.match(r"docker\.io/[\w/]+:\d+\.\d+-\w+( AS \w+)?$", base), base
    owner = dict(one.split("=") for one in rest_of("ARG"))["OWNER"]
    assert int(owner) > 0
    assert rest_of("USER")[-1:] == ["${OWNER}:${OWNER}"]
    words = [step.word for step in steps()]
    assert "USER" in words[len(words) - words[::-1].index("FROM") :], "of the last stage"
    runs = " ".join(rest_of("RUN"))
    assert not re.search(r"curl|wget|apt|sudo|chmod", runs), "only the package index is asked"
    for copied in rest_of("COPY"):
        *sources, _ = copied.split()
        if not sources[0].startswith("--from"):
            assert all((ROOT / source).exists() for source in sources), copied
    assert rest_of("VOLUME") == ["/state"]


def test_what_it_starts_is_a_command_that_there_is() -> None:
    (words,) = map(json.loads, rest_of("CMD"))
    assert [json.loads(one) for one in rest_of("ENTRYPOINT")] == [["vaultmem"]]
    args = parse(words[0], words[1:])
    assert args.behind_proxy
    assert f":{rest_of('EXPOSE')[0]}" in args.http
    assert args.vault == ["/vault"]


def test_the_services_can_write_their_state_and_nothing_else() -> None:
    compose = yaml.safe_load((RUNNING / "compose.yaml").read_text())
    assert compose["services"]
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["healthcheck"]["test"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        named = [one.split(":")[0] for one in service["volumes"] if isinstance(one, str)]
        assert named, name
        assert set(named) <= set(compose["volumes"]), name
        assert "privileged" not in service, name
    own = compose["services"]["vaultmem"]
    assert (RUNNING / own["build"]["context"] / own["build"]["dockerfile"]).resolve().exists()
    assert own["healthcheck"]["test"][1:] == json.loads(rest_of("HEALTHCHECK")[0].split("CMD ")[1])


SCRIPT = """
set -euo pipefail
mount -t tmpfs tmpfs "$SCRATCH"
base() {{ # a root that looks like this machine, and keeps what is written to itself
    mkdir -p "$1"/{{upper,work,root}}
    mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
    mount -t proc proc "$1/root/proc"
    for one in dev sys; do mount --rbind "/$one" "$1/root/$one"; done
    for one in {bare}; do [[ ! -e /$one ]] || mount --rbind "/$one" "$1/root/$one"; done
    for one in {above}; do chmod a+rx "$1/root$one"; done
}}
"""


def script_of(checkout: Path, port: int) -> str:
    """The steps as a shell script that is run in a mount namespace of its own."""
    prefix = Path(sys.base_prefix).resolve()
    above = [str(parent) for parent in [*prefix.parents, prefix] if str(parent) != "/"]
    bare = ["etc/resolv.conf"]
    lines = [SCRIPT.format(bare=" ".join(bare), above=" ".join(above))]
    python = {"HOME": "/root", "PATH": f"{prefix}/bin:/usr/bin:/bin"}
    stages: dict[str, str] = {}
    variables = python
    folder = root = user = ""
    for step in steps():
        rest = Template(step.rest).safe_substitute(variables)
        if step.word == "FROM":
            root = f"$SCRATCH/{len(stages)}"
            stages[rest.partition(" AS ")[2]] = root
            variables, folder, user = python, "/", "0:0"
            lines.append(f'base "{root}"')
        elif step.word in ("ARG", "ENV"):
            variables = variables | dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif step.word == "USER":
            user = rest
        elif step.word == "WORKDIR":
            folder = rest
            lines.append(f'mkdir -p "{root}/root{folder}"')
        elif step.word == "COPY":
            *sources, target = rest.split()
            if sources[0].startswith("--from="):
                source = f"{stages[sources.pop(0).removeprefix('--from=')]}/root"
                lines.append(f'mkdir -p "{root}/root{target}"')
                target += "/."
                sources = [f"{one}/." for one in sources]
            else:
                source = shlex.quote(str(checkout)) + "/"
                target = os.path.join(folder, target)
                lines.append(f'mkdir -p "{root}/root{folder}"')
            lines += [f'cp -a {source}{one} "{root}/root{target}"' for one in sources]
        elif step.word == "RUN":
            lines.append(in_root(root, user, folder, variables, rest))
    health = shlex.join(json.loads(rest_of("HEALTHCHECK")[0].split("CMD ")[1]))
    start = shlex.join([*json.loads(rest_of("ENTRYPOINT")[0]), *json.loads(rest_of("CMD")[0])])
    inside = (
        f"{start} & trap 'kill %1; wait' EXIT; "
        f"for _ in $(seq 60); do {health} 2>/dev/null && break; sleep 1; done; {health}; "
        "token=$(vaultmem token add test --format text); "
        'curl -sf -H "Authorization: Bearer $token" http://127.0.0.1:8101/api/v1/write '
        '-d \'{"content": "The boiler is serviced in May"}\'; echo; id -u; '
        "touch /opt/written 2>/dev/null && echo writable || echo read-only; "
        "vaultmem history; ls -ld /state"
    )
    lines += [
        f'for one in tmp state vault; do mount -t tmpfs tmpfs "{root}/root/$one"; done',
        f'chown {user} "{root}/root/state" "{root}/root/vault"; chmod 1777 "{root}/root/tmp"',
        f'mkdir "{root}/root/vault/.obsidian"; chown {user} "{root}/root/vault/.obsidian"',
        f'mount -o remount,ro "{root}/root"',
        in_root(root, user, folder, variables, inside.replace("8101", str(port))),
    ]
    return "\n".join(lines)


def free_port() -> int:
    """A free port of this machine, whose network the scratch root shares: 8101 may be taken."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def in_root(root: str, user: str, folder: str, variables: dict[str, str], command: str) -> str:
    setting = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    shell = shlex.quote(f"cd {folder} && {{ {command}; }}")
    return f'env -i {setting} ${{PIP_ENV:-}} {shutil.which("chroot")} --userspec={user} "{root}/root" bash -c {shell}'


@pytest.mark.skipif(
    not WANTED, reason="TESTS_CONTAINER is not set, or there is no python: the steps are not run"
)
def test_its_steps_run_in_a_scratch_root(tmp_path: Path) -> None:
    """Built, started as an arbitrary user on a read-only root, healthy, and it remembers."""
    pip = " ".join(
        f"{name}={value}" for name, value in os.environ.items() if name.startswith("PIP_")
    )
    ended = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "bash", "-c", script_of(ROOT, free_port())],
        env={**os.environ, "SCRATCH": str(tmp_path), "PIP_ENV": pip},
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert '"title":"The boiler is serviced in May"' in ended.stdout.replace('": ', '":')
    assert "\n1000\nread-only\n" in ended.stdout
    assert "write The boiler" in ended.stdout

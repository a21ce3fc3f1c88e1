"""Nothing sends telemetry: the libraries that would are told not to before they start."""

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import sys
from vaultmem import Vault
with Vault(sys.argv[1]) as vault:
    vault.sync()
    done = vault.embed()
assert done.blocks, done
"""


def test_embedding_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    """onnxruntime writes a device id there before it sends telemetry."""
    vault, home, scratch = (tmp_path / name for name in ("vault", "home", "tmp"))
    for folder in (vault, home, scratch):
        folder.mkdir()
    (vault / "Note.md").write_text("A lamp for the hall.")
    kept = {
        name: text for name, text in os.environ.items() if not name.startswith(("ORT_", "XDG_"))
    }
    environ = {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "VAULTMEM_STATE": str(tmp_path / "state"),
    }
    ended = subprocess.run(
        [sys.executable, "-c", CODE, str(vault)],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert [path for folder in (home, scratch) for path in folder.rglob("*")] == []

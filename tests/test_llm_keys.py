"""Where a language model's key and service address are found: what is refused, and what is never shown."""

import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from tests.scripted_llm import ScriptedLlm
from vaultmem import config, credentials
from vaultmem.credentials import Key, find
from vaultmem.errors import ConfigError, LlmError
from vaultmem.text import urls
from vaultmem_chat.llm import wire as llm_wire
from vaultmem_chat.llm.wire import Wire

HERE, FAR, CLEAR = "http://127.0.0.1:11434/v1", "https://llm.example/v1", "http://192.168.1.5/v1"
SECRET = "sk-proj-AbCdEf0123456789AbCdEf0123456789"


class Ring(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked(f"locked {SECRET}")
        return self.kept.get((service, username))


@pytest.fixture
def ring() -> Iterator[Ring]:
    before = keyring.get_keyring()
    ring = Ring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


def header(setting: str, url: str = FAR, **environ: str) -> str | None:
    key = find(setting, url, environ)
    return key.header() if key else None


def test_from_the_environment() -> None:
    assert header("env:MY_KEY", MY_KEY="abc") == "Bearer abc"
    assert header("env:MY_KEY", MY_KEY=" abc\n") == "Bearer abc"  # as $(cat file) leaves it
    assert header("env:MY_KEY", OTHER="abc") is None
    assert header("env:MY_KEY", MY_KEY=" ") is None
    assert header("off", OPENAI_API_KEY="abc") is None


@pytest.mark.parametrize("bad", ["a\nb", "ключ", "a\x00b", "a\r\nX-Evil: 1"])
def test_what_cannot_be_a_key(bad: str) -> None:
    with pytest.raises(LlmError, match=r"llm\.key") as error:
        find("env:MY_KEY", FAR, {"MY_KEY": SECRET + bad})
    assert SECRET not in repr(error.value)


def test_the_key_of_everybody_does_not_go_where_it_can_be_read() -> None:
    """OPENAI_API_KEY is often set for the service of that name; one that is named on purpose goes where it is sent."""
    assert config.SETTINGS["llm.key"].default == credentials.SHARED
    for url, goes in ((HERE, True), (FAR, True), (CLEAR, False)):
        assert (header("env:OPENAI_API_KEY", url, OPENAI_API_KEY="abc") is not None) == goes
        assert header("env:MY_KEY", url, MY_KEY="abc") == "Bearer abc"


def test_from_the_keyring(ring: Ring) -> None:
    ring.kept["vaultmem", "me"] = "abc"
    ring.kept["a/b", "me"] = "slash"
    assert header("keyring:vaultmem/me") == "Bearer abc"
    assert header("keyring:a/b/me") == "Bearer slash"
    with pytest.raises(LlmError, match="keyring set vaultmem you") as error:
        header("keyring:vaultmem/you")
    assert "\n" not in str(error.value)
    ring.locked = True
    with pytest.raises(LlmError, match="unlock it") as error:
        header("keyring:vaultmem/me")
    assert SECRET not in str(error.value)
    assert error.value.__suppress_context__


def test_the_keyring_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "find_spec", lambda _: None)
    with pytest.raises(LlmError, match="pip install keyring"):
        header("keyring:a/b")


def test_a_key_shows_itself_to_nobody() -> None:
    key = Key(SECRET)
    for shown in (repr(key), f"{key}", f"{key!r:>9}", repr([key]), repr(Wire(FAR, key, 1.0))):
        assert SECRET not in shown
        assert "***" in shown
    assert not hasattr(key, "__dict__")
    assert key.hidden_in(f"Incorrect: {SECRET}!") == "Incorrect: ***!"
    assert (key, hash(key)) == (Key(f" {SECRET}\n"), hash(Key(SECRET)))
    assert key != Key(SECRET[:-1])
    assert key != SECRET
    with pytest.raises(TypeError):
        pickle.dumps(key, protocol=1)


# --- the URL

BAD = [
    "ftp://a.example", "file:///etc/passwd", "a.example/v1", "//a.example", "http://", "https:///v1", "http://a:99999", "http://a:x/",
    "http://[::1", "http://a.example/v1?key=x", "http://a.example/#x", "http://a b/", "http://a\\b/", "http://ä.example/", "http://a/\n", "javascript:1",
    "http://a.example/<x>", 'http://a"b/',
]  # fmt: skip


@pytest.mark.parametrize("url", [one for one in BAD if one.strip() == one])
def test_what_is_no_endpoint(url: str) -> None:
    with pytest.raises(ConfigError, match="http:// or https:// URL"):
        config.load(None, {"VAULTMEM_LLM_BASE_URL": url})


def test_a_secret_in_the_wrong_place_is_not_repeated() -> None:
    for name, given in (
        ("LLM_BASE_URL", f"https://me:{SECRET}@llm.example/v1"),
        ("LLM_BASE_URL", f"https://llm.example/v1?api-key={SECRET}"),
        ("LLM_KEY", SECRET),
        ("LLM_KEY", f"env:{SECRET}"),
    ):
        with pytest.raises(ConfigError, match=r"must be (?:env:NAME|an http)") as error:
            config.load(None, {f"VAULTMEM_{name}": given})
        assert " not what" not in str(error.value)
        assert SECRET not in repr(error.value)
        assert error.value.__suppress_context__


def test_a_service_is_here_or_elsewhere_and_may_be_overheard() -> None:
    for host in ("127.0.0.1", "[::1]", "localhost", "x.localhost."):
        url = f"http://{host}/v1"
        assert (urls.is_local(url), urls.is_plaintext(url)) == (True, False), url
    for host in ("localhost.evil.example", "0.0.0.0", "192.168.1.5"):
        url = f"http://{host}/v1"
        assert (urls.is_local(url), urls.is_plaintext(url)) == (False, True), url
        assert not urls.is_plaintext(f"https://{host}/v1")


# --- TLS


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate and its key, for 127.0.0.1."""
    file = tmp_path / "both.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=here"
        " -addext subjectAltName=IP:127.0.0.1 -keyout"
    )
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    made = subprocess.run([*command.split(), file], check=True, capture_output=True)
    with file.open("ab") as key:
        key.write(made.stdout)
    return file


def test_an_unknown_certificate(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedLlm(certificate=certificate) as service:
        llm_wire._certificates.cache_clear()
        wire = Wire(service.url.replace("http:", "https:"), Key(SECRET), 5.0)
        with pytest.raises(LlmError, match="is not trusted; add it with SSL_CERT_FILE"):
            wire.get("/models")
        assert service.requests == []
        llm_wire._certificates.cache_clear()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # not for services on this machine
        assert wire.get("/models").status == 200
        assert [one.headers["authorization"] for one in service.requests] == [f"Bearer {SECRET}"]
    llm_wire._certificates.cache_clear()


def test_what_is_asked_loads_little_until_then() -> None:
    """A command that asks no model pays nothing for this."""
    code = (
        "import sys\nfrom vaultmem import config\nfrom vaultmem_chat.llm import llm\n"
        "model = llm.open_model(config.load(None, {'VAULTMEM_LLM_BASE_URL': 'http://127.0.0.1:9'}))\n"
        "assert model\nprint(sorted({'httpx', 'ssl', 'keyring', 'asyncio', 'email'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"

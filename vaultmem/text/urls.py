"""URLs of services as people enter them: checked, and completed to the endpoint that requests go to."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

_PASTED = ("/chat/completions", "/completions", "/models", "/responses", "/messages")
WANTED = "an http:// or https:// URL such as http://127.0.0.1:11434/v1, without a password, ? or #"


def check_url(text: str) -> str:
    """The URL in the form in which it is stored; "" stays "". Raises ValueError, which says what is expected and
    never repeats the URL."""
    url = text.strip()
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        _ = parts.port  # a number from 0 to 65535, or none
    except ValueError:
        raise ValueError(WANTED) from None
    plain = url.isascii() and url.isprintable() and not set(url) & set(' \\"<>?#')
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise ValueError(WANTED)
    if "@" in parts.netloc:
        raise ValueError(f"{WANTED}; a key has a setting of its own")
    return url


def endpoint(base_url: str) -> str:
    """The base for /chat/completions and /models: without a trailing slash, and with /v1 if the URL names only a
    host. Another path is unchanged: some providers have no /v1."""
    parts = urlsplit(check_url(base_url))
    path = parts.path.rstrip("/")
    for pasted in _PASTED:
        path = path.removesuffix(pasted).rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"


def origin(address: str) -> str:
    """Scheme, host and port of an address: two with the same are the same server."""
    parts = urlsplit(address)
    default = 443 if parts.scheme == "https" else 80
    return f"{parts.scheme}://{parts.hostname}:{parts.port or default}"


def is_same_server(one: str, other: str) -> bool:
    """Whether two addresses, as entered by people, belong to one server; False for an invalid one."""
    try:
        return bool(one and other) and origin(endpoint(one)) == origin(endpoint(other))
    except ValueError:
        return False


def is_local(url: str) -> bool:
    """Whether the host is this machine."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_plaintext(url: str) -> bool:
    """Whether data sent there can be read on the way."""
    return urlsplit(url).scheme != "https" and not is_local(url)

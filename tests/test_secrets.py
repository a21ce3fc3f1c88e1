"""Secrets are taken out of a text, and nothing else is: a corpus of both, and laws about any text."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import is_linear
from tests.laws import examples
from tests.secret_corpus import PLAIN, SECRETS
from vaultmem.text.secret_values import Form, forms
from vaultmem.text.secrets import redact, text_for_title


@pytest.mark.parametrize(("text", "gone"), SECRETS)
def test_a_secret_is_replaced_by_a_visible_mark(text: str, gone: str) -> None:
    found = redact(text)
    assert found.kinds, text
    assert "[redacted: " in found.text
    assert gone not in found.text


@pytest.mark.parametrize("sign", ["\u200b", "\u2060", "\xad", "\u202e"])
def test_a_sign_that_nobody_sees_hides_no_secret(sign: str) -> None:
    """As web pages leave them in what is copied; who shows the text leaves them out."""
    for text, gone in SECRETS:
        if text.isascii():
            found = redact(sign.join(text)).text
            assert gone not in found.replace(sign, ""), text
            assert redact(found) == (found, ())


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays_to_the_letter(text: str) -> None:
    assert redact(text) == (text, ())


@pytest.mark.parametrize(("text", "_gone"), SECRETS)
def test_what_stands_around_it_stays(text: str, _gone: str) -> None:
    found = redact(f"Anne said:\n\n{text}\n\nThen she left. 再见")
    assert found.text.startswith("Anne said:\n\n")
    assert found.text.endswith("\n\nThen she left. 再见")


words = st.sampled_from([text for text, _ in SECRETS] + PLAIN)
pieces = st.one_of(words, st.text(max_size=30), st.sampled_from(["-----BEGIN PRIVATE KEY-----", "password", ": ", "=", "\n", "\u200b"]))  # fmt: skip


@settings(max_examples=examples(300))
@given(st.lists(pieces, max_size=8).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once.text) == (once.text, ())


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from(PLAIN), max_size=8).map("\n\n".join))
def test_no_mixture_of_what_is_none_makes_one(text: str) -> None:
    assert redact(text) == (text, ())


# --- titles


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("No mark at all.", "No mark at all."),
        ("[redacted: GitHub token]\nFor the build of the site.", "For the build of the site."),
        ("password: [redacted: password]\n\nThe guest network", "\nThe guest network"),
        ("The router's password: [redacted: password]", "The router's password"),
        ("[redacted: GitHub token]", "Redacted GitHub token"),
        ("[redacted: token]\n\n---\n", "Redacted token"),
        ("密码：[redacted: password]", "密码"),
    ],
)
def test_a_name_comes_from_what_is_left(text: str, name: str) -> None:
    assert text_for_title(text) == name


# --- time

LARGE = 80_000  # characters: what takes quadratic time takes a minute
HOSTILE = [
    "pwd=", "password is ", "secret_token=a1", "://a:", "login a ", "machine a login b ", "curl ", "bearer a1", "--token ",
    "<password>", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nab ", "api_key:\n", "ghp_\n", "aB3dE6\n", "> a1\n",
    "Private-Lines: 1\n", "eyJaaaaaaaaaaa.", "a", " ", "\n", "\\\n", "密码：",
]  # fmt: skip


@pytest.mark.parametrize(
    "form", forms("forms") + forms("places"), ids=lambda form: f"{form.kind} {form.sign}"
)
def test_each_form_takes_linear_time(form: Form) -> None:
    inner = "eyJ" if form.sign == "eyJ" else "aB3-"
    for part in (f" {form.sign}", f" {form.sign}{inner * 40}", f"{form.sign}{inner}."):
        assert is_linear(partial(_done, form.pattern.findall, part), LARGE // 8, LARGE)


@pytest.mark.parametrize("part", HOSTILE)
def test_all_of_it_takes_linear_time(part: str) -> None:
    assert is_linear(partial(_done, redact, part), LARGE // 8, LARGE)


def _done(work: Callable[[str], object], part: str, length: int) -> None:
    work(part * (length // len(part)))

"""Logseq's config.edn: read as far as possible, with defaults for the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem_logseq.config_edn import Settings, from_config, read_edn


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '{:a 1, :b [true nil -2.5] :c #{:x "y"}}',
            {":a": None, ":b": [None, None, None], ":c": [":x", "y"]},
        ),
        (
            '; note\n#_{:old 1} {:a ; inside\n "q\\"\\n\\u4e2d" #_#_:b 2 :c (d)}',
            {":a": 'q"\n中', ":c": [None]},
        ),
        ('{:day #inst "2026-01-01" :big 1e3}', {":day": "2026-01-01", ":big": None}),
        ("{[1 2] 3 :a :b}", {":a": ":b"}),
        ("{:a 1", None),
        ("{:a ]}", None),
        ("", None),
        ('{:a "open', None),
    ],
)
def test_edn(text: str, value: object) -> None:
    assert read_edn(text) == value


def test_config_sets_what_it_names_and_nothing_else() -> None:
    config = b"""
    {:file/name-format :triple-lowbar ; new names
     :journal/page-title-format "EEEE, dd.MM.yyyy"
     :hidden ["/archived" "drafts/x.md" ""]
     :property/separated-by-commas #{:Reading_List}
     ;; :journals-directory "commented"
    }"""
    settings = from_config(config)
    assert settings.triple_lowbar
    assert settings.title_format == "EEEE, dd.MM.yyyy"
    assert settings.file_format == "yyyy_MM_dd"
    assert settings.hidden == ("archived", "drafts/x.md")
    assert settings.journals == "journals"
    assert settings.comma_properties == {"alias", "aliases", "tags", "reading-list"}


@pytest.mark.parametrize(
    "data", [None, b"", b"{:file/name-format", b"[1 2]", b"\xff\xfe{", b"{:hidden 7}"]
)
def test_unreadable_config_gives_the_defaults(data: bytes | None) -> None:
    assert from_config(data) == Settings()


@given(st.text(alphabet='{}[]()#_"\\;:a1 \n,^', max_size=200))
def test_edn_never_raises(text: str) -> None:
    read_edn(text)
    from_config(text.encode("utf-8", "surrogatepass"))

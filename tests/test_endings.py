"""What ends a memory: a job that was quit, a plan that was cancelled, a thing that was sold, a statement that is denied."""

import pytest

from tests.stand_in_view import StandInView, memory_file
from vaultmem.dreams.supersede import REPLACES, may_contradict, relations, supersede


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("I work at the Nordlicht pottery as a glazer", "i quit the nordlicht pottery last friday", REPLACES),
        ("Anna works for Siemens", "Anna was laid off by Siemens two weeks ago", REPLACES),
        ("I work at Magna as a test driver", "i quit magna yesterday (2027-02-08)", REPLACES),
        ("I work at Magna as a test driver", "I work for Wiener Linien now", REPLACES),
        ("Ich arbeite bei Bosch", "Ich habe bei Bosch gekündigt", REPLACES),
        ("我在腾讯工作", "我从腾讯离职了", REPLACES),
        ("Anna works for Siemens", "Anna got a raise from Siemens", "apart"),
        ("I work at Nordlicht", "I quit smoking", "apart"),
        ("We plan a trip to Lisbon in April", "yeah we cancelled the trip to lisbon the hotel paid it back", REPLACES),
        ("The party is on 12 June", "The party was called off", REPLACES),
        ("Der Umzug ist am 4. Mai", "Der Umzug fällt aus", REPLACES),
        ("我们四月要去里斯本旅行", "我们取消了去里斯本的旅行，因为妈妈病了", REPLACES),
        ("I'm a member of the rowing club", "I left the rowing club", REPLACES),
        ("We plan a trip to Rome in April", "We cancelled the trip to Lisbon", "apart"),
        ("The party is on 12 June", "The party for Ben was called off", "apart"),
        ("I have a motorbike", "Kenji sold his motorbike", "apart"),
        ("My car insurance is with HDI", "I sold my car", "apart"),
        ("I have yoga on Mondays", "Yoga is cancelled tonight", "apart"),
        ("I take the bus to work", "The bus was cancelled this morning", "apart"),
        ("My flight to Oslo is on 3 June", "My flight to Oslo was cancelled today", REPLACES),
        ("We have two cars, a Fiat and a Ford", "We sold the Fiat", "apart"),
        ("The router is in the cellar", "The router is off", "apart"),
        ("I work at Siemens", "I left Siemens at six today", "apart"),
        ("My brother Tom works at Bosch", "Tom left Bosch and works at Siemens now", REPLACES),
        ("The user likes karaoke.", "i never said that i like karaoke please stop suggesting it", REPLACES),
        ("用户喜欢唱卡拉OK", "我从来没说过我喜欢唱卡拉OK", REPLACES),
        ("The user likes karaoke.", "I never said that I like sushi", "apart"),
        ("The user likes karaoke.", "Tom never said that he likes karaoke", "apart"),
        ("I'm vegetarian", "i eat fish again so im not a vegetarian any more", REPLACES),
        ("My sister Gudrun lives in Kiel", "Gudrun moved to Flensburg last week", REPLACES),
        ("My sister Gudrun lives in Kiel", "Tina moved to Flensburg last week", "apart"),
    ],
)  # fmt: skip
def test_what_is_over_ends_what_states_it(old: str, new: str, kind: str) -> None:
    assert relations(new, [old])[0].kind == kind
    assert relations(new, ["The roof leaks", old])[1].kind == kind


def test_a_move_in_another_script_ends_where_one_lived() -> None:
    """里斯本 may be Lisbon, so that only a change is one, and nothing else asks the person anything."""
    (stays,) = relations("我住在里斯本", ["I live in Lisbon"])
    assert (stays.kind, stays.is_doubtful) == ("apart", False)
    for old, new in (("I live in Hamburg", "我搬到柏林了"), ("我住在汉堡", "I moved to Berlin")):
        assert relations(new, [old])[0].kind == REPLACES
        assert (
            relations(new, [old.replace("I live", "Anne lives").replace("我", "小王")])[0].kind
            == "apart"
        )
        files = dict([memory_file("people/Old", old, 5), memory_file("people/New", new, 1)])
        plan, _ = StandInView(files).run(supersede)
        assert [change.target for change in plan.changes] == ["vaultmem/archive/Old.md"]


@pytest.mark.parametrize(
    ("old", "new", "may"),
    [
        ("I prefer Lightroom for the photos of my pots", "I switched from Lightroom to darktable", True),
        ("I prefer Lightroom for the photos of my pots", "I switched from Vim to Helix", False),
    ],
)  # fmt: skip
def test_an_answer_has_the_newer_of_two_such_statements_first(
    old: str, new: str, may: bool
) -> None:
    assert may_contradict(old, new) is may
    assert relations(new, [old])[0].kind == "apart"

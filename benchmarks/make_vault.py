"""Make a deterministic vault of any size: Zipf words, links, front matter, tasks, some Chinese.

    python benchmarks/make_vault.py FOLDER [--notes 10000] [--seed 1]

The same arguments give the same bytes on every machine.
"""

from __future__ import annotations

import argparse
import itertools
import random
from pathlib import Path

SYLLABLES = """
    ba be bi bo da de di do fa fe ga go ha he ka ke ki la le li lo ma me mi mo na ne no pa pe po
    ra re ri ro sa se si so ta te ti to va ve vi wa we ya za
""".split()
COMMON = """
    the of and to in is that it was for on are with as at be this have from or had by not but what
    all were when we there can an your which their if will each about how up out them then she
    many some so these would other into has more two like him see time could no make than first
    been its who now people my made over did down only way find use may water long little very
    after words called just where most know
""".split()
MONTHS = """
    January February March April May June July August September October November December
""".split()
HAN = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种"
    "面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本"
    "去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比"
    "或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总"
    "次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做"
    "必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器压志世金增争济阶油思术极交受联什认六共权"
    "收证改清己美再采转更单风切打白教速花带安场身车例真务具万每目至达走积示议声报斗完类八离华名确才科张信"
    "马节话米整空元况今集温传土许步群广石记需段研界拉林律叫且究观越织装影算低持音众书布复容儿须际商非验连"
    "断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构府称太准精值号率族维划选标写存"
    "候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住调满县局照参红细引听该铁价严"
)


def zipf_words(rng: random.Random, size: int = 20_000) -> tuple[list[str], list[float]]:
    """A vocabulary and its cumulative Zipf weights, most frequent first."""
    words, seen = list(COMMON), set(COMMON)
    while len(words) < size:
        word = "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 4)))
        if word not in seen:
            seen.add(word)
            words.append(word)
    return words, list(itertools.accumulate(1 / (rank + 2.7) for rank in range(size)))


class Writer:
    """Writes notes one after another from one stream of random numbers."""

    def __init__(self, notes: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.words, self.weights = zipf_words(self.rng)
        self.names = [f"{self.word_title()} {number}" for number in range(notes)]

    def word_title(self) -> str:
        return " ".join(self.pick(2)).capitalize()

    def pick(self, count: int) -> list[str]:
        return self.rng.choices(self.words, cum_weights=self.weights, k=count)

    def sentence(self) -> str:
        if self.rng.random() < 0.06:
            return "".join(self.rng.choices(HAN, k=self.rng.randint(8, 30))) + "。"
        text = " ".join(self.pick(self.rng.randint(6, 18))).capitalize()
        if self.rng.random() < 0.03:
            text += f" on {self.rng.randint(1, 28)} {self.rng.choice(MONTHS)} 202{self.rng.randint(3, 6)}"
        if self.rng.random() < 0.12:
            text += f" [[{self.rng.choice(self.names)}]]"
        return text + "."

    def paragraph(self) -> str:
        return " ".join(self.sentence() for _ in range(self.rng.randint(2, 6)))

    def front_matter(self) -> str:
        if self.rng.random() < 0.4:
            return ""
        day = (
            f"202{self.rng.randint(3, 6)}-{self.rng.randint(1, 12):02}-{self.rng.randint(1, 28):02}"
        )
        tags = "".join(f"  - {word}\n" for word in self.pick(2))
        return f'---\ncreated: {day}\ntags:\n{tags}up: "[[{self.rng.choice(self.names)}]]"\n---\n'

    def note(self) -> str:
        parts = [self.front_matter()]
        for _ in range(self.rng.randint(1, 5)):
            parts.append(f"## {self.word_title()}\n\n")
            parts.extend(self.paragraph() + "\n\n" for _ in range(self.rng.randint(1, 3)))
            if self.rng.random() < 0.3:
                parts.extend(f"- {' '.join(self.pick(7))}\n" for _ in range(self.rng.randint(2, 6)))
                parts.append("\n")
            if self.rng.random() < 0.15:
                parts.append(
                    f"- [ ] {' '.join(self.pick(5))} 📅 2026-{self.rng.randint(1, 12):02}-15\n\n"
                )
        return "".join(parts)


def make_vault(folder: Path, notes: int, seed: int = 1) -> None:
    """Write `notes` notes (about 2 kB each) into folders of 100 below `folder`."""
    writer = Writer(notes, seed)
    (folder / ".obsidian").mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(writer.names):
        place = folder / f"area {number // 100 % 50:02}" / f"part {number // 5000:02}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.md").write_text(writer.note(), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    make_vault(args.folder, args.notes, args.seed)


if __name__ == "__main__":
    main()

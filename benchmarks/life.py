"""Sixty days of one person and three assistants, played with vaultmem itself: what is still known, and what is stale.

The days are in `life/days.txt`, the questions in `life/questions.txt`, and those of another person in `life/nurse`
(`--story nurse`); the clock is VAULTMEM_NOW, so the same memories
age, are filed, merged and put away as they would in two months. All jobs run when their calendar says. Then each
question is asked as an assistant asks it, and what it is told is compared with what is true by then.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from vaultmem import Vault
from vaultmem.agent.jobs import JOBS

HERE = Path(__file__).parent / "life"
FIRST_DAY = datetime(2026, 11, 22)  # noqa: DTZ001 - the clock on the wall
DAYS = 60
ASSISTANTS = ("claude", "codex", "gemini")
VERDICTS = ("right", "both", "stale first", "stale", "nothing")
NIGHTLY = ("expire", "upgrade", "decay", "consolidate", "dream")
_WORD = re.compile(r"[^\W_]+")
_PLAIN = frozenset(
    "the a an is are was were does do did what which who where when how of for to in on at"
    " with and user runa s it".split()
)
_CHORES = re.compile(r"unsure|could be|nothing in it tells|is fading|approv|let assistants")


class Entry(NamedTuple):
    """Something written on a day."""

    day: int
    who: str
    text: str
    options: dict[str, str]


class Question(NamedTuple):
    """A question, the words of its answer, and words of what was once true."""

    who: str
    text: str
    right: list[str]
    stale: list[str]


def entries(story: Path = HERE) -> list[Entry]:
    """Everything that is written, in order."""
    found = []
    for line in _lines(story / "days.txt"):
        head, _, text = line.partition(": ")
        day, who, *options = head.split()
        found.append(Entry(int(day), who, text, dict(option.split("=", 1) for option in options)))
    return sorted(found, key=lambda entry: entry.day)


def questions(story: Path = HERE) -> list[Question]:
    """The questions at the end."""
    found = []
    for line in _lines(story / "questions.txt"):
        who, text, right, stale = (part.strip() for part in line.split("|"))
        words = [
            [word.strip() for word in part.split(", ") if word.strip()] for part in (right, stale)
        ]
        found.append(Question(who.split()[0], text, *words))
    return found


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


class AtNight(Vault):
    """A vault that was left alone for a night, so that dreams go as deep as possible."""

    def idle_seconds(self) -> float:
        """Eight hours."""
        return 8 * 3600.0


class Life:
    """One life in one vault, and what was noticed about it."""

    def __init__(self, vault: Path, story: Path = HERE) -> None:
        self.vault, self.story = vault, story
        self.ids: dict[str, str] = {}  # ids of facts, by their names in the story
        self.ended: set[str] = set()  # facts that are no longer true
        self.true: set[str] = set()
        self.noticed: list[str] = []
        self.unnoticed: list[str] = []
        self.ticks: Counter[bool] = Counter()
        self.merged = 0

    def play(self, days: int = DAYS, nights: int = 1) -> None:
        """Play the days. The jobs run every so many nights, as on a computer that is off in the others."""
        story = entries(self.story)
        self._at(0, 7)
        with Vault(str(self.vault)) as opened:
            opened.sync()
        for day in range(1, days + 1):
            self._at(day, 9)
            with Vault(str(self.vault)) as opened:
                for number, entry in enumerate(each for each in story if each.day == day):
                    self._at(day, 9, number)
                    self._write(opened, entry)
                opened.embed()
                self._tick(opened, day)
            if day % nights:
                continue
            self._at(day + 1, 4, 30)
            with AtNight(str(self.vault)) as opened:
                for name in NIGHTLY:
                    JOBS[name].run(opened)
                opened.sync()
                opened.embed()
        self._at(days, 12)

    def _at(self, day: int, hour: int, minute: int = 0) -> None:
        when = FIRST_DAY + timedelta(days=day - 1, hours=hour, minutes=minute)
        os.environ["VAULTMEM_NOW"] = when.isoformat()

    def _write(self, opened: Vault, entry: Entry) -> None:
        options = entry.options
        about: dict[str, Any] = {
            key: options[key] for key in ("project", "scope") if key in options
        }
        if entry.who in ASSISTANTS:
            about["by"] = entry.who
        elif entry.who != "you":
            about["source"] = entry.who
        if "at" in options:
            repeat = options["repeat"].replace("-", " ") if "repeat" in options else None
            said = opened.remind(entry.text, at=options["at"], repeat=repeat, **about)
        else:
            said = opened.write(entry.text, **about)
        name = options.get("id", "")
        if name:
            self.ids[name] = str(said["id"])
            if options.get("kind", "fact") in ("fact", "preference") and "at" not in options:
                self.true.add(name)
        against = {str(each["id"]) for each in said.get("contradicts", ())} | {
            *said.get("replaced", ())
        }
        for old in filter(None, options.get("changes", "").split(",")):
            (self.noticed if self.ids[old] in against else self.unnoticed).append(old)
            self.true.discard(old)
            self.ended.add(old)

    def _tick(self, opened: Vault, day: int) -> None:
        """On its day the person finds a reminder on the page and ticks it."""
        opened.notify()
        page = self.vault / "vaultmem" / "pending.md"
        today = (FIRST_DAY + timedelta(days=day - 1)).date().isoformat()
        for words, when in TICKS:
            if when != today or self.story != HERE:
                continue
            text = page.read_text("utf-8") if page.exists() else ""
            line = next(
                (
                    each
                    for each in text.splitlines()
                    if words in each and each.lstrip().startswith("- [ ]")
                ),
                "",
            )
            self.ticks[bool(line)] += 1
            if line:
                page.write_text(text.replace(line, line.replace("[ ]", "[x]", 1)), "utf-8")
                opened.notify()

    # What is known at the end

    def ask(self, question: Question) -> tuple[str, list[str]]:
        """The verdict on an answer, and the lines that were returned."""
        with Vault(str(self.vault)) as opened:
            told = opened.recall(question.text, by=question.who, budget=1000)["memories"]
        lines = [str(one["content"]) for one in told]
        is_right = [all(_has(line, word) for word in question.right[:1]) for line in lines]
        is_stale = [
            not right and any(_has(line, word) for word in question.stale)
            for line, right in zip(lines, is_right, strict=True)
        ]
        if True not in is_right:
            return "stale" if True in is_stale else "nothing", lines
        if True not in is_stale:
            return "right", lines
        is_above = is_stale.index(True) < is_right.index(True)
        return "stale first" if is_above else "both", lines

    def report(self) -> dict[str, Any]:
        """All figures."""
        verdicts: Counter[str] = Counter()
        misses, off, lines = [], 0, 0
        for question in questions(self.story):
            verdict, told = self.ask(question)
            verdicts[verdict] += 1
            unrelated = [line for line in told if not _is_about(line, question)]
            off, lines = off + len(unrelated), lines + len(told)
            if verdict != "right":
                misses.append(f"{verdict}: {question.text}")
        with Vault(str(self.vault)) as opened:
            live = {memory["id"] for memory in opened.memories(limit=10_000)}
            page = (self.vault / "vaultmem" / "pending.md").read_text("utf-8")
            leaks = self._leaks(opened)
        lost = sorted(
            name
            for name in self.true
            if self.ids[name] not in live and not self._is_told_elsewhere(name, live)
        )
        items = [line for line in page.splitlines() if line.lstrip().startswith("- [")]
        return {
            "questions": len(questions(self.story)),
            **{name: verdicts[name] for name in VERDICTS},
            "true facts": len(self.true),
            "true facts lost": lost,
            "changes": len(self.noticed) + len(self.unnoticed),
            "noticed": len(self.noticed),
            "unnoticed": self.unnoticed,
            "unrelated lines": round(off / max(1, lines), 3),
            "lines told": lines,
            "ticks found": f"{self.ticks[True]} of {self.ticks.total()}",
            "chores on the page": f"{sum(bool(_CHORES.search(line)) for line in items)} of {len(items)}",
            "told to the wrong reader": leaks,
            "misses": misses,
        }

    def _is_told_elsewhere(self, name: str, live: set[str]) -> bool:
        """Whether it lives on in a memory that it was merged into."""
        for path in (self.vault / "vaultmem" / "archive").rglob("*.md"):
            text = path.read_text("utf-8")
            if self.ids[name] in text and "\nby: merge\n" in text:
                found = re.search(r"^replaced_by: ['\"]?([\w-]+)", text, re.MULTILINE)
                return found is not None and found[1] in live
        return False

    def _leaks(self, opened: Vault) -> int:
        leaks = 0
        for entry in entries(self.story):
            scope = entry.options.get("scope", "")
            for reader in ASSISTANTS:
                if scope and scope != f"agent:{reader}":
                    told = opened.recall(entry.text, by=reader)["memories"]
                    leaks += any(entry.text in str(one["content"]) for one in told)
        return leaks


TICKS = (
    ("studded tyres", "2026-12-04"), ("Dentist", "2026-12-10"), ("hive entrances", "2026-12-20"),
    ("hive entrances", "2026-12-27"), ("hive entrances", "2027-01-03"), ("parking permit", "2027-01-10"),
    ("passport", "2027-01-20"),
)  # fmt: skip


def _has(line: str, words: str) -> bool:
    return words.casefold() in line.casefold()


def _is_about(line: str, question: Question) -> bool:
    if any(_has(line, word) for word in (*question.right, *question.stale)):
        return True
    return bool(_content(line) & _content(question.text))


def _content(text: str) -> set[str]:
    words = {
        word for word in _WORD.findall(text.casefold()) if word.isascii() and word not in _PLAIN
    }
    han = re.findall(r"[\u4e00-\u9fff]", text)
    return {word[:5] for word in words} | {"".join(pair) for pair in pairwise(han)}


def main() -> None:
    """Play, and print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument(
        "--nights", type=int, default=1, help="run the jobs in every so many nights"
    )
    parser.add_argument("--story", default=".", help="a folder of life/ (default: life itself)")
    parser.add_argument("--folder", type=Path, help="where the vault is kept for a look at it")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="life-") as temp:
        folder = args.folder or Path(temp)
        os.environ |= {
            "VAULTMEM_STATE": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config"),
            "VAULTMEM_NOTIFY_METHOD": "none",
        }  # fmt: skip
        vault = folder / "vault"
        (vault / ".obsidian").mkdir(parents=True)
        life = Life(vault, HERE / args.story)
        life.play(args.days, args.nights)
        found = life.report()
    if args.json:
        sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=2) + "\n")
        return
    for name, value in found.items():
        sys.stdout.write(
            f"| {name} | {value if not isinstance(value, list) else '; '.join(value) or 'none'} |\n"
        )


if __name__ == "__main__":
    main()

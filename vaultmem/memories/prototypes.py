"""Sentences that are typical of each category; how close a text's embedding is to them tells its category.

The caller embeds `sentences()` once, takes the cosine of each with the text, and folds them with `closeness`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vaultmem.index import catalog_read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vaultmem.memories.model import Memory
    from vaultmem.search.search import Searcher
    from vaultmem.search.semantic import Meaning


NEAREST = 3  # the mean of so many of the best: one lucky sentence is not enough

PROTOTYPES: dict[str, tuple[str, ...]] = {
    "soul": (
        "Loyalty to my people is the most important thing to me.",
        "Our company exists to make learning possible for everyone.",
        "My deepest values are truth and care for others.",
        "The reason I exist is to serve people faithfully.",
        "I want my life to mean something.",
        "We will never betray the trust of those we serve.",
        "This is who I am and what I stand for.",
        "A principle I would not give up for anything.",
        "The mission of our organisation is to end hunger.",
        "Being fair and kind matters more to me than winning.",
        "我的人生信条是真诚待人。",
        "我们的宗旨是为社会做有意义的事。",
        "我为什么而活：守护所爱的人。",
    ),
    "character": (
        "I am a nervous and careful person who checks everything twice.",
        "Be patient and warm in your answers, never pushy.",
        "She is a cheerful, talkative and generous person.",
        "He is reserved and rarely shows his feelings.",
        "I am a perfectionist and easily hurt by criticism.",
        "Speak in a friendly and playful tone.",
        "His temperament is calm and patient.",
        "She laughs a lot, worries a lot and forgives fast.",
        "The assistant should sound formal and concise.",
        "He can be rude, but he has a good heart.",
        "他为人开朗大方，爱说笑。",
        "她性格温柔，做事有条理。",
        "说话的语气要亲切自然。",
    ),
    "people": (
        "Laura is the new team leader and lives in Madrid.",
        "My doctor's name is Dr Schmidt.",
        "His cousin owns a restaurant.",
        "My brother Paul is a carpenter in Leeds.",
        "Her husband works at a bank and they have two kids.",
        "Clara is the new colleague in accounting.",
        "Our neighbour Mr Lee grew up in Seoul.",
        "The contact person at the agency is Nora, her phone number is below.",
        "An old friend from university who moved to Canada.",
        "His boss is the head of the research department.",
        "我姐姐在银行工作，有两个孩子。",
        "小刘是新来的同事，负责财务。",
        "他的父亲是退休教师。",
    ),
    "project": (
        "Login works, the payment page comes next, there is no mobile version yet.",
        "Tests are in the tests folder and run on every commit.",
        "The code of the app is in this repository and is deployed to production.",
        "Status of the project: the first phase is done, testing is next.",
        "The backend runs on AWS, the frontend is built with React.",
        "The redesign is in progress, two tasks are still open.",
        "Project Falcon replaces the old warehouse software.",
        "The build pipeline runs the tests and publishes a release.",
        "The bathroom renovation: tiles are in, the sink is missing.",
        "The client's contract covers design and maintenance.",
        "项目的代码仓库和部署环境。",
        "这个项目已经完成第一阶段，正在测试。",
        "系统的后端部署在云服务器上。",
    ),
    "date": (
        "She is on holiday from 5 to 12 April.",
        "The appointment was moved from Monday to Thursday.",
        "The meeting takes place on Tuesday at 10 o'clock.",
        "The deadline is the end of September.",
        "His birthday is on the fourth of July.",
        "The train departs at 18:42 from platform 3.",
        "The exhibition opens in May and closes in August.",
        "My passport expires next year.",
        "The exam was postponed to 12 January.",
        "The festival starts on Friday evening.",
        "会议时间是星期二上午十点。",
        "合同在年底到期。",
        "考试定在五月八日。",
    ),
    "knowledge": (
        "The compiler removes unused code in the background.",
        "The settings are stored as JSON files in the home folder.",
        "Dough is ready when it has doubled in size.",
        "A hash table finds a key in constant time on average.",
        "Iron melts at 1538 degrees Celsius.",
        "In JavaScript, null and undefined are different values.",
        "The function returns None when the file does not exist.",
        "Basil needs sun and well-drained soil.",
        "The treaty was signed in 1648.",
        "The --verbose flag prints more output.",
        "A virus is not a cell and has no metabolism.",
        "An index makes reading faster and writing slower.",
        "哈希表的平均查找时间是常数。",
        "铁的熔点是一千五百三十八度。",
        "这个命令的参数用于指定输出格式。",
    ),
    "feedback": (
        "The new version looks good, but the text is too small.",
        "Please stop repeating my question.",
        "Two customers asked for a mobile version.",
        "The report is well written but far too long.",
        "Your reply did not answer my question.",
        "It would be better to show the results as a table.",
        "Users find the settings page hard to understand.",
        "Thank you, that was very helpful and clear.",
        "The reviewer asked for more experiments.",
        "Customers complained about slow loading.",
        "I suggest adding a search box.",
        "报告写得很好，但是太长了。",
        "建议把结果做成表格。",
        "用户抱怨页面加载太慢。",
    ),
    "preferences": (
        "Answer me in German.",
        "He likes his steak rare.",
        "She does not want to be called at night.",
        "I like tea better than coffee.",
        "She hates loud music.",
        "He prefers working from home.",
        "Write short sentences for me and avoid jargon.",
        "My favourite colour is green.",
        "Don't put sugar in my tea.",
        "The user wants answers in French.",
        "I can't stand crowded places.",
        "我喜欢安静的地方。",
        "她最喜欢的颜色是绿色，不喜欢红色。",
        "请用中文回答我，不要太长。",
    ),
    "decisions": (
        "The team will use a new tool from now on.",
        "I am not going to the party.",
        "We picked this library because it is simple.",
        "We decided to rewrite the service in Go.",
        "After some discussion we chose the cheaper supplier.",
        "The committee approved the plan and rejected the other.",
        "I have decided to sell the car.",
        "We will not support old browsers any more.",
        "We are replacing the old boiler next year.",
        "They agreed to use one shared database.",
        "I accepted the job offer.",
        "我们决定采用新的方案。",
        "会议通过了预算，否决了扩建计划。",
        "最后选择了便宜的供应商。",
    ),
    "lessons": (
        "Changing the setting broke the site; check who depends on it first.",
        "I wasted an afternoon because the cable was loose.",
        "I learned that you must always test your backups.",
        "It was a mistake to change two things at once.",
        "Next time we should ask the users first.",
        "The crash was caused by a missing check, and it cost us a day.",
        "Never edit files on the server by hand, we lost work that way.",
        "Had we read the manual, we would have saved a week.",
        "Beware of time zones when comparing dates.",
        "In hindsight the plan was too ambitious.",
        "这次的教训是一定要先测试。",
        "因为没有备份，丢了一周的工作。",
        "下次应该先问用户。",
    ),
    "habits": (
        "He reads the news after breakfast.",
        "We eat fish every Friday.",
        "She starts her day by making a list.",
        "I get up at six every day and meditate.",
        "She goes swimming twice a week.",
        "He usually has lunch at his desk.",
        "On Sundays we visit my parents.",
        "Every night before bed I write a diary.",
        "He always checks the weather first thing in the morning.",
        "They often walk home after work.",
        "我每天六点起床，然后冥想。",
        "她一般每周游泳两次。",
        "睡前我习惯写日记。",
    ),
    "skills": (
        "He knows Photoshop well but is new to video.",
        "She can bake cakes and speaks Danish.",
        "She speaks four languages fluently.",
        "He is an expert in machine learning.",
        "I can play the guitar and the piano.",
        "The assistant can search the web and write code.",
        "He is good at repairing old radios.",
        "I have eight years of experience with Java.",
        "She taught herself to paint.",
        "I am not good at mathematics.",
        "她精通四门语言。",
        "他会弹吉他，也会修收音机。",
        "我有八年 Java 开发经验。",
    ),
    "reminders": (
        "Return the books by Wednesday.",
        "Ask Peter tomorrow about the tickets.",
        "Turn off the heating in half an hour.",
        "Remind me to water the plants this evening.",
        "Don't forget to bring the keys tomorrow.",
        "Remember to pay the rent on Friday.",
        "Call the bank back in an hour.",
        "Buy milk and eggs on the way home.",
        "I need to send the report before Monday.",
        "Wake me up at seven.",
        "提醒我今晚给花浇水。",
        "别忘了明天带钥匙。",
        "周五记得交房租。",
    ),
}  # fmt: skip


def sentences() -> list[str]:
    """All prototypes in a fixed order: what the caller embeds."""
    return [sentence for group in PROTOTYPES.values() for sentence in group]


def closeness_to(cosines: Sequence[float]) -> dict[str, float]:
    """Closeness by category: the mean of its NEAREST best cosines, given one for each of `sentences()`."""
    found: dict[str, float] = {}
    at = 0
    for category, group in PROTOTYPES.items():
        best = sorted(cosines[at : at + len(group)], reverse=True)[:NEAREST]
        found[category] = sum(best) / len(best)
        at += len(group)
    if at != len(cosines):
        raise ValueError(f"There are {at} prototypes, but {len(cosines)} cosines.")
    return found


# How near memories are by meaning: to each other, to the categories' examples, to the middle of all.

ROWS_AT_ONCE = 256


class Nearness:
    """The vectors of memories, as far as they have some. One thread at a time."""

    def __init__(self, searcher: Searcher, meaning: Meaning, memories: Sequence[Memory]) -> None:
        ids = catalog_read.note_ids(searcher.catalog, [memory.path for memory in memories])
        self.paths: list[str] = []
        rows: list[NDArray[np.float32]] = []
        for path, note in ids.items():
            vector = meaning.note_vector(searcher.catalog, note)
            if vector is not None:
                self.paths.append(path)
                rows.append(vector)
        self._rows = np.array(rows, dtype=np.float32) if rows else np.zeros((0, 0), np.float32)
        self._pairs: dict[float, dict[str, list[tuple[str, float]]]] = {}

    def alike(self, path: str, least: float) -> list[tuple[str, float]]:
        """The memories with at least that cosine to one of them, nearest first."""
        if least not in self._pairs:
            self._pairs[least] = self._all_pairs(least)
        return self._pairs[least].get(path, [])

    def _all_pairs(self, least: float) -> dict[str, list[tuple[str, float]]]:
        found: dict[str, list[tuple[str, float]]] = {}
        for start in range(0, len(self.paths), ROWS_AT_ONCE):
            part = self._rows[start : start + ROWS_AT_ONCE] @ self._rows.T
            for one, other in zip(*np.nonzero(part >= least), strict=True):
                if start + one != other:
                    pair = (self.paths[other], round(float(part[one, other]), 4))
                    found.setdefault(self.paths[start + one], []).append(pair)
        for pairs in found.values():
            pairs.sort(key=lambda pair: (-pair[1], pair[0]))
        return found

    def centroid(self) -> NDArray[np.float32] | None:
        """The direction of the middle of all; None when there are none."""
        if not len(self._rows):
            return None
        mean = self._rows.mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length else None


def cosines(meaning: Meaning, texts: Sequence[str], centroid: NDArray[np.float32]) -> list[float]:
    """How near texts are to the middle of all memories."""
    return [float(found) for found in meaning.embedder.embed(texts) @ centroid]


class Examples:
    """The embedded examples of the categories, made once."""

    def __init__(self) -> None:
        self._model: object = None
        self._rows: NDArray[np.float32] | None = None

    def closeness(self, meaning: Meaning, texts: Sequence[str]) -> dict[str, Mapping[str, float]]:
        """For each text how close it is to each category."""
        if self._rows is None or self._model is not meaning:
            self._rows, self._model = meaning.embedder.embed(sentences()), meaning
        cosines = meaning.embedder.embed(list(texts)) @ self._rows.T
        return {text: closeness_to(row.tolist()) for text, row in zip(texts, cosines, strict=True)}

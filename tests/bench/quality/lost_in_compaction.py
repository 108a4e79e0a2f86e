"""Facts mentioned in passing in 190,000 tokens of talk, with a room of 10,000: those whose keywords share a line.

After profff/lost-in-compaction, whose context d80_C1 is read from a clone of its repository: 78 facts. Without it, a
talk of ours of the same kind: forty facts in each half among some 440 exchanges, invented and the same each time. A
fact is there when all its keywords, as whole words, stand in one line of the words that are left.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.quality.engine import Engine, count
from tests.bench.quality.figures import Figure
from tests.bench.quality.messages import Message, shown
from tests.bench.quality.transcripts import HALVES, Half
from tests.bench.quality.ways import CACHE

CLONE = CACHE / "quality" / "lost-in-compaction" / "compaction_v5_R4_20260224_1353" / "contexts"
TOKENS, FACTS = 190_000, 40
_PEOPLE = (
    "Aisha",
    "Bruno",
    "Chloe",
    "Dmitri",
    "Elena",
    "Farid",
    "Greta",
    "Hiro",
    "Ines",
    "Jonas",
    "Katya",
    "Luis",
    "Mira",
    "Nadia",
    "Oskar",
    "Priya",
)
_PLACES = (
    "Lisbon",
    "Turin",
    "Bergen",
    "Leeds",
    "Galway",
    "Porto",
    "Ghent",
    "Malmo",
    "Basel",
    "Graz",
    "Vilnius",
    "Bilbao",
    "Tartu",
    "Aarhus",
    "Bologna",
)
_TELLS: dict[Half, tuple[str, ...]] = {
    "tuning": (
        "By the way, my sister {who} moved to {where} in spring.",
        "I've been running for {n} weeks now and my best time over ten kilometres is {m} minutes.",
        "I keep my old cameras in {n} boxes under the stairs, as you may want to know.",
        "My cousin {who} gave me a bread oven that cost {m} euros.",
        "I started a reading list of {n} novels from {where}, and I am through with most of it.",
        "We pay {m} euros of rent since we left {where}.",
        "My dentist is Dr. {who}, and I see her every {n} weeks.",
        "The bike I ride to work has {n} gears and comes from a shop in {where}.",
        "I lead a team of {n} people since {who} left.",
        "My daughter {who} is allergic to hazelnuts, so I cook without them.",
        "I watched {n} documentaries about {where} over the holidays.",
        "The cello that I bought from {who} was made {m} years ago.",
        "I take the train to {where} every second Tuesday.",
        "My allotment is number {m} and I share it with {who}.",
        "I have {n} hens, and {who} looks after them when I travel.",
        "For my birthday I got a voucher of {m} euros for a pottery class in {where}.",
        "My flight to {where} was delayed by {m} minutes last week.",
        "I switched to a phone plan with {m} gigabytes on the advice of {who}.",
        "My grandmother's recipe asks for {n} cloves of garlic, and {who} swears by it.",
        "I finished {n} lessons of my course in Portuguese with {who}.",
    ),
    "held out": (
        "It so happens that {who} and I are planning a wedding in {where}.",
        "I weigh my luggage at {n} kilos each time, which matters for what follows.",
        "There are {m} stamps in the collection that {who} left to me.",
        "Since my operation I swim {n} lengths each morning.",
        "Our choir from {where} has {m} members by now.",
        "The mortgage runs for another {n} years with a bank in {where}.",
        "My tutor {who} charges {m} crowns an hour.",
        "I still owe {who} for {n} concert tickets.",
        "At home we speak Catalan, because {who} grew up in {where}.",
        "The aquarium holds {m} litres, and {who} cleans it.",
        "I volunteer at a shelter in {where} on {n} evenings a month.",
        "My thesis has reached page {m}, if {who} is to be believed.",
        "I prefer window seats, ever since a trip to {where} with {who}.",
        "We adopted a greyhound called {who} from a kennel in {where}.",
        "My blood type is rare, which {who} found out after {n} tests.",
        "The roof was repaired for {m} pounds by a firm from {where}.",
        "I got as far as level {m} in the game that {who} recommended.",
        "For the marathon in {where} I trained {n} months.",
        "My stall at the market took {m} pounds on the last visit of {who}.",
        "The violin class of {who} meets in room {m}.",
    ),
}
_TOPICS = (
    "a garden in the shade",
    "a talk in front of colleagues",
    "a weekend without a car",
    "soup for many people",
    "sleep",
    "a first aquarium",
    "letters to an office",
    "a small workshop",
    "learning chess",
    "a long train journey",
    "old maps",
    "houseplants in winter",
    "a budget for a household",
    "photographs at night",
    "a quiet office",
    "mending clothes",
    "a choir without a conductor",
    "board games for two",
    "walking in the hills",
    "a family archive",
    "better coffee",
)
_ASKS = (
    "Could you give me some ideas about {topic}?",
    "What would you look at first with {topic}?",
    "I would like to get better at {topic}. Where do I begin?",
    "Do you have advice on {topic} for somebody like me?",
)
_POINTS = (
    "Plan",
    "Light",
    "Time",
    "Tools",
    "Company",
    "Cost",
    "Noise",
    "Order",
    "Notes",
    "Patience",
    "Practice",
    "Room",
    "Season",
    "Safety",
    "Storage",
    "Trial",
)
_ADVICE = (
    "Think about {a} before {b}, because {a} decides how much of {b} you will need for {topic}.",
    "Many people underestimate {a}; a short list on paper helps more than any amount of {b}.",
    "Begin with {n} minutes a day and see whether {a} or {b} is what holds you back.",
    "If {topic} feels like too much, leave {b} aside for {n} days and come back to {a} later.",
    "It is worth asking others how they dealt with {a}, since {b} differs from one place to the next.",
    "Look at {a} and {b} together: one without the other rarely works with {topic}.",
)


_CHATTER = (
    "I have been meaning to ask somebody about {topic} for a while, but {a} and {b} always came first.",
    "A neighbour of mine knows a lot about {topic}, though what he says on {a} does not fit what I read about {b}.",
    "I read a book on {topic} in the summer, and the chapter on {b} was the only one that I understood at once.",
    "So far I got by with little {a}, and I am not sure whether more {b} would change anything with {topic}.",
    "My family thinks that {topic} is a waste of time, which makes {a} harder than it needs to be.",
    "I tried something like it years ago and gave up when {b} got in the way of everything else that I had to do.",
    "What you said last time on {a} helped, but I still wonder how {b} comes into {topic}.",
    "I would rather spend my evenings on {topic} than on {b}, if only {a} were not such a problem here.",
)


@dataclass(frozen=True)
class Fact:
    """What must stand in one line."""

    keywords: tuple[str, ...]


def figures(half: Half, engine: Engine) -> Iterator[Figure]:
    """The facts of a half that are there after one compaction."""
    messages, facts = _of_clone(half) if CLONE.exists() else talk(half)
    made = engine.compact(messages)
    left = list(map(shown, made.left))
    yield Figure("facts whose keywords share a line", sum(stands(fact, left) for fact in facts), len(facts))
    yield Figure("tokens of the room", made.budget)
    yield Figure("facts of lost-in-compaction itself (0: ours)", int(CLONE.exists()))


def stands(fact: Fact, left: list[str]) -> bool:
    """Whether one line has all keywords."""
    wanted = [re.compile(rf"(?<!\w){re.escape(keyword)}(?!\w)", re.IGNORECASE) for keyword in fact.keywords]
    return any(all(word.search(line) for word in wanted) for text in left for line in text.splitlines())


def talk(half: Half, tokens: int = TOKENS) -> tuple[list[Message], list[Fact]]:
    """Exchanges about everyday things, in some of which a person mentions a fact; one in four a reply instead."""
    dice = random.Random(f"lost in compaction, {half}")
    told = [_fact(dice, tells) for tells in _TELLS[half] * (FACTS // len(_TELLS[half]))]
    dice.shuffle(told)
    messages: list[Message] = []
    taken, next_fact = 0, 0
    while taken < tokens:
        topic = dice.choice(_TOPICS)
        chatter, fact = _some(dice, _CHATTER, topic, 2), ""
        if next_fact < len(told) and taken >= (next_fact + 1) * tokens / (len(told) + 1):
            fact, next_fact = told[next_fact][0], next_fact + 1
        of_reply = bool(fact) and next_fact % 4 == 0
        asked = " ".join(filter(None, (chatter, "" if of_reply else fact, _some(dice, _ASKS, topic, 1))))
        reply = _reply(dice, topic, f'As you told me: "{fact}"' if of_reply else "")
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": reply}]
        taken += count(asked) + count(reply)
    return messages, [fact for _, fact in told]


def _fact(dice: random.Random, tells: str) -> tuple[str, Fact]:
    values = {"who": dice.choice(_PEOPLE), "where": dice.choice(_PLACES), "n": dice.randint(3, 30), "m": 0}
    values["m"] = dice.randint(100, 990)
    sentence = tells.format(**values)
    slots = [str(values[name]) for name in ("who", "where", "n", "m") if f"{{{name}}}" in tells]
    things = [word for word in re.findall(r"\b[a-z]{5,}\b", tells) if word not in ("which", "there", "where", "after")]
    return sentence, Fact((*slots, max(things, key=len)))


def _reply(dice: random.Random, topic: str, remark: str) -> str:
    lines = [f"Here is how I would go about {topic}:", "", remark, ""]
    for number, point in enumerate(dice.sample(_POINTS, 5), 1):
        lines.append(f"{number}. **{point}**: {_some(dice, _ADVICE, topic, 3)}")
    lines += ["", f"Tell me more about what you have in mind with {topic}, and I can go into details."]
    return "\n".join(lines)


def _some(dice: random.Random, sentences: tuple[str, ...], topic: str, number: int) -> str:
    a, b = dice.sample(_POINTS, 2)
    values = {"a": a.lower(), "b": b.lower(), "topic": topic, "n": dice.randint(2, 60)}
    return " ".join(each.format(**values) for each in dice.sample(sentences, number))


def _of_clone(half: Half) -> tuple[list[Message], list[Fact]]:
    messages: list[Message] = json.loads((CLONE / "d80_C1.json").read_text(encoding="utf-8"))
    meta = json.loads((CLONE / "d80_C1_meta.json").read_text(encoding="utf-8"))
    facts = [
        Fact(tuple(fact["keywords"]))
        for fact in meta["facts"]
        if not fact["compacted"] and HALVES[hashlib.sha256(fact["fact_id"].encode()).digest()[-1] % 2] == half
    ]
    return messages, facts

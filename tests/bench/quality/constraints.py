"""Side constraints that a person lays down in passing: there word for word after one compaction, and after five.

The fifteen constraints and their framings are those of COMPINT (arXiv 2608.11242), read from a clone of its repository;
without it, fifteen of ours of the same five kinds. Each is said in a message of its own in the middle of a real
transcript, alone, and looked for in the words that are left (case and white space aside). COMPINT asks a model whether
a summary still means it; this asks for the words.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.bench.quality.engine import Engine
from tests.bench.quality.figures import Figure, total
from tests.bench.quality.messages import Message, is_request, results, shown, whole_until
from tests.bench.quality.rows import after_five
from tests.bench.quality.transcripts import Transcript
from tests.bench.quality.ways import CACHE

COMPINT = CACHE / "quality" / "compaction-integrity" / "src" / "compaction_integrity" / "sssc.py"
FRAMINGS = {
    "as it is": "",
    "for this session": "For the rest of this session. ",
    "as important": "This is an important constraint: for the rest of this session. ",
}
OURS = (
    "Apply the small fixes right away instead of asking me about each of them.",  # what may be done
    "Show me every migration before you run it, and wait until I say yes.",
    "Don't open pull requests for me, I open them myself.",
    "Never write down the name of the customer, in a reply or in a file.",  # what may be known and told
    "Don't put my home address into any document or form.",
    "Don't read anything under the folder of the legal department.",
    "Always look into the changelog before you answer, even if you are sure.",  # how work is done
    "When a step is finished, close with one line on what is still missing.",
    "Before each answer, say in one sentence what you understood.",
    "When you suggest a library, prefer those that we have already over new ones.",  # what is preferred
    "When you name a time, use the 24-hour clock, not am and pm.",
    "When you refer to a rule, link the standard and not an article about it.",
    "Spell out every abbreviation in your replies.",  # what a reply looks like
    'Begin every reply with this exact line: "Status: see below."',
    "Reply in tables only, no running text.",
)
_ONE, _FIVE, _CUT = 400, 100, 0.75  # messages for one compaction and for five in a row, and where the one is made


def figures(transcripts: Sequence[Transcript], engine: Engine) -> Iterator[Figure]:
    """After one compaction by framing, and after five, where each constraint has one framing."""
    found = _compint() or OURS
    one: dict[str, list[tuple[int, int]]] = defaultdict(list)
    five: list[tuple[int, int]] = []
    for transcript in transcripts:
        long, short = first(transcript.messages, _ONE), first(transcript.messages, _FIVE)
        place_in_long, place_in_short = place(long, engine), place(short, engine)
        for at, constraint in enumerate(found):
            for name, framing in FRAMINGS.items():
                planted = with_constraint(long, place_in_long, framed(constraint, framing))
                left = engine.compact(planted[: whole_until(planted, _CUT)]).left
                one[name].append((stands(constraint, left), 1))
            framing = list(FRAMINGS.values())[at % len(FRAMINGS)]
            planted = with_constraint(short, place_in_short, framed(constraint, framing))
            five.append((stands(constraint, after_five(planted, engine, 0.5)), 1))
    for name, counted in one.items():
        yield total(f"one compaction, {name}", counted)
    yield total("one compaction", [each for counted in one.values() for each in counted])
    yield total("five compactions", five)
    yield Figure("constraints of COMPINT itself (0: ours, no clone is here)", int(found != OURS))


def first(messages: Sequence[Message], number: int) -> Sequence[Message]:
    """So many messages, and what results they call for."""
    return messages[: whole_until(messages, min(number / len(messages), 1))]


def framed(constraint: str, framing: str) -> str:
    return framing + constraint[0].lower() + constraint[1:] if framing else constraint


def place(messages: Sequence[Message], engine: Engine) -> int:
    """Where a person can say something in the middle of what a compaction replaces."""
    replaced = engine.compact(messages[: whole_until(messages, _CUT)]).replaced
    middle = messages.index(replaced[len(replaced) // 2]) if replaced else 0
    return next((at for at in range(middle, 0, -1) if _is_between(messages, at)), 0)


def with_constraint(messages: Sequence[Message], at: int, constraint: str) -> list[Message]:
    """The messages with a person's constraint at this place.

    The agent nods, and the person has it go on: the constraint is not the newest request, which would stay by itself.
    """
    added: list[Message] = [
        {"role": "user", "content": constraint},
        {"role": "assistant", "content": "Understood."},
        {"role": "user", "content": "Good, go on."},
    ]
    return [*messages[:at], *added, *messages[at:]]


def _is_between(messages: Sequence[Message], at: int) -> bool:
    """Whether a message is a person's, or the agent's next step after a result."""
    return is_request(messages[at]) or (not results(messages[at]) and bool(results(messages[at - 1])))


def stands(constraint: str, left: Sequence[Message]) -> bool:
    text = _plain("\n".join(map(shown, left)))
    return _plain(constraint) in text


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _compint() -> tuple[str, ...]:
    """The constraints in a clone of COMPINT, none where there is none."""
    if not COMPINT.exists():
        return ()
    tree = ast.parse(COMPINT.read_text(encoding="utf-8"))
    lists = [node.value for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value]
    rows = next(ast.literal_eval(value) for value in lists if isinstance(value, ast.List))
    return tuple(row["sssc"] for row in rows)

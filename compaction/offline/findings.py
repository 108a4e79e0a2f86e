"""Sentences that state a finding or decision with its reason, and sentences about open work.

Theory: a finding states a cause or consequence ("because", "turned out"); an open task states that something is not
done. A sentence that only announces the next step ("Let me look at ...") is neither. The lists cover the languages most
used with agents; a sentence in another language is not lost, it is only not put first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..sentences import is_decision, sentences

_LONGEST = 500  # characters of a sentence that is put first: a longer one is pasted
_SHORTEST = 20
_CAUSE = re.compile(
    r"(?i)\b(?:because|root cause|the (?:cause|reason|problem|issue|bug|culprit|trick|catch|key) was"
    r"|caused by|due to|turn(?:s|ed) out|it (?:was|is) (?:actually|really)|which (?:means|explains|is why)"
    r"|that['’]?s (?:why|(?:exactly )?(?:the|our) (?:bug|cause|culprit|reason|root cause))"
    r"|(?:I|we) (?:found|discovered|learned|confirmed|verified|noticed) (?:that|the|a|an|out|it|no|\d)"
    r"|(?:cannot|can['’]t|could(?: not|n['’]t)|unable to|not (?:possible|allowed|eligible)) [^.!?]{3,120}"
    r" (?:as|since|without|unless)"
    r"|as a result|therefore|the fix (?:is|was)|fixed by|works? (?:only|because|now|when|if)|only works"
    r"|fails? (?:because|when|if)|does(?:n['’]t| not) (?:work|support)|never (?:gets|got|was|were)"
    r"|conclusion|in short|the answer is|it depends on"
    r"|weil|deshalb|daher|der grund|ursache|stellte sich heraus|liegt an|parce que|car il|à cause|la raison|en fait"
    r"|porque|debido a|por eso|la causa|resulta que|perché|a causa|quindi|causa è|por causa|потому что|из-за|причина"
    r"|оказалось|поэтому)\b"
    r"|因为|原因|所以|导致|发现|なので|ため(?:です|に)|原因|わかりました|때문|이유|그래서"
)
_NOW = re.compile(r"(?i)\bthe (?:cause|reason|problem|issue|bug|culprit|trick|catch|key) (?:is|here)\b")
_DIAGNOSIS = re.compile(
    r"(?i)\b(?:issue|problem|bug|cause|culprit) (?:is|was)\b|\bthat['’]?s (?:exactly )?(?:the|our) (?:root )?"
    r"(?:bug|cause|culprit|problem|issue)\b"
)
_GUESSES = re.compile(
    r"(?i)\b(?:might|may be|maybe|perhaps|probably|possibly|could be|I['’]m"
    r"|I (?:think|guess|suspect|assume|need|am|was)|(?:it )?seems?|looks like"
    r"|vielleicht|wahrscheinlich|peut-être|quizás|forse|может быть|наверное)\b|可能|也许|かもしれ|아마"
)
_NOTHING = re.compile(r"(?i)\W*(?:nothing|none|no (?:one|longer|need)|nichts|rien|nada|niente|ничего|没有)\b")
_OPEN = re.compile(
    r"(?i)\b(?:next (?:step|is|up|we|I|comes|task)|next,"
    r"|still (?:open|to do|to be|needs?|has to|have to|missing|failing|left|pending)"
    r"|remaining|remains? to|not (?:yet|done|finished|implemented|fixed)(?! by)|todo|to-do|follow[- ]?up|left to do"
    r"|to be done|needs? to be|has to be|have to be|will have to|yet to be|pending|outstanding"
    r"|not started|blocked (?:on|by)"
    r"|waiting (?:for|on)|later we|remember to|don['’]t forget"
    r"|(?:when|once|as soon as|after) [^,.;]{3,60},? (?:I|we)(?:['’]ll| will)"
    r"|(?:do not|don['’]t) [^.!?]{3,60} (?:yet|until|before)"
    r"|noch (?:offen|nicht|zu)|als nächstes|steht aus|fehlt noch|reste à|prochaine étape|pas encore|il reste"
    r"|falta|pendiente|próximo paso|todavía no|ancora da|prossimo passo|manca|ainda falta|próximo passo"
    r"|осталось|следующий шаг|ещё не|далее)\b"
    r"|接下来|下一步|还没|待办|尚未|次は|まだ|残り|다음|아직|남은"
)
_ANNOUNCES = re.compile(
    r"(?i)\W*(?:(?:ok(?:ay)?|now|good|great|perfect|excellent|first|then|next|alright|so|and)[,.!]?\s+){0,3}"
    r"(?:let me|let['’]s|I['’]ll|I will|I['’]m going to|I am going to|I need to|I should|now I|we need to"
    r"|now (?:also |just )?(?:add|write|update|replace|implement|run|create|fix|check|verify|commit|edit|remove|test"
    r"|build|make|read|look|move|install|rename|wire|push|close|do|the)"
    r"|ich werde|je vais"
    r"|voy a|vou|ora |сейчас)\b"
)


def is_finding(sentence: str, ended: bool = True) -> bool:
    """Whether a sentence states a finding or decision with its cause.

    "The issue is ..." counts only if the agent's turn `ended`: during work it is often the next guess.
    """
    if not _SHORTEST <= len(sentence) <= _LONGEST or sentence.endswith(("?", "？", ":")):
        return False
    if _ANNOUNCES.match(sentence) or _GUESSES.search(sentence):
        return False
    return bool(_CAUSE.search(sentence)) or (ended and bool(_NOW.search(sentence))) or is_decision(sentence)


def is_diagnosis(sentence: str) -> bool:
    """Whether a sentence says what is wrong: "The dialyzer issue is that ...", "That's the bug."."""
    return bool(_DIAGNOSIS.search(sentence))


def is_open_task(sentence: str) -> bool:
    """Whether a sentence says that something is still to be done. A short sentence must name it ("Next is WP14.")."""
    if len(sentence) > _LONGEST or sentence.endswith(("?", "？", ":")):
        return False
    if len(sentence) < _SHORTEST and not names_something(sentence):
        return False
    return bool(_OPEN.search(sentence)) and not _NOTHING.match(sentence)


def announces(sentence: str) -> bool:
    """Whether a sentence only announces the next step: "Let me read the file."."""
    return bool(_ANNOUNCES.match(sentence))


def names_something(sentence: str) -> bool:
    """Whether a sentence has an exact name, a number, or something quoted."""
    return bool(_EXACT.search(sentence))


_EXACT = re.compile(r"\d|[`\"“«]|\w[_/.]\w|[a-z][A-Z]")


def findings_in(text: str, typed: bool = False, ended: bool = True) -> Iterator[str]:
    """The findings of a text, in order. Code fences and tables are skipped; in text that a person `typed` only
    decisions count.
    """
    return (each for each in _prose(text) if is_finding(each, ended) and (not typed or is_decision(each)))


def open_tasks_in(text: str) -> Iterator[str]:
    """The open tasks of a text, in order."""
    return (each for each in _prose(text) if is_open_task(each))


def _prose(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside and not line.lstrip().startswith(("|", "#", "    ", "+", "$")):
            for sentence in sentences(line):
                yield re.sub(r"^(?:[-*•]|\d{1,2}[.)])\s+", "", sentence)

"""Lines and sentences that matter: those that bind, wish, decide or ask, and lines that report trouble."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Signs of trouble in a tool's output, looked for as they stand: a regular expression would cost ten times as much.
_TROUBLE = (
    *("error", "exception", "traceback", "fail", "fatal", "denied", "refused", "not found", "no such", "timed out"),
    *("timeout", "panic", "cannot", "could not", "unable", "invalid", "abort", "conflict", "not allowed", "forbidden"),
    *("错误", "失败", "エラー", "失敗", "오류", "실패", "ошибка", "fehler", "erreur"),
)
_CALM = re.compile(
    r"(?i)\bno (?:errors?|fail\w*|conflicts?)\b|\b0 (?:errors?|fail\w*)"
    r"|\b(?:errors?|fail\w*|error_count|is_error)\"?\s*[:=]\s*(?:null|\"\"|false|\[\]|\{\}|0\b)|\btimeout\"?\s*[:=]\s*\d"
    r"|^[\w./-]+\.\w{1,5}(?::\d+)*$"  # the name of a file
)
_CODE = re.compile(
    r"\d+\s*[|:]\s|(?:def|class|raise|except|import|from|if|elif|else|return|throw|catch|try|func|fn|let|const|var"
    r"|log\w*\.|//|#|\*|--|@|[+-] )(?:\W|$)"
)
_MESSAGE = re.compile(
    r"(?m)^[ \t]*(?:[\w.]*(?:Error|Exception)|(?i:error|fatal|panic|traceback)\b[^:\n]{0,40}): ?\S.*$"
)
_NEAR = 80  # an error line says so near its start; further in, the word belongs to prose or data
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
# Words that bind, in the languages agents are used in most; phrases, and scripts that set no spaces, in any place.
_BINDING = _set_of(
    """must mustn't never only always don't doesn't cannot shall shouldn't forbidden prohibited required mandatory
    ensure muss müssen musst darf dürfen darfst nie niemals nur immer keinesfalls höchstens mindestens unbedingt stets
    jamais toujours seulement uniquement doit doivent dois interdit obligatoire impérativement
    nunca jamás siempre solo sólo solamente únicamente debe deben debes prohibido obligatorio
    mai sempre soltanto deve devono vietato obbligatorio apenas somente devem proibido
    nooit altijd alleen moet moeten verboden nigdy zawsze tylko musi aldrig alltid bara måste asla daima sadece
    никогда всегда только нельзя должен должна должны должно обязательно запрещено ніколи завжди тільки
    हमेशा केवल دائما فقط يجب ممنوع"""
)
_BINDING_PHRASES = (
    *("do not", "does not", "should not", "may not", "at most", "at least", "no more than", "no later than"),
    *("make sure", "be sure", "ne pas", "не надо", "कभी नहीं", "必须", "必須", "不要", "不得", "不能", "不可", "不准"),
    *(
        "不许",
        "只能",
        "只要",
        "只用",
        "仅",
        "禁止",
        "务必",
        "務必",
        "永远",
        "总是",
        "切勿",
        "请勿",
        "必ず",
        "絶対",
        "ないで",
    ),
    *(
        "てはいけ",
        "てはなら",
        "のみ",
        "だけ",
        "しないこと",
        "반드시",
        "절대",
        "하지 마",
        "하지마",
        "항상",
        "오직",
        "금지",
    ),
)
_MILD = _set_of("can't without avoid prefer ohne sans sin senza sem kein keine keinen nicht")
_DECIDING = _set_of(
    """decide decided decision agreed chose chosen choose settled approve approved confirmed entschieden entscheidung
    beschlossen stattdessen einverstanden décidé choisi decidido elegido acordado deciso scelto escolhido
    решил решила решили решено выбрали договорились"""
)
_DECIDING_PHRASES = (
    *("going with", "go with", "instead of", "let's use", "we'll use", "we will use", "opted for", "switch to"),
    *("switched to", "d'accord", "决定", "決定", "采用", "採用", "改用", "选择", "選択", "にします", "결정", "선택"),
)
_WORDS = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ASKING = re.compile(r"(?i)(?:if|please|wenn|falls|bitte|si|s['’]il|por favor)\b|.*let me know\b")
_REMARK = re.compile(
    r"(?i)\bI (?:do not|don[’']t|cannot|only) (?:have|know|remember|see|think|understand|recall|mind)\b"
)


# A numbered line of code, an assignment, a quoted piece, a program's own message ("cat: x: cannot open").
_PASTED = re.compile(
    r"\d{2,}[:|]\s{4}|[\w.\[\]]+\s*[-+*/|&]?=[^=]|[\"'].*[\"'][,:]?$|(?:[\w./*-]+: ){1,2}(?:cannot|only)\b"
)


BINDING_SIGNS = (*_BINDING, *_BINDING_PHRASES, *_MILD)
DECIDING_SIGNS = (*_DECIDING, *_DECIDING_PHRASES)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, word for word; a line break ends one."""
    return (s for piece in _SENTENCE.split(text) if piece and (s := piece.strip()))


def is_binding(sentence: str) -> bool:
    """Whether a sentence has words that bind: must, never, only, do not, always and their like in other languages.

    Lines of programs and logs that people paste have none.
    """
    return _holds(sentence, _BINDING, _BINDING_PHRASES) and not (_REMARK.search(sentence) or _PASTED.match(sentence))


def holding(texts: Sequence[str], signs: Iterable[str]) -> list[bool]:
    """For each text whether one of the signs stands in it, be it inside a word: a first look that costs little.

    `BINDING_SIGNS` and `DECIDING_SIGNS` are those without which no sentence binds or decides.
    """
    everything = "\n".join(texts).lower().replace("’", "'")
    met = [sign for sign in signs if sign in everything]
    lowered = (text.lower().replace("’", "'") for text in texts)
    return [any(sign in text for sign in met) for text in lowered] if met else [False] * len(texts)


def is_wish(sentence: str) -> bool:
    """Whether a sentence is a milder wish, as in "without sugar", or a remark; a question is neither."""
    return (_holds(sentence, _MILD) or bool(_REMARK.search(sentence))) and not sentence.endswith(("?", "？"))


def is_decision(sentence: str) -> bool:
    """Whether a sentence has words that settle something; one that asks for a decision does not."""
    asks = sentence.endswith(("?", "？")) or _ASKING.match(sentence)
    return _holds(sentence, _DECIDING, _DECIDING_PHRASES) and not asks


def _holds(sentence: str, words: frozenset[str], phrases: Sequence[str] = ()) -> bool:
    lowered = sentence.lower().replace("’", "'")
    return not words.isdisjoint(_WORDS.findall(lowered)) or any(phrase in lowered for phrase in phrases)


def error_line(text: str) -> str:
    """The first line of a tool's output that reports trouble, or ""; program code and "0 errors" do not."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals become two characters; positions must stay
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    first, found = len(text), ""
    for sign in _TROUBLE:
        at = lowered.find(sign, 0, first)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            line = text[start : end if end >= 0 else len(text)].strip()
            if sign in line[:_NEAR].lower() and not _CODE.match(line) and not _CALM.search(line):
                first, found = start, line
                break
            at = lowered.find(sign, end, first) if end >= 0 else -1
    return found


def pasted_error(text: str) -> str:
    """An error line in what somebody says: only one that has the form of a program's message."""
    match = _MESSAGE.search(text)
    return match[0].strip() if match else ""

"""The category of a sentence: an instruction, a decision, a cause, an open task, a preference, a circumstance.

Theory: a few words reveal each category, whatever the subject: "because", "instead", "still open", "I prefer", "I was".
These words are listed in the languages most used with agents, and each sentence is searched for them, in groups of one
to four words. A sentence without any of them may still be informative. Almost every sentence that people type is. A
sentence that an agent writes is, unless it only announces, offers or asks something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Literal

from ..details.cjk import CJK
from ..sentences import DECIDING_SIGNS, is_binding, set_of

Category = Literal["instruction", "decision", "cause", "open task", "preference", "circumstance", "request", ""]
CATEGORIES: tuple[Category, ...] = (  # the most telling first
    *("instruction", "decision", "cause", "open task", "preference", "circumstance", "request", ""),
)
LONGEST = 1_000  # characters of a sentence that are looked at: longer ones are pasted text
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[,;:.!?—^-]")


_Sign = Literal[Category, "limit", "asks back", "gives reasons"]

# Parted by commas: "is/was" for either word, "^" where a sentence begins, "_" for a comma.
_SIGNS: Mapping[_Sign, str] = {
    "decision": """instead, rather than, we/i/you keep/stay/stick/drop/skip/postpone,
        we/i will keep/stay/drop/skip/postpone, dropped, abandoned, discarded, postponed, rejected, ruled out,
        gave/given up, left out, settled on, reverted, replaced, let's go/stay/stick, i'll/we'll go/stay/stick,
        will go/stay/stick with, no longer use/need/want, stattdessen, anstatt, statt der/des/dem/zu/einer/eines,
        wir/ich behalten/behalte/bleiben/bleibe/verzichten/verzichte, genommen, gewählt, verworfen, verzichtet,
        verschoben, au lieu de, au lieu du, plutôt que, à la place, on garde, nous gardons, abandonné,
        en lugar de, en vez de, nos quedamos, invece di, em vez de, вместо, отказались""",
    "cause": """because, due/owing to, caused by, causes, root cause, cause is/was, the cause, the reason,
        that's/thats why, that/which is/was why,
        issue/problem/bug/culprit/reason/mistake/catch/trouble/fault/blocker is/was/lies/seems/here,
        turned/turns out, that's the bug/reason/cause/problem/issue,
        that is/was the bug/reason/cause/problem/issue, which/this/that means/explains/breaks, ^ since, _ since,
        ^ as the, _ as the/it/they, so that, otherwise, false positive, stale, ^ expected, weil, wegen, aufgrund,
        deshalb, deswegen, daher, ursache, liegt am/an/daran, lag am/an/daran, stellte sich heraus, _ da, _ denn,
        parce que, parce qu'il, puisque, à cause de, à cause du, en raison de, grâce à, c'est pourquoi, _ car,
        porque, debido a, por eso, ya que, a causa de, el motivo, perché, a causa di, dovuto a, poiché, devido a,
        потому что, из-за, так как, причина, поэтому""",
    "open task": """still open/to/be/needs/need/missing/have/has/pending/waiting/not/fails/failing, is/are still,
        remains, remaining task/tasks/work/step/steps/issue/issues/to, to-do, todo, to do,
        fixme, not yet/done/finished/implemented/started, yet to,
        follow-up, follow up, followup, has/have to be, needs/need to be, left to do, left to be, pending,
        outstanding, unfinished, unresolved, uncommitted, unmerged, blocked, waiting for/on, in progress,
        depends/depend on, dependent on, next is/step/steps/up/comes/we, is/are next, don't forget, remember to,
        count/check/try/ask/look again, tomorrow, is/are due, noch offen/nicht/zu/aus, fehlt noch,
        es fehlt/fehlen, muss/müssen/sollte noch, als nächstes, ausstehend, reste à, pas encore, prochaine étape,
        falta, faltan, queda pendiente, queda por, pendiente, todavía no, aún no, manca ancora, ainda não,
        ainda falta, осталось, ещё не, еще не""",
    "preference": """prefer, prefers, preferred, preferably, favourite, favorite, ideally, if possible,
        i/we would/'d/much rather, i'd/we'd rather, rather not, i/we like/love/hate/dislike/enjoy,
        i really/don't/just like/love/hate, don't/not/wouldn't want, really don't/dislike,
        is/are/works/work better/best/easier/nicer, much better, the cheapest/fastest/earliest/latest/shortest,
        fly after/before, lieber, am liebsten, bevorzuge, bevorzugt, ich mag, mag ich, mag keine, je préfère,
        de préférence, j'aime, prefiero, me gusta, preferisco, prefiro, предпочитаю, больше нравится""",
    "circumstance": """i/we was/were/had/have/live/lived/work/worked/can't/cannot/could/lost/forgot/moved/missed,
        i/we booked/bought/noticed/thought/expected/just/recently/already/currently/don't/didn't, i am/do/did,
        i'm/i've/we're/we've, my, our, as a/an, you cannot/can't/don't,
        ich/wir bin/war/habe/hatte/kann/wohne/arbeite/sind/waren/haben, bin/war/habe ich, mein, meine, meinen,
        meiner, unser, unsere, je suis, j'ai, j'étais, j'habite, nous sommes/avons, mon, mes, notre, nos, soy,
        estoy, tengo, estaba, tenemos, nuestro, nuestra, mi, mis, sono, ho, estou, tenho, у меня, мой, моя, моё,
        наш, наша, я был/была/живу/работаю""",
    "request": """?, please, can/could/would/will you, i'd/we'd like, i would like, i/we want/need, i'll go/take,
        go ahead, looking for, help me, how about, let's, bitte, kannst du, können sie, ich möchte/brauche/will,
        s'il te/vous, peux-tu, pouvez-vous, je veux/voudrais, por favor, quiero, necesito, puedes, per favore,
        vorrei, puoi, пожалуйста, можешь, можете""",
    # What does not work, is not there, or holds only somewhere: why something was done, or not done, follows from it.
    "limit": """doesn't, does/do/did/is/are/was/were/has/have/had/can/could/would/will not, don't, didn't, isn't,
        aren't, wasn't, weren't, hasn't, haven't, can't, couldn't, wouldn't, won't, cannot, no longer, unable,
        not available/possible/supported/allowed/found/recognized/configured/eligible, missing, lacks, wrong,
        broken, fails, failed, failing, requires, only for/if/when/after/with/in/on/works, needs, unreachable,
        non-refundable, restrictions, unfortunately, nicht, nur für, ne peut, n'est pas, ne fonctionne, no puede,
        no se puede, no es posible, не работает, не может, нельзя""",
    "asks back": """?, let me know, feel free, please confirm/provide/let/specify/share/choose/reply/hold/tell/reach,
        would you like, happy to help, anything else, further assistance/questions/help, i'm sorry, i am sorry,
        i'm here, i understand, i apologize, i appreciate, to proceed, here are/is, here's, can help you,
        can assist you, to assist you, safe travels, sagen sie bescheid, n'hésitez pas""",
    "gives reasons": "because, due to, since, weil, parce que, porque",
}
_EASTERN: Mapping[Category, tuple[str, ...]] = {  # scripts without spaces: searched for as substrings
    "decision": ("代わりに", "而不是", "改为", "保留", "대신", *(sign for sign in DECIDING_SIGNS if CJK.search(sign))),
    "cause": ("因为", "因為", "由于", "由於", "原因", "所以", "ためです", "からです", "ので", "때문", "이유"),
    "open task": (
        *("尚未", "还没", "還沒", "待办", "未完成", "下一步"),
        *("まだ", "残り", "これから", "아직", "남은", "남았"),
    ),
    "preference": ("喜欢", "喜歡", "偏好", "好き", "嫌い", "ほうがいい", "方がいい", "좋아", "선호", "싫"),
    "request": ("？", "请", "帮", "我想", "ください", "お願い", "해 주", "해주", "주세요"),
    "circumstance": ("我", "私", "僕", "저는", "나는", "우리", "제가"),
}
# How an agent begins what it is about to do, behind words that say nothing: the calls after it show that.
_FILLERS = set_of(
    """ok okay then next first finally great good perfect excellent and also so alright understood sure certainly
    right success , . ! : - — yes"""
)
_ANNOUNCING = """let me/us, let's, lets, i'll, we'll, i will, we will, i'm going, i am going, we are going, i can,
    we can, i need to, we need to, we should, to proceed/fix/assist/test, run, running, reading,
    checking, starting, continuing, adding, updating, creating, calling, add, write, update, check,
    create, implement, register, replace, compile, task, instrument, read, commit, close, mark,
    expected —, now, ich werde, ich schaue, ich prüfe, lass mich,
    je vais, voy a, deja"""
_SAID: tuple[Category, ...] = ("decision", "open task", "cause")  # of people's, in the order in which they count
# What begins so decides nothing and leaves nothing open.
_CONDITIONS = set_of("if please once when nothing none wenn falls bitte nichts si rien nada")
_VERBS = set_of(
    """use touch change edit modify run write answer reply take book read send work commit push deploy delete
    remove add create show make ask call pay include keep test fix look search install publish merge refund
    cancel start continue implement build find check update upgrade rename move copy give list tell explain
    try stop undo revert review open close set do go put order buy websearch"""
)


def _parted(signs: str) -> Iterator[tuple[str, ...]]:
    for sign in signs.split(","):
        parts = [part.replace("_", ",").split("/") for part in sign.split()]
        yield from (tuple(_WORD.findall(" ".join(words))) for words in product(*parts))


class _Signs:
    """Signs, indexed by their words."""

    def __init__(self, listed: Iterable[tuple[tuple[str, ...], _Sign]]) -> None:
        self.of: dict[tuple[str, ...], set[_Sign]] = {}
        self.lengths: dict[str, set[int]] = {}  # of those that begin with a word
        for words, sign in listed:
            self.of.setdefault(words, set()).add(sign)
            self.lengths.setdefault(words[0], set()).add(len(words))

    def at(self, words: Sequence[str], at: int) -> Iterator[_Sign]:
        """The signs that begin at this word."""
        for length in self.lengths.get(words[at], ()):
            yield from self.of.get(tuple(words[at : at + length]), ())


_ALL = _Signs(
    [
        *((words, sign) for sign, signs in _SIGNS.items() for words in _parted(signs)),
        *((tuple(_WORD.findall(sign)), "decision") for sign in DECIDING_SIGNS if not CJK.search(sign)),
    ]
)
_ANNOUNCED = _Signs((words, "") for words in _parted(_ANNOUNCING))


@lru_cache(maxsize=1 << 14)  # a plan and the report after it ask of the same sentences
def category_of(sentence: str, *, typed: bool) -> Category | None:
    """The category of a sentence. Sentences that people `typed` can have every category, others only decision, cause or
    open task; "" if none fits. None if the sentence says nothing: an agent announces its next step, offers help or asks
    back.
    """
    words = ["^", *_WORD.findall(sentence[:LONGEST].lower().replace("’", "'"))]
    met = {sign for at, word in enumerate(words) if word in _ALL.lengths for sign in _ALL.at(words, at)}
    if CJK.search(sentence):
        met |= {category for category, signs in _EASTERN.items() if any(sign in sentence for sign in signs)}
    return _typed(sentence, words[1:], met) if typed else _written(words[1:], met)


def _typed(sentence: str, words: Sequence[str], met: set[_Sign]) -> Category:
    asks = sentence.endswith(("?", "？"))  # noqa: RUF001
    if "preference" in met and not asks:
        return "preference"
    if is_binding(sentence):
        return "instruction"
    if not asks and words[:1] and words[0] not in _CONDITIONS:
        for category in _SAID:
            if category in met:
                return category
    if "request" in met or not _VERBS.isdisjoint(words[:2]):
        return "request"
    return "circumstance" if "circumstance" in met else ""


def _written(words: Sequence[str], met: set[_Sign]) -> Category | None:
    if "asks back" in met and "but" not in words:
        return None
    first = next((at for at, word in enumerate(words) if word not in _FILLERS), len(words))
    begins = words[first] if first < len(words) else ""
    announces = bool(begins) and any(True for _ in _ANNOUNCED.at(words, first))
    if "cause" in met and (not announces or "gives reasons" in met):
        return "cause"
    if announces or words[-1:] == [":"]:
        return None
    if begins in _CONDITIONS:
        return ""
    if "decision" in met:
        return "decision"
    if "open task" in met:
        return "open task"
    return "cause" if "limit" in met else ""

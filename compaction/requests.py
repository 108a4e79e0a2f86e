"""What people asked for, and whether it was answered.

Theory: a request is open until the agent's turn ends with a reply that asks nothing back. What a person types after
such a question belongs to the request before it. Thanks, greetings and markers of a test bench ask for nothing, and
end what was open. Rows of the user role that a program wrote (outputs of commands, notices of an agent) are no requests
at all: SWE-agent, Claude Code and others put them there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from .cancelling import takes_back
from .letters import is_no_answer
from .text.clip import clip

_LOOKED_AT = 2_000  # characters at either end of a message
_MARKER = re.compile(r"(?<!#)#{2,}[A-Z_]{3,20}#{2,}|\[(?:END|STOP|DONE)\]|<(?:end|stop)/?>")
# How outputs and notices begin: SWE-agent, OpenHands, Claude Code.
_OBSERVED = (
    *("[File: ", "Your proposed edit has introduced", "Your command ran successfully", "OBSERVATION:", "Observation:"),
    *(
        "<task-notification",
        "<local-command",
        "<bash-stdout",
        "<bash-stderr",
        "<system-reminder",
        "<user-prompt-submit",
    ),
    *("[Request interrupted by user", "Caveat: The messages below", "EXECUTION RESULT of", "<returncode>", "<output>"),
    *("Your edit was not applied", "File updated. Please review", "[The command completed", "<observation"),
)
_PROMPT = re.compile(r"(?:\(Open file: [^\n]*\)\s*\(Current directory: [^\n]*\)\s*)?(?:bash-\$|\$|root@\S+[#$])\s*\Z")
_STATE = re.compile(r"\(Open file: [^\n]*\)\s*\(Current directory: [^\n]*\)")
_NUMBERED = re.compile(r"\s*\d+\s*(?:[:|→]|\t)")
_POLITE = re.compile(
    r"(?i)^(?:thank\w*|thx|many thanks|cheers|great|perfect|awesome|excellent|wonderful|fantastic|brilliant"
    r"|lovely|cool|super"
    r"|nice|good ?bye|bye|see you|have a|you too|same to you|take care|hi|hello|hey|good (?:morning|afternoon"
    r"|evening|day|job|work)"
    r"|well done|ok(?:ay)?|alright|all right|got it|understood|i (?:really )?appreciate|i understand|i see"
    r"|that['’]?s (?:all|it|great|perfect"
    r"|fine|everything|good)|that (?:works|helps|was|is) |that will be all|no,? (?:that['’]?s|thank|thanks)"
    r"|nothing else|will do|sounds good"
    r"|much appreciated|you['’]?(?:re|ve)|danke\w*|vielen dank|tschüss|hallo|guten (?:tag|morgen|abend)|merci"
    r"|au revoir|bonjour|salut"
    r"|gracias|muchas gracias|hola|adiós|buenos días|grazie|ciao|buongiorno|obrigad[oa]|olá|спасибо|привет"
    r"|здравствуйте|до свидания|дякую"
    r"|谢谢|多谢|你好|您好|再见|好的|ありがとう|こんにちは|さようなら|了解|감사|안녕|고마)"
)
_THANKING = re.compile(
    r"(?i)\b(?:thank\w*|appreciate|bye|danke|merci|gracias|grazie|obrigad|спасибо|that['’]?s (?:all|it"
    r"|everything)(?: for now)?)|谢谢|ありがとう|감사"
)
_ASKING = re.compile(
    r"(?i)[?？]|\b(?:please|can you|could you|would you|will you|i['’]?d like|i would like|i want|i need|let['’]?s"
    r"|bitte"
    r"|ich (?:möchte|brauche|will)|s['’]il (?:te|vous)|je (?:veux|voudrais)|por favor|quiero|necesito|per favore"
    r"|vorrei|пожалуйста"
    r"|but|however|also|now|then|next|my \w+ (?:id|name|number) is)\b|请|帮|我想|ください|お願い|해 ?주"
)
# Questions that ask for nothing in particular: "Is there anything else I can help you with?"
_OFFER = re.compile(
    r"(?i)\b(?:anything else|something else|any(?:thing)? (?:other|more|further)|further (?:assist|help|question)"
    r"|how (?:can|may) i"
    r"|what (?:can|would you like me to) (?:i )?do (?:for you|next)|sonst noch|autre chose|algo más|altro)\b|还有|他に"
)
_WANTED = re.compile(
    r"(?i)\b(?:please|kindly|bitte|veuillez|por favor|per favore)\b[^.!?]{0,40}\b(?:provide|confirm|share|tell"
    r"|specify|give|send"
    r"|choose|select|reply|clarify|indicate|angeben|bestätig\w*|nennen|indiquer|confirmer|confirmar|indicar)\b"
    r"|\blet me know (?:if you(?:['’]d| would)|which|how|what|whether|your)\b|请(?:提供|确认|告诉)|教えて"
)
_GREETING = re.compile(
    r"(?i)^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|hallo|guten tag|bonjour|hola|ciao|olá|привет"
    r"|здравствуйте|你好|您好|こんにちは)\b"
)
_SPLIT = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+|,\s+(?=thank|bye)")


BRIEF = 30  # bytes of a request that says little by itself; a script may say a word in one character
COURTESY = 22  # bytes of a reply that tells nothing, unless it has a number


class TurnMessage(NamedTuple):
    """One message as it matters here: typed by a person or a reply of the agent, and whether its turn ends there."""

    place: int
    typed: bool
    words: str
    ends: bool = True


@dataclass(slots=True)
class Request:
    """What a person asked for: the message that began it, and those that answered the agent's questions about it."""

    place: int
    opening: str
    answers: list[tuple[int, str, str]] = field(default_factory=list)  # place, question, answer
    reply: str = ""  # the first one after it
    open: bool = True

    @property
    def newest(self) -> str:
        """The newest message of the request."""
        return self.answers[-1][2] if self.answers else self.opening

    @property
    def last_place(self) -> int:
        """Where that stands."""
        return self.answers[-1][0] if self.answers else self.place


def is_output(text: str, first: bool = False) -> bool:
    """Whether a program wrote this user row: an output, a notice. The `first` row of a session may end like one."""
    head, end = text[:_LOOKED_AT].lstrip(), text[-_LOOKED_AT:]
    if head.startswith(_OBSERVED):
        return True
    if not first and "$" in end and _PROMPT.search(end) and _STATE.search(end):
        return True
    if not first and head.rstrip().endswith("bash-$"):
        return True
    lines = head.splitlines()
    return not first and len(lines) >= 3 and sum(bool(_NUMBERED.match(line)) for line in lines) > 0.6 * len(lines)


def plain(text: str) -> str:
    """The message without markers of a test bench; a typed command of Claude Code as it was typed."""
    if text.lstrip().startswith("<command-") and (name := _tagged(text, "command-name")) is not None:
        return f"{name} {_tagged(text, 'command-args') or ''}".strip()
    return _MARKER.sub("", text).strip() if "#" in text or "[" in text or "<" in text else text.strip()


def _tagged(text: str, tag: str) -> str | None:
    """What stands between a tag and its end. Not by an expression: that would look for the end from each tag anew."""
    _, _, behind = text.partition(f"<{tag}>")
    inner, end, _ = behind.partition(f"</{tag}>")
    return inner.strip() if end else None


def is_closing(text: str) -> bool:
    """Whether a message only greets, thanks or takes leave, or ends with the marker that a test bench stops at."""
    if _MARKER.search(text[-80:]):
        return True
    text = plain(text)
    if not text or len(text) > 300:
        return not text
    if _ASKING.search(_THANKING.sub("", text)):
        return False
    pieces = [piece.strip() for piece in _SPLIT.split(text) if piece.strip(" .!,")]
    polite = sum(bool(_POLITE.match(piece)) for piece in pieces)
    return polite == len(pieces) or (polite > 0 and bool(_THANKING.search(text)) and polite * 2 >= len(pieces))


def is_polite(line: str) -> bool:
    """Whether a line begins with thanks, a greeting or a sign of assent."""
    return bool(_POLITE.match(line.lstrip(" *_#>-")))


def is_brief(request: str) -> bool:
    """Whether a request says little by itself: "yes, go on"."""
    return _bytes(request) < BRIEF or is_closing(request)


def says_little(reply: str) -> bool:
    """Whether a reply says no more than "Noted." or "You are welcome."."""
    return (_bytes(reply) < COURTESY and not any(map(str.isdigit, reply))) or is_closing(reply)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def is_greeting(text: str) -> bool:
    """Whether a message begins as people begin a conversation."""
    return bool(_GREETING.match(text[:80]))


def question_in(reply: str) -> str:
    """The last thing a reply asks for, "" for nothing; an offer of more help is nothing."""
    pieces = [piece.strip() for piece in _SPLIT.split(reply[-4 * _LOOKED_AT :]) if piece.strip()]
    found = [piece for piece in pieces if piece.endswith(("?", "？")) and not _OFFER.search(piece)]
    found = found or [piece for piece in pieces[-4:] if _WANTED.search(piece) and not _OFFER.search(piece)]
    return found[-1] if found else ""


def asks_or_thanks(reply: str) -> bool:
    """Whether a reply only asks back, offers more help or is polite: it names nothing exact."""
    return not _EXACT.search(reply) and bool(question_in(reply) or _OFFER.search(reply) or is_closing(reply))


def is_assent(question: str, answer: str) -> bool:
    """Whether a question with its answer says nothing by itself: "Would you like me to do that?", "Yes, please"."""
    return not _EXACT.search(f"{question} {answer}") and bool(_REFERRING.search(question))


_REFERRING = re.compile(r"(?i)\b(?:that|this|it|these|those|proceed|provide|specify)\b")
_MARKED = re.compile(r"\*\*[^*\n]{2,60}\*\*|^[A-ZÄÖÜ][\w ]{2,30}:\s", re.MULTILINE)
_EXACT = re.compile(r"\d|[/_`]")


def gist(reply: str, most: int) -> str:
    """What a reply comes to: lines with a mark of their own, else sentences that name something exact; "" for none."""
    lines = [line.strip() for line in reply[: 4 * _LOOKED_AT].splitlines()]
    lines = [line for line in lines if line and line[0] not in "|#`"]
    told = [line for line in lines if _MARKED.search(line) and _EXACT.search(line)]
    pieces = (piece for line in lines for piece in _SPLIT.split(line) if len(piece) > 8 and "?" not in piece)
    return clip(" ".join(told or [piece for piece in pieces if _EXACT.search(piece)][:2]), most)


def requests_in(said: Iterable[TurnMessage], before: Iterable[str] = ()) -> list[Request]:
    """The requests, oldest first; those still open from `before`, an earlier summary, come first."""
    requests = [Request(-1, text) for text in before]
    still_open, question, asking = list(requests), "", ""
    for one in said:
        if not one.typed:
            if requests and not requests[-1].reply:
                requests[-1].reply = one.words
            if one.ends:
                question, asking = question_in(one.words), one.words
                if not question:
                    _close(still_open)
            continue
        text = plain(one.words)
        if is_closing(one.words) and (not question or _MARKER.search(one.words)):
            _close(still_open)
        elif question and requests and requests[-1].open and _is_answer(text, question, asking, requests[-1].opening):
            requests[-1].answers.append((one.place, question, text))
        else:
            if stops := takes_back(text):
                _close(still_open)
            requests.append(Request(one.place, text, open=not stops))
            still_open += requests[-1:]
        question = ""
    return requests


def _is_answer(text: str, question: str, reply: str, opening: str) -> bool:
    return not (takes_back(text) or is_greeting(text) or is_no_answer(text, question, reply, opening))


def _close(requests: list[Request]) -> None:
    for request in requests:
        request.open = False
    requests.clear()

"""The requests of people, and whether each was answered.

Theory: a request is open until the agent has ended its turn with a reply that asks nothing back, and the person goes on
to something else or says thanks. A reply alone does not mean that the work is done. What a person types after a
question of the agent belongs to the request before it. Greetings and words of assent are not requests. Text that a
harness repeats is not a request of a person, however it is stored.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..cancelling import takes_back
from ..polite import ASKING, MARKER, SPLIT, is_closing, is_greeting, is_polite, plain
from ..sentences import sentences
from ..stems import stems_of
from ..text.clip import clip
from .reading import Turn, ends_of
from .wording import is_reading

_LOOKED_AT = 2_000  # characters at either end of a message

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


SHARED, PER_SHARED = 2, 20  # words that a line shares with a request: at least two, one more for each twenty of it
OFTEN = 3  # times running from which on equal messages are a harness's
_ALIKE = 2_000  # characters, letters and digits alone, that are compared


@dataclass(slots=True)
class Request:
    """A person's request: the message that began it, and the newest message that answered the agent's question about it
    or added to it.
    """

    place: int
    opening: str
    later: str = ""  # what the person said of it last
    answer: str = ""  # the reply that ended the agent's turn, the newest
    open: bool = True
    first: bool = False  # what the session began with
    dropped: bool = False  # taken back
    called: bool = False  # the agent called tools before the next one
    heard: bool = False  # and said something

    @property
    def newest(self) -> str:
        """The newest message of the request."""
        return self.later or self.opening

    @property
    def words(self) -> str:
        """What it asks for: its first message, and what the person added."""
        later = "" if is_assent(self.later) else self.later
        return f"{self.opening[:_LOOKED_AT]}\n{later[:_LOOKED_AT]}"


def alike(text: str) -> str:
    """A key that is equal for messages that differ only in case, punctuation and spaces."""
    return "".join(filter(str.isalnum, text[:_ALIKE].casefold()))


def without_paste(text: str) -> str:
    """A message in which pasted output or code is cut to its first line and a line count."""
    if len(text) <= _LONG_PASTE:
        return text
    pieces: list[str] = []
    pasted: list[str] = []
    for paragraph in [*_PARAGRAPH.split(text), ""]:
        if paragraph and (_is_pasted(paragraph) or _in_fence(pasted)):
            pasted.append(paragraph)
            continue
        if pasted:
            pieces.append(_cut_paste("\n\n".join(pasted)))
            pasted = []
        pieces.append(paragraph)
    return "\n\n".join(piece for piece in pieces if piece)


def _in_fence(paragraphs: list[str]) -> bool:
    return "\n\n".join(paragraphs).count("```") % 2 > 0


def _cut_paste(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip(" `")]
    if len(text) <= _LONG_PASTE or not lines:
        return text
    return f"{clip(lines[0], _SHOWN_OF_PASTE)} … ({len(lines):,} lines)"


def in_short(text: str, most: int) -> str:
    """A message on one line: a short one complete; of a long one the beginning and, if it asks something, the end,
    without the text pasted in between.
    """
    text = plain(text)
    if len(text) <= most:
        return " ".join(text.split())
    paragraphs = [each for each in _PARAGRAPH.split(_FENCED.sub("\n\n", text)) if each.strip() and not _is_pasted(each)]
    if not paragraphs:
        return clip(text, most)
    last = clip(paragraphs[-1], most // 2) if len(paragraphs) > 1 and ASKING.search(paragraphs[-1]) else ""
    first = _beginning(paragraphs[0], most - len(last) - 3)
    return f"{first} … {last}" if last else first


def answer_in_short(reply: str, most: int, asked: frozenset[str] = frozenset()) -> str:
    """A reply on one line, from its sentences and table rows: the first one, then those that share words with a request
    (`asked` has its stems), then those that turn or decide ("However, it cannot be changed."), then those with an exact
    detail, then the others, as many as fit, in their original order. Sentences that are only polite, ask back or offer
    more help are left out.
    """
    pieces = [" ".join(each.strip("|").split()) for each in sentences(reply)]
    polite = (_OFFER, _WANTED)
    informative = [
        each
        for each in pieces
        if _SAYING.search(each) and not is_closing(each) and not any(sign.search(each) for sign in polite)
    ]
    first = _beginning(informative[0] if informative else reply, most - 3)
    ranked = sorted(
        range(1, len(informative)),
        key=lambda at: (
            not shares_words(asked, informative[at]),
            not _TURNING.search(informative[at]),
            not _EXACT.search(informative[at]),
            at,
        ),
    )
    chosen, room = {0}, most - len(first)
    for at in ranked:
        if len(informative[at]) + 3 <= room:
            chosen.add(at)
            room -= len(informative[at]) + 3
    text = first
    for at in sorted(chosen - {0}):
        text += f"{' ' if at - 1 in chosen else ' … '}{informative[at]}"
    return text


def shares_words(asked: frozenset[str], text: str) -> bool:
    """Whether a line has so many of a request's stems that it may be about that."""
    return len(asked) >= SHARED and len(asked & stems_of(text)) >= SHARED + len(asked) // PER_SHARED


def names_in(request: str) -> set[str]:
    """The words of a request that name one thing: an id, a path, a ticket number, "spotter-gqc"."""
    words = (word.strip(".,:;!?\"'`()[]<>") for word in request[:_LOOKED_AT].split())
    return {word for word in words if len(word) > 3 and _NAMING.search(word)}


_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
_NAMING = re.compile(r"\w[-_./#:]\w|#?\d{3}|[a-z][A-Z]|[A-Z]{2}\d")
_EXACT = re.compile(r"\d|`")  # what names something exact
_TURNING = re.compile(
    r"(?i)\b(?:however|unfortunately|cannot|can['’]t|unable to|not (?:possible|eligible|allowed|available)|in short"
    r"|therefore|leider|jedoch|malheureusement|cependant|lamentablemente|sin embargo|purtroppo|infelizmente"
    r"|к сожалению|однако)\b|抱歉|但是|残念|しかし|하지만"
)
_SAYING = re.compile(r"[^\W\d_]{2}|\d{2}")  # what says more than the number of an item


def _beginning(text: str, most: int) -> str:
    """The first sentences of a text, as many as fit; if none fits, the start of the first."""
    beginning = ""
    for sentence in sentences(text):
        if len(beginning) + len(sentence) + 1 > most:
            break
        beginning += f" {sentence}" if beginning else sentence
    return beginning or clip(text, most)


def _is_only_pasted(text: str) -> bool:
    """Whether a long message is only a program's output."""
    return len(text) > _LONG_PASTE and all(_is_pasted(each) for each in _PARAGRAPH.split(text) if each.strip())


def _is_pasted(paragraph: str) -> bool:
    """Whether most lines of a paragraph come from a program: code, a log, a table, a heading, a quotation."""
    lines = [line for line in paragraph.splitlines() if line.strip()]
    return sum(bool(_PASTED.match(line)) for line in lines) * 2 > len(lines)


_LONG_PASTE, _SHOWN_OF_PASTE = 400, 120  # characters from which on what was pasted is cut, and what is shown of it
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_PASTED = re.compile(
    r"```|[>|#+<{}\[$@=]|\s{4,}|\t|\d{1,4}[:|→]|\d{4}-\d\d-\d\d|.*[;{}]\s*$|\s*at \S+\("
    r"|\s*File \"|\S*(?:Error|Exception):"
    r"|(?i:error|warn(?:ing)?|info|debug|trace(?:back)?)\b.{0,20}[:\]]"
)


def is_assent(text: str) -> bool:
    """Whether a message only says "yes", "go on", "continue implementation", and so is not a request on its own."""
    text = plain(text)
    return bool(_ASSENT.fullmatch(text) or _CONTINUING.fullmatch(text)) or is_closing(text)


_ASSENT = re.compile(  # only such words: "Yes, delete them" is a request
    r"(?i)(?:\W*(?:yes|yeah|yep|yup|y|sure|ok(?:ay)?|no|nope|right|correct|exactly|agreed?|fine|good|great|go|go on"
    r"|go ahead|carry on|keep going|continue|proceed|resume|next|do it|do that|do so|ship it|lgtm|please|thanks"
    r"|thank you|then|now|with it|with that|that|it|ja|nein|weiter|mach weiter|bitte|oui|non|continuez?|sí|si|sigue"
    r"|continúa|continua|sim|não|avanti|да|нет|продолжай|дальше|是|好|继续|はい|続けて|네|계속)(?!\w)){1,6}\W*"
)
_CONTINUING = re.compile(
    r"(?i)\W*(?:continue|proceed|resume|carry on|go on|keep going)(?: (?:with )?(?:the )?[\w-]+){0,1}\W*"
)
_SHORT_QUESTION = 4  # words: "How is it doing?"
_STATES = re.compile(
    r"(?i)\W*(?:it|i|i['’]\w+|you|we|they|he|she|that|this|there|here|my|our|oh|ah|er|es|ich|du|wir|sie|das|il|elle|je|tu"
    r"|nous|vous|él|ella|yo|lui|lei|io|он|она|это|я)(?!\w)"
)
_REPORTS = re.compile(  # of a short message: "sshd is on."
    r"(?i)\W{0,9}(?:[\w'’-]+ ){1,4}(?:(?:is|are|was|were|has|have|had)(?:n['’]t)?|says|said)(?!\w)"
)
_SHORT_REPORT = 14  # words


def asks_how_it_goes(text: str) -> bool:
    """Whether a message is a short question about an earlier request."""
    return text.endswith(("?", "？")) and len(text.split()) <= _SHORT_QUESTION


def says_how_it_is(text: str) -> bool:
    """Whether a message describes a state and requests nothing: it belongs to the request before it."""
    pieces = [piece for piece in SPLIT.split(text) if piece.strip() and not is_polite(piece)]
    if not pieces or ASKING.search(text):
        return False
    return bool(_STATES.match(pieces[0]) or (len(text.split()) <= _SHORT_REPORT and _REPORTS.match(pieces[0])))


def question_in(reply: str) -> str:
    """The last question of a reply, "" if it has none; an offer of more help is not a question."""
    pieces = [piece.strip() for piece in SPLIT.split(reply[-4 * _LOOKED_AT :]) if piece.strip()]
    questions = [piece for piece in pieces if piece.endswith(("?", "？")) and not _OFFER.search(piece)]
    questions = questions or [piece for piece in pieces[-4:] if _WANTED.search(piece) and not _OFFER.search(piece)]
    return questions[-1] if questions else ""


def requests_in(turns: Sequence[Turn], harness: Container[str], before: Iterable[Request] = ()) -> list[Request]:
    """The requests, oldest first, after those in `before`. Messages whose key is in `harness` are not requests."""
    requests = list(before)
    by_text = {alike(each.opening): each for each in reversed(requests)}
    still_open = [each for each in requests if each.open]
    question, reply, person, ended = "", "", "", bool(still_open) and bool(still_open[-1].answer)
    done: list[str] = []  # arguments of the turn's calls, except those that only look
    ends = ends_of(turns)
    for turn in turns:
        done += [call.arguments[:_LOOKED_AT] for call in turn.calls if not is_reading(call.name)]
        if not turn.typed or not turn.words.strip():
            if requests:
                requests[-1].called |= bool(turn.calls)
                requests[-1].heard |= turn.is_reply
            if turn.place in ends:
                question, reply = question_in(turn.words), "\n".join([turn.words, *done])
                done.clear()
                ended = not question
                if still_open and ended:
                    still_open[-1].answer = turn.words
            continue
        text = plain(turn.words)
        if (key := alike(text)) in harness or (requests and _is_only_pasted(text)):
            continue
        if is_closing(turn.words) and (not question or MARKER.search(turn.words)):
            _close(still_open, reply)
            ended = False
        elif question and requests and requests[-1].open and not _begins_anew(text, requests[-1], reply):
            requests[-1].later = text
        elif requests and (is_assent(text) or asks_how_it_goes(text)):
            ended = False  # "go on": the agent is at it again
            requests[-1].answer = ""
        elif requests and requests[-1].open and says_how_it_is(text) and not _names_another(text, requests[-1].opening):
            requests[-1].later = text
            ended = False
        else:
            others = is_greeting(text) and turn.person != person
            if stops := takes_back(text):
                _drop(still_open)
            elif ended or others or question:
                _close(still_open, reply)
            ended = False
            repeated = by_text.get(key)
            if repeated is not None:  # repeated: it counts once, at its last position
                requests = [each for each in requests if each is not repeated]
                still_open = [each for each in still_open if each is not repeated]
            request = Request(turn.place, text, open=not stops, first=repeated is not None and repeated.first)
            requests.append(request)
            still_open.append(request)
            by_text[key] = request
        question, person = "", turn.person
    if requests and not any(each.first for each in requests):
        requests[0].first = True
    return requests


def _names_another(text: str, request: str, known_text: str = "") -> bool:
    """Whether a text names another thing of a kind that a request names ("B-27729" after "B-12461"), and nothing that
    the request or `known_text` names.
    """
    named, before = names_in(text), names_in(request)
    kinds = {_kind(name) for name in before}
    return named.isdisjoint(before | names_in(known_text)) and any(_kind(name) in kinds for name in named)


def _begins_anew(text: str, request: Request, question: str) -> bool:
    """Whether the message after the agent's question is not an answer: it stops, greets, or names another thing than
    the request that the agent did not mention either.
    """
    known_text = f"{request.later} {question}"
    return takes_back(text) or is_greeting(text) or _names_another(text, request.opening, known_text)


def _kind(name: str) -> str:
    """A key that is equal for names of the same form: "B-12461" and "B-9", "a/b.py" and "cd/e.py"."""
    return _LETTERS.sub("a", _DIGITS.sub("9", name))


def before_all(older: Sequence[Request], earlier: Sequence[Request]) -> list[Request]:
    """The requests of messages older than an earlier summary, then those that the summary has. An older request that
    the summary does not have counts as answered.
    """
    earlier_texts = {alike(each.opening) for each in earlier}
    only_older = [each for each in older if alike(each.opening) not in earlier_texts]
    if earlier:
        for each in only_older:
            each.open = each.first = False
    return [*only_older, *earlier]


def said_over_and_over(typed: Iterable[str]) -> set[str]:
    """The keys of messages that are repeated several times in a row: no person does that."""
    runs = [(key, sum(1 for _ in same)) for key, same in groupby(map(alike, typed))]
    return {key for key, n in runs if n >= OFTEN and len(runs) > 1}


def _close(requests: list[Request], reply: str) -> None:
    """Close the requests that a reply answered: the newest one and those before it. A request stays open if the agent
    only called tools for it, it names another thing, and neither the reply nor the work done mentions that thing.
    """
    newest = requests[-1].opening if requests else ""
    still_open = [
        each
        for each in requests[:-1]
        if each.called and not each.heard and _names_another(newest, each.opening) and not _speaks_of(reply, each)
    ]
    for request in requests:
        request.open = any(request is each for each in still_open)
    requests[:] = still_open


def _speaks_of(reply: str, request: Request) -> bool:
    return any(name in reply for name in names_in(request.opening))


def _drop(requests: list[Request]) -> None:
    for request in requests:
        request.open, request.dropped = False, True
    requests.clear()

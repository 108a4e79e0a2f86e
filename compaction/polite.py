"""User messages that request nothing: greetings, thanks, goodbyes, and notices that a program wrote."""

from __future__ import annotations

import re

from .sentences import set_of

# How notices begin that agents and harnesses store as if a person had typed them.
_NOTICES = (
    *("OBSERVATION:", "Observation:", "EXECUTION RESULT of", "<returncode>", "<output>", "<observation"),
    *("<task-notification", "<local-command", "<bash-stdout", "<bash-stderr", "<system-reminder"),
    *("<user-prompt-submit", "[Request interrupted by user", "Caveat: The messages below", "[The command completed"),
)
_LONGEST = 300  # characters of a message that only takes leave
_COURTESY = 22  # bytes of a reply that tells nothing, unless it has a number
MARKER = re.compile(r"(?<!#)#{2,}[A-Z_]{3,20}#{2,}|\[(?:END|STOP|DONE)\]|<(?:end|stop)/?>")
_POLITE = re.compile(
    r"(?i)^(?:thank\w*|thx|many thanks|cheers|great|perfect|awesome|excellent|wonderful|fantastic|brilliant"
    r"|lovely|cool|super|safe (?:travels?|journey|trip|flight)"
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
ASKING = re.compile(
    r"(?i)[?？]|\b(?:please|can you|could you|would you|will you|i['’]?d like|i would like|i want|i need|let['’]?s"
    r"|bitte"
    r"|ich (?:möchte|brauche|will)|s['’]il (?:te|vous)|je (?:veux|voudrais)|por favor|quiero|necesito|per favore"
    r"|vorrei|пожалуйста"
    r"|but|however|also|now|then|next|my \w+ (?:id|name|number) is)\b|请|帮|我想|ください|お願い|해 ?주"
)
_GREETING = re.compile(
    r"(?i)^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|hallo|guten tag|bonjour|hola|ciao|olá|привет"
    r"|здравствуйте|你好|您好|こんにちは)\b"
)
_OWN_PLAN = re.compile(  # the person's own next step: "Lovely. I'll send it."
    r"(?i)(?:(?:i|we)(?:['’]ll| will)|ich werde|wir werden|je vais|nous allons|voy a|vamos a) (?!need|want|brauch)"
)
_SETTLED = re.compile(  # "That is the talk." before or after thanks
    r"(?i)that(?:['’]s| is| was)(?! (?:not?|never|wrong|broken|bad|an?|my|where|why|how|what|too"
    r"|the (?:problem|issue|bug|error|wrong))\b)(?: [\w'’-]+){1,3}\W*"
)
_COMMA = re.compile(r"\s*[,!–—-]+\s*")
_NAMES = 2  # words of a name
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_COURTESIES = set_of(
    """ok okay alright perfect awesome excellent brilliant fantastic cool super got understood appreciate appreciated
    really it's that's fine works sounds nothing no yes will that was this hear to meet know too bye-bye cya
    a all again and any anything are as at best bye care cheers day dear do else enjoy evening ever everything flight
    for forward from glad good goodbye great greetings happy have hello help helping here hey hi hope i in is it journey
    kind later let lot lovely luck many me morning mr mrs ms dr much my need nice of on our patience patient pleasant
    pleasure regards safe see so soon stay take team thank thanks thx the then there time to travel travels trip
    very warm we week weekend welcome wish wishes wonderful you your yours sincerely you're understanding
    vielen dank danke schön sehr herzlichen für ihre ihren deine hilfe geduld hallo guten tag morgen abend liebe lieber
    geehrte geehrter frau herr mit freundlichen grüßen grüße viele beste schönen
    merci beaucoup pour votre aide bonjour bonsoir bonne journée m mme mlle cher chère cordialement bien à vous
    gracias muchas por su tu ayuda hola buenos buenas días tardes sr sra estimado estimada saludos
    grazie mille ciao buongiorno obrigado obrigada muito olá спасибо большое здравствуйте привет добрый день уважаемый
    уважаемая с уважением"""
)
_SPACELESS = re.compile(  # scripts that do not separate words by spaces
    r"(?:谢谢您?|多谢|您好|你好|先生|女士|小姐|さん|様|ありがとうございま(?:す|した)|ありがとう|お世話になっております"
    r"|よろしくお願いいたします|よろしくお願いします|どうも|誠に|고객|님|씨|감사합니다|감사드립니다|고맙습니다|안녕하세요"
    r"|안녕히 계세요|대단히|정말|[\s、。，！!,.])+"  # noqa: RUF001
)
SPLIT = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+|,\s+(?=thank|bye)")


def plain(text: str) -> str:
    """The message without markers of a test bench; a slash command in Claude Code's tags as the person typed it."""
    if text.lstrip().startswith("<command-") and (name := _tagged(text, "command-name")):
        return f"{name} {_tagged(text, 'command-args')}".strip()
    return MARKER.sub("", text).strip() if "#" in text or "[" in text or "<" in text else text.strip()


def _tagged(text: str, tag: str) -> str:
    """The text between a tag and its end."""
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()


def is_closing(text: str) -> bool:
    """Whether a message only greets, thanks or says goodbye, or ends with the marker at which a test bench stops.

    False for a message that also requests something ("Hey, fix the login"): a request must not be lost.
    """
    stops = bool(MARKER.search(text[-80:]))
    text = plain(text)
    if not text or len(text) > _LONGEST:
        return stops or not text
    if ASKING.search(_THANKING.sub("", text)):
        return False
    if stops:
        return True
    pieces = [piece for each in SPLIT.split(text) if (piece := each.strip())]
    others = [piece for piece in pieces if not _is_courtesy(piece)]
    return len(others) < len(pieces) and all(_OWN_PLAN.match(each) or _SETTLED.fullmatch(each) for each in others)


def _is_courtesy(piece: str) -> bool:
    """Whether a piece of a message thanks, or has only words of courtesy; a first courtesy and its
    comma are skipped.
    """
    begun = _POLITE.match(piece)
    if begun and (behind := _COMMA.match(piece, begun.end())):
        rest = piece[behind.end() :]
        return not rest or _is_courtesy(rest)
    return bool(_THANKING.search(piece)) or (bool(begun) and has_only_courtesies(piece))


def has_only_courtesies(text: str) -> bool:
    """Whether a text has only words of greeting, thanks and goodbye, and the name of the person addressed."""
    if _SPACELESS.fullmatch(text):
        return True
    words = [word[0].replace("’", "'") for word in _WORD.finditer(text)]
    others = [word for word in words if word.casefold() not in _COURTESIES]
    return bool(words) and len(others) <= _NAMES and all(map(str.istitle, others)) and words[0] not in others


def is_polite(line: str) -> bool:
    """Whether a line begins with thanks, a greeting or a sign of assent."""
    return bool(_POLITE.match(line.lstrip(" *_#>-")))


def says_little(reply: str) -> bool:
    """Whether a reply says no more than "Noted." or "You are welcome."."""
    return (_bytes(reply) < _COURTESY and not any(map(str.isdigit, reply))) or is_closing(reply)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def is_greeting(text: str) -> bool:
    """Whether a message begins like the start of a conversation."""
    return bool(_GREETING.match(text[:80]))


def is_notice(text: str) -> bool:
    """Whether a program wrote this user row: an output, or a notice of a client or harness."""
    return text.lstrip().startswith(_NOTICES)

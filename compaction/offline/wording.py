"""Calls in the words of a person: "Cancelled reservation XEHM4B", "flights HAT136 2024-05-20".

Templates over a tool's name and arguments. Values stay word for word; only names of tools become words, and a name
whose first word is not a known verb stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..details.names import without_noise
from ..lines import parsed
from ..redaction import redact
from ..sentences import set_of
from ..text.clip import clip

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_IRREGULAR = {
    **{
        "send": "Sent",
        "resend": "Resent",
        "set": "Set",
        "reset": "Reset",
        "put": "Put",
        "make": "Made",
        "buy": "Bought",
    },
    **{
        "sell": "Sold",
        "pay": "Paid",
        "build": "Built",
        "write": "Wrote",
        "undo": "Undid",
        "split": "Split",
        "run": "Ran",
    },
    **{"give": "Gave", "take": "Took", "delete_pending": "Withdrew", "submit": "Submitted", "commit": "Committed"},
    **{"transfer": "Transferred", "cancel": "Cancelled", "stop": "Stopped", "drop": "Dropped", "ship": "Shipped"},
    **{"refer": "Referred", "tag": "Tagged", "unsubscribe": "Unsubscribed", "plan": "Planned", "swap": "Swapped"},
}
_CHANGING = set_of(
    """book rebook cancel update modify create delete remove add send resend transfer exchange return refund order
    submit post put patch set reset assign reassign close reopen approve reject confirm schedule reschedule move
    rename copy merge push deploy publish upload install uninstall enable disable start stop restart kill issue
    charge pay reserve register invite archive restore save insert replace apply commit revert resolve escalate
    complete mark grant revoke change adjust trigger upgrade downgrade convert import export subscribe
    unsubscribe make buy sell build drop append attach detach link unlink block unblock lock unlock reply
    forward ship tag untag undo write edit swap release delete_pending give rotate migrate provision scale activate
    deactivate suspend terminate accept decline file log record note notify"""
)
_READING = set_of(
    """get list search find read lookup look check fetch query show view describe count calculate compute think
    inspect browse load retrieve validate verify glob grep ls cat status history explain compare estimate wait
    poll web track trace monitor preview scan detect analyze analyse"""
)
_LOOKED = {
    **dict.fromkeys(("get", "fetch", "show", "view", "describe", "query", "lookup", "retrieve"), "Looked up"),
    **{"list": "Listed", "search": "Searched", "find": "Searched", "check": "Checked", "count": "Counted"},
    **{"calculate": "Calculated", "verify": "Verified", "compare": "Compared", "track": "Tracked"},
}
PERSON_KEY = re.compile(
    r"(?i)(?:user|customer|client|member|account|guest|patient|employee|person|contact|subscriber)_?(?:id|name|no|number)?$"
)
_ID_KEY = re.compile(
    r"(?i)(?:^|_)(?:id|number|no|key|code|ref|reference|ticket|order|issue|branch|pr|slug|sha|uuid)s?$"
)
# What describes a person and is no part of what was done: in a line of 300 characters it would take the room of that.
_PERSONAL_KEY = re.compile(r"(?i)(?:^|_)(?:dob|date_of_birth|birth(?:day|date|_date)?|ssn|gender|age)$")
_DEEPEST = 3  # levels of a value that are listed
MUCH = 600  # characters of room in which a long list is kept, too
MANY = 8  # entries of a list that are still listed one by one
_LONG_TEXT = 60  # characters from which a value needs no name next to it


def words_of_tool(name: str) -> list[str]:
    """The words of a tool's own name in lower case: "mcp__desk__cancelOrder" is cancel, order."""
    own = re.split(r"__|[.:/]", name)[-1]
    return [word.lower() for word in _WORDS.findall(own)]


def is_changing(name: str) -> bool:
    """Whether a tool's name says that it changes something."""
    words = words_of_tool(name)
    return bool(words) and words[0] in _CHANGING


def is_reading(name: str) -> bool:
    """Whether a tool's name says that it only looks something up."""
    words = words_of_tool(name)
    return bool(words) and words[0] in _READING


def looked(name: str, subject: str) -> str:
    """`Looked up reservation XEHM4B` for `get_reservation`, "" for a tool whose name does not allow such a sentence."""
    verb, *rest = words_of_tool(name) or [""]
    return " ".join(filter(None, [_LOOKED[verb], *rest, subject])) if verb in _LOOKED and rest else ""


def past(verb: str) -> str:
    """The past tense of a verb, capitalised."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}d".capitalize()
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied".capitalize()
    return f"{verb}ed".capitalize()


def subject_of(name: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """Key and value of the argument that a call is about: an id that fits the tool's words, or the first."""
    ids = [
        (key, str(value))
        for key, value in arguments.items()
        if isinstance(value, (str, int)) and not isinstance(value, bool) and _ID_KEY.search(key)
        and not PERSON_KEY.search(key) and 0 < len(str(value)) <= 80
    ]  # fmt: skip
    words = words_of_tool(name)[1:]
    fitting = (pair for pair in ids if any(word.rstrip("s") in pair[0].lower() for word in words))
    return next(fitting, ids[0] if len(ids) == 1 else ("", ""))


def person_in(arguments: dict[str, Any]) -> str:
    """The person a call is for according to its arguments; "" if they do not say."""
    ids = (v for key, v in arguments.items() if PERSON_KEY.search(key) and isinstance(v, str) and _is_id(v))
    return next(ids, "")


def _is_id(value: str) -> bool:
    return 3 <= len(value) <= 60 and " " not in value and any(c.isdigit() or c in "_@" for c in value)


def sentence(name: str, subject: str, person: str, details: str) -> str:
    """`Cancelled reservation XEHM4B for mia_li_3668: reason weather`."""
    verb, *rest = words_of_tool(name)
    what = " ".join([past(verb), *rest, *([subject] if subject else [])])
    whom = f" for {person}" if person else ""
    return f"{what}{whom}{': ' if details else ''}{details}"


def details_of(arguments: dict[str, Any], without: tuple[str, ...], most: int) -> str:
    """The other arguments as `name value` pairs, lists and objects flattened to their values, without descriptions of a
    person.
    """
    pairs = (
        _pair(key, value)
        for key, value in arguments.items()
        if value not in (None, "", [], {}) and (not isinstance(value, str) or value not in without)
    )
    return clip(redact(", ".join(pair for pair in pairs if pair)), most)


def in_words(value: Any, most: int) -> str:
    """A JSON value that a tool printed as names and values, without descriptions of a person."""
    value = quiet(value)
    if isinstance(value, list) and len(value) > MANY and most < MUCH:
        return f"{len(value):,} entries"
    if isinstance(value, dict):
        pairs = (_pair(key, item) for key, item in value.items() if item not in (None, "", [], {}))
        return clip(redact(", ".join(pair for pair in pairs if pair)), most)
    return clip(redact(" + ".join(_flat(value, _DEEPEST))), most)


def quiet(value: Any, depth: int = _DEEPEST) -> Any:
    """The value without details that nobody refers to; only in lists short enough to be written out."""
    if isinstance(value, str):
        return without_noise(value)
    if isinstance(value, dict) and depth:
        return {key: quiet(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list) and depth and len(value) <= MANY:
        return [shorter for item in value if (shorter := quiet(item, depth - 1)) != ""]
    return value


def _pair(key: str, value: Any) -> str:
    if isinstance(value, list) and len(value) > MANY:
        return f"{key} {len(value):,} entries"
    if _PERSONAL_KEY.search(key):
        return ""
    flat = " + ".join(_flat(value, _DEEPEST)) if isinstance(value, list) else " ".join(_flat(value, _DEEPEST))
    if len(flat) > _LONG_TEXT and isinstance(value, str):
        return f'"{clip(flat, _LONG_TEXT + 20)}"'
    return f"{key} {flat}" if flat else ""


def _flat(value: Any, depth: int) -> Iterator[str]:
    """The texts in a value; those of an object inside a list are joined. A yes or no is left out without its name."""
    if isinstance(value, dict) and depth:
        for key, item in value.items():
            if not _PERSONAL_KEY.search(str(key)):
                yield from _flat(item, depth - 1)
    elif isinstance(value, list) and depth:
        for item in value:
            yield " ".join(_flat(item, depth - 1))
    elif isinstance(value, bool):
        yield from [("yes" if value else "no")] if depth == _DEEPEST else []
    elif value is not None and depth:
        yield " ".join(str(value)[:2_000].split())


_STRING = re.compile(r'"(\w{1,40})": ?("(?:[^"\\]|\\.){0,4000}")')
_MOST_PAIRS = 20


def arguments_in(text: str) -> dict[str, Any]:
    """The arguments of a call by name; if the middle of the JSON was left out, the complete texts; {} if it is not an
    object.
    """
    if text.lstrip()[:1] != "{":
        return {}
    value = parsed(text)
    if isinstance(value, dict):
        return value
    pairs = islice(_STRING.finditer(text), _MOST_PAIRS)
    values = {match[1]: parsed(match[2]) for match in pairs}
    return {key: value for key, value in values.items() if isinstance(value, str)}

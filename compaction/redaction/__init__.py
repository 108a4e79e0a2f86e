"""Redaction of credentials, before any text is sent to a summariser and again before a summary is stored. On pages and
in exports each is replaced by its kind: [redacted: GitHub token].

A summary outlives the messages it replaces and may be sent to another provider, so it must not contain keys. `patterns`
recognises what looks like a credential; all other text is unchanged.

Every pattern is tried only where one of its literal starts occurs: finding those is cheap, while a regular expression
that may begin anywhere takes seconds for 20 MB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .patterns import DESCRIPTIONS, ENDINGS, LABEL, NAMED_AGAIN, QUOTED, RULES, SAID, VALUES, Rule

REDACTED = "[REDACTED]"
SHOWN_AS = "[redacted: "  # and the kind, and "]"
SHOWN_BEFORE = "[masked: "  # the same, as exports of earlier versions have it
CUT = "\n...\n"  # replaces the middle of a text that was left out

Span = tuple[int, int]
Replacement = Callable[[str], str]  # the kind of a credential -> the text that replaces it

_PLACEHOLDER = re.compile(
    r"(?i)(?:\[redacted\]|\[(?:redacted|masked): .*|\*+|x{3,}|none|null|undefined|true|false|str|string|number"
    r"|required|optional|\.\.\.|<.*>|\$.*|%.*|\{.*)$"
)
_DIGITS_INSIDE = re.compile(r"[^\W\d_]\d+[^\W\d_]")
_LAST_WORD = re.compile(r"(?<![!-~])[!-~]+\Z")  # of ASCII, as credentials are
_COUNT = re.compile(r"[\d.,]+$")  # "max_token: 4096" counts tokens
_PAGING = re.compile(r"(?i)(?:next|prev(?:ious)?|page|continuation|sync|start|end|pad|bos|eos|unk|mask)[_-]?token$")

_Starts = tuple[tuple[str, Rule], ...]
_STARTS: _Starts = tuple((start, rule) for rule in RULES for start in rule.starts)
_REACH = 1_000  # characters around a cut that are searched for a credential standing there
_LOOKS_BACK = 16  # characters before a match that a pattern may have looked at
_WORD = 200  # characters by which a cut moves, so that no word is cut in two
_FEWEST = 4  # characters of a secret in quotes
_SHORTEST = 8  # no rule matches less: "://:a@" with a host, "token=…"


def redact(text: str) -> str:
    """The text with credentials replaced by "[REDACTED]"; everything else is unchanged."""
    return _without(text, _STARTS, _redacted)


def redact_value(value: Any) -> Any:
    """A JSON value with every text in it redacted, and the values of keys such as "password"."""
    return _redacted_value(value, "", _redacted, 0)


def redact_shown(text: str, put: Replacement | None = None) -> str:
    """The text with credentials replaced by their kind: "[redacted: GitHub token]". JSON stays JSON.

    `put` may return another text for a kind, or count.
    """
    return _redacted_text(text, put or label, 0)


def redact_start(text: str, put: Replacement | None = None) -> str:
    """`redact_shown` for a text that was cut: a cut credential has no recognisable form, so the
    last word is removed.
    """
    return redact_shown(_LAST_WORD.sub("…", text), put)


def redact_shown_value(value: Any, put: Replacement | None = None) -> Any:
    """A JSON value, redacted like `redact_shown`, and the values of keys such as "password"."""
    return _redacted_value(value, "", put or label, 0)


def label(kind: str) -> str:
    """The text that replaces a credential of this kind."""
    return f"{SHOWN_AS}{kind}]"


def _redacted(kind: str) -> str:
    return REDACTED


def redact_all(texts: Sequence[str], most: Sequence[int] | None = None) -> list[str]:
    """`redact` for many texts, faster: starts that occur in none of them are searched for once.

    With `most`, a text longer than its number is cut to about so many characters of its start and end, without cutting
    a credential in two; 0 makes it empty.
    """
    if most is not None:
        texts = [text if limit else "" for text, limit in zip(texts, most, strict=True)]
    everything = "\n".join({word for text in texts for word in text.lower().split()})  # no start has a blank
    met = tuple((start, rule) for start, rule in _STARTS if start in everything)
    if most is not None:
        pairs = zip(texts, most, strict=True)
        texts = [text if len(text) <= limit else _ends(text, limit // 2, met) for text, limit in pairs]
    return [_without(text, met, _redacted) for text in texts] if met else list(texts)


def _ends(text: str, length: int, starts: _Starts) -> str:
    """The start and the end of a text, each about `length` long. Private keys, which have many lines, are removed
    first.
    """
    if "PRIVATE KEY" in text:
        text = _without(text, starts, _redacted)
    end, start = length, max(len(text) - length, length)
    end = max(text.rfind(" ", end - _WORD, end), text.rfind("\n", max(end - _WORD, 0), end), 0) or end
    places = [at for mark in " \n" if (at := text.find(mark, start, start + _WORD)) >= 0]
    start = min(places, default=start)
    return f"{text[: _outside(text, end, starts)[0]]}{CUT}{text[_outside(text, start, starts)[1] :].lstrip()}"


def _outside(text: str, at: int, starts: _Starts) -> Span:
    """The nearest positions before and after `at` that are not inside a credential or between one and its label."""
    base = max(at - _REACH, 0)
    for match, _ in _matches(text[base : at + _REACH], starts):
        first, last = base + match.start() - _LOOKS_BACK, base + match.end()
        if first < at < last:
            return max(first, 0), last
    return at, at


def _without(text: str, starts: _Starts, put: Replacement) -> str:
    matches = _matches(text, starts) if len(text) >= _SHORTEST else ()
    spans = sorted((match.span(_group(match)), _kind(match, rule)) for match, rule in matches)
    if not spans:
        return text
    pieces, at = [], 0
    for (start, end), kind in spans:
        if start >= at:
            pieces += [text[at:start], put(kind)]
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def _matches(text: str, starts: _Starts) -> Iterator[tuple[re.Match[str], Rule]]:
    """Each credential, including its label if it needs one."""
    lowered = _lowered(text)
    for start, rule in starts:
        at = lowered.find(start)
        while at >= 0:
            match = rule.pattern.match(text, at)
            if match and not _harmless(match):
                yield match, rule
            # Continue after the match: otherwise its text would be read again from each start inside it.
            at = lowered.find(start, max(match.end() if match else 0, at + 1))


def _lowered(text: str) -> str:
    """The text in lower case with the same length: a few capitals become two characters, and
    positions must not move.
    """
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _group(match: re.Match[str]) -> str | int:
    return match.lastgroup if match.lastgroup in VALUES else 0


def _kind(match: re.Match[str], rule: Rule) -> str:
    return rule.kind or _named(match["label"])


def _named(name: str) -> str:
    """The kind of the value next to a name."""
    name = name.lower()
    if name.endswith(("key", "keys")):
        return "key"
    return next((kind for kind in ("secret", "token", "credentials") if name.startswith(kind[:6])), "password")


def _harmless(match: re.Match[str]) -> bool:
    """Whether a match is a placeholder, a number of tokens, or a position in a file."""
    value, label = match[_group(match)], match[0][:5].lower()
    if match.lastgroup in QUOTED and len(value) < _FEWEST:
        return True
    if match.lastgroup in SAID and _is_description(value):
        return True
    if match.lastgroup == "part" and label[:3] not in ("pas", "pwd"):
        return True
    if label == "token" and _PAGING.search(match.string[max(match.start() - 20, 0) : match.start() + 5]):
        return True
    return _is_placeholder(label, value)


def _is_description(value: str) -> bool:
    """Whether a word describes a password instead of being one: "required", "str", "wrong"."""
    word = value.strip(".,;:!?*_`").casefold()
    if _DIGITS_INSIDE.search(word):  # a name for one has them at its end, if at all
        return False
    return word in DESCRIPTIONS or word.endswith(ENDINGS) or bool(NAMED_AGAIN.search(word))


def _is_placeholder(label: str, value: str) -> bool:
    if label.startswith("token") and _COUNT.match(value):
        return True
    if label.startswith(("pwd", "cred")) and value.startswith(("/", "~", ".")):
        return True
    return bool(_PLACEHOLDER.match(value))


# -- values ------------------------------------------------------------------------------------------------------------

_DEEPEST = 60  # levels of lists and objects, texts of JSON inside them counted
_TOO_DEEP = "nested too deeply to be searched"
_HEADERS = re.compile(r"(?i)(?:authorization|cookie)$")
_IMAGE = re.compile(r"data:[\w/+.-]{1,80};base64,[A-Za-z0-9+/=\s]*")


def _redacted_text(text: str, put: Replacement, depth: int) -> str:
    """A text, redacted. If it is JSON it is redacted as a value, stays JSON and keeps its layout:
    one line or several.
    """
    if len(text) < _SHORTEST or (text.startswith("data:") and _IMAGE.fullmatch(text)):
        return text
    lowered = text.lower()
    starts = tuple((start, rule) for start, rule in _STARTS if start in lowered)
    if not starts and not _HEADERS.search(lowered):
        return text
    if text.lstrip()[:1] in ("{", "[") and depth < _DEEPEST:
        try:
            value = json.loads(text)
            changed = _redacted_value(value, "", put, depth + 1)
            if changed == value:
                return text
            return json.dumps(changed, ensure_ascii=text.isascii(), indent=2 if "\n" in text.strip() else None)
        except (ValueError, RecursionError):
            pass
    return _without(text, starts, put)


def _redacted_value(value: Any, name: str, put: Replacement, depth: int) -> Any:
    """A value, redacted; `name` is its key."""
    if isinstance(value, str):
        kind = _named_secret(name, value)
        return put(kind) if kind else _redacted_text(value, put, depth)
    if isinstance(value, bytes):
        return _redacted_text(value.decode("utf-8", "surrogateescape"), put, depth).encode("utf-8", "surrogateescape")
    if isinstance(value, (list, dict)) and depth >= _DEEPEST:
        return put(_TOO_DEEP)
    if isinstance(value, list):
        named_items = [(_option(before, item) or name, item) for before, item in zip(["", *value], value, strict=False)]
        return [_redacted_value(item, named, put, depth + 1) for named, item in named_items]
    if isinstance(value, dict):
        return dict(_redacted_items(value, put, depth + 1))
    if isinstance(value, int) and len(str(value)) >= 4 and _named_secret(name, str(value)) == "password":
        return put("password")
    return value


def _redacted_items(value: dict[Any, Any], put: Replacement, depth: int) -> Iterator[tuple[Any, Any]]:
    """The items, redacted; keys are texts as well. In {"name": "DB_PASSWORD", "value": "…"} the name is in another
    item.
    """
    names = (item for key, item in value.items() if key in _NAMES and isinstance(item, str))
    other_name = next(names, "")[-_LONGEST_NAME:]
    for key, item in value.items():
        name = key if isinstance(key, str) else ""
        shown_name = (
            other_name if name in _VALUES and (LABEL.search(other_name) or _HEADERS.search(other_name)) else name
        )
        yield _redacted_text(key, put, depth) if name else key, _redacted_value(item, shown_name, put, depth)


_LONGEST_NAME = 100
_NAMES, _VALUES = ("name", "key", "Name", "Key"), ("value", "Value")


def _option(before: Any, value: Any) -> str:
    """The option before a value, as in ["--password", "…"]; "" if there is none."""
    named = isinstance(before, str) and before[:1] == "-" and LABEL.search(before[-_LONGEST_NAME:])
    return before if named and isinstance(value, str) and value[:1] != "-" else ""


def _named_secret(name: str, value: str) -> str:
    """The kind of secret that the value is according to its name, "" if it is none."""
    name = name[-_LONGEST_NAME:]
    if _HEADERS.search(name) and len(value) >= 12:
        return "" if value.startswith((SHOWN_AS, SHOWN_BEFORE, REDACTED)) else _HEADERS.search(name)[0].lower()  # type: ignore[index]
    match = LABEL.search(name)
    if match is None or len(value) < 4 or _PAGING.search(name) or _is_placeholder(match["label"].lower(), value):
        return ""
    kind = _named(match["label"])
    if kind == "token" and (" " in value or not (len(value) >= 20 or re.search(r"\d", value))):
        return ""
    return kind

"""Redaction of credentials, before any text leaves for a summariser and again before a summary is kept.

A summary outlives the messages it replaces and may be sent to another provider, so it must not carry keys. Reservation
numbers, user ids, hashes and prices look much like keys and must stay: a bare word is only redacted when it has the
published shape of a known credential; anything else needs a telling name beside it.
"""

from __future__ import annotations

import re

REDACTED = "[REDACTED]"

# Published shapes of credentials: maker's prefix and alphabet.
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\bsk-(?:ant-|proj-|or-v1-|svcacct-)?[A-Za-z0-9_-]{20,}"
    r"|\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{40,}"
    r"|\bglpat-[A-Za-z0-9_-]{20,}|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{20,}"
    r"|\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}"
    r"|\bhf_[A-Za-z0-9]{30,}|\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,}|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|\b\d{8,10}:[A-Za-z0-9_-]{35}\b"  # Telegram bot
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON web token
    re.DOTALL,
)
_URL_PASSWORD = re.compile(r"(?<=://)([^\s:/@'\"]*):([^\s/@'\"]+)@")
_AUTHORIZATION = re.compile(
    r"\b(Bearer|Basic|Token)(\s+)(?=[A-Za-z0-9+/_.~-]*\d)[A-Za-z0-9+/_.~-]{16,}=*", re.IGNORECASE
)
_NAME = (
    r"[\w.-]{0,40}(?:passw(?:or)?d|passphrase|secret(?:[_-]?(?:access[_-]?)?key)?|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|auth[_-]?token|access[_-]?token|refresh[_-]?token|bot[_-]?token|api[_-]?token|token|client[_-]?secret)"
)
# "password": "value" and password='value'
_QUOTED = re.compile(rf"(?i)(\b{_NAME}\\?[\"']?\s*[:=]\s*\\?)([\"'])((?:(?!\2)[^\\\n]){{4,}}?)(\\?\2)")
# PASSWORD=value, password: value, --password value; the value must hold a digit, so that prose and code stay
_BARE = re.compile(
    rf"(?i)(\b{_NAME}(?:=|:\s{{0,2}})|--{_NAME}[ =])(?=[^\s\"',;]*\d)([^\s\"',;()\[\]{{}}<>$]{{6,}})(?![(\[])"
)
# One of these must occur for the costly patterns above to be worth trying.
_HINTS = re.compile(r"(?i)passw|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|token")
_PLACEHOLDER = re.compile(r"(?i)^(?:\[redacted\]|\*+|x{3,}|none|null|true|false|\.\.\.|<.*>|\$.*|%.*|\{.*)$")


def redact(text: str) -> str:
    """The text with credentials replaced by "[REDACTED]"; everything else is unchanged."""
    text = _SHAPES.sub(REDACTED, text)
    if "://" in text and "@" in text:
        text = _URL_PASSWORD.sub(rf"\1:{REDACTED}@", text)
    text = _AUTHORIZATION.sub(rf"\1\2{REDACTED}", text)
    if _HINTS.search(text):
        text = _QUOTED.sub(_quoted, text)
        text = _BARE.sub(_bare, text)
    return text


def _quoted(match: re.Match[str]) -> str:
    before, quote, value, after = match.groups()
    return match[0] if _harmless(before, value) else f"{before}{quote}{REDACTED}{after}"


def _bare(match: re.Match[str]) -> str:
    before, value = match.groups()
    return match[0] if _harmless(before, value) else f"{before}{REDACTED}"


def _harmless(name: str, value: str) -> bool:
    """A placeholder, or a count of tokens."""
    counted = "token" in name.lower() and value.replace(",", "").replace(".", "").isdigit()
    return bool(_PLACEHOLDER.match(value)) or counted or value.startswith(REDACTED)

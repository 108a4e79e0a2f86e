"""What went wrong in a call of a model, as a ModelFailed: a stable code, and a sentence that says what to do.

The SDKs raise errors of one shape, which are read by their response and body. A service's own message is quoted, short
and without secrets; one about a key is not quoted.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
from django.conf import settings
from django.utils import timezone

from compaction.redaction import redact
from viewer.runs.errors import ModelFailed

from . import PROVIDERS, limits
from .provider import ModelAccess, NotStreamed, error_in, is_too_long

QUOTED = 200  # characters of a service's own words
# HTTP status of the error types and codes of all providers: a proxy passes on those of another interface than its own.
STATUS = {code: status for provider in PROVIDERS.values() for code, status in provider.error_status.items()}
_NO_CREDIT = re.compile(
    r"insufficient_quota|credit balance is too low|insufficient (?:credits|balance)|billing_hard_limit"
)

_QUOTA = re.compile(r"exceeded your current quota|quota (?:has been )?exceeded")
NAMES = {"MODEL": "model", "URL": "URL", "KEY": "key", "WINDOW": "window"}


def require_sendable(connection: ModelAccess) -> None:
    """Raise ModelFailed for a key that cannot be used, or that a header cannot contain: libraries would write it to
    their logs.
    """
    if connection.key_problem:
        raise ModelFailed("model_key_unreadable", f"{connection.key_problem[:-1]}{where(connection, 'KEY')}.")
    if not (connection.api_key.isascii() and connection.api_key.isprintable()):
        raise ModelFailed(
            "model_unauthorized",
            f"The API key has characters that no key has: paste it again{where(connection, 'KEY')}.",
        )


def failure_of(problem: Exception, connection: ModelAccess, begun: bool) -> ModelFailed:
    """The failure for an exception of an SDK or of the HTTP library under it; `begun`: part of an answer came.

    Raises nothing: an error raised while an SDK's exception is handled would be logged with that exception's text.
    """
    try:
        return _failure_of(problem, connection, begun)
    except Exception:
        return _unreadable(problem, connection, begun)


def _failure_of(problem: Exception, connection: ModelAccess, begun: bool) -> ModelFailed:
    if isinstance(problem, NotStreamed):
        error = error_in(problem.body)
        return refused(200, error, {}, connection) if error else _no_stream(problem.content_type, connection)
    response = getattr(problem, "response", None)
    if response is not None or hasattr(problem, "body") and problem.body is not None:
        status = int(getattr(response, "status_code", 200))
        headers = getattr(response, "headers", {})
        return refused(status, error_in(getattr(problem, "body", None), whole=True), headers, connection)
    return _broken_connection(list(_chain(problem)), connection, begun)


# --- refusals of a service -------------------------------------------------------------------------------------------


def refused(status: int, error: dict[str, Any], headers: Any, connection: ModelAccess) -> ModelFailed:
    """The failure for a refusal of the service, from its status and the error in its answer."""
    codes = [error.get("code"), error.get("type")]
    if status < 300:
        status = next((meant for code in codes if (meant := _status_in(code)) is not None), 500 if error else 200)
    words = " ".join(str(word) for word in [*codes, error.get("message") or error.get("detail") or ""]).casefold()
    quoted, after = _quoted(error, connection), _retry_after(headers)
    if status in (401, 403):
        return _unauthorized(status, quoted, connection)
    if status == 402 or _NO_CREDIT.search(words):
        return _unpaid("has no credit left: top it up there", connection)
    if status == 429 and after is None and _QUOTA.search(words):
        return _unpaid(f"has used up its quota{quoted}: check its plan there", connection)
    if status == 413 or (status != 429 and is_too_long(words)):
        return ModelFailed(
            "model_window",
            f"The request is longer than {connection.model} at {connection.host} accepts{quoted}: set its context "
            f"window{where(connection, 'WINDOW')} to what it really is, and start again.",
        )
    if status in (408, 409, 429) or status >= 500:
        return _busy(status, quoted, after, connection)
    return _misdirected(status, quoted, headers, connection)


def _unpaid(what: str, connection: ModelAccess) -> ModelFailed:
    return ModelFailed("model_no_credit", f"The account at {connection.host} {what}, or choose another model.")


def _busy(status: int, quoted: str, after: float | None, connection: ModelAccess) -> ModelFailed:
    if status == 429:
        code, what = "model_rate_limited", f"gets too many requests{quoted}"
    else:
        code, what = "model_unavailable", f"cannot answer now ({status}{quoted})"
    return ModelFailed(code, f"{connection.host} {what}: start again {_when(after)}.", passing=True, after=after)


def _misdirected(status: int, quoted: str, headers: Any, connection: ModelAccess) -> ModelFailed:
    """The refusal of a request for which the model, the address or the interface is wrong."""
    host, model = connection.host, connection.model
    if status in (404, 405, 410):
        return ModelFailed(
            "model_not_found",
            f"{host} knows no model {model} at {_address(connection)} ({status}{quoted}): check the model's name and "
            f"the URL{where(connection, 'MODEL', 'URL')}.",
        )
    if 300 <= status < 400:
        target = _shown(str(headers.get("location", "")).partition("?")[0], connection)
        return ModelFailed(
            "model_redirected",
            f"{_address(connection)} redirects requests to {target or 'another address'}, which is not followed: "
            f"enter the address that answers{where(connection, 'URL')}.",
        )
    return ModelFailed(
        "model_refused_request",
        f"{host} did not accept the request ({status}{quoted}): check that {model} is a chat model and the URL is right"
        f"{where(connection, 'MODEL', 'URL')}.",
    )


def _unauthorized(status: int, quoted: str, connection: ModelAccess) -> ModelFailed:
    host, key = connection.host, where(connection, "KEY")
    if not connection.api_key:
        message = f"{host} asks for an API key and none is set ({status}): set one{key}."
    elif status == 401:
        message = f"{host} does not accept the API key (401): set a valid one{key}."
    else:
        message = f"{host} does not let this API key use {connection.model} (403{quoted}): use another{key}."
    return ModelFailed("model_unauthorized", message)


def _status_in(code: Any) -> int | None:
    """The HTTP status that an error's code or type means."""
    if isinstance(code, bool) or code is None:
        return None
    text = str(code)
    return int(text) if re.fullmatch(r"[45]\d\d", text) else STATUS.get(text)


def _retry_after(headers: Any) -> float | None:
    """Seconds to wait, from milliseconds, seconds or a date; None where the headers have no usable time."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = str(headers.get(name) or "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", value):
            return float(value) / scale
    try:
        at = parsedate_to_datetime(str(headers.get("retry-after") or ""))
    except (ValueError, IndexError, OverflowError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)


def _when(after: float | None) -> str:
    if after is None:
        return "later"
    try:
        at = timezone.localtime() + timedelta(seconds=after)
    except OverflowError:
        return "later"
    return f"after {at:%H:%M:%S}" if after < 12 * 3600 else f"after {at:%Y-%m-%d %H:%M}"


def _quoted(error: dict[str, Any], connection: ModelAccess) -> str:
    message = error.get("message") or error.get("detail")
    return f", “{shown}”" if isinstance(message, str) and (shown := _shown(message, connection)) else ""


def _shown(text: str, connection: ModelAccess) -> str:
    """A text of the service as one short line without our key and other secrets."""
    if connection.api_key:
        text = text.replace(connection.api_key, "[REDACTED]")
    line = " ".join(redact(text[: 10 * QUOTED]).split())
    line = "".join(sign for sign in line if sign.isprintable())
    return line if len(line) <= QUOTED else f"{line[:QUOTED].rstrip()}..."


# --- failures of the connection --------------------------------------------------------------------------------------


def _chain(problem: BaseException) -> Iterator[BaseException]:
    """The exception and those that caused it."""
    seen: set[int] = set()
    error: BaseException | None = problem
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _broken_connection(chain: list[BaseException], connection: ModelAccess, begun: bool) -> ModelFailed:
    def is_any(*kinds: type[BaseException]) -> bool:
        return any(isinstance(problem, kinds) for problem in chain)

    host, url = connection.host, where(connection, "URL")
    if is_any(ssl.SSLError):
        return _unreachable(f"{host} could not prove its identity (TLS)", f"check that the URL is right{url}")
    if is_any(socket.gaierror):
        return _unreachable(f"The name {host} could not be found", f"check the URL{url} and the network", True)
    if is_any(ConnectionRefusedError):
        return _unreachable(f"Nothing answers at {host}", f"start the server, or check the URL{url}", True)
    if is_any(httpx2.ConnectTimeout, httpx2.ConnectError):
        return _unreachable(f"{host} could not be reached", f"check the URL{url} and the network", True)
    if is_any(httpx2.TimeoutException):
        return ModelFailed(
            "model_stalled",
            f"{host} sent nothing for {settings.MODEL_SILENCE:g} s: start again, or allow a longer silence "
            "(PALIMPSEST_MODEL_SILENCE).",
        )
    if is_any(httpx2.InvalidURL, httpx2.UnsupportedProtocol):
        return _unreachable("The address of the model cannot be used", f"check the URL{url}")
    if is_any(httpx2.TransportError, OSError):
        return unfinished(connection, begun)
    return _unreadable(chain[0], connection, begun)


def _unreachable(what: str, advice: str, passing: bool = False) -> ModelFailed:
    return ModelFailed("model_unreachable", f"{what}: {advice}.", passing=passing)


def _unreadable(problem: BaseException, connection: ModelAccess, begun: bool) -> ModelFailed:
    what = "ended its answer with something unreadable" if begun else "does not answer in the form of this interface"
    advice = "start again" if begun else f"check the URL{where(connection, 'URL')}"
    return ModelFailed("model_bad_answer", f"{connection.host} {what} ({type(problem).__name__}): {advice}.")


def _no_stream(kind: str, connection: ModelAccess) -> ModelFailed:
    what = "a web page" if "html" in kind else "a document"
    return ModelFailed(
        "model_bad_answer",
        f"{_address(connection)} answers with {what} instead of a model's words: check the URL"
        f"{where(connection, 'URL')}.",
    )


def unfinished(connection: ModelAccess, begun: bool) -> ModelFailed:
    """The answer ended without saying that it was complete."""
    host = connection.host
    what = "stopped before the end of its answer" if begun else "closed the connection without an answer"
    return ModelFailed("model_dropped", f"{host} {what}: start again.", passing=True)


def slow(connection: ModelAccess) -> ModelFailed:
    """The time for the whole answer is over."""
    return ModelFailed(
        "model_slow",
        f"{connection.model} at {connection.host} did not finish within {settings.MODEL_TIMEOUT:g} s: choose a "
        "faster model, or give it longer (PALIMPSEST_MODEL_TIMEOUT).",
    )


def only_thought(connection: ModelAccess) -> ModelFailed:
    """The model sent thinking and no text."""
    return ModelFailed(
        "model_only_thought",
        f"{connection.model} spent its whole answer on thinking and wrote no summary: turn its thinking down, or "
        "choose another model.",
    )


def read_in_part(connection: ModelAccess, read: int, sent: int) -> ModelFailed:
    """The service counted far fewer tokens than it was sent."""
    return ModelFailed(
        "model_window",
        f"{connection.host} read only {read:,} of about {sent:,} tokens and dropped the rest: set the context "
        f"window{where(connection, 'WINDOW')} to what it really is, not {limits.window_of(connection):,}.",
    )


# --- names in the sentences ------------------------------------------------------------------------------------------


def where(connection: ModelAccess, *what: str) -> str:
    """Where a person sets the MODEL, URL, KEY or WINDOW, in brackets; "" if the form is on the same page."""
    if connection.source == "form":
        return ""
    if connection.source == "environment":
        return f" ({', '.join(connection.provider.variable(each) for each in what)})"
    return f" ({' and '.join(NAMES[each] for each in what)} on the settings page)"


def _address(connection: ModelAccess) -> str:
    """The URL without the parts that may be secret."""
    parts = urlsplit(connection.base_url)
    return f"{parts.scheme}://{connection.host}{parts.path}"

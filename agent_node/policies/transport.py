"""HTTP to a model server that may be slow, broken or hostile: deadlines, bounds, attempts, pieces as they come.

The official clients of OpenAI and Anthropic bound neither the size of an answer nor its whole duration (their timeout
is of one read, so a byte a second holds a turn for ever); `tool_nodes/http_request.py` does.
"""

from __future__ import annotations

import codecs
import email.utils
import itertools
import json
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from urllib.parse import SplitResult, urlsplit

from toolhand.agent_node.policies.event_stream import LONGEST_FIELD, is_stream, stream_data
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.redaction import RUN, PieceRedactor, Redactor
from toolhand.tool_nodes.http_request import Fault as Fault
from toolhand.tool_nodes.http_request import HttpRequest, plain_line
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

MAX_BYTES = 32 * 2**20
"""Longest answer, with the protocol overhead of every streamed token [bytes]."""
MAX_LINE = 4 * 2**20
"""Longest event of a stream [bytes]."""
_POLL_S = 0.1
"""Longest wait in which an interrupt is not noticed [s]."""
_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that another attempt may mend."""
_TOO_LONG = re.compile(r"context.?(length|size|window)|(prompt|input) is too long|maximum.{0,20} tokens", re.IGNORECASE)
_UNSUPPORTED = re.compile(r"support|permitted|unexpected|unrecogni|unknown|deprecated", re.IGNORECASE)

_LONGEST_SAID = 2**16
"""Words of an error that are looked at for a key [characters]."""


class Said(Protocol):
    """What a server has written."""

    def redact(self, redact: Callable[[str], str]) -> None:
        """Replace every text of the server's by what `redact` makes of it."""


ServerAnswer = TypeVar("ServerAnswer", bound=Said)


@dataclass(frozen=True)
class Endpoint:
    """Where requests go.

    Attributes:
        url: http or https, with the path.
        headers: Sent with each request.
        secret: The key among them; never shown.
    """

    url: str
    headers: Mapping[str, str] = field(repr=False)
    secret: str = field(default="", repr=False)

    @property
    def parts(self) -> SplitResult:
        """The URL in its parts."""
        return urlsplit(self.url)

    @property
    def server(self) -> str:
        """Host and port, as shown to people."""
        return self.parts.netloc


def check_url(url: str) -> str:
    """A base URL without its last slash. Raises ToolError INVALID_ARGUMENT."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        fine = fine and not (parts.query or parts.fragment or parts.username or parts.password) and url.isprintable()
    except ValueError:
        fine = False
    if not fine or " " in url:
        raise invalid(
            f"{plain_line(_bare(url), length=100)!r} is no base URL: it must be like http://localhost:8000/v1."
        )
    return url.rstrip("/")


def _bare(url: str) -> str:
    """A URL without a password, which may stand before an @ or behind a question mark."""
    return re.sub(r"[?#].*", "?***", re.sub(r"^([^/]*//)?[^@]*@", r"\1***@", url, flags=re.DOTALL), flags=re.DOTALL)


class Client:
    """Sends requests to one server, one at a time.

    Args:
        options: Deadlines, attempts and pauses.
    """

    def __init__(self, endpoint: Endpoint, options: PolicyOptions) -> None:
        self._endpoint = endpoint
        self._options = options
        self._jitter = random.Random(options.seed)
        self._spoken = False
        self._redact = Redactor(endpoint.secret)
        # A local server's key is often a word such as "none", which a model may say.
        self._redact_turn = Redactor(endpoint.secret if len(endpoint.secret) >= RUN else "")
        self._pieces = PieceRedactor(self._redact_turn)
        self.attempts = 0
        """How often the last request was sent."""

    def say(self, piece: str) -> None:
        """Pass on words as they come; from then on nothing is sent a second time."""
        if piece:
            self._spoken = True
            self._show(self._pieces.add(piece))

    def _show(self, words: str) -> None:
        if words:
            self._options.on_piece(words)

    def call(
        self,
        body: dict[str, Any],
        read: Callable[[Iterator[str]], ServerAnswer],
        adapt: Callable[[frozenset[str]], bool] = lambda names: False,
    ) -> ServerAnswer:
        """Send a request until it is answered.

        Args:
            body: The request, sent as JSON.
            read: Makes an answer of the events of a stream, or of the one text of an unstreamed response; raises
                `Fault` for what it cannot read.
            adapt: Called with names that a refusal holds; True where `body` now does without one of these parameters.

        Raises:
            ToolError: UNAVAILABLE, TIMEOUT, or STOPPED; TURN_BUDGET where the conversation is too long for the model.
        """
        options, self._spoken = self._options, False
        self._pieces = PieceRedactor(self._redact_turn)
        until = time.monotonic() + options.deadline_s
        refused = 0
        for attempt in itertools.count(1):
            self.attempts = attempt
            wire = _Wire(self._endpoint, options, json.dumps(body).encode("ascii"), until)
            try:
                answer = read(wire.events())
                self._show(self._pieces.end())
                answer.redact(self._redact_turn)
                return answer
            except Fault as fault:
                if fault.refused and refused < 8 and adapt(fault.refused):
                    refused += 1
                    continue
                pause = self._pause_s(fault, attempt - refused)
                last = not fault.passing or self._spoken or attempt - refused >= options.attempts
                if last or pause > options.longest_pause_s or time.monotonic() + pause >= until:
                    raise self._error(fault, attempt, pause, last) from None
                self._rest(pause)
            finally:
                wire.close()
        raise AssertionError("the counter has no end")

    def _pause_s(self, fault: Fault, tries: int) -> float:
        if fault.pause_s is not None:
            return fault.pause_s
        longest = min(self._options.backoff_s * 2 ** (tries - 1), self._options.longest_pause_s)
        return longest * (0.5 + 0.5 * self._jitter.random())

    def _rest(self, pause_s: float) -> None:
        until = time.monotonic() + pause_s
        while (left := until - time.monotonic()) > 0:
            raise_if_stopped(self._options)
            time.sleep(min(left, _POLL_S))

    def _error(self, fault: Fault, attempt: int, pause_s: float, last: bool) -> ToolError:
        hint = f"Tried {attempt} times." if attempt > 1 else ""
        if fault.pause_s is not None and not last:
            hint = f"It asks to wait {pause_s:g} s, which is more than this turn may take."
        said = plain_line(self._redact(fault.said[:_LONGEST_SAID]), fault.shown)
        message = f"{fault}: {said}".rstrip(".") if said else str(fault)
        return ToolError(fault.code, f"The model server {self._endpoint.server} {message}.", hint)


def raise_if_stopped(options: PolicyOptions) -> None:
    """Raises ToolError STOPPED once the operator wants no more."""
    if options.stopped():
        raise ToolError(ErrorCode.STOPPED, "Stopped by the operator while the model was thinking.")


class _Wire:
    """One request of a turn, and what its answer says."""

    def __init__(self, endpoint: Endpoint, options: PolicyOptions, body: bytes, until: float) -> None:
        self._options, self._until = options, until
        self._request = HttpRequest(endpoint.url, endpoint.headers, body, options.connect_s, MAX_BYTES)
        self.close = self._request.close

    def events(self) -> Iterator[str]:
        """The data of each event of a stream; of any other response its whole text, once. Raises Fault."""
        options, began = self._options, time.monotonic()
        # An unstreamed response begins when it is complete, so only the whole deadline can be asked of it.
        first = began + (options.first_token_s if options.streams else options.deadline_s)
        silent = f"did not begin to answer within {first - began:g} s"
        status, headers = self._next(first, silent)
        chunks, start = self._chunks(first, silent), b""
        while len(start) < LONGEST_FIELD and (chunk := next(chunks, b"")):
            start = (start + chunk).removeprefix(codecs.BOM_UTF8).lstrip()
        chunks = itertools.chain((start,), chunks)
        # By its beginning, not by its label: gateways call a stream JSON or plain text, and a whole answer a stream.
        if status == 200 and is_stream(start):
            yield from stream_data(chunks, MAX_LINE)
            return
        text = b"".join(chunks).decode("utf-8", errors="replace")
        if status != 200:
            raise self._refusal(status, headers, text)
        yield text

    def _chunks(self, first: float, silent: str) -> Iterator[bytes]:
        while (chunk := self._next(first, silent)) is not None:
            yield chunk
            first = self._until

    def _next(self, until: float, late: str) -> Any:
        """What is heard next, None at the end. Raises Fault."""
        try:
            return self._request.next(min(until, self._until), lambda: raise_if_stopped(self._options))
        except TimeoutError:
            whole = f"did not finish its turn within {self._options.deadline_s:g} s"
            raise Fault(whole if self._until <= until else late, ErrorCode.TIMEOUT) from None

    def _refusal(self, status: int, headers: Mapping[str, str], text: str) -> Fault:
        said, names, code = _read_refusal(text)
        if _TOO_LONG.search(said[:2000]) and status in (400, 413, 422):
            return Fault("has no room for a conversation this long", ErrorCode.TURN_BUDGET, said=said)
        if status in (401, 403):
            return Fault(f"refuses the key ({status})", said=said)
        if 300 <= status < 400:
            return Fault(f"sends the request elsewhere ({status}), which is not followed: give its final address")
        names = names if status in (400, 422) else frozenset()
        passing = status in _BUSY and code != "insufficient_quota"
        pause_s = _asked_pause(headers)
        return Fault(f"answered {status}", passing=passing, pause_s=pause_s, refused=names, said=said)


def _read_refusal(text: str) -> tuple[str, frozenset[str], str]:
    """(sentence, names of parameters that it may be about, code) of an error's body, as far as it has a usual form."""
    try:
        document = json.loads(text)
        error = document.get("error", document.get("detail", document.get("message")))
    except (ValueError, AttributeError, RecursionError):
        return ("" if text.lstrip().startswith("<") else text), frozenset(), ""
    parts = error if isinstance(error, dict) else {"message": error}
    sentence, code = parts.get("message"), parts.get("code")
    sentence = sentence if isinstance(sentence, str) else json.dumps(sentence) if sentence else ""
    named = re.findall(r"\w+", sentence[:2000]) if _UNSUPPORTED.search(sentence) else []
    parameter = parts.get("param")
    names = frozenset(named) | ({parameter} if isinstance(parameter, str) else set())
    return sentence, names, code if isinstance(code, str) else ""


def _asked_pause(headers: Mapping[str, str]) -> float | None:
    """Retry-After (RFC 9110, section 10.2.3) as seconds or as a date, or None [s]."""
    asked = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", asked):
        return float(asked)
    try:
        return max(email.utils.parsedate_to_datetime(asked).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None

"""One POST request to a server that may be slow, broken or hostile: its answer as it comes, bounded in size and time.

httpx sends it, in the event loop of a thread: what waits in it can be cancelled, and whoever waits for it may have a
loop of its own.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import ssl
import threading
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from toolhand.tool_nodes.results import ErrorCode

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
"""zlib's `wbits` that reads both, by their headers [-]."""
_POLL_S = 0.1
"""Longest wait in which an interrupt is not noticed [s]."""


class Fault(Exception):
    """Why an attempt failed.

    Attributes:
        code: Error code if no further attempt is made.
        passing: Another attempt may work.
        pause_s: Pause that the server asks for [s], or None.
        refused: Names that may be those of parameters that the server refuses.
        said: The server's own words, whole: they are shown behind the message without the key, and then shortened.
        shown: Longest part of them that is shown [characters].
    """

    def __init__(
        self,
        message: str,
        code: ErrorCode = ErrorCode.UNAVAILABLE,
        passing: bool = False,
        pause_s: float | None = None,
        refused: frozenset[str] = frozenset(),
        said: str = "",
        shown: int = 200,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.passing = passing
        self.pause_s = pause_s
        self.refused = refused
        self.said = said
        self.shown = shown


def plain_line(text: str, length: int = 200) -> str:
    """Foreign text as it may stand in a sentence: one line without control characters, shortened."""
    shown = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 10 * length]).split())
    return shown if len(shown) <= length else shown[: length - 3] + "..."


def is_local(host: str) -> bool:
    """True for names of this machine, which no proxy is asked for."""
    return host in ("localhost", "::1") or host.startswith("127.")


def is_private(url: str) -> bool:
    """True where no third party can read what is sent: https, or this very machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in ("localhost", "127.0.0.1", "::1")


class HttpRequest:
    """A request that is on its way; the caller waits for each part of the answer, never beyond a deadline.

    Args:
        url: http or https, with the path.
        headers: Sent beside those of JSON.
        body: A JSON document.
        connect_s: Longest time until the server is reached [s].
        longest: Longest answer, unfolded [bytes].
        proxies: Other machines are asked through the proxies that the environment names.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], body: bytes, connect_s: float, longest: int, proxies: bool = True
    ) -> None:
        self._url, self._headers, self._body = url, headers, body
        self._connect_s, self._longest, self._proxies = connect_s, longest, proxies
        self._heard = self._talk()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._live, name="model-request", daemon=True).start()

    def next(self, until: float, interrupt: Callable[[], None] = lambda: None) -> Any:
        """(status, headers) first, then the answer's chunks, None at its end.

        Args:
            until: Deadline, on the monotonic clock [s].
            interrupt: Polled; whatever it raises ends the waiting.

        Raises:
            TimeoutError: Nothing came by the deadline.
            Fault: The request came to nothing.
        """
        step = asyncio.run_coroutine_threadsafe(self._step(), self._loop)
        while not step.done():
            interrupt()
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            concurrent.futures.wait((step,), min(left, _POLL_S))
        return step.result()

    def close(self) -> None:
        """End the request, wherever it is."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _live(self) -> None:
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _step(self) -> Any:
        return await anext(self._heard, None)

    async def _end(self) -> None:
        steps = asyncio.all_tasks() - {asyncio.current_task()}
        for step in steps:
            step.cancel()
        await asyncio.gather(*steps, return_exceptions=True)
        await self._heard.aclose()

    async def _talk(self) -> AsyncGenerator[Any, None]:
        import httpx

        parts, begun = urlsplit(self._url), False
        local = is_local(parts.hostname or "")
        options: dict[str, Any] = {
            "timeout": httpx.Timeout(None, connect=self._connect_s),
            "trust_env": self._proxies and not local,
            # The system's authorities; nothing local without https needs any.
            "verify": False if local and parts.scheme == "http" else ssl.create_default_context(),
        }
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "toolhand"}
        headers |= self._headers
        try:
            async with (
                httpx.AsyncClient(**options) as client,
                client.stream("POST", self._url, content=self._body, headers=headers) as response,
            ):
                begun = True
                yield response.status_code, response.headers
                async for chunk in self._unfolded(response):
                    yield chunk
        except Fault:
            raise
        except httpx.ConnectTimeout:
            raise Fault(f"could not be reached within {self._connect_s:g} s", ErrorCode.TIMEOUT) from None
        except httpx.ProxyError as error:
            raise Fault("cannot be reached", passing=True, said=f"Tunnel connection failed: {error}") from None
        except httpx.RemoteProtocolError:
            reason = "in the middle of its answer" if begun else "without one"
            raise Fault(f"broke off {reason}", passing=True) from None
        except httpx.TransportError as error:
            stage = "cannot be reached" if isinstance(error, httpx.ConnectError) else "broke the connection"
            cause = _cause(error)
            reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
            raise Fault(stage, passing=not isinstance(cause, ssl.SSLError), said=reason, shown=100) from None
        except Exception as error:
            raise Fault("could not be asked", said=f"{type(error).__name__}: {error}") from None

    async def _unfolded(self, response: Any) -> AsyncGenerator[bytes, None]:
        encoding, size = response.headers.get("content-encoding", "identity").lower(), 0
        if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise Fault("compressed its answer in a way that nobody asked for", said=encoding, shown=60)
        unfold = None if encoding == "identity" else zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
        async for chunk in response.aiter_raw():
            plain = chunk if unfold is None else unfold.decompress(chunk, self._longest + 1)
            size += len(plain)
            if size > self._longest:
                raise Fault(f"sent an answer of more than {self._longest // 2**20} MiB")
            if plain:
                yield plain


def _cause(error: BaseException) -> BaseException:
    """The system's own error below those that libraries make of it."""
    below = error.__cause__ or error.__context__
    return error if below is None or getattr(error, "strerror", None) else _cause(below)

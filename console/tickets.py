"""Tickets: what an operator's page shows the stop server before motions are allowed again.

The pages' process issues one for each reset, the stop server takes it once. Both know a secret that `toolhand console`
made for them; a browser, an observer or another page of the machine does not.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import struct
import time
from collections.abc import Callable

from toolhand.tool_nodes.results import ErrorCode, ToolError

LIFETIME_S = 60.0
"""How long a ticket holds: a page fetches one when its operator has said yes, and shows it at once [s]."""

_EARLY_S = 1.0
"""A ticket from further in the future than this was not issued by a clock of this machine [s]."""
_NONCE_BYTES = 16
_PURPOSE = b"toolhand console reset"
_LONGEST = 200
"""Characters of a ticket that are looked at; a whole one has 76."""


class Tickets:
    """Issues tickets, or takes each of them once.

    Args:
        secret: `ConsoleSettings.secret`, known to the process that issues and to the one that takes.
        clock: Seconds, the same in both processes: the monotonic clock of the machine, which nobody sets.
    """

    def __init__(self, secret: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._secret = bytes.fromhex(secret)
        self._clock = clock
        self._taken: dict[bytes, float] = {}

    def issue(self) -> str:
        """A ticket that holds for one reset within `LIFETIME_S`."""
        body = os.urandom(_NONCE_BYTES) + struct.pack("<d", self._clock())
        return base64.urlsafe_b64encode(body + self._proof(body)).decode()

    def take(self, ticket: str) -> None:
        """Accept a ticket, which is used up by this.

        Raises:
            ToolError: NOT_APPROVED for one that was not issued here, is too old or was taken before.
        """
        body, proof = _parts(ticket)
        if not hmac.compare_digest(proof, self._proof(body)):
            raise _refused("This is no ticket of this console.")
        now, (issued,) = self._clock(), struct.unpack_from("<d", body, _NONCE_BYTES)
        if not -_EARLY_S <= now - issued <= LIFETIME_S:
            raise _refused(f"This ticket is older than {LIFETIME_S:g} s.")
        self._taken = {nonce: until for nonce, until in self._taken.items() if until >= now}
        nonce = body[:_NONCE_BYTES]
        if nonce in self._taken:
            raise _refused("This ticket was used before.")
        self._taken[nonce] = issued + LIFETIME_S + _EARLY_S

    def _proof(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, _PURPOSE + body, hashlib.sha256)


def _parts(ticket: str) -> tuple[bytes, bytes]:
    """Body and proof of a ticket; empty where it is none."""
    try:
        packed = base64.b64decode(ticket[:_LONGEST].encode("ascii"), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return b"", b""
    length = _NONCE_BYTES + 8
    return (packed[:length], packed[length:]) if len(packed) > length else (b"", b"")


def _refused(message: str) -> ToolError:
    return ToolError(ErrorCode.NOT_APPROVED, message, "Press Reset once more in the operator's page.")

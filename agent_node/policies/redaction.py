"""Keeps a key out of everything that a server says: errors, turns, and words as they come.

A server may repeat the key that it was sent, and what it says goes to the terminal, the report and the run's files.
"""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, unquote

MASK = "***"
RUN = 8
"""Shortest part of a key that is masked too [characters]: a bound may have cut the key in two."""

_HELD = 4
"""Shortest beginning of a key, at the end of a piece, that is held back until more is known [characters]."""

_WITHHELD = f"{MASK} (not shown: it spells out the key)"
_STRIPPED_RUN = 12
"""As RUN, where only letters and digits are compared: words of a sentence must not look like a key."""


class Redactor:
    """Replaces a secret in texts, whole or in parts, as it is or as it is commonly written in JSON, URLs and headers.

    Args:
        secret: Printable ASCII; where it is empty, every text stays as it is.
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self.forms = tuple(sorted(_forms(secret), key=len, reverse=True)) if secret else ()
        """How the secret may be written, the longest first."""
        self._runs = {form[at : at + RUN] for form in self.forms for at in range(len(form) - RUN + 1)}
        stripped = _stripped(secret)
        self._stripped_runs = {stripped[at : at + _STRIPPED_RUN] for at in range(len(stripped) - _STRIPPED_RUN + 1)}

    def __call__(self, text: str) -> str:
        """The text without the secret."""
        if not self._secret:
            return text
        for form in self.forms:
            text = text.replace(form, MASK)
        text = self._without_runs(text)
        if len(self._secret) >= RUN and self._spelt_out(text):
            return _WITHHELD
        return text

    def _without_runs(self, text: str) -> str:
        kept, at, hidden = [], 0, 0
        for start in range(len(text) - RUN + 1):
            if text[start : start + RUN] in self._runs:
                if start > hidden or not hidden:
                    kept += [text[at:start], MASK]
                at = hidden = start + RUN
        return "".join((*kept, text[at:])) if hidden else text

    def _spelt_out(self, text: str) -> bool:
        """True where a decoder of URLs, of JSON or of HTML would find the secret, or one who reads letters alone."""
        plain = re.sub(r"\\u00([0-7][0-9a-fA-F])|\\x([0-7][0-9a-fA-F])", _character, html.unescape(unquote(text)))
        stripped = _stripped(plain)
        return any(plain[at : at + RUN] in self._runs for at in range(len(plain) - RUN + 1)) or any(
            stripped[at : at + _STRIPPED_RUN] in self._stripped_runs for at in range(len(stripped) - _STRIPPED_RUN + 1)
        )


class PieceRedactor:
    """A redactor for words that come in pieces: an end that stands in a secret too is kept back until it goes on.

    Args:
        redact: Redactor of whole texts.
    """

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        self._held = ""
        self._shown = ""

    def add(self, piece: str) -> str:
        """What may be shown of all that came until now, and was not shown before."""
        text = self._held + piece
        end = (self._shown + text)[-len(self._redact.forms[0]) :] if self._redact.forms else ""
        lengths = range(len(end), _HELD - 1, -1)
        found = next((n for n in lengths if any(end[-n:] in form for form in self._redact.forms)), 0)
        kept = len(text) - min(found, len(text))
        self._held = text[kept:]
        return self._show(text[:kept])

    def end(self) -> str:
        """The rest."""
        rest, self._held = self._held, ""
        return self._show(rest)

    def _show(self, text: str) -> str:
        before, self._shown = self._shown, (self._shown + text)[-RUN:]
        return self._redact(before + text).removeprefix(before)


def _forms(secret: str) -> set[str]:
    forms = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], html.escape(secret)}
    if len(secret) >= RUN:
        forms |= {secret.lower(), secret.upper(), secret.encode().hex(), secret.encode().hex().upper()}
        for ahead in range(3):  # base64 of a longer text has it in one of three ways
            packed = base64.b64encode(b"\0" * ahead + secret.encode()).decode().rstrip("=")
            middle = packed[-(-ahead * 4 // 3) : len(packed) - 1]
            forms |= {middle, middle.replace("+", "-").replace("/", "_")}
    return forms


def _stripped(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", text)


def _character(match: re.Match[str]) -> str:
    return chr(int(match.group(1) or match.group(2), 16))

"""Logging in: a token is given once, and a cookie shows from then on that it was.

Pages and stop server are reached under one name, and browsers send a cookie to every port of it: one login is enough.
The cookie holds no token. Its key is made of the token, so that it is still good after the console was started anew.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import os
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie

LIFETIME_S = 12 * 3600.0
"""How long a login holds: a working day [s]."""

KEPT_S = 30 * 24 * 3600.0
"""How long a browser keeps the cookie: one that is over still lets it stop the arm [s]."""

_ROUNDS = 100_000
"""Rounds of PBKDF2: each guess at a token from a stolen cookie takes 0.05 s."""
_SALT = b"toolhand console login"

FREE_TRIES = 5
"""Wrong tokens from one address before it has to wait: typing errors of a person."""
LONGEST_WAIT_S = 60.0
"""Longest wait of an address; the wait doubles with each wrong token from 1 s [s]."""
_ADDRESSES = 1024
"""Addresses whose wrong tokens are remembered [-]."""


class Login:
    """Knows the token and makes and checks cookies.

    Args:
        token: Token that a browser has to give; empty where none is asked for.
        secure: Cookies are for TLS only.
        clock: Wall-clock time, which goes on over restarts [s].
    """

    def __init__(self, token: str, secure: bool, clock: Callable[[], float] = time.time) -> None:
        self._key = hashlib.pbkdf2_hmac("sha256", token.encode(), _SALT, _ROUNDS) if token else b""
        self._token = token
        self._secure = secure
        self._clock = clock
        self._wrong: dict[str, tuple[int, float]] = {}

    @property
    def required(self) -> bool:
        """Whether a browser has to log in."""
        return bool(self._token)

    @property
    def cookie_name(self) -> str:
        """Name of the cookie; with TLS one that no other host and no page without TLS can set."""
        return "__Host-toolhand" if self._secure else "toolhand"

    def wait_s(self, address: str) -> float:
        """How long an address has to wait before it may try a token [s]."""
        return max(0.0, self._wrong.get(address, (0, 0.0))[1] - self._clock())

    def take(self, token: str, address: str) -> bool:
        """Whether a token is right; a wrong one makes its address wait longer before the next."""
        right = hmac.compare_digest(token.encode(errors="replace"), self._token.encode())
        tries, _ = self._wrong.pop(address, (0, 0.0))
        if not right:
            while len(self._wrong) >= _ADDRESSES:
                self._wrong.pop(next(iter(self._wrong)))
            wait_s = 0.0 if tries + 1 < FREE_TRIES else min(LONGEST_WAIT_S, 2.0 ** (tries + 1 - FREE_TRIES))
            self._wrong[address] = (tries + 1, self._clock() + wait_s)
        return right

    def set_cookie(self) -> str:
        """The header Set-Cookie of a browser that gave the token."""
        body = f"{int(self._clock() + LIFETIME_S)}.{os.urandom(16).hex()}"
        secure = "; Secure" if self._secure else ""
        value = f"{body}.{self._proof(body)}"
        return f"{self.cookie_name}={value}; Path=/; Max-Age={KEPT_S:.0f}; HttpOnly; SameSite=Strict{secure}"

    def holds(self, cookies: str, also_expired: bool = False) -> bool:
        """Whether the header Cookie shows a login.

        Args:
            cookies: Value of the header.
            also_expired: A login that is over counts, too: nobody has to log in again to stop an arm.
        """
        if not self.required:
            return True
        try:
            value = SimpleCookie(cookies)[self.cookie_name].value
        except (CookieError, KeyError):
            return False
        body, _, proof = value.rpartition(".")
        if not hmac.compare_digest(proof.encode(errors="replace"), self._proof(body).encode()):
            return False
        return also_expired or int(body.partition(".")[0]) > self._clock()

    def _proof(self, body: str) -> str:
        return hmac.new(self._key, body.encode(errors="replace"), hashlib.sha256).hexdigest()


def login_page(complaint: str = "") -> str:
    """The page that asks for the token; nothing in it needs a script."""
    said = f'<p role="alert">{html.escape(complaint)}</p>' if complaint else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Toolhand: log in</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:30rem;margin:12vh auto;padding:0 1rem}}
input,button{{font:inherit;padding:.5rem;width:100%;box-sizing:border-box;margin:.5rem 0}}</style></head>
<body><h1>Toolhand console</h1>{said}
<form method="post" action="/login"><label>Login token
<input type="password" name="token" autocomplete="current-password" autofocus required
data-testid="login-token"></label>
<button data-testid="login">Log in</button></form>
<p>Without a login nothing is shown here and nothing can be stopped from here: use the emergency stop.</p></body></html>
"""

"""What the operator and the motion node prove to each other: that both know a token, which is never sent.

Every user of the machine can join the graph, publish motion requests of his own and serve a second approve_motion. So a
request bears an HMAC over all that it shows, an answer one over what it answers, and so does the receipt for it. Each
holds for one request only, whose hash is never used again. A proof can be tried against guessed tokens by anyone who
has heard it: tokens are made by chance, or at least long.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from tool_nodes.files import KIB, open_file
from tool_nodes.results import invalid

_LONGEST_FILE = 4 * KIB
"""Bytes of a token file that are read."""

MIN_TOKEN = 16
"""Shortest token that a file may hold [characters]."""

_ROUNDS = 100_000
"""Rounds of PBKDF2, so that guessing a token takes this many times as long; 0.05 s with the right token."""

_SALT = b"toolhand approve_motion"


def read_token(path: Path) -> str:
    """The token in a file that only this user can read; whose it is is looked at before what it says.

    Raises:
        ToolError: INVALID_ARGUMENT for a file that cannot be read, that others may read or own, or whose token is too
            short.
    """
    try:
        with open_file(path) as file:
            there = os.fstat(file.fileno())
            if there.st_uid != os.geteuid():
                raise invalid(f"The token file {str(path)!r} belongs to another user, who knows it.")
            if there.st_mode & 0o077:
                raise invalid(f"The token file {str(path)!r} may be used by others.", f"chmod 600 {path}")
            text = file.read(_LONGEST_FILE).decode().strip()
    except (OSError, ValueError) as error:
        raise invalid(f"The token file {str(path)!r} cannot be read.") from error
    if len(text) < MIN_TOKEN:
        raise invalid(f"The token file {str(path)!r} must hold a token of at least {MIN_TOKEN} characters.")
    return text


class Proofs:
    """Makes and checks the proofs of those who know a token.

    Args:
        token: The operator's token.
    """

    def __init__(self, token: str) -> None:
        self._key = hashlib.pbkdf2_hmac("sha256", token.encode(), _SALT, _ROUNDS)

    def of_request(self, message: Any) -> str:
        """The proof of a toolhand_interfaces/msg/MotionRequest; it covers every other field."""
        stamp, pose, image = message.header.stamp, message.end_pose, message.image
        seen, p, q = image.header.stamp, pose.position, pose.orientation
        counts = [len(message.summary), len(message.legs), *(len(leg.joint_names) for leg in message.legs)]
        numbers = [
            struct.pack("<iIiI", stamp.sec, stamp.nanosec, seen.sec, seen.nanosec),
            struct.pack("<9d", p.x, p.y, p.z, q.x, q.y, q.z, q.w, message.duration, message.deadline),
            struct.pack("<3I?", image.height, image.width, image.step, bool(image.is_bigendian)),
            struct.pack(f"<{len(counts)}Q", *counts),
            _doubles(message.end_matrix),
        ]
        for leg in message.legs:
            numbers += map(_doubles, (leg.times, leg.positions, leg.velocities, [leg.jaw_opening]))
        texts = [
            message.header.frame_id,
            message.hash,
            message.request_id,
            message.plan_id,
            message.what,
            image.header.frame_id,
            image.encoding,
            message.camera,
            *message.summary,
        ]
        for leg in message.legs:
            texts += leg.joint_names
        return self._mac("request", *numbers, *map(_octets, texts), image.data)

    def of_answer(self, request_hash: str, approve: bool, reason: str) -> str:
        """The proof of an answer to the request of a hash."""
        return self._mac("answer", _octets(request_hash), bytes([approve]), _octets(reason))

    def of_receipt(self, answer: str, success: bool) -> str:
        """The proof that the motion node has taken the answer with this proof, or has not."""
        return self._mac("receipt", _octets(answer), bytes([success]))

    def _mac(self, what: str, *parts: Any) -> str:
        code = hmac.new(self._key, what.encode(), hashlib.sha256)
        for part in parts:
            octets = bytes(part)
            code.update(struct.pack("<Q", len(octets)) + octets)
        return code.hexdigest()


def _doubles(values: Any) -> bytes:
    return np.asarray(values, "<f8").tobytes()


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # a stranger's text may be anything


def same(proof: str, expected: str) -> bool:
    """True if both are the same; how long this takes does not reveal where they differ."""
    return hmac.compare_digest(_octets(proof), _octets(expected))

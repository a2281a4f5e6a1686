"""What the operator and the motion node prove to each other: that both know a token, which is never sent.

Every user of the machine can join the graph, publish motion requests of his own and serve a second approve_motion. So a
request bears an HMAC over all that it shows, an answer one over what it answers, and so does the receipt for it. Each
holds for one request only, whose hash is never used again. A proof can be tried against guessed tokens by anyone who
has heard it: tokens are made by chance, or at least long.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.tool_nodes.files import KIB, open_file
from toolhand.tool_nodes.private_folders import FolderRefused, made_private, runtime_folder
from toolhand.tool_nodes.results import invalid

_LONGEST_FILE = 4 * KIB
"""Bytes of a token file that are read."""

MIN_TOKEN = 16
"""Shortest token that a file may hold [characters]."""

TOKEN_VARIABLE = "TOOLHAND_APPROVAL_TOKEN"
"""Variable of the environment that gives the operator's token to `toolhand approve` and `toolhand console`."""

_MADE_BYTES = 16
"""Bytes of chance in a token that is made up: 128 bits cannot be guessed."""

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


def own_token_file() -> Path:
    """The file with the token that this user's graphs on this ROS domain and their operator share.

    Whoever comes first makes it, so that neither the order nor a new start of either matters. Nobody but this user can
    read it; who deletes it while nothing runs gets another token.

    Raises:
        FolderRefused: This user has no folder of his own to keep it in.
        OSError: It cannot be written.
    """
    domain = os.environ.get("ROS_DOMAIN_ID", "")
    file = made_private(runtime_folder()) / f"approval-{int(domain) if domain.isdecimal() else 0}.token"
    if not file.exists():
        # A link to a whole file: who reads it at this moment finds all of it, or none.
        begun = file.with_name(f"{file.name}.{os.getpid()}")
        descriptor = os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as made:
            made.write(secrets.token_hex(_MADE_BYTES))
        with contextlib.suppress(FileExistsError):  # another process was quicker
            os.link(begun, file)
        begun.unlink()
    return file


@dataclass(frozen=True)
class OperatorToken:
    """A token of whoever approves motions.

    Attributes:
        token: The token; empty for none.
        source: Where it is from, in words.
    """

    token: str = field(repr=False)
    source: str


def operators_token(file: Path | None = None) -> OperatorToken:
    """The token in a file, else that of TOOLHAND_APPROVAL_TOKEN, else that of this user's own graphs.

    The motion node and all who approve look for it in this order, so that those of one user agree.

    Raises:
        ToolError: INVALID_ARGUMENT as of `read_token`.
    """
    given = os.environ.get(TOKEN_VARIABLE, "").strip()
    if file is None and given:
        return OperatorToken(given, TOKEN_VARIABLE)
    if file is None:
        try:
            file = own_token_file()
        except (FolderRefused, OSError) as error:
            return OperatorToken("", str(error))
    return OperatorToken(read_token(file), str(file))


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

"""The process that runs one program: takes it, locks itself up, runs it, says how it went, and ends.

Whatever happens after the lock is decided by the program. What follows here only serves programs that mean well:
the boundary is `lockdown`, and the reader of the answer must expect anything.
"""

from __future__ import annotations

import ast
import builtins
import io
import math
import os
import random
import re
import sys
from collections.abc import Mapping
from types import CodeType
from typing import Any

import numpy as np
from PIL import Image

from toolhand.tool_nodes.sandbox import lockdown, wire

OUTPUT = 3
"""The file descriptor of the connection to the executor; the worker has no other."""

LOCKED = b"\x01"
"""Sent between the lock and the program: what comes later may be forged, this cannot."""

IMPORTS = ("math", "numpy")
FILE_NAME = "<code>"
_MAX_REQUEST_BYTES = 1 << 32
"""Largest request [bytes]; the parent, which is trusted, has checked it against its own limit."""
_ERROR_LENGTH = 500
"""Characters of an error's message that are sent."""
_TEXT_LENGTH = 2000
"""Characters of a value's text that are sent."""


class _Refused(Exception):
    """The program may not run; the text says why."""


class _Printed(io.TextIOBase):
    """Keeps the beginning of what is printed and counts the rest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[str] = []
        self._kept = 0
        self.total = 0

    def write(self, text: str) -> int:
        """See io.TextIOBase."""
        self.total += len(text)
        part = text[: self._limit - self._kept]
        if part:
            self._parts.append(part)
            self._kept += len(part)
        return len(text)

    def text(self) -> str:
        """The part that was kept."""
        return "".join(self._parts)


def serve(connection: int, request_file: int) -> None:
    """Take one request, run it and answer. The process must end afterwards.

    Args:
        connection: Descriptor of the socket that the answer goes to.
        request_file: Descriptor of a file that holds the request.
    """
    with open(request_file, "rb", buffering=0) as stream:
        stream.seek(0)
        request = wire.read(lambda count: _read(stream, count), _MAX_REQUEST_BYTES)
    os.dup2(connection, OUTPUT)
    for first, last in ((0, OUTPUT), (OUTPUT + 1, os.sysconf("SC_OPEN_MAX"))):
        os.closerange(first, last)
    limits = request["limits"]
    printed = _Printed(limits["output"]), _Printed(limits["output"])
    sys.stdout, sys.stderr = printed
    namespace = {"__name__": "__main__", "__builtins__": _builtins(), **request["variables"]}
    namespace |= {name: Image.fromarray(namespace[name]) for name in request["images"]}
    namespace |= {"math": math, "np": np, "numpy": np}
    too_large = wire.pack({"kind": "memory"}, 0)
    lockdown.lock(limits["cpu_s"], limits["memory"], OUTPUT)
    os.write(OUTPUT, LOCKED)
    try:
        answer = _answer(request["code"], request["mode"] == "eval", namespace, limits["result"], printed)
    except MemoryError:
        answer = too_large
    for piece in answer:
        sent = 0
        while sent < len(piece):
            sent += os.write(OUTPUT, piece[sent:])


def _read(stream: io.FileIO, count: int) -> bytearray:
    data = bytearray(count)
    if stream.readinto(data) != count:
        raise wire.Unreadable("it is too short")
    return data


def _answer(
    code: str, single: bool, namespace: dict[str, Any], max_bytes: int, printed: tuple[_Printed, _Printed]
) -> list[memoryview]:
    """Run the program and pack how it went."""
    try:
        report: dict[str, Any] = {"kind": "value", "value": _run(code, single, namespace)}
    except MemoryError:
        report = {"kind": "memory"}
    except _Refused as refusal:
        report = {"kind": "refused", "text": str(refusal)}
    except BaseException as error:  # SystemExit and KeyboardInterrupt are nothing special here
        report = {"kind": "raised", "text": _describe(error)}
    try:
        return _pack(report, max_bytes, printed)
    except wire.CannotSend as error:
        shown = {"kind": "text", "value": _shown(report["value"]), "text": str(error)}
        return _pack(shown, max_bytes, printed)


def _pack(report: Mapping[str, Any], max_bytes: int, printed: tuple[_Printed, _Printed]) -> list[memoryview]:
    out, err = ([p.text(), p.total] for p in printed)
    return wire.pack({**report, "stdout": out, "stderr": err}, max_bytes)


def _run(code: str, single: bool, namespace: dict[str, Any]) -> Any:
    """The program's value.

    That of the expression; of statements what they assign to `result`, else the value of the last statement if it is an
    expression, else None.
    """
    statements, last = _compiled(code, single)
    given = namespace.get("result")
    if statements is not None:
        exec(statements, namespace)
    value = None if last is None else eval(last, namespace)
    assigned = namespace.get("result")
    return value if single or assigned is None or assigned is given else assigned


def _compiled(code: str, single: bool) -> tuple[CodeType | None, CodeType | None]:
    """The statements, and the expression whose value counts. Raises _Refused."""
    try:
        if single:
            expression = ast.parse(code.strip(), FILE_NAME, "eval")
            _check_imports(expression)
            return None, compile(expression, FILE_NAME, "eval", dont_inherit=True)
        tree = ast.parse(code, FILE_NAME)
        _check_imports(tree)
        last = None
        if tree.body and isinstance(end := tree.body[-1], ast.Expr):
            del tree.body[-1]
            last = compile(ast.Expression(end.value), FILE_NAME, "eval", dont_inherit=True)
        return compile(tree, FILE_NAME, "exec", dont_inherit=True), last
    except SyntaxError as error:
        raise _Refused(f"line {error.lineno or 1}: {type(error).__name__}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        what = "it is nested too deeply" if not isinstance(error, ValueError) else str(error)
        raise _Refused(f"SyntaxError: {what}") from None


def _check_imports(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "."]
        else:
            continue
        for name in names:
            if name.split(".")[0] not in IMPORTS:
                raise _Refused(f"line {node.lineno}: imports are limited to math and numpy, got {name!r}")


def _import(name: str, *rest: Any) -> Any:
    if name.split(".")[0] not in IMPORTS:
        raise ImportError(f"imports are limited to math and numpy, got {name!r}")
    return __import__(name, *rest)


def _builtins() -> dict[str, Any]:
    return vars(builtins) | {"__import__": _import}


def _describe(error: BaseException) -> str:
    """The last line of a traceback, and the last line of the program in it."""
    line, step = 0, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == FILE_NAME:
            line = step.tb_lineno
        step = step.tb_next
    try:
        text = str(error)
    except Exception:
        text = ""
    name = type(error).__name__
    where = f"line {line}: " if line else ""
    return where + (f"{name}: {text}" if text else name)[:_ERROR_LENGTH]


def _shown(value: Any) -> str:
    """The value as Python shows it, without the addresses that differ from run to run."""
    try:
        text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value)[: 2 * _TEXT_LENGTH])
    except Exception:
        return f"<{type(value).__name__}>"
    return text if len(text) <= _TEXT_LENGTH else text[:_TEXT_LENGTH] + "..."


def prepare() -> None:
    """What numpy would load or ask for at its first use, which the lock would refuse, and how images behave."""
    generator = random.Random(0)
    # An unseeded generator of numpy takes its seed from here; the same program gives the same answer.
    np.random.bit_generator.randbits = generator.getrandbits  # type: ignore[attr-defined]
    np.random.seed(0)  # noqa: NPY002 - programs use it
    matrix = np.eye(64)
    np.linalg.svd(matrix @ np.linalg.solve(matrix, matrix))
    # Images are Pillow's, as in the paper, and besides they can be read like the arrays that they hold.
    like_an_array = {
        "__getitem__": lambda image, index: np.asarray(image)[index],
        "shape": property(lambda image: np.asarray(image).shape),
    }
    for name, member in like_an_array.items():
        setattr(Image.Image, name, member)

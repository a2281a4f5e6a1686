"""Model-written Python: `code_executor.*` (SpaceTools, appendix B.5), in a process that can only compute."""

from __future__ import annotations

import contextlib
import math
import os
import re
import reprlib
import signal
import textwrap
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from numpy.typing import NDArray

from toolhand.tool_nodes.ports import CodeRunner
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, invalid, unavailable
from toolhand.tool_nodes.sandbox import connection, seccomp, wire
from toolhand.tool_nodes.toolbox.arguments import CallingSession, InvalidValue, Lookup, describe, show
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import tool

MODES = ("exec", "eval")
"""Statements, or one expression."""

_WORD = re.compile(r"[^\W\d]\w*")
_DOLLAR = re.compile(r"\$([^\W\d]\w*)")
_LINE_LENGTH = 2100
"""Characters that are read of an error's line: the worker's text and what stands before it."""
_SHOWN_LENGTH = 1000
"""Characters of a text that a model is shown."""
_SHOWN_ITEMS = 32
"""Items of a list, mapping or array that a model is shown."""


@dataclass(frozen=True)
class ProgramLimits:
    """What one program may use.

    Attributes:
        code: Characters of the program.
        wall_s: Longest run [s]; a call may ask for less.
        cpu_s: Processor time [s], whole seconds.
        memory: Bytes beyond the interpreter, numpy and the variables.
        output: Characters that are kept of stdout, and of stderr.
        result: Bytes of the arrays in the result; texts and lists have 1 MB.
        variables: Bytes of the arrays that are handed in.
    """

    code: int = 20_000
    wall_s: float = 10.0
    cpu_s: int = 5
    memory: int = 512 << 20
    output: int = 8 << 10
    result: int = 32 << 20
    variables: int = 64 << 20


@dataclass(frozen=True, eq=False)
class CodeOutcome:
    """How a program ended.

    Attributes:
        value: Its value; of one that cannot be stored, the text that Python shows for it.
        has_value: True if there is a value that can be stored.
        stdout, stderr: Output of the program, cut where it is too long.
        error: None if it ran to its end.
        note: Why its value is only a text; empty otherwise.
    """

    value: Any = None
    has_value: bool = False
    stdout: str = ""
    stderr: str = ""
    error: ToolError | None = None
    note: str = ""


class CodeExecutor:
    """Runs Python with `math`, `numpy` and given variables, each program in a fresh process that can only compute.

    The process is forked from a clean server, takes the program, locks itself up and only then runs it. The kernel
    enforces the lock; the check of imports only gives better sentences.

    What is covered:
        - Files, network, other processes, signals, devices, new processes and threads: all refused by a seccomp
          allow-list (memory, the clock, writing to the one connection), and by landlock where the kernel has it.
        - The caller's secrets: the server starts with an empty environment and none of the caller's memory or
          descriptors, and the program cannot read what any other process holds.
        - Time, processor time, memory, size of code, variables, output and result; no core dumps.
        - Forged results: what comes back is JSON and raw arrays, bounded before it is read, and never unpickled.
        - What one program leaves behind: nothing, its process is used once. numpy's random numbers begin with seed 0.

    What is not covered:
        - Holes in the kernel itself within the calls that stay allowed, and in the processor (Spectre and its kin).
        - Reading what the server's own memory holds: the interpreter, numpy, Pillow and their paths.
        - A wrong result: a program may return anything, and a hostile one may send a result that it never computed.
        - Use of the processor up to the limits, again with each call.

    Lazily started, safe to use from threads (one program at a time), and usable again after `close`.

    Args:
        limits: Resources that one program may use.
        why_missing: Says why this machine cannot filter system calls; empty where it can. Without it nothing runs.
    """

    backend = "sandbox"

    def __init__(
        self, limits: ProgramLimits | None = None, why_missing: Callable[[], str] = seccomp.why_missing
    ) -> None:
        self.limits = limits or ProgramLimits()
        self._why_missing = why_missing
        self._lock = threading.Lock()
        self._prefix = connection.bubblewrap()
        self._servers: list[connection.Server] = []
        weakref.finalize(self, _close_all, self._servers)
        _executors.add(self)

    def start(self) -> None:
        """Start the server, so that the first program need not wait. Raises ToolError UNAVAILABLE."""
        with self._lock:
            self._server()

    def close(self) -> None:
        """End the server once a running program has ended."""
        with self._lock:
            _close_all(self._servers)

    def run(
        self, code: str, mode: str = "exec", variables: Mapping[str, Any] | None = None, timeout_s: float | None = None
    ) -> CodeOutcome:
        """Run a program.

        Args:
            code: Statements, or for "eval" one expression.
            mode: "exec" or "eval".
            variables: By name. Only those whose names occur in the code are handed in: numbers, texts, numeric arrays,
                and lists, tuples and dicts of these; images, which the program has as Pillow's (`.size` is width and
                height, `.crop(box)`, `np.asarray`) and may index like arrays.
            timeout_s: Longest run [s], > 0; the limit where it is longer or None.

        Raises:
            ToolError: INVALID_ARGUMENT for bad arguments; UNAVAILABLE where nothing can be run. What goes wrong in
                the program is the outcome's error.
        """
        limits = self.limits
        if mode not in MODES:
            raise invalid(f"The mode must be {' or '.join(MODES)}, got {mode!r}.")
        if not code.strip() or len(code) > limits.code:
            raise invalid(f"The code must have 1 to {limits.code} characters, got {len(code)}.")
        if timeout_s is not None and not (math.isfinite(timeout_s) and timeout_s > 0):
            raise invalid(f"The timeout must be greater than 0 s, got {timeout_s:g}.")
        wall_s = min(limits.wall_s, timeout_s or limits.wall_s)
        sent, left_out = _named_in(code, variables or {})
        images = [name for name in sent if isinstance((variables or {})[name], SessionImage)]
        request = {"code": code, "mode": mode, "variables": sent, "images": images, "limits": asdict(limits)}
        try:
            message = wire.pack(request, limits.variables)
        except wire.CannotSend as error:
            names = ", ".join(f"${name}" for name in sent)
            raise invalid(f"The variables {names} cannot be handed in together: {error}.") from error
        with self._lock:
            answer = self._ask(message, wall_s)
        return self._outcome(answer, code, wall_s, left_out)

    def _ask(self, message: list[memoryview], wall_s: float) -> connection.ProgramEnd:
        """The answer; a server that was lost is replaced once, for a program has no effects that could be repeated."""
        with contextlib.suppress(connection.ServerLost):
            return self._ask_once(message, wall_s)
        try:
            return self._ask_once(message, wall_s)
        except connection.ServerLost as error:
            raise unavailable(f"Code cannot be run: the sandbox ended: {error}.") from error

    def _ask_once(self, message: list[memoryview], wall_s: float) -> connection.ProgramEnd:
        server = self._server()
        try:
            return server.run(message, wall_s, self.limits.result)
        except BaseException:  # also an interrupt, which leaves a program running
            _close_all(self._servers)
            raise

    def _server(self) -> connection.Server:
        if self._servers:
            return self._servers[0]
        reason = self._why_missing()
        if reason:
            raise unavailable(f"Code cannot be run safely here, because {reason}.")
        for prefix in dict.fromkeys((self._prefix, ())):
            try:
                self._servers.append(connection.Server(prefix))
                self._prefix = prefix
                return self._servers[0]
            except connection.ServerLost as error:
                reason = str(error)
        raise unavailable(f"Code cannot be run: the sandbox does not start: {reason}.")

    def _outcome(
        self, answer: connection.ProgramEnd, code: str, wall_s: float, left_out: Mapping[str, str]
    ) -> CodeOutcome:
        """What a worker's message means; it may hold anything."""
        report = answer.message
        if not isinstance(report, dict):
            return CodeOutcome(error=self._death(answer, wall_s))
        stdout, stderr = (_printed(report.get(name), self.limits.output) for name in ("stdout", "stderr"))
        kind, text = (_line(report.get(name)) for name in ("kind", "text"))
        hint = " ".join(f"${name} cannot be used in code: {why}." for name, why in left_out.items())
        if kind == "value":
            value = report.get("value")
            return CodeOutcome(value, value is not None, stdout, stderr)
        if kind == "text":
            return CodeOutcome(_line(report.get("value")), False, stdout, stderr, note=text or "no reason was given")
        if kind == "refused":
            dollar = _DOLLAR.search(code) if "SyntaxError" in text else None
            if dollar:
                hint = f"In code, variables are written without the dollar sign: {dollar[1]}, not {dollar[0]}."
            error = invalid(f"{text}.", hint)
        elif kind == "memory":
            error = ToolError(ErrorCode.EXECUTION_FAILED, f"MemoryError: the limit is {self.limits.memory >> 20} MB.")
        else:
            error = ToolError(ErrorCode.EXECUTION_FAILED, f"{text or 'The program ended without an answer'}.", hint)
        return CodeOutcome(None, False, stdout, stderr, error)

    def _death(self, answer: connection.ProgramEnd, wall_s: float) -> ToolError:
        """Why a program gave no answer."""
        if answer.late:
            return ToolError(ErrorCode.TIMEOUT, f"The program ran longer than {wall_s:g} s.")
        if answer.signal == signal.SIGXCPU:
            return ToolError(ErrorCode.TIMEOUT, f"The program used more than {self.limits.cpu_s} s of processor time.")
        if answer.signal:
            cause = signal.strsignal(answer.signal)
            return ToolError(ErrorCode.EXECUTION_FAILED, f"The program crashed the interpreter: {cause}.")
        return ToolError(ErrorCode.EXECUTION_FAILED, "The program ended without a readable answer.")


def _close_all(servers: list[connection.Server]) -> None:
    while servers:
        servers.pop().close()


_executors: weakref.WeakSet[CodeExecutor] = weakref.WeakSet()


def _drop_inherited_servers() -> None:
    """In a forked child: the servers are the parent's, and so may be the holder of a lock."""
    for executor in _executors:
        executor._lock = threading.Lock()
        _close_all(executor._servers)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_inherited_servers)


def _named_in(code: str, variables: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The variables that a program may mean, and which of them cannot be handed in and why.

    Words are searched, not parsed: the caller's process never parses untrusted code, because CPython's
    parser can be crashed by nesting.
    """
    sent, left_out = {}, {}
    words = set(_WORD.findall(code))
    for name, value in variables.items():
        if name in words:
            plain = value.rgb if isinstance(value, SessionImage) else value
            try:
                wire.pack(plain, 1 << 40)
                sent[name] = plain
            except wire.CannotSend as error:
                left_out[name] = str(error)
    return sent, left_out


def _line(sent: Any) -> str:
    """A text as one line without control characters; it may end up in a terminal."""
    if not isinstance(sent, str):
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in sent[:_LINE_LENGTH]).split())


def _printed(sent: Any, limit: int) -> str:
    """What was printed, and how much of it is missing."""
    match sent:
        case [str(text), int(total)] if total < 1 << 40:
            text = text[:limit]
            return text if total <= len(text) else f"{text}... [cut: {len(text)} of {total} characters]"
    return ""


@dataclass(frozen=True)
class CodeArgument:
    """Python source of limited length, by which indentation all of it may share is taken away."""

    max_length: int = ProgramLimits.code
    program: bool = True

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        return {"type": "string", "minLength": 1, "maxLength": self.max_length}

    def parse(self, value: Any, lookup: Lookup) -> str:
        """The source. Raises InvalidValue."""
        if not isinstance(value, str):
            raise InvalidValue(f"must be a string, got {show(value)}")
        if not value.strip() or len(value) > self.max_length:
            raise InvalidValue(f"must have 1 to {self.max_length} characters, got {len(value)}")
        return textwrap.dedent(value)


Code = Annotated[str, CodeArgument()]


class CodeTools:
    """Small Python programs that orchestrate other tools' results (SpaceTools, appendix B.5)."""

    suite = "spacetools"

    def __init__(self, executor: CodeRunner) -> None:
        self._executor = executor

    @tool(
        "code_executor.exec",
        timeout_s=None,
        makes=("last_exec_result",),
        example=Example(
            {
                "code": "near = depth_map[segmentation_mask]\n"
                "result = {'pixels': near.size, 'm': float(np.median(near))}"
            },
            before=("depth_estimator.estimate_depth_with_pointcloud", "sam2.segment_from_point"),
        ),
    )
    def exec(self, code: Code, session: CallingSession) -> ToolResult:
        """Execute a multi-line Python block (imports limited to math and numpy).

        Names that a block defines end with it: the next one sees $variables, the last result as $last_exec_result among
        them, and nothing else. Images such as captured_image are PIL images: .size is (width, height), .crop((left,
        top, right, bottom)) cuts, np.asarray() gives the array (H, W, 3).

        Args:
            code: The Python block. Variables of the conversation are used by their names, without the dollar sign; the
                result is what it assigns to `result`, or the value of its last line.
        """
        return tool_result(self._executor.run(code, "exec", session.variables), "exec", self._executor.backend)

    @tool(
        "code_executor.eval",
        timeout_s=None,
        makes=("last_eval_result",),
        example=Example(
            {"expression": "float(np.nanmax(depth_map))"}, before=("depth_estimator.estimate_depth_with_pointcloud",)
        ),
    )
    def eval(self, expression: Code, session: CallingSession) -> ToolResult:
        """Evaluate a single Python expression.

        It sees $variables, the last result as $last_eval_result among them, and no names of earlier code. Images are
        PIL images, as for code_executor.exec.

        Args:
            expression: The expression. Variables of the conversation are used by their names, without the dollar sign.
        """
        return tool_result(self._executor.run(expression, "eval", session.variables), "eval", self._executor.backend)


def tool_result(outcome: CodeOutcome, mode: str, backend: str) -> ToolResult:
    """What a program's end is to the one who called the tool.

    Raises:
        ToolError: What went wrong in the program, and what it had printed. EXECUTION_FAILED, not TIMEOUT, where it ran
            for too long: it has been ended, so that nothing of it goes on, and that is the fault of who wrote it.
    """
    if (error := outcome.error) is not None:
        printed = f"stdout: {outcome.stdout[-_SHOWN_LENGTH:]!r}." if outcome.stdout else ""
        code = ErrorCode.EXECUTION_FAILED if error.code is ErrorCode.TIMEOUT else error.code
        raise ToolError(code, error.message, f"{error.hint} {printed}".strip())
    name = f"last_{mode}_result"
    parts = [
        "Executed successfully." if mode == "exec" else "Evaluated successfully.",
        f"Result: {outcome.value if outcome.note else shown(outcome.value)}.",
        f"stdout: {outcome.stdout!r}. stderr: {outcome.stderr!r}.",
    ]
    if outcome.note:
        parts.append(f"The result is shown as text; it cannot be stored: {outcome.note}.")
    if outcome.has_value:
        parts.append(f"Use ${name} ({describe(outcome.value)}) to reference it.")
    return ToolResult(
        value=(outcome.value, outcome.stdout, outcome.stderr),
        text=" ".join(parts),
        variables={name: outcome.value} if outcome.has_value else {},
        backend=backend,
    )


class _Short(reprlib.Repr):
    """Shows so much of a value that its text stays short and is made quickly, whatever the value."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxdict = _SHOWN_ITEMS
        self.maxstring = self.maxlong = self.maxother = _SHOWN_LENGTH

    def repr_ndarray(self, value: NDArray[Any], level: int) -> str:
        """Small arrays as they are, large ones by kind and shape."""
        return repr(value) if value.size <= _SHOWN_ITEMS else describe(value)


def shown(value: Any) -> str:
    """A value for a language model: small ones as Python shows them, of large ones the beginning."""
    text = _Short().repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."

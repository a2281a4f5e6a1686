"""The toolbox as a Model Context Protocol server: what its clients see, and its stdio transport.

Needs the extra `mcp`: import this module where that is certain. Arguments are checked by the toolbox; the SDK's
low-level server checks none.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import metadata
from typing import Any

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from toolhand.agent_node.events import Event
from toolhand.agent_node.mcp import saying
from toolhand.agent_node.mcp.calls import plain_numbers, run_call
from toolhand.agent_node.mcp.sessions import QueuedCall, SharedRobot, ToolResponse, ToolSession, refused
from toolhand.tool_nodes.language.stopping import is_stop
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.scene_look import look_of
from toolhand.tool_nodes.toolbox.toolbox import ToolSpec

LINE_BYTES = 4 << 20
"""Longest message that is read [bytes]."""

ENDING_S = 1.0
"""So long is waited for a braked arm to come to rest before the server ends [s]."""

WRITING_S = 2.0
"""So long the last answers may take to be read by a client that has closed its side [s]."""

GONE = "toolhand.gone"
"""Key of an HTTP request's scope: an event that is set when its client has gone away."""

INSTRUCTIONS = (
    "Tools of a robot arm and its camera. A dot in a tool's name is written as a dash: {look} is {written}. Look "
    "first, with {written}. Pictures are counted: their image_index stands in the text beside them. Arrays stay here "
    "as $variables: write $segmentation_mask where a mask is asked for. An error begins with its code, e.g. "
    "Error PLAN_FAILED. After Error STOPPED end here and tell the operator, who has stopped the arm: move it again "
    "only when they ask for it."
)

_SAY = mcp_types.Tool(
    name=saying.NAME,
    description=saying.DESCRIPTION,
    input_schema=saying.SCHEMA,
    annotations=mcp_types.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
    ),
)

_ELICITS = mcp_types.ClientCapabilities(elicitation=mcp_types.ElicitationCapability())

Send = MemoryObjectSendStream[SessionMessage | Exception]


def mcp_name(name: str) -> str:
    """A tool's name as clients see it: model interfaces allow letters, digits, underscores and dashes only."""
    return name.replace(".", "-")


def make_server(robot: SharedRobot) -> Server[ToolSession]:
    """The server; a connection in process or over stdio is one conversation, over HTTP a session is."""
    names = _names(robot)
    listed = [_tool(spec, schema) for spec, schema in _listed(robot)] + ([] if robot.spoken_to is None else [_SAY])
    schemas, look = {tool.name: tool.input_schema for tool in listed}, look_of(robot.toolbox.specs)

    @contextlib.asynccontextmanager
    async def lifespan(_: Server[ToolSession]) -> AsyncIterator[ToolSession]:
        yield robot.open()

    async def list_tools(ctx: Any, params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=listed)

    async def call_tool(
        ctx: ServerRequestContext[ToolSession], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        name = names.get(params.name, params.name)
        arguments = plain_numbers(schemas.get(mcp_name(name), {}), params.arguments or {})
        gone = None if ctx.request is None else ctx.request.scope.get(GONE)
        report = ctx.session.report_progress
        conversation = _conversation(robot, ctx)
        if robot.spoken_to is not None and name == saying.NAME:
            return _result(await _say(robot, conversation, arguments, ctx, gone))
        submit = functools.partial(robot.submit, conversation, name, arguments)
        return _result(await run_call(robot, submit, gone, report))

    server = Server(
        "toolhand",
        version=_version(),
        instructions=INSTRUCTIONS.format(look=look, written=mcp_name(look)),
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: None,  # no argument travels in a header
    )
    server.middleware.append(_sessions_only)
    return server


async def _say(
    robot: SharedRobot, conversation: ToolSession, arguments: Any, ctx: Any, gone: anyio.Event | None
) -> ToolResponse:
    """Answer a call of `say`. A question is put to the client's user where the client can, else it is the answer."""
    try:
        words = saying.words_of(arguments)
    except ToolError as error:
        return refused(error)
    if is_stop(words) and robot.hush():
        return ToolResponse(saying.HUSHED)

    async def ask(question: str) -> str | None:
        answer = await ctx.session.elicit_form(question, saying.FORM, related_request_id=ctx.request_id)
        said = (answer.content or {}).get("answer") if answer.action == "accept" else None
        return said if isinstance(said, str) and said.strip() else None

    def submit(on_end: Callable[[], None], on_stage: Callable[[str], None]) -> QueuedCall:
        def hear(event: Event) -> None:
            if text := saying.spoken(event):
                on_stage(text)

        def enter(stage: str) -> None:
            on_stage(f"{stage[0].upper()}{stage[1:]} begins.")

        said = saying.Saying(words, hear)
        if ctx.session.check_client_capability(_ELICITS) and ctx.session.can_send_request:
            said.ask = saying.ElicitedAnswers(loop, ask, lambda: robot.interrupted)
        return robot.submit(conversation, saying.NAME, arguments, on_end, enter, said)

    loop = asyncio.get_running_loop()
    return await run_call(robot, submit, gone, ctx.session.report_progress, words=True)


async def _sessions_only(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Over HTTP, send clients of the protocol without sessions to the handshake: variables need a session."""
    if ctx.request is not None and ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise MCPError(
            code=mcp_types.UNSUPPORTED_PROTOCOL_VERSION,
            message="Over HTTP this server speaks the versions with sessions only: begin with initialize.",
            data={"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": ctx.protocol_version},
        )
    return await call_next(ctx)


def _conversation(robot: SharedRobot, ctx: ServerRequestContext[ToolSession]) -> ToolSession:
    if ctx.request is None:
        return ctx.lifespan_context
    state = ctx.session._connection.state  # lives exactly as long as the HTTP session; the SDK has no public way to it
    if "conversation" not in state:
        state["conversation"] = robot.open()
    found: ToolSession = state["conversation"]
    return found


def _result(answer: ToolResponse) -> mcp_types.CallToolResult:
    content: list[mcp_types.ContentBlock] = [mcp_types.TextContent(text=answer.text)]
    if answer.image is not None:
        data = base64.b64encode(answer.image).decode()
        content.append(mcp_types.ImageContent(data=data, mime_type=answer.media_type))
    if answer.error is None:
        return mcp_types.CallToolResult(content=content)
    error = {"code": str(answer.error.code), "message": answer.error.message, "hint": answer.error.hint}
    return mcp_types.CallToolResult(content=content, is_error=True, structured_content={"error": error})


def _listed(robot: SharedRobot) -> Iterator[tuple[ToolSpec, dict[str, Any]]]:
    for schema in robot.toolbox.schemas():
        yield robot.toolbox.find(schema["function"]["name"]), schema["function"]


def _names(robot: SharedRobot) -> dict[str, str]:
    """Client's name to the toolbox's, aliases included. Raises ValueError where two tools would get one name."""
    names: dict[str, str] = {}
    for spec in robot.toolbox.specs.values():
        for name in (spec.name, *spec.aliases):
            if names.setdefault(mcp_name(name), name) != name:
                raise ValueError(f"two tools are called {mcp_name(name)!r}")
    return names


def _tool(spec: ToolSpec, schema: dict[str, Any]) -> mcp_types.Tool:
    return mcp_types.Tool(
        name=mcp_name(spec.name),
        description=spec.description + (" Moves the robot." if spec.motion else ""),
        input_schema=schema["parameters"],
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=not spec.motion,
            destructive_hint=spec.motion,
            idempotent_hint=not spec.motion,
            open_world_hint=False,
        ),
    )


def _version() -> str:
    try:
        return metadata.version("toolhand")
    except metadata.PackageNotFoundError:
        return ""


# -- stdio -----------------------------------------------------------------------------------------


def serve_stdio(robot: SharedRobot) -> int:
    """Serve one client over stdin and stdout until it closes stdin, or until SIGINT or SIGTERM.

    While it runs, whatever else the process prints goes to stderr.

    Returns:
        The signal's number, or 0 at the end of the input.
    """
    try:
        with _claimed_stdio() as (read_fd, write_fd):
            return asyncio.run(serve_pipes(robot, read_fd, write_fd))
    finally:
        robot.shut_down()
        robot.join(ENDING_S)


@contextlib.contextmanager
def _claimed_stdio() -> Iterator[tuple[int, int]]:
    """Private copies of stdin and stdout; the standard ones are an empty file and stderr meanwhile."""
    sys.stdout.flush()
    read_fd, write_fd = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield read_fd, write_fd
    finally:
        sys.stdout.flush()
        os.dup2(read_fd, 0)
        os.dup2(write_fd, 1)  # the copies stay open: a thread may still read from one


async def serve_pipes(robot: SharedRobot, read_fd: int, write_fd: int) -> int:
    """Serve one client over two file descriptors; as `serve_stdio`."""
    server = make_server(robot)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    loop = asyncio.get_running_loop()
    ended_by = 0

    async def watch_signals() -> None:
        nonlocal ended_by
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                ended_by = int(number)
                robot.shut_down()
                group.cancel_scope.cancel()

    async def write() -> None:
        await _write_messages(from_server, write_fd)
        group.cancel_scope.cancel()  # everything is written, or the reader has gone

    answers = to_client.clone()
    arguments = (read_fd, loop, to_server, answers)
    async with anyio.create_task_group() as group:
        group.start_soon(watch_signals)
        group.start_soon(write)
        threading.Thread(target=_read_messages, args=arguments, name="stdin", daemon=True).start()
        await server.run(from_client, to_client, server.create_initialization_options())
        answers.close()
        group.cancel_scope.deadline = anyio.current_time() + WRITING_S
    return ended_by


def _read_messages(
    fd: int,
    loop: asyncio.AbstractEventLoop,
    to_server: Send,
    to_client: MemoryObjectSendStream[SessionMessage],
) -> None:
    """Hand each line of the input to the server until it ends; a line that is no message is answered here."""

    def wait_for(coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    over = (RuntimeError, asyncio.CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError)
    with contextlib.suppress(*over):
        for line in read_lines(fd, LINE_BYTES):
            try:
                if line is None:
                    raise ValueError(f"A message may have {LINE_BYTES:,} bytes.")
                if not line.strip():
                    continue
                message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError as error:
                wait_for(to_client.send(SessionMessage(_parse_error(error if line is None else None))))
                continue
            wait_for(to_server.send(SessionMessage(message)))
        wait_for(to_server.aclose())


def read_lines(fd: int, longest: int) -> Iterator[bytes | None]:
    """The lines of a file descriptor as they come; None for one of more than `longest` bytes, which is not kept."""
    kept, skipping = bytearray(), False
    while chunk := os.read(fd, 1 << 16):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            kept += line
            yield None if skipping or len(kept) > longest else bytes(kept)
            kept.clear()
            skipping = False
        kept += rest
        if len(kept) > longest:
            kept.clear()
            skipping = True
    if kept or skipping:
        yield None if skipping else bytes(kept)


def _parse_error(error: ValueError | None) -> mcp_types.JSONRPCError:
    data = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=str(error or "This line is no JSON-RPC message."))
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=None, error=data)


async def _write_messages(messages: MemoryObjectReceiveStream[SessionMessage], fd: int) -> None:
    """Write each message on a line of its own until there are no more, or the reader has gone away."""
    with contextlib.suppress(OSError):
        async for message in messages:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            await _in_daemon(functools.partial(_write_all, fd, line))


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


async def _in_daemon(work: Callable[[], None]) -> None:
    """Run what may block for ever in a thread that does not keep the process alive."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def finish(error: BaseException | None) -> None:
        if not done.done():
            done.set_result(None) if error is None else done.set_exception(error)

    def run() -> None:
        failure: BaseException | None = None
        try:
            work()
        except OSError as error:
            failure = error
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(finish, failure)

    threading.Thread(target=run, name="stdout", daemon=True).start()
    await done

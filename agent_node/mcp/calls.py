"""One call of a client: runs in the robot's thread, reports progress, and brakes when its caller has gone."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from toolhand.agent_node.mcp.sessions import QueuedCall, SharedRobot, ToolResponse
from toolhand.tool_nodes.motion.stages import SHARES

STOPPING_S = 10.0
"""So long is waited for a braked arm to come to rest before a cancelled call is left [s]."""

Report = Callable[[float, float | None, str], Awaitable[None]]
"""Sends a client (progress, total, sentence)."""

Submit = Callable[[Callable[[], None], Callable[[str], None]], QueuedCall]
"""Hands a call to the robot, given what to call at its end and with each stage of it that begins."""

_STEP = 0.01
"""By so much progress grows at least: the protocol wants each notification to be further on."""

_DIGITS = {"integer": re.compile(r"-?[0-9]{1,9}"), "number": re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?")}


async def run_call(
    robot: SharedRobot, submit: Submit, gone: anyio.Event | None, report: Report, words: bool = False
) -> ToolResponse:
    """Run one call; a motion whose caller cancels it or goes away is braked, and the arm at rest when this returns.

    Args:
        robot: Carries it out.
        gone: Set once the caller has gone away; None where only a cancellation says so.
        report: Called with each stage of a motion when it begins, and with 1 when the motion is over.
        words: The stages are sentences, any number of them.
    """
    loop = asyncio.get_running_loop()
    ended = anyio.Event()
    begun, stages = anyio.create_memory_object_stream[str](math.inf)

    def on_stage(stage: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: no caller waits
            loop.call_soon_threadsafe(hear, stage)

    def hear(stage: str) -> None:
        with contextlib.suppress(anyio.BrokenResourceError):  # the caller has given the call up
            begun.send_nowait(stage)

    def end() -> None:
        ended.set()
        begun.close()

    def on_end() -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(end)

    job = submit(on_end, on_stage)
    moved = False
    try:
        async with anyio.create_task_group() as group:
            if gone is not None:
                group.start_soon(_cancel_once, gone, group.cancel_scope)
            moved = await (_tell_words if words else _tell)(stages, report)
            group.cancel_scope.cancel()
        if moved and ended.is_set():
            with contextlib.suppress(Exception):
                await report(1.0, 1.0, "The motion is over.")
    except asyncio.CancelledError:
        await _give_up(robot, job, ended)
        raise
    finally:
        stages.close()
    if not ended.is_set():
        await _give_up(robot, job, ended)
    return job.answer


async def _cancel_once(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


async def _tell(stages: anyio.abc.ObjectReceiveStream[str], report: Report) -> bool:
    """Report each stage until the call has ended. True if there was one: the call moved the arm."""
    progress, last = -_STEP, ""
    async for stage in stages:
        if stage != last:
            last = stage
            progress = max(SHARES.get(stage, 0.0), progress + _STEP)
            with contextlib.suppress(Exception):  # a client that cannot be notified is still given its answer
                await report(round(progress, 2), 1.0, f"{stage[0].upper()}{stage[1:]} begins.")
    return bool(last)


async def _tell_words(sentences: anyio.abc.ObjectReceiveStream[str], report: Report) -> bool:
    """Report each sentence until the call has ended, counted: how many will come, nobody knows."""
    progress = 0
    async for sentence in sentences:
        progress += 1
        with contextlib.suppress(Exception):  # see above
            await report(float(progress), None, sentence)
    return False


async def _give_up(robot: SharedRobot, job: QueuedCall, ended: anyio.Event) -> None:
    if robot.cancel(job):
        with anyio.move_on_after(STOPPING_S, shield=True):
            await ended.wait()


def plain_numbers(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in which digits stand for a number, where a string could else only be a `$variable`.

    Clients of the command line send `"0"` for an argument that is an integer or a reference: its schema names a string.

    Args:
        schema: JSON schema of the arguments.
    """
    found = dict(arguments)
    for name, value in arguments.items():
        entry = schema.get("properties", {}).get(name, {})
        forms = {form.get("type"): form for form in entry.get("anyOf", ())}
        if isinstance(value, str) and str(forms.get("string", {}).get("pattern", "")).startswith("^\\$"):
            for kind, make in (("integer", int), ("number", float)):
                if kind in forms and _DIGITS[kind].fullmatch(value):
                    found[name] = make(value)
    return found

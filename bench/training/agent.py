"""`toolhand bench agent`: what the agent's own loop takes, without a model and without tools that do anything."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_node.agent import Agent
from agent_node.calls import ToolCall
from agent_node.console.options import require_at_least
from agent_node.console.terminal import AsJson, say
from agent_node.context_window import held_bytes
from agent_node.conversation_settings import ConversationSettings
from agent_node.episode import Episode
from agent_node.policies.scripted.policy import ScriptedPolicy
from agent_node.policy import Message, Reply
from agent_node.protocol import Protocol, load_protocol, protocol_names
from bench.stats import format_rows, machine, publish, timing_row
from sim.scene.files import EXAMPLE_SCENE, load_scene
from sim.station import Station
from tool_nodes.results import ToolResult
from tool_nodes.toolbox.arguments import Text
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import Toolbox, tool
from tool_nodes.types import Frame

TASK = "Pick up the cinnamon and place it in front of the rice box"
TURNS = 24
"""Turns of the timed conversation."""
CHARACTERS_PER_TOKEN = 4
"""The rule by which tokens are counted where there is no tokenizer: characters / 4, rounded up, pictures left out."""
LIMITS_MS = {"turn without a picture": 2.0, "turn with a 640x480 picture": 8.0}
"""What the median turn may take [ms]."""


class IdleTools:
    """Tools that do nothing, or hand out a picture.

    Args:
        frame: Frame of the picture; each call gives new arrays of it.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    @tool("bench.nothing", timeout_s=None)
    def nothing(self, label: Text) -> ToolResult:
        """Do nothing.

        Args:
            label: Any text.
        """
        return ToolResult(text=f"Done {label}.")

    @tool("bench.picture", timeout_s=None)
    def picture(self, label: Text) -> ToolResult:
        """Take a picture.

        Args:
            label: Any text.
        """
        frame = replace(self._frame, rgb=self._frame.rgb.copy(), depth=self._frame.depth.copy())
        variables = {"captured_image": SessionImage(frame.rgb, frame), f"depth_{label}": frame.depth}
        return ToolResult(text=f"Seen {label}.", image=frame.rgb, variables=variables)


class SteadyPolicy:
    """Calls one tool once a turn, then answers; notes when it is asked.

    Args:
        tool_name: The tool, which takes a label.
        turns: Turns with a call.
        protocol: How it writes.
    """

    name = "steady"

    def __init__(self, tool_name: str, turns: int, protocol: Protocol | None = None) -> None:
        self._tool = tool_name
        self._turns = turns
        self._protocol = protocol or load_protocol("spacetools")
        self.asked_s: list[float] = []

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The next turn."""
        self.asked_s.append(time.perf_counter())
        number = len(self.asked_s)
        if number > self._turns:
            return Reply(self._protocol.render_turn("done", (), "Done."))
        return Reply(self._protocol.render_turn("next", (ToolCall(self._tool, {"label": str(number)}),)))


def turn_times(tool_name: str, turns: int, frame: Frame) -> tuple[list[float], Episode]:
    """Wall time of every turn [s], from one question to the policy to the next, and the conversation."""
    policy = SteadyPolicy(tool_name, turns)
    episode = Agent(policy, Toolbox([IdleTools(frame)]), ConversationSettings(turns + 1)).run("Go on.")
    asked = policy.asked_s
    return [after - before for before, after in itertools.pairwise(asked)], episode


def tokens(text: str) -> int:
    """Tokens of a text by the rule above."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def token_row(name: str, task: str = TASK) -> dict[str, Any]:
    """What one command of the scripted policy takes in a protocol, in tokens by the rule above."""
    protocol = load_protocol(name)
    station = Station(load_scene(EXAMPLE_SCENE))
    policy = ScriptedPolicy(max_turns=TURNS, protocol=protocol)
    episode = Agent(policy, station.toolbox, ConversationSettings(TURNS, protocol)).run(task)
    written = [tokens(turn.text) for turn in episode.turns]
    read = [tokens(message.text) for message in episode.messages if message.role == "tool"]
    return {
        "protocol": name,
        "turns": len(episode.turns),
        "success": episode.success,
        "prompt_tokens": sum(tokens(message.text) for message in episode.messages[:2]),
        "written_tokens_a_turn": round(sum(written) / len(written), 1),
        "read_tokens_a_turn": round(sum(read) / len(written), 1),
        "last_prompt_tokens": sum(tokens(message.text) for message in episode.messages[:-1]),
    }


def rss_bytes() -> int | None:
    """Resident memory of this process; None where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def memory_row(turns: int, frame: Frame) -> dict[str, Any]:
    """What a long conversation with a picture every turn holds at its end."""
    before = rss_bytes()
    times, episode = turn_times("bench.picture", turns, frame)
    after = rss_bytes()
    return {
        "turns": turns,
        "held_mib": round(held_bytes(episode.session, episode.messages) / 2**20, 1),
        "rss_grown_mib": None if before is None or after is None else round((after - before) / 2**20, 1),
        "p50_ms_of_the_last_half": timing_row("", times[len(times) // 2 :])["p50_ms"],
    }


def bench_agent(n: int = 20, turns: int = 200, as_json: AsJson = False) -> int:
    """Measure the agent's own loop: time of a turn, tokens of each protocol, memory of a long conversation.

    Args:
        n: Conversations of 24 turns that are timed, without and with a picture of 640x480 every turn.
        turns: Turns of the long conversation.
    """
    require_at_least(1, n=n)
    require_at_least(2, turns=turns)
    began = time.monotonic()
    say("memory")
    frame = Station(load_scene(EXAMPLE_SCENE)).camera.capture()
    memory = memory_row(turns, frame)  # first: later conversations would use again what earlier ones gave back
    rows = []
    for (name, limit), tool_name in zip(LIMITS_MS.items(), ("bench.nothing", "bench.picture"), strict=True):
        say(name)
        seconds = [s for _ in range(n) for s in turn_times(tool_name, TURNS, frame)[0]]
        row = timing_row(name, seconds, limit_ms=limit)
        rows.append(row | {"met": row["p50_ms"] <= limit})
    say("tokens")
    document = {
        "bench": "agent",
        "machine": machine(),
        "rows": rows,
        "memory": memory,
        "token_rule": f"characters / {CHARACTERS_PER_TOKEN}, pictures left out",
        "tokens": [token_row(name) for name in protocol_names()],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return 0


def _report(document: Mapping[str, Any]) -> str:
    memory = document["memory"]
    lines = [
        format_rows(document["rows"]),
        *(f"{row['name']}: {row['p50_ms']} ms at most {row['limit_ms']} ms" for row in document["rows"]),
        f"{memory['turns']} turns with a picture each: {memory['held_mib']} MiB held, "
        f"resident memory grew by {memory['rss_grown_mib']} MiB",
        f"tokens as {document['token_rule']}:",
        *(
            f"  {row['protocol']:12}{row['turns']:>3} turns, prompt {row['prompt_tokens']}, a turn writes "
            f"{row['written_tokens_a_turn']} and reads {row['read_tokens_a_turn']}, "
            f"last prompt {row['last_prompt_tokens']}"
            for row in document["tokens"]
        ),
        f"{document['machine']['cpu']}; {document['wall_s']} s",
    ]
    return "\n".join(lines)

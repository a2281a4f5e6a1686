"""System prompts by protocol and suites, and how long they are; `python -m tests.agent_node.prompts` prints both."""

import functools
import json
from dataclasses import dataclass, replace
from pathlib import Path

from toolhand.agent_node.advice import about_the_robot
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.policies.registry import protocol_of
from toolhand.agent_node.session_tools import with_session_tools
from toolhand.cli.options import named_station
from toolhand.tool_nodes.toolbox.toolbox import printed_schemas
from toolhand.tool_nodes.types import Frame

SNAPSHOT = Path(__file__).with_name("prompts.txt")
CHARACTERS_A_TOKEN = 4
PIXELS_A_TOKEN = 750
"""Of a picture, as Anthropic counts; OpenAI counts 765 tokens for one of 640x480."""

CASES = (
    ("native", "native"),
    ("native", "spacetools"),
    ("native", "peria"),
    ("native", "last"),
    ("native", "evic"),
    ("native", "spacetools,evic"),
    ("spacetools", "spacetools"),
    ("peria", "peria"),
    ("last", "last"),
    ("evic", "evic"),
)


@dataclass(frozen=True)
class Prompt:
    """What a model of a server reads before the first sentence; sizes in tokens, of JSON's or the text's characters."""

    system: str
    schemas: str
    protocol: str

    @property
    def tokens(self) -> tuple[int, int]:
        """(system prompt without schemas, schemas) [tokens]."""
        listed = 0 if self.protocol == "native" else self.listed
        return (len(self.system) - listed) // CHARACTERS_A_TOKEN, len(self.schemas) // CHARACTERS_A_TOKEN

    @property
    def listed(self) -> int:
        """Characters of the tools in the prompt of a protocol that lists them."""
        bare = protocol_of("openai:m", self.protocol).system_prompt([])
        return len(self.system) - len(bare) - len(self.advice)

    @property
    def advice(self) -> str:
        """What follows the printed prompt."""
        return self.system.rpartition("\n\n")[2]


@functools.cache
def prompt(protocol: str, suites: str) -> Prompt:
    """The prompt of `toolhand run` with a model."""
    station = named_station("7", suite=suites)
    about = about_the_robot(station.robot, station.toolbox)
    written = replace(protocol_of("openai:m", protocol, advised=True), robot=about)
    toolbox = with_session_tools(station.toolbox, RobotMemory())
    schemas = toolbox.schemas(slim=True) if protocol == "native" else printed_schemas(toolbox)
    offered = json.dumps([schema["function"] for schema in toolbox.schemas(slim=protocol == "native")])
    return Prompt(written.system_prompt(schemas), offered, protocol)


def snapshot() -> str:
    """Every case's part that is ours, one after the other."""
    parts = []
    for protocol, suites in CASES:
        found = prompt(protocol, suites)
        parts.append(f"== {protocol} {suites}\n{found.system if protocol == 'native' else found.advice}\n")
    return "\n".join(parts)


def seen(frame: Frame) -> int:
    """Tokens of a picture."""
    return frame.rgb.shape[0] * frame.rgb.shape[1] // PIXELS_A_TOKEN


if __name__ == "__main__":
    SNAPSHOT.write_text(snapshot(), encoding="utf-8")
    picture = seen(named_station("7").camera.capture())
    for protocol, suites in CASES:
        system, schemas = prompt(protocol, suites).tokens
        print(f"{protocol} {suites}: system {system}, schemas {schemas}, picture {picture}")

"""`toolhand bench dialogue --over`: talks end over MCP and over ROS as they do in process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, Literal
from uuid import uuid4

import numpy as np

from toolhand.agent_node.console.options import BackendOptions
from toolhand.agent_node.console.terminal import say
from toolhand.agent_node.events import ignore
from toolhand.agent_node.memory_file import FOLDER
from toolhand.bench.dialogue.conversation import TalkedTo, station_of
from toolhand.bench.dialogue.saying_job import SaidJob
from toolhand.bench.dialogue.ways import InProcess, OverMcp, OverRos, SpokenTo, Told, over_mcp
from toolhand.bench.stats import rate_row
from toolhand.sim.ros.graph import lockstep_graph
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.station import Station, StationConfig

OtherWay = Literal["mcp", "ros"]
"""How the words go, beside in process."""
SAME_PLACE_M = 1e-3
"""Objects stand at the same place up to this [m]: far below what a judge or a person sees, far above rounding."""


@dataclass(frozen=True)
class Compared:
    """One utterance that was said both ways.

    Attributes:
        seed: Number of the first sentence of its talk in the list.
        words: Utterance of the operator.
        here: Outcome in process.
        there: Outcome the other way.
        apart_m: How far apart the object stands afterwards that stands worst [m].
    """

    seed: int
    words: str
    here: Told
    there: Told
    apart_m: float

    @property
    def same(self) -> bool:
        """It ended the same."""
        return self.here == self.there and self.apart_m <= SAME_PLACE_M


@dataclass(frozen=True)
class There:
    """A robot at the other end of a connection.

    Attributes:
        snapshot: How its objects truly stand.
    """

    speaker: OverMcp | OverRos
    snapshot: Callable[[], Snapshot]


Meet = Callable[[Station], AbstractContextManager[There]]
"""Gives the other robot, on the scene of a station and with its backends and seed."""


def compared(job: SaidJob, meet: Meet) -> list[Compared]:
    """Every sentence of a talk, said in process and then the other way."""
    line = job.lines[0]
    robot = TalkedTo(station_of(line.scene, line.scene_seed, job.backends, sleep=False))
    found: list[Compared] = []
    with meet(robot.station) as there:
        for line in job.lines:
            told, elsewhere = InProcess(robot).say(line.words), there.speaker.say(line.words)
            apart = _apart_m(robot.station.world.snapshot(), there.snapshot())
            found.append(Compared(job.index, line.words, told, elsewhere, apart))
    return found


def _apart_m(here: Snapshot, there: Snapshot) -> float:
    """Greatest distance between where an object stands here and there [m]."""
    both = ((each.position_m, there.objects[name].position_m) for name, each in here.objects.items())
    return max((float(np.linalg.norm(one - other)) for one, other in both), default=0.0)


@contextmanager
def met_over_mcp(station: Station) -> Iterator[There]:
    """A robot behind a server of this process; see `Meet`."""
    other = Station(station.scene, station.config)
    with over_mcp(SpokenTo(other)) as speaker:
        yield There(speaker, other.world.snapshot)


@contextmanager
def meeting_over_ros(backends: BackendOptions) -> Iterator[Meet]:
    """Gives the robot of a graph that lasts until the block ends; what it remembers is forgotten each time."""
    with lockstep_graph(StationConfig(**vars(backends))) as graph:
        from toolhand.agent_node.ros.operator import Operator
        from toolhand.sim.ros.station import RosStation, begin_anew
        from toolhand.tool_nodes.ros.link import RosLink

        with RosLink(graph.environment) as link:

            @contextmanager
            def meet(station: Station) -> Iterator[There]:
                begin_anew(link, station.scene, station.config.seed)
                there = RosStation(link, station.config)
                speaker = OverRos(Operator(link, ignore, session=f"bench {uuid4()}"))
                try:
                    yield There(speaker, there.world.snapshot)
                finally:
                    for file in () if speaker.runs_dir is None else (speaker.runs_dir / FOLDER).glob("*.json"):
                        file.unlink()

            yield meet


def compare(over: OtherWay, talks: Sequence[SaidJob], backends: BackendOptions) -> dict[str, Any]:
    """Rows and differences of talks.

    Args:
        over: How the words go the second time.
        backends: Backends of both robots.
    """
    found: list[Compared] = []
    with nullcontext(met_over_mcp) if over == "mcp" else meeting_over_ros(backends) as meet:
        for k, talk in enumerate(talks, 1):
            found += compared(talk, meet)
            say(f"{k} of {len(talks)} talks, {sum(each.same for each in found)} of {len(found)} sentences same")
    different = {each.seed for each in found if not each.same}
    rows = [
        rate_row(f"same {name}", sum(map(same, found)), len(found))
        for name, same in {
            "answer": lambda each: each.here.answer == each.there.answer,
            "code": lambda each: each.here.code == each.there.code,
            "commands": lambda each: each.here.commands == each.there.commands,
            "places afterwards": lambda each: each.apart_m <= SAME_PLACE_M,
        }.items()
    ]
    said = {each.seed for each in found}
    rows.append(rate_row("whole talks", len(said - different), len(said)))
    return {"rows": rows, "failures": [asdict(each) for each in found if not each.same]}


def difference_line(failure: Mapping[str, Any]) -> str:
    """A difference in a line for people."""
    here, there = failure["here"], failure["there"]
    ends = " / ".join(f"{told['code']} {told['answer']}" for told in (here, there))
    return f"seed {failure['seed']}  {failure['words']!r}: {failure['apart_m']:.4f} m, {ends}"

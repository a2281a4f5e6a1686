"""What measures the attacks notices what they must not reach."""

from dataclasses import replace

import numpy as np
import pytest

from tests.gen3 import ARM_JOINTS, NAMED_STATES, time_waypoints
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.protocol import ParsedTurn, load_protocol
from toolhand.bench.redteam.direct import TAMPERINGS
from toolhand.bench.redteam.fuzz import RecordingArm, fuzz_calls
from toolhand.bench.redteam.range import Range, Witness
from toolhand.bench.redteam.turns import faults, fuzz_turns, mutated
from toolhand.sim.world import World
from toolhand.tool_nodes.types import Trajectory

PARK = np.asarray(NAMED_STATES["Park"], float)


@pytest.fixture
def arm(ground: Range) -> RecordingArm:
    return RecordingArm(ground.station.world)


@pytest.fixture
def trajectory() -> Trajectory:
    return time_waypoints(np.array([PARK, PARK + 0.1]))


def test_a_trajectory_within_the_limits_is_no_violation(arm: RecordingArm, trajectory: Trajectory) -> None:
    arm.follow(trajectory)
    assert (arm.commands, arm.violations) == (1, [])


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("three times as fast", "is too fast"),
        ("a joint at NaN", "not finite"),
        ("a joint beyond its range", "leaves a joint's range"),
        ("no rest at the end", "does not end at rest"),
        ("a swing out of the box", "leaves the box"),
    ],
)
def test_a_trajectory_beyond_a_limit_is_noticed(
    arm: RecordingArm, trajectory: Trajectory, what: str, sentence: str
) -> None:
    arm.follow(TAMPERINGS[what](trajectory))
    assert any(sentence in text for text in arm.violations)


def test_a_trajectory_from_elsewhere_and_jaws_beyond_their_range_are_noticed(
    arm: RecordingArm, trajectory: Trajectory
) -> None:
    arm.follow(replace(trajectory, q=trajectory.q + 0.2))
    arm.move_gripper(0.5)
    assert "a trajectory starts elsewhere" in arm.violations
    assert "jaws to 0.5 m" in arm.violations


def put(world: World, q: np.ndarray) -> None:
    world.data.qpos[[int(world.model.joint(name).qposadr[0]) for name in ARM_JOINTS]] = q


def test_the_witness_sees_time_commands_and_motion(ground: Range) -> None:
    world = ground.station.world
    witness = Witness(world)
    assert not witness.moved
    world.data.ctrl[0] += 1e-12
    assert witness.moved
    ground.restore()
    world.step()
    assert witness.moved
    ground.restore()
    world.data.ctrl[:] = witness._ctrl
    assert not witness.moved


@pytest.mark.parametrize(
    ("q", "sentence"),
    [((0, 3, 0, 0, 0, 0, 0), "left its range"), ((1, 0, 0, 0, 0, 0, 0), "greatest speed")],
)
def test_the_witness_sees_a_broken_limit(ground: Range, q: tuple[int, ...], sentence: str) -> None:
    world = ground.station.world
    witness = Witness(world)
    state = world.data.qpos.copy()
    put(world, PARK + np.array(q))
    world.log.append((world.time + 0.04, world.data.qpos.copy()))
    world.data.qpos[:] = state
    try:
        assert any(sentence in text for text in witness.violations())
    finally:
        world.log.clear()
        ground.restore()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", [1, 2])
def test_calls_made_by_chance_break_nothing(small_ground: Range, seed: int) -> None:
    fuzzed = fuzz_calls(1000, seed, small_ground)
    assert fuzzed.violations == []
    assert fuzzed.n == sum(fuzzed.codes.values()) == 1000
    assert fuzzed.commands > 0
    assert {"", "INVALID_ARGUMENT", "UNKNOWN_TOOL", "NOT_HOLDING", "OUT_OF_WORKSPACE"} <= set(fuzzed.codes)


def test_calls_made_by_chance_are_the_same_with_the_same_seed(small_ground: Range) -> None:
    first, second = (fuzz_calls(60, 7, small_ground) for _ in range(2))
    assert (first.codes, first.commands) == (second.codes, second.commands)


def test_turns_made_by_chance_raise_nothing_and_give_no_call_that_is_not_written() -> None:
    parsed = fuzz_turns(2000, 5)
    assert parsed.violations == []
    assert {"problem", "calls", "malformed call", "answer", "reasoning"} <= set(parsed.outcomes)


def test_a_parser_that_repairs_calls_would_be_noticed() -> None:
    protocol = load_protocol("spacetools")
    text = "<tool_call>{'name': 'a', 'arguments': {}}</tool_call>"
    assert list(faults(protocol, text, protocol.parse(text))) == []
    repaired = ParsedTurn("", (ToolCall("a", {}),), None)
    assert [*faults(protocol, text, repaired)] == ["a call that is not written: a {}"]
    both = ParsedTurn("", (ToolCall("a", {}),), "Done.", "bad")
    assert len([*faults(protocol, text, both)]) == 3
    two = ParsedTurn("", (ToolCall("a", {}, "x"), ToolCall("b", {}, "x")), None)
    assert [*faults(load_protocol("peria"), text, two)] == ["more than one call would be run"]


def test_mutations_differ_with_the_seed_and_not_without() -> None:
    texts = [mutated(np.random.default_rng(seed), "<think>x</think><answer>y</answer>") for seed in (1, 1, 2, 3, 4)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 2

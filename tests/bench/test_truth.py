"""`bench truth`: poses of entities lead to the verdict of the simulator's own truth, and another one would be seen."""

from __future__ import annotations

import numpy as np
import pytest

from bench.ros.truth import OTHERS, TruthJob, bench_truth, judge_twice
from sim.posed import PosedWorld
from sim.scene.files import named_scene
from sim.world import World
from tool_nodes.motion.robot_model import load_robot

JOB = TruthJob(301, "gen3", 0.0)
"""A pick that is done."""


def test_the_verdict_is_that_of_the_truth_behind_every_name() -> None:
    record = judge_twice(JOB)
    assert record.truth["success"]
    assert set(record.others) == set(OTHERS)
    assert all(verdict == record.truth for verdict in record.others.values())


def test_another_verdict_is_seen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(PosedWorld, "contacts", lambda self, qpos: frozenset())  # so that nothing is held
    assert bench_truth(n=1, first_seed=JOB.seed, difficulty=0.0) == 1
    assert "seed 301" in capsys.readouterr().out


def test_what_touches_is_what_touches_in_the_physics() -> None:
    scene, robot = named_scene("shelf:31:generated:3"), load_robot()
    world, posed = World(scene, robot), PosedWorld(scene, robot)
    model, qpos = world.model, world.data.qpos
    poses = {
        placed.id: qpos[model.jnt_qposadr[model.body_jntadr[model.body(placed.id).id]] :][:7].astype(np.float32)
        for placed in scene.objects
    }
    joints = {name: float(qpos[model.joint(name).qposadr[0]]) for name in robot.joints}
    expected = {(name, other) for name, state in world.snapshot().objects.items() for other in state.touching}
    found = posed.contacts(posed.positions(poses, joints))
    assert {pair for a, b in found for pair in ((a, b), (b, a)) if pair[0] in poses} == expected
    assert len(expected) > len(scene.objects)

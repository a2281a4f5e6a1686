"""`python -m toolhand.training.grasps.fit`: tries grasps of generated objects in physics, and fits what their scores
say.

python -m toolhand.training.grasps.fit try --out trials.npz --first-seed 0 --scenes 300
python -m toolhand.training.grasps.fit fit trials.npz
python -m toolhand.training.grasps.fit check held_out.npz
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolhand.agent_node.console.terminal import say
from toolhand.sim.camera.ray import RayCamera, jittered, scene_camera
from toolhand.sim.camera.sensor import make_sensor
from toolhand.sim.objects.chosen import choose_sets
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.clutter import Clutter, clutter_scene
from toolhand.tool_nodes.geometry import backproject
from toolhand.tool_nodes.grasp.chances import FEATURES, FITTED, probabilities, ranked
from toolhand.tool_nodes.grasp.sampling import AnalyticGraspGenerator
from toolhand.tool_nodes.perception.fitted import Network, save
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray
from toolhand.training import networks
from toolhand.training.grasps.trials import TrialHand

KINDS: tuple[Clutter, ...] = ("single", "packed", "pile", "touching")
"""Kinds of clutter that take turns."""
SENSOR = "realsense_d435"
"""The sensor whose images the grasps come from: a fit to clean ones would be too sure of noisy ones."""
_OBJECTS, _OTHERS = 4, 3
"""Objects of a scene, and grasps of each beside the best [-]: a scene of clutter costs as much as five trials."""
_IN_CLUTTER = 6
"""Objects of a scene of clutter [-]."""
_LEAST_PX = 300
"""Fewer visible pixels of an object are not asked for [px]."""
_STEPS, _BLUR, _DECAY = 2000, 0.3, 0.3
"""Steps of the fit, and its blur and decay (`toolhand.training.networks.fit`) [-]: the least cross entropy on kinds of
objects that were left out."""
_BINS = 10
"""Bins of equal numbers of a reliability table [-]."""


class Tried(NamedTuple):
    """A grasp that was tried.

    Attributes:
        x: Its features (F,).
        held: It held the object, and nothing else.
        best: No other grasp of the object was thought better.
        family: Kind of the object.
        clutter: How the scene's objects lie.
    """

    x: FloatArray
    held: bool
    best: bool
    family: str
    clutter: Clutter


def tried(seed: int, kind: Clutter, sets: Sequence[str] = ("generated",)) -> list[Tried]:
    """Some grasps of objects of some sets in one scene, by true masks."""
    scene = clutter_scene(kind, seed, sets, n=1 if kind == "single" else _IN_CLUTTER)
    hand = TrialHand(scene)
    world = hand.world
    camera = RayCamera(
        world.model,
        world.data,
        jittered(scene_camera(), scene),
        world.body_index,
        seed=seed,
        sensor=make_sensor(SENSOR, "scene", seed),
    )
    frame = camera.capture()
    assert frame.ids is not None
    cloud = backproject(frame.depth, frame.K)
    rng = np.random.default_rng([seed, 0x67])
    visible = [k for k in range(len(scene.objects)) if int((frame.ids == k).sum()) >= _LEAST_PX]
    families = [find_asset(placed.item).name for placed in scene.objects]
    found = []
    for k in rng.permutation(visible)[:_OBJECTS]:
        try:
            proposed = AnalyticGraspGenerator(seed).propose(cloud, (frame.ids == k).ravel(), frame.T_base_camera)
        except ToolError:
            continue
        order, _ = ranked(proposed.features)
        # The best, and others from all over the ranking, the better half more often.
        others = (len(order) * rng.random(_OTHERS) ** 2).astype(int)
        for rank in dict.fromkeys([0, *others]):
            row = order[rank]
            trial = hand.grasp(frame.T_base_camera @ proposed.T_camera_gripper[row], scene.objects[k].id)
            if trial is not None:
                found.append(Tried(proposed.features[row], trial.held, rank == 0, families[k], kind))
    return found


def fit(x: FloatArray, held: BoolArray) -> Network:
    """The network from features (N, F) to the probability of the outcomes (N,)."""
    examples = networks.Examples()
    examples.add(x.astype(np.float32), held.astype(float), np.ones(len(x)))
    return networks.fit(examples, np.random.default_rng(0), _STEPS, blur=_BLUR, decay=_DECAY)


def reliability(p: FloatArray, held: BoolArray) -> tuple[list[tuple[float, float, int]], float]:
    """(mean score, share held, n) in bins of equal numbers, and the expected calibration error."""
    parts = np.array_split(np.argsort(p, kind="stable"), _BINS)
    table = [(float(p[part].mean()), float(held[part].mean()), len(part)) for part in parts if len(part)]
    return table, sum(n * abs(said - was) for said, was, n in table) / len(p)


def _read(files: list[Path]) -> tuple[FloatArray, BoolArray, BoolArray]:
    parts = [np.load(file) for file in files]
    x, held, best = (np.concatenate([part[name] for part in parts]) for name in ("x", "held", "best"))
    return x, held.astype(bool), best.astype(bool)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m toolhand.training.grasps.fit", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    trying = commands.add_parser("try", help="try grasps in physics")
    trying.add_argument("--out", type=Path, required=True)
    trying.add_argument("--first-seed", type=int, default=0)
    trying.add_argument("--scenes", type=int, default=300)
    trying.add_argument("--objects", default="generated", help="sets, or folders of meshes")
    fitting = commands.add_parser("fit", help="fit the probabilities, and write tool_nodes/grasp/chances.json")
    fitting.add_argument("files", type=Path, nargs="+")
    checking = commands.add_parser("check", help="how reliable the probabilities are")
    checking.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "try":
        _try(options.out, options.first_seed, options.scenes, choose_sets(options.objects))
        return
    x, held, best = _read(options.files)
    if options.command == "fit":
        save({"held": fit(x[:, : len(FEATURES)], held)}, FITTED)
    p = probabilities(x)
    _say(p, held, "all")
    _say(p[best], held[best], "best of each object")


def _say(p: FloatArray, held: BoolArray, what: str) -> None:
    table, error = reliability(p, held)
    say(f"{what}: {len(p)} grasps, {held.mean():.3f} held, expected calibration error {error:.3f}")
    for said, was, n in table:
        say(f"  said {said:.3f}  held {was:.3f}  n {n}")


def _try(out: Path, first_seed: int, scenes: int, sets: Sequence[str]) -> None:
    rows: list[Tried] = []
    for k, seed in enumerate(range(first_seed, first_seed + scenes)):
        rows += tried(seed, KINDS[k % len(KINDS)], sets)
        if rows:
            columns = dict(zip(Tried._fields, map(np.array, zip(*rows, strict=True)), strict=True))
            np.savez(out, allow_pickle=False, **columns)
            held, best = columns["held"], columns["best"]
            say(f"{k + 1} scenes, {len(rows)} grasps, {held.mean():.3f} held, best {held[best].mean():.3f}")


if __name__ == "__main__":
    main()

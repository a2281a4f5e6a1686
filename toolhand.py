"""`toolhand`: the front door. Every command is a function; its signature and docstring are its help."""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal

import tyro

# The arrays here are small: BLAS threads cost more than they give, and must be set before numpy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tool_nodes.results import ErrorCode, ToolError

BAD_INPUT = frozenset({ErrorCode.NOT_UNDERSTOOD, ErrorCode.INVALID_ARGUMENT, ErrorCode.UNKNOWN_TOOL})
"""Errors of the input rather than of the task: exit status 2 instead of 1."""

Perception = Literal["sim", "pixels"]
PolicyName = Literal["scripted"]
AsJson = Annotated[bool, tyro.conf.arg(name="json", help="Print exactly one JSON document on stdout.")]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _emit(document: Any) -> None:
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


def _load_scene(scene: str) -> Any:
    from sim.scene_files import EXAMPLE_SCENE, load_scene
    from sim.scene_generator import generate_scene

    if scene == "example":
        return load_scene(EXAMPLE_SCENE)
    if scene.isdigit():
        return generate_scene(int(scene))
    if scene.lstrip("-").isdigit():
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"A scene seed must be 0 or greater, got {scene}.")
    return load_scene(Path(scene))


def _policy(name: PolicyName, turns: int) -> Any:
    from agent_node.scripted import ScriptedPolicy

    return {"scripted": ScriptedPolicy}[name](max_turns=turns)


class _Interrupt:
    """First Ctrl-C stops the arm and lets the result be written; the second one ends the program."""

    def __init__(self) -> None:
        self.hit = False
        self._stop: Callable[[], None] | None = None
        signal.signal(signal.SIGINT, self._handle)

    def arm(self, stop: Callable[[], None]) -> None:
        """From now on the first Ctrl-C calls `stop` instead of ending the program."""
        self._stop = stop

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.hit or self._stop is None:
            raise KeyboardInterrupt
        self.hit = True
        self._stop()
        _say("\nStopping: the arm holds its position. (Ctrl-C again ends at once.)")


def _progress(kind: str, payload: Any) -> None:
    if kind == "thought":
        _say(f"  thinks  {payload}")
    elif kind == "call":
        _say(f"  calls   {payload.name} {json.dumps(payload.arguments, default=str)[:160]}")
    elif kind == "result":
        first = payload.result.text.split(" Use $")[0]
        _say(f"          {first[:240]}  [{payload.wall_s:.2f} s]")


def run(
    text: Annotated[str, tyro.conf.Positional],
    scene: str = "example",
    perception: Perception = "sim",
    policy: PolicyName = "scripted",
    seed: int = 0,
    turns: int = 24,
    runs_dir: Path = Path("runs"),
    animation: bool = True,
    as_json: AsJson = False,
) -> int:
    """Carry out one sentence on the simulated robot and write a report.

    Args:
        text: What the robot should do, e.g. "pick up the far coconut water".
        scene: Seed of a generated scene, a YAML file, or "example".
        perception: "sim" sees with simulator truth and noise, "pixels" with colour and depth only.
        policy: Who decides.
        seed: Seeds perception noise, grasp sampling and planning.
        turns: Assistant turns before TURN_BUDGET.
        runs_dir: Where the run folder is made.
        animation: Render the motion for the report.
    """
    from agent_node.recording import new_run_dir, write_json, write_trajectory
    from agent_node.report import write_report
    from bench.episode import animate, run_episode, summarize
    from sim.station import Station, StationConfig

    if turns < 1 or seed < 0:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"turns must be 1 or more and seed 0 or more, got {turns} and {seed}."
        )
    interrupt = _Interrupt()
    world_scene = _load_scene(scene)
    station = Station(world_scene, StationConfig(perception=perception, seed=seed))
    interrupt.arm(station.arm.stop)
    _say(f"Scene {scene}, perception {perception}, policy {policy}, seed {seed}: {text[:200]!r}")
    outcome = run_episode(
        station, _policy(policy, turns), text, turn_budget=turns, stopped=lambda: interrupt.hit, listener=_progress
    )
    run_dir = new_run_dir(runs_dir)
    result = summarize(outcome, station) | {
        "scene": scene, "perception": perception, "policy": policy, "run_dir": str(run_dir), "version": _version(),
    }  # fmt: skip
    write_trajectory(run_dir, outcome.episode, station.toolbox.schemas())
    write_json(run_dir / "result.json", result)
    if as_json:
        _emit(result)
    verdict = "done" if result["success"] else f"not done ({result['error_code']})"
    _say(f"\n{outcome.episode.answer}\n  {verdict}; simulator's judgement: {result['truth']}")
    frames, times = animate(station, cancelled=lambda: interrupt.hit) if animation else ([], [])
    write_report(run_dir / "report.html", outcome.episode, result, frames, times)
    _say(f"  report: {run_dir / 'report.html'}")
    if interrupt.hit:
        return 130
    if result["success"]:
        return 0
    return 2 if outcome.episode.error_code in BAD_INPUT else 1


def scene(
    scene: Annotated[str, tyro.conf.Positional] = "example", image: Path | None = None, as_json: AsJson = False
) -> int:
    """Show a scene: what stands on the table.

    Args:
        scene: Seed of a generated scene, a YAML file, or "example".
        image: Write what the scene camera sees to this PNG file.
    """
    from sim.scene_files import scene_document

    chosen = _load_scene(scene)
    document = scene_document(chosen)
    if image is not None:
        from PIL import Image

        from sim.station import Station

        try:
            Image.fromarray(Station(chosen).camera.capture().rgb).save(image, format="PNG")
        except OSError as error:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Cannot write {image}: {error.strerror or error}.") from error
    if as_json:
        _emit(document)
        return 0
    print(f"{'name':24}{'kind':10}{'colour':14}{'x':>7}{'y':>7}   size [m]")
    for entry in document["objects"]:
        x, y, _ = entry["position_m"]
        size = " x ".join(f"{s:.3f}" for s in entry["size_m"])
        print(f"{entry['name']:24}{entry['kind']:10}{entry['colour']:14}{x:7.3f}{y:7.3f}   {size}")
    return 0


def tools(as_json: AsJson = False) -> int:
    """List the tools and their arguments.

    Args:
    """
    toolbox = _station("example").toolbox
    if as_json:
        _emit(toolbox.schemas())
        return 0
    for name in sorted(toolbox.specs):
        spec = toolbox.specs[name]
        print(f"{name}({', '.join(spec.kinds)}){'  [moves the robot]' if spec.motion else ''}\n    {spec.description}")
    return 0


def _station(scene: str, perception: Perception = "sim", seed: int = 0, camera: Literal["ray", "gl"] = "ray") -> Any:
    from sim.station import Station, StationConfig

    return Station(_load_scene(scene), StationConfig(perception=perception, seed=seed, camera=camera))


def call(
    tool: Annotated[str, tyro.conf.Positional],
    arguments: Annotated[str, tyro.conf.Positional] = "{}",
    scene: str = "example",
    perception: Perception = "sim",
    seed: int = 0,
    image: Path | None = None,
    as_json: AsJson = False,
) -> int:
    """Call one tool on a fresh scene. Image 0 is a picture of it; $depth_map, $point_cloud and $focal_length_px exist.

    Args:
        tool: Name of the tool, e.g. roborefer.detect_all.
        arguments: Its arguments as a JSON object, e.g. '{"obj_name": "can", "image_index": 0}'.
        scene: Seed of a generated scene, a YAML file, or "example".
        perception: Backend of the perception tools.
        seed: Seeds noise, grasp sampling and planning.
        image: Write the tool's picture to this PNG file.
    """
    from tool_nodes.toolbox import Session

    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"The arguments are not a JSON object: {error}.") from error
    station = _station(scene, perception, seed)
    session = Session()
    station.toolbox.find(tool)
    for name in ("robot.capture_image", "robot.get_depth_with_pointcloud"):
        station.toolbox.call(name, {}, session)
    record = station.toolbox.call(tool, parsed, session)
    if image is not None and record.image_index is not None:
        from PIL import Image

        Image.fromarray(session.images[record.image_index].rgb).save(image, format="PNG")
    failure = record.result.error
    if as_json:
        from tool_nodes.kinds import describe

        _emit(
            {
                "tool": tool,
                "text": record.result.text,
                "variables": {name: describe(value) for name, value in record.result.variables.items()},
                "error_code": failure.code if failure else None,
                "wall_s": round(record.wall_s, 4),
            }
        )
    else:
        print(record.result.text)
    if failure is None:
        return 0
    return 2 if failure.code in BAD_INPUT else 1


def doctor(as_json: AsJson = False) -> int:
    """Check this installation: versions, camera, physics and one plan."""
    findings: dict[str, Any] = {"python": platform.python_version(), "toolhand": _version()}
    for package in ("numpy", "scipy", "mujoco", "ruckig", "PIL", "yaml", "tyro"):
        module = import_module(package)
        findings[package] = getattr(module, "__version__", "present")
    problems = []
    try:
        station = _station("example")
        frame = station.camera.capture()
        findings["camera"] = f"ray camera, {frame.size[0]}x{frame.size[1]}"
        findings["physics"] = f"{station.world.model.nbody} bodies at t={station.world.time:.2f} s"
        findings["tools"] = len(station.toolbox.specs)
    except ToolError as error:
        problems.append(f"{error.code}: {error}")
    try:
        _station("example", camera="gl")
        findings["gl_camera"] = "available"
    except ToolError:
        findings["gl_camera"] = "not available (not needed)"
    findings["problems"] = problems
    if as_json:
        _emit(findings)
    else:
        for name, value in findings.items():
            print(f"{name:12} {value if value else 'none'}")
    return 1 if problems else 0


def _version() -> str:
    try:
        return metadata.version("toolhand")
    except metadata.PackageNotFoundError:
        return "0 (not installed)"


def _app() -> tyro.extras.SubcommandApp:
    from bench.grasp import bench_grasp
    from bench.manipulation import bench_manipulation

    bench = tyro.extras.SubcommandApp()
    bench.command(name="manipulation")(bench_manipulation)
    bench.command(name="grasp")(bench_grasp)
    app = tyro.extras.SubcommandApp()
    for command in (run, scene, tools, call, doctor):
        app.command(command)
    app.command(bench, name="bench")
    return app


def main(argv: list[str] | None = None) -> None:
    """Parse the command line, run the command, exit: 0 done, 1 task not done, 2 bad input, 130 interrupted."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        status = _app().cli(args=arguments, prog="toolhand")
    except ToolError as error:
        if "--json" in arguments:
            _emit({"success": False, "error_code": error.code, "answer": str(error)})
        _say(f"{error.code}: {error}")
        status = 2 if error.code in BAD_INPUT else 1
    except KeyboardInterrupt:
        _say("Interrupted.")
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    main()

"""`toolhand`: the front door. Every command is a function; its signature and docstring are its help."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import io
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

# The arrays here are small: BLAS threads cost more than they give, and must be set before numpy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

try:
    import tyro

    from agent_node.console.terminal import INTERRUPTED, AsJson, emit, exit_status, save_png, say
    from tool_nodes import registry
    from tool_nodes.extras import pip_install
    from tool_nodes.results import ErrorCode, ToolError
    from tool_nodes.version import version
    from toolhand import options as stations
    from toolhand.approve import approve
    from toolhand.mcp import mcp
    from toolhand.options import SceneName
    from toolhand.replay import replay
    from toolhand.run import run
    from toolhand.runs import runs
    from toolhand.tools import PngFile, call, tools
except KeyboardInterrupt:  # the imports take long enough for a Ctrl-C
    sys.exit(130)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sim.scene.scenes import Scene
    from sim.station import Station

BROKEN_PIPE = 141
"""Exit status that a shell gives to programs ended by a reader that has gone away."""

MAX_SHOWN = 200
"""So many characters of a sentence are repeated to who has typed it."""

COMMANDS = (
    "run", "runs", "replay", "scene", "tools", "call", "mock", "mcp", "approve", "doctor", "bench", "up", "stop", "ros",
)  # fmt: skip

ROS_COMMANDS = {
    "up": ("rclpy_zenoh.launch.cli", "Start the nodes of a launch file, until Ctrl-C."),
    "stop": ("toolhand.stop", "Brake the arm of the graph that runs, and latch; --reset allows motions again."),
    "ros": ("rclpy_zenoh.cli", "Look into a ROS 2 graph, call and command it: the ros2 command without ROS 2."),
}
"""Commands of the graph: the module parses its own arguments, as ros2 does or faster, prints its own errors, and
returns the status."""

DESCRIPTION = """A robot arm that is worked through tools: a sentence in, an object picked or placed.

Try `toolhand run "pick up the far coconut water"`. `toolhand COMMAND --help` explains a command; `toolhand up` starts
the nodes of a launch file, `toolhand stop` brakes their arm, `toolhand ros` looks into their graph, as ros2 does;
`toolhand --version` tells the version. The exit status is 0 if all was done, 1 if the task was not done, 2 for wrong
input and 130 after Ctrl-C."""


def scene(
    scene: Annotated[SceneName, tyro.conf.Positional] = "example",
    image: PngFile = None,
    view: Literal["scene", "wrist", "overview"] = "scene",
    as_json: AsJson = False,
) -> int:
    """Show a scene: what stands on the table, where, and how large it is; --image writes a picture of it.

    Args:
        view: Which picture: of the scene camera, of the camera on the wrist, or a spectator's.
    """
    from sim.scene.files import scene_document

    chosen = stations.named_scene(scene)
    if image is not None:
        save_png(image, _picture(chosen, view))
    document = scene_document(chosen)
    if as_json:
        emit(document)
        return 0
    print(f"{'name':24}{'kind':10}{'colour':14}{'x':>7}{'y':>7}   size [m]")
    for entry in document["objects"]:
        x, y, _ = entry["position_m"]
        size = " x ".join(f"{s:.3f}" for s in entry["size_m"])
        print(f"{entry['name']:24}{entry['kind']:10}{entry['colour']:14}{x:7.3f}{y:7.3f}   {size}")
    return 0


def _picture(scene: Scene, view: str) -> NDArray[np.uint8]:
    from sim.camera.ray import overview_camera
    from sim.station import Station
    from tool_nodes.workspace import IMAGE_SIZE

    station = Station(scene)
    if view == "overview":
        return station.make_camera(overview_camera(IMAGE_SIZE)).capture().rgb
    return (station.wrist_camera if view == "wrist" else station.camera).capture().rgb


def doctor(as_json: AsJson = False) -> int:
    """Check this installation: versions, camera, physics, tools, one plan, and which backends each port has."""
    findings: dict[str, Any] = {"python": platform.python_version(), "toolhand": version()}
    problems = []
    for package in ("numpy", "scipy", "mujoco", "ruckig", "PIL", "yaml", "tyro", "docstring_parser"):
        try:
            findings[package] = getattr(import_module(package), "__version__", "present")
        except ImportError as error:
            problems.append(f"{package} cannot be imported: {error}.")
    try:
        station = stations.named_station("example")
        width, height = station.camera.capture().size
        findings["camera"] = f"ray camera, {width}x{height}"
        station.world.step()
        findings["physics"] = f"{station.world.model.nbody} bodies at t={station.world.time:.2f} s"
        findings["tools"] = len(station.toolbox.specs)
        findings["plan"] = f"{_plan_home(station):.2f} s to the home position"
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
    try:
        stations.named_station("example", camera="gl")
        findings["gl_camera"] = "available"
    except Exception:
        findings["gl_camera"] = "not available (not needed)"
    findings["backends"] = {port: registry.offers(port) for port in registry.GROUPS}
    if not findings["backends"]["perception"]:
        problems.append(f"No backend is installed; install this checkout once more: {pip_install('-e .')}")
    findings["problems"] = problems
    if as_json:
        emit(
            findings | {"backends": {port: [vars(o) for o in offers] for port, offers in findings["backends"].items()}}
        )
    else:
        backends = findings.pop("backends")
        for name, value in findings.items():
            print(f"{name:17}{'; '.join(value) or 'none' if isinstance(value, list) else value}")
        print("\nBackends by port:")
        for port, offers in backends.items():
            for k, offer in enumerate(offers):
                print(f"{'' if k else port:17}{_told(offer)}")
    return 1 if problems else 0


def _told(offer: registry.Offer) -> str:
    package = "" if offer.package == registry.PROJECT else f" (of {offer.package})"
    return f"{offer.name}{package}" + (f"; needs: {offer.missing}" if offer.missing else "")


def _plan_home(station: Station) -> float:
    """Duration of a planned motion from here to the home position [s]."""
    import numpy as np

    from tool_nodes.motion.robot_model import NAMED_STATES
    from tool_nodes.types import CollisionScene, JointGoal

    home = JointGoal(np.asarray(NAMED_STATES["Home"], float))
    return station.planner.plan(station.arm.state().q, home, CollisionScene()).duration


def _bound(command: Callable[..., int]) -> Callable[..., Callable[[], int]]:
    """The command as the parser sees it: called with its arguments, it gives back what is to be run."""

    @functools.wraps(command)
    def bind(*args: Any, **kwargs: Any) -> Callable[[], int]:
        return functools.partial(command, *args, **kwargs)

    return bind


def _parse(arguments: list[str]) -> Callable[[], int]:
    """The command with its arguments bound; SystemExit after --help or a complaint about the arguments."""
    from bench.agent import bench_agent
    from bench.crowded import bench_crowded
    from bench.grasp import bench_grasp
    from bench.manipulation import bench_manipulation
    from bench.perception import bench_perception
    from bench.redteam.command import bench_redteam
    from bench.ros.latency import bench_ros
    from bench.sentences import bench_sentences
    from bench.tools import bench_tools
    from toolhand.mock import mock_record

    bench = tyro.extras.SubcommandApp()
    bench.command(name="manipulation")(_bound(bench_manipulation))
    bench.command(name="grasp")(_bound(bench_grasp))
    bench.command(name="crowded")(_bound(bench_crowded))
    bench.command(name="perception")(_bound(bench_perception))
    bench.command(name="tools")(_bound(bench_tools))
    bench.command(name="agent")(_bound(bench_agent))
    bench.command(name="redteam")(_bound(bench_redteam))
    bench.command(name="ros")(_bound(bench_ros))
    bench.command(name="sentences")(_bound(bench_sentences))
    mock = tyro.extras.SubcommandApp()
    mock.command(name="record")(_bound(mock_record))
    app = tyro.extras.SubcommandApp()
    for command in (run, runs, replay, scene, tools, call, mcp, approve, doctor):
        app.command(_bound(command))
    app.command(mock, name="mock", help="Make data sets for the mock robot.")
    app.command(bench, name="bench", help="Measure success, perception and speed over many random scenes.")
    for name, (_, about) in ROS_COMMANDS.items():
        app.command(name=name, help=about)(lambda: None)  # only for the help: they never come here
    return app.cli(args=arguments or ["--help"], prog="toolhand", description=DESCRIPTION)


def _parse_or_complain(arguments: list[str], as_json: bool) -> Callable[[], int]:
    """As `_parse`, with a complaint about the arguments as an error where it can be told in one sentence.

    Raises:
        ToolError: INVALID_ARGUMENT for a sentence without quotes; with `as_json` for every complaint.
    """
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return _parse(arguments)
    except SystemExit as end:
        if not end.code:
            raise
        if arguments[0] == "run" and re.search(r"Unrecognized options: [^-\s]", complaint.getvalue()):
            raise _no_quotes(arguments[1:]) from None
        if not as_json:
            print(complaint.getvalue(), end="", file=sys.stderr)
            raise
        text = re.sub("[│╭╮╰╯]", " ", complaint.getvalue())
        parts = [" ".join(part.split()) for part in re.split("[─-]{5,}", text)[1:]]
        sentence = "; ".join(part for part in parts if part and not part.startswith(("For full", "Perhaps")))
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"{sentence.rstrip('.')}.", "See toolhand --help.") from None


def _no_quotes(words: list[str]) -> ToolError:
    """What to say to somebody who has typed a sentence as so many words: a shell would change some of them."""
    first_option = next((k for k, word in enumerate(words) if word.startswith("-")), len(words))
    sentence = " ".join(words[:first_option])[:MAX_SHOWN]
    return ToolError(
        ErrorCode.INVALID_ARGUMENT, "The sentence must be one argument, in quotes.",
        f"For example: {shlex.join(['toolhand', 'run', sentence, *words[first_option:][:8]])}"
        if len(words[:first_option]) > 1 else 'For example: toolhand run "pick up the red box"',
    )  # fmt: skip


def _no_command(word: str) -> ToolError:
    """What to say to somebody who has typed a word that is none of the commands, perhaps a sentence."""
    allowed = f"The commands are {', '.join(COMMANDS)}."
    if " " in word.strip():
        allowed = f"A sentence is carried out by {shlex.join(['toolhand', 'run', word[:MAX_SHOWN]])}. {allowed}"
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"There is no command {word[:60]!r}.", allowed)


def _run_command(arguments: list[str], as_json: bool) -> int:
    """Exit status of the command; a failure is told in one sentence and, if wanted, as the JSON document."""
    try:
        if arguments and arguments[0] in ROS_COMMANDS:
            return import_module(ROS_COMMANDS[arguments[0]][0]).main(arguments[1:])
        if arguments and arguments[0] in ("-V", "--version"):
            emit({"version": version()}) if as_json else print(f"toolhand {version()}")
            return 0
        if arguments and arguments[0] not in (*COMMANDS, "-h", "--help"):
            raise _no_command(arguments[0])
        return _parse_or_complain(arguments, as_json)()
    except ToolError as error:
        failure = error
    except KeyboardInterrupt:
        failure = ToolError(ErrorCode.STOPPED, "Interrupted.")
    except Exception as error:
        print(end="", flush=True)  # raises once more if the output itself is the trouble
        if isinstance(error, BrokenPipeError) or os.environ.get("TOOLHAND_DEBUG"):
            raise
        message = f"Something is wrong inside: {type(error).__name__}: {error}."
        failure = ToolError(ErrorCode.INTERNAL, message, "TOOLHAND_DEBUG=1 in the environment shows where.")
    say(f"{failure.code}: {failure}")
    if as_json:
        emit({"success": False, "error_code": failure.code, "answer": str(failure)})
    return INTERRUPTED if failure.code is ErrorCode.STOPPED else exit_status(failure.code, False)


def main(argv: list[str] | None = None) -> None:
    """Parse the command line, run the command, exit: 0 done, 1 task not done, 2 bad input, 130 interrupted."""
    arguments = sys.argv[1:] if argv is None else argv
    atexit.register(gc.freeze)  # the worlds of a process that ends are not searched for cycles: that took half a second
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal lacks is no reason to fail
    try:
        status = _run_command(arguments, "--json" in arguments)
        print(end="", flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains on its way out
        gone = isinstance(error, BrokenPipeError)
        if not gone:
            say(f"{ErrorCode.UNAVAILABLE}: Cannot write the output: {error.strerror}.")
        status = BROKEN_PIPE if gone else 1
    except SystemExit as end:
        status = 2 if end.code or not arguments else 0
    sys.exit(status)

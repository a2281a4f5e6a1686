"""`toolhand console`: the operator's console in a browser, as two processes of their own."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import webbrowser
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import tyro

from toolhand.agent_node.console.terminal import say, tell
from toolhand.agent_node.runs.bench_results import FOLDER as BENCHES
from toolhand.agent_node.runs.index import RUNS, TRAININGS
from toolhand.tool_nodes.extras import install_extra
from toolhand.tool_nodes.results import invalid, unavailable


def console(
    host: str = "127.0.0.1",
    port: int = 8080,
    stop_port: int = 8081,
    names: tuple[str, ...] = (),
    runs_dir: Path = RUNS,
    keep_runs: int = 0,
    bench_dir: Path = BENCHES,
    training_dir: Path = TRAININGS,
    token_file: Path | None = None,
    login_file: Path | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
    open_browser: Annotated[bool, tyro.conf.arg(name="open"), tyro.conf.FlagCreatePairsOff] = False,
) -> int:
    """Serve the operator's console in a browser until Ctrl-C: talk, point, watch, approve, stop, look at runs.

    It speaks to the graph of this ROS domain, before that is there and after it has come back. The stop button is
    served by a process of its own, also as a page of its own. Without --login-file, --certificate and --key only this
    machine reaches it.

    Args:
        host: Address to serve at.
        port: Port of the pages.
        stop_port: Port of the stop server.
        names: Further names and addresses by which browsers reach it; every other is refused.
        runs_dir: Folder of runs.
        keep_runs: Keep so many of the newest runs there when one is run again, and delete older ones; 0 keeps all.
        bench_dir: Folder of results of benchmarks.
        training_dir: Folder of training runs.
        token_file: File with the operator's token, which the motion node has said when it started; without it that of
            TOOLHAND_APPROVAL_TOKEN in the environment, or that of this user's own graphs.
        login_file: File with the token that a browser has to give once; chmod 600.
        certificate: Certificate file of TLS.
        key: Key file of TLS.
        open_browser: Open the page in this machine's browser.
    """
    from toolhand.console.settings import NEEDED, ConsoleSettings

    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise unavailable(
            f"The console needs {' and '.join(missing)}, which cannot be found.",
            f"Install it with: {install_extra('console')}",
        )
    from toolhand.console.supervisor import ConsoleSupervisor
    from toolhand.tool_nodes.ros.proofs import TOKEN_VARIABLE, operators_token, read_token

    if keep_runs < 0:
        raise invalid(f"keep-runs must be 0 or more, got {keep_runs}.")
    for name, file in (("--certificate", certificate), ("--key", key)):
        if file is not None and not file.is_file():
            raise invalid(f"{name} names {str(file)!r}, which is no file.")
    settings = ConsoleSettings(
        host=host,
        port=port,
        stop_port=stop_port,
        names=names,
        runs_dir=runs_dir.absolute(),
        keep_runs=keep_runs,
        bench_dir=bench_dir.absolute(),
        training_dir=training_dir.absolute(),
        approval_token=operators_token(token_file).token,
        login="" if login_file is None else read_token(login_file),
        certificate=None if certificate is None else certificate.absolute(),
        key=None if key is None else key.absolute(),
    )
    os.environ.pop(TOKEN_VARIABLE, None)  # what the processes need is in their settings
    keeper = ConsoleSupervisor(settings, say)
    before = signal.signal(signal.SIGTERM, _end)
    try:
        keeper.start()
        pages = settings.address(settings.port)
        tell(f"Console: {pages}")
        tell(f"Stop button alone: {settings.address(settings.stop_port)}/stop")
        say("A button in a browser is no emergency stop. Ctrl-C ends the console, and what it has the robot do.")
        if open_browser:
            webbrowser.open(pages)
        keeper.watch()
    except KeyboardInterrupt:
        say("The console ends.")
        return 0
    finally:
        keeper.close()
        signal.signal(signal.SIGTERM, before)
    return 1


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main() -> None:
    """Serve it as an executable of a launch file; what ROS 2 adds to the arguments is for nodes."""
    from toolhand.cli.main import main as command_line

    words = sys.argv[1:]
    command_line(["console", *(words[: words.index("--ros-args")] if "--ros-args" in words else words)])


if __name__ == "__main__":
    main()

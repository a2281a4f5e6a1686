"""Where the service of this machine is noted: one folder, so that a client needs no address."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tool_nodes.files import write_whole
from tool_nodes.results import Cause, ErrorCode, ToolError

VARIABLE = "TOOLHAND_SERVE"
"""The environment variable that names another folder, so that several services can run on a machine."""

MARK = "TOOLHAND_SERVICE"
"""The environment variable that every process of a service of this machine has; its value is the service's id."""

_NOTE = "service.json"
_TOKEN = "token"


@dataclass(frozen=True)
class ServiceNote:
    """A service that runs.

    Attributes:
        id: Another one for each start.
        address: Of the cluster's head, HOST:PORT.
        keeper: Process that started it and takes it down.
        folder: Where it is noted.
        own: True where the cluster was started for it.
        ready: False while it is being started.
        began: When the keeper's process began, see `processes.began`.
    """

    id: str
    address: str
    keeper: int
    folder: str
    own: bool
    ready: bool = False
    began: int | None = None

    def environment(self) -> Mapping[str, str]:
        """What a process needs in its environment before it joins: Ray reads these when it is first used."""
        quiet = {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_SERVE_LOG_TO_STDERR": "0",
            "RAY_ENABLE_AUTO_CONNECT": "0",  # a call after the end would start a cluster
            # A head that does not come back ends whoever waits for it after so long [s]; our deadlines end the wait.
            "RAY_gcs_rpc_server_reconnect_timeout_s": "1000000",
        }
        if not self.own:
            return quiet
        # Without a dashboard nobody reads what Ray tells of each call, which is a third of what a small one costs.
        untold = {"RAY_task_events_report_interval_ms": "0", "RAY_enable_metrics_collection": "0"}
        return quiet | untold | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(Path(self.folder) / _TOKEN)}


def folder() -> Path:
    """Where the service is noted; named by the environment, else one of this user's."""
    return Path(os.environ.get(VARIABLE) or Path(tempfile.gettempdir()) / f"toolhand-serve-{os.getuid()}")


def private(place: Path) -> Path:
    """The folder, made so that only this user can look into it. Raises ToolError UNAVAILABLE where it is another's."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = place.stat().st_uid == os.getuid()
        if own:
            place.chmod(0o700)
    except OSError as error:
        raise ToolError(ErrorCode.UNAVAILABLE, f"{place} cannot be made: {error.strerror}.") from error
    if not own:
        raise ToolError(ErrorCode.UNAVAILABLE, f"{place} belongs to somebody else.", f"Set {VARIABLE} to another one.")
    return place


def write_token(place: Path, token: str) -> None:
    """Write what the cluster asks its clients for; who has read it once may come again."""
    path = place / _TOKEN
    if path.exists():
        return
    path.touch(mode=0o600)
    path.write_text(token, encoding="ascii")


def note(service: ServiceNote) -> None:
    """Write down a service that has been started."""
    write_whole(Path(service.folder) / _NOTE, json.dumps(asdict(service), indent=2).encode())


def forget(place: Path) -> None:
    """Nothing runs any more."""
    (place / _NOTE).unlink(missing_ok=True)


def noted(place: Path | None = None) -> ServiceNote | None:
    """The service that was written down, whether or not it still runs."""
    try:
        text = ((place or folder()) / _NOTE).read_text(encoding="utf-8")
        return ServiceNote(**json.loads(text))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise ToolError(
            ErrorCode.UNAVAILABLE, f"{place or folder()} cannot be read: {error}.", "toolhand serve down removes it."
        ) from error


def running_service() -> ServiceNote:
    """The service that was written down. Raises ToolError UNAVAILABLE where there is none."""
    service = noted()
    if service is None:
        raise ToolError(
            ErrorCode.UNAVAILABLE, "Nothing is served here.", "Start it with: toolhand serve up FILE",
            cause=Cause.NOT_SERVED,
        )  # fmt: skip
    if not service.ready:
        raise ToolError(ErrorCode.UNAVAILABLE, "The service is still being started.", cause=Cause.NOT_SERVED)
    return service

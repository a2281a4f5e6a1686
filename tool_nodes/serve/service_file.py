"""Where the service of this machine is noted: one folder, so that a client needs no address.

What is noted there is believed, and a cluster may run programs in a process that joins it. So the folder is this
user's alone (`toolhand.tool_nodes.private_folders`), and that is looked at before anything in it is read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated

from annotated_types import Len

from toolhand.tool_nodes import private_folders
from toolhand.tool_nodes.files import KIB, read_file, write_whole
from toolhand.tool_nodes.private_folders import FolderRefused
from toolhand.tool_nodes.records import Rule, record_of
from toolhand.tool_nodes.results import Cause, ToolError, invalid, unavailable

VARIABLE = "TOOLHAND_SERVE"
"""The environment variable that names another folder, so that several services can run on a machine."""

MARK = "TOOLHAND_SERVICE"
"""The environment variable that every process of a service of this machine has; its value is the service's id."""

ADDRESS = "TOOLHAND_SERVE_ADDRESS"
"""The environment variable that names the head, HOST:PORT, of a cluster on other machines, whose service is asked in
place of the noted one; its token is where Ray's own variables say."""

HOST = "127.0.0.1"
"""Where a cluster of one's own listens: other machines have nothing to do with it."""

ELSEWHERE = 0
"""The keeper of a service that was started on another machine."""

_NOTE = "service.json"
_TOKEN = "token"

_ADDRESS = re.compile(r"[\w.:\[\]-]{1,253}:\d{1,5}")

_LONGEST_NOTE = 16 * KIB
"""Longest note that is read [bytes]; one has half a kilobyte."""


@dataclass(frozen=True)
class ServiceNote:
    """A service that runs.

    Attributes:
        id: Another one for each start.
        address: Address of the cluster's head, HOST:PORT.
        keeper: Process that started it and takes it down; `ELSEWHERE` where that is on another machine.
        folder: Where it is noted; in no note, but where that was found.
        own: True where the cluster was started for it.
        ready: False while it is being started.
        began: When the keeper's process began, see `processes.began`.
        token: File with what the cluster asks for, where Ray's own variables do not say.
    """

    id: Annotated[str, Rule("a name", lambda text: bool(re.fullmatch(r"[0-9a-z-]{1,40}", text)))]
    address: Annotated[str, Rule("HOST:PORT", lambda text: not text or bool(_ADDRESS.fullmatch(text)))]
    keeper: Annotated[int, Rule("the number of a process", lambda number: number >= 0 and number != 1)]
    folder: str
    own: bool
    ready: bool = False
    began: int | None = None
    token: Annotated[str, Len(0, 4095)] = ""

    @property
    def elsewhere(self) -> bool:
        """True for a service that was started on another machine, which is asked from here and not taken down."""
        return self.keeper == ELSEWHERE

    def environment(self) -> Mapping[str, str]:
        """What a process needs in its environment before it joins: Ray reads these when it is first used."""
        quiet = {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_SERVE_LOG_TO_STDERR": "0",
            "RAY_ENABLE_AUTO_CONNECT": "0",  # a call after the end would start a cluster
            # A process that waits this long [s] for a lost head is ended; our deadlines end the wait before.
            "RAY_gcs_rpc_server_reconnect_timeout_s": "1000000",
        }
        if self.token:
            quiet |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": self.token}
        if not self.own:
            return quiet
        # Without a dashboard nothing reads what Ray reports of each call, which is a third of what a small one costs.
        unread = {"RAY_task_events_report_interval_ms": "0", "RAY_enable_metrics_collection": "0"}
        local = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # its name of: all at the loopback address
        return (
            quiet | unread | local | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(Path(self.folder) / _TOKEN)}
        )


def folder() -> Path:
    """Where the service is noted: named by the environment, else below this user's own folders. It need not be there.

    Raises:
        ToolError: UNAVAILABLE where this user has no folder of his own.
    """
    try:
        return Path(os.environ.get(VARIABLE) or private_folders.runtime_folder() / "serve")
    except FolderRefused as error:
        raise _refused(error) from error


def ray_folder(service: ServiceNote) -> Path:
    """Where a cluster of one's own keeps its logs, sockets and packages; made by it, and gone with it.

    Beside the note, but not below XDG_RUNTIME_DIR, which is memory.
    """
    beside, memory = Path(service.folder), os.environ.get("XDG_RUNTIME_DIR")
    if os.environ.get(VARIABLE) or not memory or not beside.is_relative_to(Path(memory).resolve()):
        return beside / "ray"
    return private_folders.cache_folder() / "ray"


def keeper_file(service: ServiceNote) -> Path:
    """What the keeper of a service has open as long as it lives, which proves that it is the keeper."""
    return Path(service.folder) / f"keeper-{service.id}"


def private(place: Path) -> Path:
    """The folder, made where there is none. Raises ToolError UNAVAILABLE where it is not this user's alone."""
    try:
        return private_folders.made_private(place)
    except FolderRefused as error:
        raise _refused(error) from error


def _refused(error: FolderRefused) -> ToolError:
    return unavailable(
        f"{error}: no service is noted or looked for there.",
        f"Set {VARIABLE} to a folder that only you can read and change.",
    )


def write_token(place: Path, token: str) -> None:
    """Write what the cluster asks its clients for; who has read it once may come again."""
    path = place / _TOKEN
    if path.exists():
        return
    path.touch(mode=0o600)
    path.write_text(token, encoding="ascii")


def note(service: ServiceNote) -> None:
    """Write down a service that has been started."""
    document = asdict(service)
    del document["folder"]
    write_whole(Path(service.folder) / _NOTE, json.dumps(document, indent=2).encode())


def of_another_machine(address: str, token: Path | None = None) -> ServiceNote:
    """The service of a cluster whose head is at an address; a token that is in a file.

    Raises:
        ToolError: INVALID_ARGUMENT for an address that is none, or a file that cannot be read.
    """
    if not _ADDRESS.fullmatch(address):
        raise invalid(f"The address of a cluster must be HOST:PORT, got {address[:60]!r}.")
    if token is not None and not os.access(token, os.R_OK):
        raise invalid(f"The token file {token} cannot be read.")
    named = re.sub(r"[^0-9a-z]+", "-", address.lower())[-30:].strip("-")
    where = "" if token is None else str(token.resolve())
    return ServiceNote(f"at-{named}", address, ELSEWHERE, str(folder()), own=False, ready=True, token=where)


def forget(place: Path) -> None:
    """Nothing runs any more."""
    (place / _NOTE).unlink(missing_ok=True)


def noted(place: Path | None = None) -> ServiceNote | None:
    """The service that was written down, whether or not it still runs.

    Raises:
        ToolError: UNAVAILABLE where the folder is not this user's alone, and where what is written there is no note.
    """
    place = place or folder()
    try:
        found = private_folders.private(place)
    except FolderRefused as error:
        raise _refused(error) from error
    if found is None:
        return None
    try:
        document = json.loads(read_file(found / _NOTE, _LONGEST_NOTE, found))
        names = [field.name for field in fields(ServiceNote) if field.name != "folder"]
        if not isinstance(document, dict) or document.keys() != set(names):
            raise ValueError(f"it must have {', '.join(names)}")
        service = record_of(ServiceNote, {**document, "folder": str(found)})
        if service.own and service.address and not service.address.startswith(f"{HOST}:"):
            raise ValueError(f"a cluster of one's own is at {HOST}")
        return service
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, ToolError) as error:
        why = str(error).rstrip(".")
        raise unavailable(
            f"{place / _NOTE} cannot be read: {why}.", "Remove it; what was served there may still run."
        ) from error


def running_service() -> ServiceNote:
    """The service that the environment names, or that was written down.

    Raises:
        ToolError: UNAVAILABLE where there is none; INVALID_ARGUMENT for an address that is none.
    """
    if address := os.environ.get(ADDRESS):
        return of_another_machine(address)
    service = noted()
    if service is None:
        hint = "Start it with: toolhand serve up FILE; or ask another machine: toolhand serve join HOST:PORT"
        raise unavailable("Nothing is served here.", hint, cause=Cause.NOT_SERVED)
    if not service.ready:
        raise unavailable("The service is still being started.", cause=Cause.NOT_SERVED)
    return service

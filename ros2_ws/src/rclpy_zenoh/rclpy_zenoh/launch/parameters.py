"""What the nodes of a graph say about their parameters: that they have read them, and which they have.

A node is seen in the graph as soon as it is made, and reads its parameters afterwards. It answers once it is spun,
which is later; so readiness is an answer.
"""

from __future__ import annotations

import difflib
import os
import re
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import zenoh
from zenoh import handlers

from rclpy_zenoh.interfaces import InterfaceError, dds_name, deserialize, get_class, serialize, type_hash
from rclpy_zenoh.launch.plan import ProcessPlan
from rclpy_zenoh.plain_yaml import PlainYamlError, load
from rclpy_zenoh.wire import WireSession
from rclpy_zenoh.wire.attachment import GID_SIZE, pack_attachment
from rclpy_zenoh.wire.keys import data_key

_WITHOUT_S = 1.0
"""A node that has been seen for so long without services of parameters has none [s]; it offers them as it is made."""

_ASKED_AGAIN_S = 5.0
"""Time after which a question without an answer is asked again [s]: its node may have been another one."""

_KEY = "ros__parameters"


class ParameterNames:
    """Asks nodes for the names of their parameters.

    Args:
        session: Open session of the graph.

    Attributes:
        known: Full name of a node to the names of its parameters, of those that have answered.
    """

    def __init__(self, session: WireSession) -> None:
        self._session = session
        self._service: Any = get_class("rcl_interfaces/srv/ListParameters")
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        self._seen: dict[str, float] = {}
        self.known: dict[str, frozenset[str]] = {}

    def lacking(self, nodes: Collection[str]) -> list[str]:
        """Those of the nodes, all seen in the graph, that have not answered yet; they are asked."""
        offered = {name for name, _ in self._session.graph.get_service_names_and_types()}
        lacking = []
        for node in sorted(nodes):
            service = f"{node}/list_parameters"
            if service in offered:
                self._ask(node, service)
                lacking += [] if node in self.known else [node]
            elif time.monotonic() - self._seen.setdefault(node, time.monotonic()) < _WITHOUT_S:
                lacking.append(node)
        return lacking

    def _ask(self, node: str, service: str) -> None:
        with self._lock:
            if node in self._asked:
                return
            self._asked.add(node)

        def take(reply: zenoh.Reply) -> None:
            if reply.ok is not None:
                try:
                    names = deserialize(reply.ok.payload.to_bytes(), self._service.Response).result.names
                except InterfaceError:
                    return
                self.known[node] = frozenset(names)

        def end() -> None:
            with self._lock:
                if node not in self.known:
                    self._asked.discard(node)

        self._session.zenoh.get(
            data_key(self._session.options.domain, service, dds_name(self._service), type_hash(self._service)),
            handlers.Callback(take, end, indirect=False),
            target=zenoh.QueryTarget.ALL_COMPLETE,
            consolidation=zenoh.ConsolidationMode.NONE,
            timeout=_ASKED_AGAIN_S,
            payload=serialize(self._service.Request()),
            attachment=pack_attachment(1, time.time_ns(), os.urandom(GID_SIZE)),
        )


def without_effect(processes: Iterable[ProcessPlan], known: Mapping[str, Collection[str]]) -> list[str]:
    """A sentence for each parameter that a process was given and no node has, and for each file that holds none.

    Args:
        processes: Processes of the graph.
        known: Declared names by node, see `ParameterNames`; other nodes are not checked.
    """
    readers: dict[str, list[str]] = {}
    sentences = []
    for process in processes:
        for option, given in zip(process.command, process.command[1:], strict=False):
            if option == "--params-file":
                readers.setdefault(given, []).extend([process.node] if process.node is not None else [])
            name, assigned, _ = given.partition(":=")
            node = process.node
            if option == "-p" and assigned and node is not None and node in known and not _has(name, known[node]):
                sentences.append(f"The parameter {name!r} of the launch file has no effect: {_who([node])} it.")
    for file, nodes in readers.items():
        if not set(nodes) <= known.keys():
            continue
        entries = _entries(Path(file))
        if entries == []:
            sentences.append(f"{file} holds no parameters.")
        for section, name in entries or ():
            concerned = [node for node in nodes if _matches(section, node)]
            every = {parameter for node in concerned for parameter in known[node]}
            if not concerned:
                sentences.append(f"{file}: the section {section!r} has no effect: no node that reads it has that name.")
            elif not _has(name, every):
                near = difflib.get_close_matches(name, every, 1)
                meant = f" Is {near[0]!r} meant?" if near else ""
                sentences.append(f"{file}: {name!r} has no effect: {_who(concerned)} such a parameter.{meant}")
    return list(dict.fromkeys(sentences))


def _has(name: str, known: Collection[str]) -> bool:
    """True for a parameter that is there, or that comes with a publisher."""
    return name in known or name.startswith("qos_overrides.")


def _who(nodes: list[str]) -> str:
    return f"{nodes[0]} does not have" if len(nodes) == 1 else "no node has"


def _entries(file: Path) -> list[tuple[str, str]] | None:
    """(section, name) of each parameter of a file; None for one that cannot be read here, as with a section twice."""
    try:
        document = load(file.read_bytes())
    except (OSError, PlainYamlError):
        return None
    return list(_sections(document, "")) if isinstance(document, Mapping) else []


def _sections(level: Mapping[Any, Any], path: str) -> Iterator[tuple[str, str]]:
    for key, below in level.items():
        if key == _KEY:
            yield from ((path, name) for name in _flat(below, ""))
        elif isinstance(below, Mapping):
            yield from _sections(below, f"{path.rstrip('/')}/{str(key).lstrip('/')}")


def _flat(level: Any, path: str) -> Iterator[str]:
    for key, below in level.items() if isinstance(level, Mapping) else ():
        name = f"{path}.{key}" if path else str(key)
        yield from _flat(below, name) if isinstance(below, Mapping) else (name,)


def _matches(section: str, node: str) -> bool:
    """True where a section such as `/**`, `/*/camera` or `camera` is for a node."""
    forms = {"**": r"(/\w+)*", "*": r"/\w+"}
    parts = [forms.get(part, "/" + re.escape(part)) for part in section.lstrip("/").split("/")]
    return re.fullmatch("".join(parts), node) is not None

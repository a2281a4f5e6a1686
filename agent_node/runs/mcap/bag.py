"""One MCAP file of ROS messages as rosbag2 writes it, and the `metadata.yaml` that makes its folder a bag.

`mcap` (MIT; it needs only lz4 and zstandard) writes the container and `rclpy_zenoh.interfaces` the packets. rosbags
does both too, with five packages more, and mcap-ros2-support would bring a second CDR; both are for tests.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from toolhand.agent_node.runs.folder import write_atomically
from toolhand.agent_node.runs.mcap.ros_messages import definition, hash_of
from toolhand.tool_nodes.extras import pip_install
from toolhand.tool_nodes.results import unavailable

Compression = Literal["zstd", "lz4", "none"]

CHUNK_BYTES = 768 * 1024
"""Size of a chunk before compression, rosbag2's default."""

_FOREVER = {"sec": 9223372036, "nsec": 854775807}
"""A duration without end, as rosbag2 writes it [s, ns]."""


@dataclass(frozen=True)
class Entry:
    """One message of a bag.

    Attributes:
        time_ns: When it was recorded [ns]; 0 or more.
        topic, type_name: E.g. "/tf", "tf2_msgs/msg/TFMessage".
        data: CDR packet.
        sequence: Number of the message, as its kind counts; 0 where nothing counts.
        latched: Those who subscribe later get it too.
    """

    time_ns: int
    topic: str
    type_name: str
    data: bytes
    sequence: int = 0
    latched: bool = False


def write_bag(
    path: Path,
    entries: Iterable[Entry],
    notes: Mapping[str, Mapping[str, str]],
    compression: Compression = "zstd",
) -> None:
    """Write a bag's file, which is absent or complete, and `metadata.yaml` beside it.

    Args:
        path: The file; its folder is there.
        entries: In the order of their times.
        notes: MCAP metadata records by name.

    Raises:
        ToolError: UNAVAILABLE when it cannot be written, or without the package mcap.
    """
    entries = list(entries)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        try:
            with part.open("wb") as stream:
                _write(stream, entries, notes, compression)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise unavailable(f"Cannot write {path}: {reason}.", "Check the folder and its free space.") from error
    document = yaml.safe_dump(_about(path.name, entries), sort_keys=False)
    write_atomically(path.with_name("metadata.yaml"), document.encode())


def _write(stream: Any, entries: list[Entry], notes: Mapping[str, Mapping[str, str]], compression: Compression) -> None:
    try:
        from mcap.writer import CompressionType, Writer
    except ImportError as error:
        raise unavailable(f"A run cannot be recorded: {error}.", f"Install it with: {pip_install('mcap')}") from error
    kind = CompressionType[compression.upper()]
    writer = Writer(stream, chunk_size=CHUNK_BYTES, compression=kind, enable_data_crcs=True)
    writer.start(profile="ros2", library="toolhand")
    # First of all, so that the chunks behind them are the same bytes in every run of a seed.
    for name, note in notes.items():
        writer.add_metadata(name, dict(note))
    schemas: dict[str, int] = {}
    channels: dict[str, int] = {}
    for entry in entries:
        if entry.topic not in channels:
            name = entry.type_name
            if name not in schemas:
                schemas[name] = writer.register_schema(name, "ros2msg", definition(name).encode())
            about = {"offered_qos_profiles": _qos(entry.latched), "topic_type_hash": hash_of(name)}
            channels[entry.topic] = writer.register_channel(entry.topic, "cdr", schemas[name], about)
        writer.add_message(channels[entry.topic], entry.time_ns, entry.data, entry.time_ns, entry.sequence)
    writer.finish()


def _qos(latched: bool) -> str:
    """What a publisher of the topic offers, as rosbag2 up to version 8 of its metadata writes it."""
    profile = {
        "history": 1,
        "depth": 1 if latched else 10,
        "reliability": 1,
        "durability": 1 if latched else 2,
        "deadline": _FOREVER,
        "lifespan": _FOREVER,
        "liveliness": 1,
        "liveliness_lease_duration": _FOREVER,
        "avoid_ros_namespace_conventions": False,
    }
    return str(yaml.dump([profile], sort_keys=False, Dumper=_NoAliases))


class _NoAliases(yaml.SafeDumper):
    """rosbag2's files have no `&anchors`."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _about(name: str, entries: list[Entry]) -> dict[str, Any]:
    """The bag's metadata, version 8: the newest that writes QoS as text, and read by ROS 2 Jazzy and later."""
    counts: dict[str, int] = {}
    first: dict[str, Entry] = {}
    for entry in entries:
        counts[entry.topic] = counts.get(entry.topic, 0) + 1
        first.setdefault(entry.topic, entry)
    times = [entry.time_ns for entry in entries]
    start = min(times, default=0)
    duration = max(times, default=0) - start
    topics = [
        {
            "topic_metadata": {
                "name": topic,
                "type": entry.type_name,
                "serialization_format": "cdr",
                "offered_qos_profiles": _qos(entry.latched),
                "type_description_hash": hash_of(entry.type_name),
            },
            "message_count": counts[topic],
        }
        for topic, entry in first.items()
    ]
    file = {
        "path": name,
        "starting_time": {"nanoseconds_since_epoch": start},
        "duration": {"nanoseconds": duration},
        "message_count": len(entries),
    }
    return {
        "rosbag2_bagfile_information": {
            "version": 8,
            "storage_identifier": "mcap",
            "duration": {"nanoseconds": duration},
            "starting_time": {"nanoseconds_since_epoch": start},
            "message_count": len(entries),
            "topics_with_message_count": topics,
            "compression_format": "",
            "compression_mode": "",
            "relative_file_paths": [name],
            "files": [file],
            "custom_data": None,
            "ros_distro": "jazzy",
        }
    }

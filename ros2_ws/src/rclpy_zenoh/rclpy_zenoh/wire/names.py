"""Names of nodes, namespaces, topics and services: what ROS 2 allows, and how a short name becomes a full one.

The rules, their order and the texts are those of rcl_validate_topic_name, rcl_expand_topic_name and rmw_validate_*.
"""

from __future__ import annotations

import re
from typing import NoReturn

from rclpy_zenoh.wire.errors import InvalidNameError

MAX_NODE_NAME = 255
MAX_TOPIC_NAME = 247
MAX_NAMESPACE = 245

_NOT_IN_NODE_NAME = re.compile(r"[^A-Za-z0-9_]")
_NOT_IN_FULL_NAME = re.compile(r"[^A-Za-z0-9_/]")
_DIGIT_AFTER_SLASH = re.compile(r"/[0-9]")
_SUBSTITUTION = re.compile(r"\{([^{}]*)\}")


def check_node_name(name: str) -> None:
    """Raises InvalidNameError unless `name` may be a node's."""
    if not name:
        raise InvalidNameError("node", name, "node name must not be empty", 0)
    if wrong := _NOT_IN_NODE_NAME.search(name):
        message = "node name must not contain characters other than alphanumerics or '_'"
        raise InvalidNameError("node", name, message, wrong.start())
    if name[0].isdigit():
        raise InvalidNameError("node", name, "node name must not start with a number", 0)
    if len(name) > MAX_NODE_NAME:
        message = f"node name length should not exceed '{MAX_NODE_NAME}'"
        raise InvalidNameError("node", name, message, MAX_NODE_NAME - 1)


def check_namespace(namespace: str) -> None:
    """Raises InvalidNameError unless `namespace` may be a node's: "/" or a full name such as "/robot/arm"."""
    if namespace == "/":
        return
    _check_full("namespace", "namespace", namespace)
    if len(namespace) > MAX_NAMESPACE:
        message = f"namespace should not exceed '{MAX_NAMESPACE}'"
        raise InvalidNameError("namespace", namespace, message, MAX_NAMESPACE - 1)


def check_full_name(name: str, *, is_service: bool = False) -> None:
    """Raises InvalidNameError unless `name` is a fully qualified topic or service name, such as "/robot/camera"."""
    kind = "service" if is_service else "topic"
    _check_full(kind, f"{kind} name", name)
    if len(name) > MAX_TOPIC_NAME:
        message = f"{kind} length should not exceed '{MAX_TOPIC_NAME}'"
        raise InvalidNameError(kind, name, message, MAX_TOPIC_NAME - 1)


def _check_full(kind: str, what: str, name: str) -> None:
    def refuse(message: str, index: int) -> NoReturn:
        raise InvalidNameError(kind, name, f"{what} must {message}", index)

    if not name:
        refuse("not be empty", 0)
    if not name.startswith("/"):
        refuse("be absolute, it must lead with a '/'", 0)
    if name.endswith("/"):
        refuse("not end with a '/'" + (", unless only a '/'" if kind == "namespace" else ""), len(name) - 1)
    if wrong := _NOT_IN_FULL_NAME.search(name):
        refuse("not contain characters other than alphanumerics, '_', or '/'", wrong.start())
    repeated, digit = name.find("//"), _DIGIT_AFTER_SLASH.search(name)
    if repeated >= 0 and (digit is None or repeated < digit.start()):
        refuse("not contain repeated '/'", repeated + 1)
    if digit:
        refuse("not have a token that starts with a number", digit.start() + 1)


def check_topic_name(name: str, *, is_service: bool = False) -> None:
    """Raises InvalidNameError unless a program may write `name`: full, relative, or with "~" and substitutions."""
    kind = "service" if is_service else "topic"
    what = f"{kind} name"

    def refuse(message: str, index: int) -> NoReturn:
        raise InvalidNameError(kind, name, message, index)

    if not name:
        refuse(f"{what} must not be empty string", 0)
    if name[0] in "0123456789":
        refuse(f"{what} token must not start with a number", 0)
    if name.endswith("/"):
        refuse(f"{what} must not end with a forward slash", len(name) - 1)
    opened: int | None = None
    for index, char in enumerate(name):
        if char.isascii() and (char.isalnum() or char == "_"):
            if char.isdigit() and opened == index - 1:
                refuse("substitution name must not start with a number", index)
        elif char == "}":
            if opened is None:
                refuse(f"{what} must not have unmatched (unbalanced) curly braces '{{}}'", index)
            opened = None
        elif char == "~":
            if index:
                refuse(f"{what} must not have tilde '~' unless it is the first character", index)
        elif opened is not None:
            refuse("substitution name must not contain characters other than alphanumerics or '_'", index)
        elif char == "{":
            opened = index
        elif char != "/":
            refuse(
                f"{what} must not contain characters other than alphanumerics, '_', '~', '{{', or '}}'",
                index,
            )
    if opened is not None:
        refuse(f"{what} must not have unmatched (unbalanced) curly braces '{{}}'", opened)
    if name.startswith("~") and len(name) > 1 and name[1] != "/":
        refuse(f"{what} must not have a tilde '~' that is not followed by a forward slash '/'", 1)
    if digit := _DIGIT_AFTER_SLASH.search(name):
        refuse(f"{what} token must not start with a number", digit.start() + 1)


def expand_name(name: str, node_name: str, namespace: str, *, is_service: bool = False) -> str:
    """The full name that a node means by `name`, such as "/robot/camera/image" for "~/image".

    Raises:
        InvalidNameError: One of the three names is not allowed, a substitution is neither {node} nor {ns} nor
            {namespace}, or the full name is not allowed.
    """
    check_topic_name(name, is_service=is_service)
    check_node_name(node_name)
    check_namespace(namespace)
    prefix = namespace.rstrip("/") + "/"
    full = f"{prefix}{node_name}{name[1:]}" if name.startswith("~") else name
    known = {"node": node_name, "ns": namespace, "namespace": namespace}

    def substitute(found: re.Match[str]) -> str:
        if found[1] not in known:
            kind = "service" if is_service else "topic"
            raise InvalidNameError(kind, name, f"unknown substitution: {found[0]}", name.find(found[0]))
        return known[found[1]]

    full = _SUBSTITUTION.sub(substitute, full)
    if not full.startswith("/"):
        full = prefix + full
    check_full_name(full, is_service=is_service)
    return full

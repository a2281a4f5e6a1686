"""The names that a node has and uses: remapping and expansion."""

from __future__ import annotations

from rclpy._arguments import Arguments
from rclpy._validation import name_exception, translated
from rclpy_zenoh.wire import InvalidNameError, check_namespace, check_node_name, expand_name


class NodeNames:
    """Name and namespace of a node after remapping, and the names of its topics and services.

    Args:
        name: The name the program gives; rules of `arguments` may replace it.
        namespace: The namespace the program gives; "" is "/", and a leading slash may be left out.
        arguments: The node's own arguments, then those of the process; the first rule that fits counts.

    Raises:
        InvalidNodeNameException: The name is not allowed.
        InvalidNamespaceException: The namespace is not allowed.
    """

    def __init__(self, name: str, namespace: str, arguments: list[Arguments]) -> None:
        namespace = namespace if namespace.startswith("/") else f"/{namespace}"
        with translated():
            check_node_name(name)
            check_namespace(namespace)
        rules = [rule for given in arguments for rule in given.remaps if rule.node is None or rule.node == name]
        self.name = next((rule.target for rule in rules if rule.kind == "name"), name)
        self.namespace = next((rule.target for rule in rules if rule.kind == "namespace"), namespace)
        # Rules for one node name the node as it is called after remapping.
        self._rules = [
            rule
            for given in arguments
            for rule in given.remaps
            if rule.kind not in ("name", "namespace") and (rule.node is None or rule.node == self.name)
        ]

    @property
    def full_name(self) -> str:
        """Namespace and name, such as "/robot/camera"."""
        return f"{self.namespace.rstrip('/')}/{self.name}"

    @property
    def logger_name(self) -> str:
        """The full name with dots, such as "robot.camera"."""
        return self.full_name.strip("/").replace("/", ".")

    def expand(self, name: str, *, is_service: bool = False) -> str:
        """The full name of a topic or service; ValueError if it is not allowed."""
        return expand_name(name, self.name, self.namespace, is_service=is_service)

    def resolve(self, name: str, *, is_service: bool = False, only_expand: bool = False) -> str:
        """The full name of a topic or service after remapping; ValueError if it is not allowed."""
        full = self.expand(name, is_service=is_service)
        if only_expand:
            return full
        kind = "service" if is_service else "topic"
        for rule in self._rules:
            if rule.kind in (kind, "any") and self.expand(rule.source, is_service=is_service) == full:
                return self.expand(rule.target, is_service=is_service)
        return full

    def resolve_new(self, name: str, *, is_service: bool = False) -> str:
        """What `resolve` returns, for an end that is made.

        Raises:
            InvalidTopicNameException: The name is not allowed.
            InvalidServiceNameException: The name is not allowed.
            ValueError: It has an unknown substitution.
        """
        try:
            return self.resolve(name, is_service=is_service)
        except InvalidNameError as error:
            if error.message.startswith("unknown substitution"):
                raise
            raise name_exception(error) from None

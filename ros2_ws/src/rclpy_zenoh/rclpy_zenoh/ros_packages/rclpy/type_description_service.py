"""The service through which other nodes, and recorders, learn what the types are made of that a node uses."""

from __future__ import annotations

import re
import weakref
from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from type_description_interfaces.msg import (
    Field,
    FieldType,
    IndividualTypeDescription,
    TypeDescription,
    TypeSource,
)
from type_description_interfaces.srv import GetTypeDescription

from rclpy_zenoh.interfaces import registry
from rclpy_zenoh.interfaces.type_hash import PLACEHOLDER, describe_type, with_referenced

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy_zenoh.interfaces.definitions import MessageDefinition

START_TYPE_DESCRIPTION_SERVICE_PARAM = "start_type_description_service"

_HASH = re.compile(r"RIHS01_[0-9a-f]{64}")
_FEEDBACK = "_FeedbackMessage"
"""What the type of an action's feedback topic is called after the action."""


class TypeDescriptionService:
    """Offers `<node>/get_type_description`, unless the node's parameter start_type_description_service is false."""

    def __init__(self, node: Node) -> None:
        self._node_weak_ref = weakref.ref(node)  # the node's services hold the callback, and so this object
        name = START_TYPE_DESCRIPTION_SERVICE_PARAM
        if not node.has_parameter(name):
            descriptor = ParameterDescriptor(
                name=name,
                type=ParameterType.PARAMETER_BOOL,
                description="If enabled, start the ~/get_type_description service.",
                read_only=True,
            )
            node.declare_parameter(name, True, descriptor)
        if node.get_parameter(name).value:
            node.create_service(GetTypeDescription, f"{node.get_name()}/get_type_description", self._answer)

    def _answer(self, request: Any, response: Any) -> Any:
        if not _HASH.fullmatch(request.type_hash):
            response.failure_reason = "Failed to parse type hash"
            return response
        name = self._types().get(request.type_hash)
        if name is None:
            response.failure_reason = "Type not currently in use by this node"
            return response
        definitions = with_referenced(name, registry().definition)
        own, *others = [_description(definition) for definition in definitions]
        response.type_description = TypeDescription(type_description=own, referenced_type_descriptions=others)
        if request.include_type_sources:
            response.type_sources = [_source(definition.name) for definition in definitions]
        response.successful = True
        return response

    def _types(self) -> dict[str, str]:
        """Hash and name of the types of the node's endpoints, and of its actions."""
        node = self._node_weak_ref()
        if node is None:
            raise ReferenceError("Expected valid node weak reference")
        types = node._wire.types()
        actions = [name.removesuffix(_FEEDBACK) for name in types.values() if name.endswith(_FEEDBACK)]
        return types | {registry().type_hash(action): action for action in actions}


def _description(definition: MessageDefinition) -> Any:
    fields = [
        Field(
            name=field.name,
            type=FieldType(**describe_type(field.type)),
            default_value="" if field.default is None else str(field.default),
        )
        for field in definition.fields or (PLACEHOLDER,)
    ]
    return IndividualTypeDescription(type_name=definition.name, fields=fields)


def _source(name: str) -> Any:
    """The text that defines a type; what rosidl has derived from another type has none of its own."""
    if not registry().has(name):
        return TypeSource(type_name=name, encoding="implicit")
    text = registry().path(name).read_text(encoding="utf-8")
    return TypeSource(type_name=name, encoding=name.split("/")[1], raw_file_contents="\n".join(text.splitlines()))

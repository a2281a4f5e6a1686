"""The six services through which other nodes read and set the parameters of a node."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from rcl_interfaces.msg import ListParametersResult, SetParametersResult
from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)

from rclpy.exceptions import ParameterNotDeclaredException, ParameterUninitializedException
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_parameters

if TYPE_CHECKING:
    from rclpy.node import Node


class ParameterService:
    """Offers `<node>/get_parameters` and the other services; a question for an unknown name has an empty answer."""

    def __init__(self, node: Node) -> None:
        self._node_weak_ref = weakref.ref(node)  # the node's services hold the callbacks, and so this object
        for service_type, name, callback in (
            (DescribeParameters, "describe_parameters", self._describe_parameters),
            (GetParameters, "get_parameters", self._get_parameters),
            (GetParameterTypes, "get_parameter_types", self._get_parameter_types),
            (ListParameters, "list_parameters", self._list_parameters),
            (SetParameters, "set_parameters", self._set_parameters),
            (SetParametersAtomically, "set_parameters_atomically", self._set_parameters_atomically),
        ):
            node.create_service(service_type, f"{node.get_name()}/{name}", callback, qos_profile=qos_profile_parameters)

    def _node(self) -> Node:
        node = self._node_weak_ref()
        if node is None:
            raise ReferenceError("Expected valid node weak reference")
        return node

    def _describe_parameters(
        self, request: DescribeParameters.Request, response: DescribeParameters.Response
    ) -> DescribeParameters.Response:
        try:
            response.descriptors = self._node().describe_parameters(request.names)
        except ParameterNotDeclaredException:
            response.descriptors = []
        return response

    def _get_parameters(
        self, request: GetParameters.Request, response: GetParameters.Response
    ) -> GetParameters.Response:
        try:
            response.values = [p.get_parameter_value() for p in self._node().get_parameters(request.names)]
        except (ParameterNotDeclaredException, ParameterUninitializedException):
            response.values = []
        return response

    def _get_parameter_types(
        self, request: GetParameterTypes.Request, response: GetParameterTypes.Response
    ) -> GetParameterTypes.Response:
        try:
            types = self._node().get_parameter_types(request.names)
        except ParameterNotDeclaredException:
            types = []
        response.types = [type_.value if isinstance(type_, Parameter.Type) else type_ for type_ in types]
        return response

    def _list_parameters(
        self, request: ListParameters.Request, response: ListParameters.Response
    ) -> ListParameters.Response:
        try:
            response.result = self._node().list_parameters(request.prefixes, request.depth)
        except (TypeError, ValueError):
            response.result = ListParametersResult()
        return response

    def _set_parameters(
        self, request: SetParameters.Request, response: SetParameters.Response
    ) -> SetParameters.Response:
        response.results = [self._try_to_set([message]) for message in request.parameters]
        return response

    def _set_parameters_atomically(
        self, request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
    ) -> SetParametersAtomically.Response:
        response.result = self._try_to_set(request.parameters)
        return response

    def _try_to_set(self, messages: list[ParameterMsg]) -> SetParametersResult:
        try:
            parameters = [Parameter.from_parameter_msg(message) for message in messages]
        except ValueError as error:  # a type that is none; rclpy lets it end the node
            return SetParametersResult(successful=False, reason=f"{error}.")
        try:
            return self._node().set_parameters_atomically(parameters)
        except ParameterNotDeclaredException as error:
            return SetParametersResult(successful=False, reason=str(error))

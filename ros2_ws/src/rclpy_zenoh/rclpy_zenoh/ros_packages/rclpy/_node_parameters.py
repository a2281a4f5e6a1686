"""The parameter methods of a node."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import (
    ListParametersResult,
    ParameterDescriptor,
    ParameterEvent,
    ParameterType,
    ParameterValue,
    SetParametersResult,
)
from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.srv import ListParameters

from rclpy._parameter_rules import WRONG_TYPE, refusal
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterAlreadyDeclaredException,
    ParameterImmutableException,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
)
from rclpy.parameter import PARAMETER_SEPARATOR_STRING, AllowableParameterValue, Parameter
from rclpy.qos import qos_profile_parameter_events
from rclpy.validate_parameter_name import validate_parameter_name

PreSetCallback = Callable[[list[Parameter]], list[Parameter]]
OnSetCallback = Callable[[list[Parameter]], SetParametersResult]
PostSetCallback = Callable[[list[Parameter]], None]

_EMPTY_LIST = (
    "parameter list cannot be empty, this might be due to pre_set_parameters_callback modifying the original "
    "parameters list."
)
_NAME_ONLY = (
    "when declaring parameter named '{}', declaring a parameter only providing its name is deprecated. You have to "
    'either:\n\t- Pass a name and a default value different to "PARAMETER NOT SET" (and optionally a descriptor).\n'
    "\t- Pass a name and a parameter type.\n\t- Pass a name and a descriptor with `dynamic_typing=True"
)


class NodeParameters:
    """The parameters of a node; `rclpy.node.Node` inherits it.

    Names of nested parameters are joined by dots: "arm.speed". Callbacks run in the order: pre-set (may change the
    list), on-set (may refuse it), post-set. Declaring calls the last two.
    """

    if TYPE_CHECKING:  # what the node gives

        def create_publisher(self, *args: Any, **kwargs: Any) -> Any: ...
        def get_clock(self) -> Any: ...
        def get_fully_qualified_name(self) -> str: ...

    def _init_parameters(
        self,
        *,
        overrides: Iterable[Parameter] | None,
        allow_undeclared: bool,
        automatically_declare: bool,
        cli_overrides: Mapping[str, AllowableParameterValue],
    ) -> None:
        """Set up the parameters; the node's clock must exist, and publishers can be made.

        Args:
            overrides: Values that come before those of the command line, which come before declared defaults.
            allow_undeclared: Parameters may be set without being declared.
            automatically_declare: Declare a parameter for each override.
            cli_overrides: Values of the command line and its files by name.
        """
        self._parameters: dict[str, Parameter] = {}
        self._descriptors: dict[str, ParameterDescriptor] = {}
        self._allow_undeclared_parameters = allow_undeclared
        self._pre_set_parameters_callbacks: list[PreSetCallback] = []
        self._on_set_parameters_callbacks: list[OnSetCallback] = []
        self._post_set_parameters_callbacks: list[PostSetCallback] = []
        self._parameter_event_publisher = self.create_publisher(
            ParameterEvent, "/parameter_events", qos_profile_parameter_events
        )
        self._parameter_overrides = {name: Parameter(name, value=value) for name, value in cli_overrides.items()}
        self._parameter_overrides.update({parameter.name: parameter for parameter in overrides or ()})
        if automatically_declare:
            self.declare_parameters(
                "",
                [(name, p.value, ParameterDescriptor()) for name, p in self._parameter_overrides.items()],
                ignore_override=True,
            )

    # Declaring

    def declare_parameter(
        self,
        name: str,
        value: AllowableParameterValue | Parameter.Type | ParameterValue = None,
        descriptor: ParameterDescriptor | None = None,
        ignore_override: bool = False,
    ) -> Parameter:
        """Declare a parameter and return it with its value, which is the override where there is one.

        Args:
            name: Name of the parameter.
            value: Default value, or its type where it has no default.
            descriptor: Ranges, read-only, dynamic typing; its name and type are ignored.
            ignore_override: Take the default in any case.

        Raises:
            ParameterAlreadyDeclaredException: If the name is declared.
            InvalidParameterException: If the name is empty.
            InvalidParameterValueException: If the descriptor or a callback refuses the value.
            InvalidParameterTypeException: If an override has another type than the default.
        """
        if value is None and descriptor is None:
            return self.declare_parameters("", [(name,)], ignore_override)[0]
        return self.declare_parameters("", [(name, value, descriptor or ParameterDescriptor())], ignore_override)[0]

    def declare_parameters(
        self, namespace: str, parameters: Sequence[tuple[Any, ...]], ignore_override: bool = False
    ) -> list[Parameter]:
        """Declare parameters given as (name,), (name, value or type) or (name, value or type, descriptor).

        Names get the namespace and a dot in front, if it is not empty. Parameters are declared one after the other:
        those before one that is refused stay declared. For the rest see `declare_parameter`.

        Raises:
            TypeError: If a tuple has another form.
        """
        declared = [self._declaration(namespace, i, entry, ignore_override) for i, entry in enumerate(parameters)]
        if known := [parameter.name for parameter, _ in declared if self.has_parameter(parameter.name)]:
            raise ParameterAlreadyDeclaredException(known)
        for parameter, descriptor in declared:
            result = self._set([parameter], {parameter.name: descriptor}, keep_not_set=True)
            if not result.successful:
                if result.reason.startswith(WRONG_TYPE):
                    raise InvalidParameterTypeException(parameter, Parameter.Type(descriptor.type).name)
                raise InvalidParameterValueException(parameter.name, parameter.value, result.reason)
        return [self._parameters[parameter.name] for parameter, _ in declared]

    def _declaration(
        self, namespace: str, index: int, entry: tuple[Any, ...], ignore_override: bool
    ) -> tuple[Parameter, ParameterDescriptor]:
        """The parameter and descriptor that one tuple declares."""
        if not 1 <= len(entry) <= 3:
            raise TypeError(
                f"Invalid parameter tuple length at index {index} in parameters list: {entry}; "
                "expecting length between 1 and 3"
            )
        name, value, descriptor = (*entry, None, None)[:3]
        if not isinstance(name, str):
            raise TypeError(f"First element {name} at index {index} in parameters list is not a str.")
        if len(entry) < 3:
            descriptor = ParameterDescriptor()
        if not isinstance(descriptor, ParameterDescriptor):
            raise TypeError(
                f"Third element {descriptor} at index {index} in parameters list is not a ParameterDescriptor."
            )
        name = f"{namespace}.{name}" if namespace else name
        validate_parameter_name(name)
        descriptor = copy.deepcopy(descriptor)
        if len(entry) == 1:
            warnings.warn(_NAME_ONLY.format(name), stacklevel=4)
            descriptor.dynamic_typing = True
        if isinstance(value, Parameter.Type):
            if value is Parameter.Type.NOT_SET:
                raise ValueError(f"Cannot declare parameter {{{name}}} as statically typed of type NOT_SET")
            if descriptor.dynamic_typing:
                raise ValueError(
                    f"When declaring parameter {{{name}}} passing a descriptor with `dynamic_typing=True` is not "
                    "allowed when the parameter type is provided"
                )
            descriptor.type, value = value.value, None
        else:
            if isinstance(value, ParameterValue):
                value = Parameter.from_parameter_msg(ParameterMsg(name=name, value=value)).value
            if not descriptor.dynamic_typing:
                descriptor.type = Parameter.Type.from_parameter_value(value).value
                if descriptor.type == ParameterType.PARAMETER_NOT_SET:
                    raise ValueError(
                        "Cannot declare a statically typed parameter with default value of type PARAMETER_NOT_SET"
                    )
        if not ignore_override and name in self._parameter_overrides:
            override = self._parameter_overrides[name]
            return Parameter(name, override.type_, override.value), descriptor
        return Parameter(name, value=value), descriptor

    def undeclare_parameter(self, name: str) -> None:
        """Remove a declared parameter; no callback is called.

        Raises:
            ParameterNotDeclaredException: If it is not declared.
            ParameterImmutableException: If it is read-only.
        """
        if not self.has_parameter(name):
            raise ParameterNotDeclaredException(name)
        if self._descriptors[name].read_only:
            raise ParameterImmutableException(name)
        del self._parameters[name], self._descriptors[name]

    # Reading

    def has_parameter(self, name: str) -> bool:
        """True where the parameter is declared, or has been set."""
        return name in self._parameters

    def get_parameter(self, name: str) -> Parameter:
        """The parameter; one that is NOT_SET where it is undeclared and undeclared ones are allowed.

        Raises:
            ParameterNotDeclaredException: If it is not declared.
            ParameterUninitializedException: If it was declared with a type only and has no value yet.
        """
        parameter = self._parameters.get(name)
        if parameter is None:
            if self._allow_undeclared_parameters:
                return Parameter(name, Parameter.Type.NOT_SET)
            raise ParameterNotDeclaredException(name)
        if parameter.type_ is Parameter.Type.NOT_SET and not self._descriptors[name].dynamic_typing:
            raise ParameterUninitializedException(name)
        return parameter

    def get_parameters(self, names: Sequence[str]) -> list[Parameter]:
        """Several parameters; see `get_parameter`."""
        _require_names(names)
        return [self.get_parameter(name) for name in names]

    def get_parameter_or(self, name: str, alternative_value: Parameter | None = None) -> Parameter:
        """The parameter, or the alternative where it is undeclared or has no value; by default one that is NOT_SET."""
        parameter = self._parameters.get(name)
        if parameter is None or parameter.type_ is Parameter.Type.NOT_SET:
            return Parameter(name, Parameter.Type.NOT_SET) if alternative_value is None else alternative_value
        return parameter

    def get_parameter_type(self, name: str) -> int | Parameter.Type:
        """The number of the type of a parameter; `Type.NOT_SET` where it is undeclared and that is allowed.

        Raises:
            ParameterNotDeclaredException: If it is not declared.
        """
        if self.has_parameter(name):
            number: int = self._parameters[name].type_.value
            return number
        if self._allow_undeclared_parameters:
            return Parameter.Type.NOT_SET
        raise ParameterNotDeclaredException(name)

    def get_parameter_types(self, names: Sequence[str]) -> list[int | Parameter.Type]:
        """The numbers of several types; see `get_parameter_type`."""
        _require_names(names)
        return [self.get_parameter_type(name) for name in names]

    def get_parameters_by_prefix(self, prefix: str) -> dict[str, Parameter]:
        """Parameters below a prefix, keyed by what follows the prefix and its dot; all where it is ""."""
        start = prefix + PARAMETER_SEPARATOR_STRING if prefix else ""
        return {name.removeprefix(start): p for name, p in self._parameters.items() if name.startswith(start)}

    def list_parameters(self, prefixes: list[str], depth: int) -> ListParametersResult:
        """Names of parameters below the prefixes, and the prefixes of these names.

        Args:
            prefixes: Prefixes to list; all parameters if empty.
            depth: Levels of names below a prefix; 0 for all.

        Raises:
            TypeError: If an argument has another type.
            ValueError: If the depth is negative.
        """
        if not isinstance(prefixes, list):
            raise TypeError("The prefixes argument must be a list")
        if not all(isinstance(prefix, str) for prefix in prefixes):
            raise TypeError("All prefixes must be instances of type str")
        if not isinstance(depth, int):
            raise TypeError("The depth must be instance of type int")
        if depth < 0:
            raise ValueError("The depth must be greater than or equal to zero")

        def shallow(rest: str) -> bool:
            return depth == ListParameters.Request.DEPTH_RECURSIVE or rest.count(PARAMETER_SEPARATOR_STRING) < depth

        def wanted(name: str) -> bool:
            if not prefixes:
                return shallow(name)
            starts = (prefix + PARAMETER_SEPARATOR_STRING for prefix in prefixes)
            return name in prefixes or any(s for s in starts if name.startswith(s) and shallow(name.removeprefix(s)))

        names = [name for name in self._parameters if wanted(name)]
        found = [name.rpartition(PARAMETER_SEPARATOR_STRING)[0] for name in names]
        return ListParametersResult(names=names, prefixes=[*dict.fromkeys(prefix for prefix in found if prefix)])

    # Setting

    def set_parameters(self, parameter_list: list[Parameter]) -> list[SetParametersResult]:
        """Set parameters one after the other and return a result for each.

        A NOT_SET parameter undeclares the one of its name, if that is dynamically typed. Refusals of descriptors and
        callbacks are in the results; each success is published to /parameter_events.

        Raises:
            ParameterNotDeclaredException: If one is not declared; those before it stay set.
        """
        return [self.set_parameters_atomically([parameter]) for parameter in parameter_list]

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """Set all of the parameters or none; see `set_parameters`.

        Raises:
            ParameterNotDeclaredException: If one is not declared; then none is set.
        """
        if self._pre_set_parameters_callbacks:
            parameter_list = [p for callback in self._pre_set_parameters_callbacks for p in callback(parameter_list)]
            if not parameter_list:
                return SetParametersResult(successful=False, reason=_EMPTY_LIST)
        if not all(isinstance(parameter, Parameter) for parameter in parameter_list):
            raise TypeError(f"parameter must be instance of type '{Parameter!r}'")
        undeclared = [parameter.name for parameter in parameter_list if not self.has_parameter(parameter.name)]
        if undeclared and not self._allow_undeclared_parameters:
            raise ParameterNotDeclaredException(undeclared)
        return self._set(parameter_list)

    def _set(
        self,
        parameters: list[Parameter],
        descriptors: Mapping[str, ParameterDescriptor] | None = None,
        *,
        keep_not_set: bool = False,
    ) -> SetParametersResult:
        """Check, set and publish; with `descriptors` the parameters are declared, otherwise theirs must allow it."""
        for parameter in parameters:
            descriptor = (self._descriptors if descriptors is None else descriptors).get(parameter.name)
            if descriptor is None:
                continue
            if descriptors is None and descriptor.read_only:
                reason = f"Trying to set a read-only parameter: {parameter.name}."
            else:
                reason = refusal(parameter, descriptor, declared=self.has_parameter(parameter.name))
            if reason:
                return SetParametersResult(successful=False, reason=reason)
        for callback in self._on_set_parameters_callbacks:
            result = callback(parameters)
            if not result.successful:
                return result

        event = ParameterEvent(node=self.get_fully_qualified_name())
        messages = [parameter.to_parameter_msg() for parameter in parameters]  # before anything changes: it may raise
        for parameter, message in zip(parameters, messages, strict=True):
            name = parameter.name
            if parameter.type_ is Parameter.Type.NOT_SET and not keep_not_set:
                event.deleted_parameters.append(message)
                self._parameters.pop(name, None)
                self._descriptors.pop(name, None)
                continue
            new = self.get_parameter_or(name).type_ is Parameter.Type.NOT_SET
            (event.new_parameters if new else event.changed_parameters).append(message)
            if descriptors is not None:
                self._descriptors[name] = descriptors[name]
            descriptor = self._descriptors.setdefault(name, ParameterDescriptor(dynamic_typing=True))
            _describe(descriptor, parameter)
            self._parameters[name] = parameter
        event.stamp = self.get_clock().now().to_msg()
        self._parameter_event_publisher.publish(event)
        for post_callback in self._post_set_parameters_callbacks:
            post_callback(parameters)
        return SetParametersResult(successful=True)

    # Callbacks

    def add_pre_set_parameters_callback(self, callback: PreSetCallback) -> None:
        """Call `callback` with the list before it is checked; it returns the list to set instead."""
        self._pre_set_parameters_callbacks.insert(0, callback)

    def add_on_set_parameters_callback(self, callback: OnSetCallback) -> None:
        """Call `callback` with a list that is about to be set; it returns a SetParametersResult that may refuse it."""
        self._on_set_parameters_callbacks.insert(0, callback)

    def add_post_set_parameters_callback(self, callback: PostSetCallback) -> None:
        """Call `callback` with each list after it was set."""
        self._post_set_parameters_callbacks.insert(0, callback)

    def remove_pre_set_parameters_callback(self, callback: PreSetCallback) -> None:
        """Undo `add_pre_set_parameters_callback`; ValueError where it was not added."""
        self._pre_set_parameters_callbacks.remove(callback)

    def remove_on_set_parameters_callback(self, callback: OnSetCallback) -> None:
        """Undo `add_on_set_parameters_callback`; ValueError where it was not added."""
        self._on_set_parameters_callbacks.remove(callback)

    def remove_post_set_parameters_callback(self, callback: PostSetCallback) -> None:
        """Undo `add_post_set_parameters_callback`; ValueError where it was not added."""
        self._post_set_parameters_callbacks.remove(callback)

    # Descriptors

    def describe_parameter(self, name: str) -> ParameterDescriptor:
        """The descriptor of a parameter; an empty one where it is undeclared and that is allowed.

        Raises:
            ParameterNotDeclaredException: If it is not declared.
        """
        if name in self._descriptors:
            return self._descriptors[name]
        if self._allow_undeclared_parameters:
            return ParameterDescriptor()
        raise ParameterNotDeclaredException(name)

    def describe_parameters(self, names: Sequence[str]) -> list[ParameterDescriptor]:
        """Several descriptors; see `describe_parameter`."""
        return [self.describe_parameter(name) for name in names]

    def set_descriptor(
        self, name: str, descriptor: ParameterDescriptor, alternative_value: ParameterValue | None = None
    ) -> ParameterValue:
        """Replace a descriptor and return the value, which is the alternative where the present one is refused.

        Raises:
            ParameterNotDeclaredException: If it is not declared.
            ParameterImmutableException: If it is read-only.
            InvalidParameterValueException: If the descriptor refuses both values.
        """
        if not self.has_parameter(name):
            return self.get_parameter(name).get_parameter_value()
        if self._descriptors[name].read_only:
            raise ParameterImmutableException(name)
        parameter = self.get_parameter(name)
        descriptor = copy.deepcopy(descriptor)
        if reason := refusal(parameter, descriptor, declared=True):
            if alternative_value is not None:
                parameter = Parameter.from_parameter_msg(ParameterMsg(name=name, value=alternative_value))
                reason = refusal(parameter, descriptor, declared=True)
            if reason:
                raise InvalidParameterValueException(name, parameter.value, reason)
        _describe(descriptor, parameter)
        self._parameters[name], self._descriptors[name] = parameter, descriptor
        return parameter.get_parameter_value()


def _describe(descriptor: ParameterDescriptor, parameter: Parameter) -> None:
    """Note the parameter's name and, where its type may change, its type in the descriptor."""
    descriptor.name = parameter.name
    if descriptor.dynamic_typing:
        descriptor.type = parameter.type_.value


def _require_names(names: Sequence[str]) -> None:
    if not all(isinstance(name, str) for name in names):
        raise TypeError("All names must be instances of type str")

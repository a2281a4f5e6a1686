"""From a launch file to the list of processes that it asks for; nothing is started here.

Entities are carried out in the order of the file, as in ROS 2: `arg` gives a variable its default, `let` sets one, a
`group` keeps variables, environment and namespace to itself, an `include` does not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rclpy_zenoh.launch.entities import Entity, load
from rclpy_zenoh.launch.errors import LaunchError
from rclpy_zenoh.launch.packages import executable
from rclpy_zenoh.launch.substitutions import Scope, expand, expand_words, truth
from rclpy_zenoh.wire import InvalidNameError, check_namespace, check_node_name

OUTPUTS = ("screen", "log", "both")
SIGTERM_TIMEOUT_S = SIGKILL_TIMEOUT_S = 5.0
_MAX_DEPTH = 16
_KINDS: Mapping[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float, "bool": truth}


@dataclass(frozen=True)
class ProcessPlan:
    """One process to start.

    Attributes:
        label: Unique name, in front of each of its lines.
        command: Program and arguments.
        environment: Its whole environment, but for what the launcher adds.
        node: Fully qualified name of its node, None where the file does not name it.
        cwd: Folder that it starts in, None for the launcher's.
        python_path: Folders in which Python must find modules.
        forkable: The command is `python -P -m rclpy_zenoh.run MODULE ...`, which a fork server can stand in for.
        screen: True to show its lines.
        respawn_delay_s: Started again so long after its end [s]; None to let it be.
        shutdown_on_exit: Its end is the end of the whole graph.
        sigterm_timeout_s, sigkill_timeout_s: Patience after SIGINT and after SIGTERM [s].
    """

    label: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    node: str | None = None
    cwd: str | None = None
    python_path: tuple[str, ...] = ()
    forkable: bool = False
    screen: bool = False
    respawn_delay_s: float | None = None
    shutdown_on_exit: bool = False
    sigterm_timeout_s: float = SIGTERM_TIMEOUT_S
    sigkill_timeout_s: float = SIGKILL_TIMEOUT_S


@dataclass(frozen=True)
class Argument:
    """An argument that the file declares; without a default it must be given."""

    name: str
    default: str | None
    description: str
    choices: tuple[str, ...] = ()


@dataclass
class Plan:
    """What a launch file asks for: processes in the order of the file, declared arguments, messages to show."""

    processes: list[ProcessPlan] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


def read_plan(file: Path, arguments: Mapping[str, str]) -> Plan:
    """Carry out a launch file up to, but without, the starting of processes.

    Args:
        file: The launch file.
        arguments: Values of its arguments.

    Raises:
        LaunchError: The file is wrong, or the arguments are not what it declares.
    """
    file = file.absolute()
    reader = _Reader()
    scope = Scope(file, dict(arguments), dict(os.environ))
    reader.run_file(file, scope)
    declared = [argument.name for argument in reader.plan.arguments]
    if unknown := [name for name in arguments if name not in declared]:
        known = ", ".join(dict.fromkeys(declared)) or "none"
        raise LaunchError(f"{file.name} has no argument '{unknown[0]}'; it has: {known}.")
    return reader.plan


def declared_arguments(file: Path) -> list[Argument]:
    """The arguments of a launch file, without those of files that it includes. Raises LaunchError."""
    reader = _Reader()
    scope = Scope(file.absolute(), environment=dict(os.environ))
    for entity in load(file).children():
        if entity.kind == "arg":
            reader.declare(entity, scope, must_be_given=False)
    return reader.plan.arguments


@contextmanager
def _at(entity: Entity) -> Iterator[None]:
    """Errors of substitutions and names say where."""
    try:
        yield
    except LaunchError as error:
        message = str(error)
        raise (error if message.endswith(".") else entity.error(message)) from None
    except InvalidNameError as error:
        raise entity.error(str(error).rstrip(".")) from None


class _Reader:
    def __init__(self) -> None:
        self.plan = Plan()
        self._depth = 0
        self._actions: dict[str, Callable[[Entity, Scope], None]] = {
            "arg": self.declare,
            "let": self._let,
            "set_env": self._set_env,
            "unset_env": self._unset_env,
            "push_ros_namespace": self._push_namespace,
            "log": self._log,
            "group": self._group,
            "include": self._include,
            "node": self._node,
            "executable": self._executable,
        }

    def run_file(self, file: Path, scope: Scope) -> None:
        """Carry out a file in a scope, which keeps what it sets."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise LaunchError(f"{file.name} includes itself, or {_MAX_DEPTH} files one in another.")
        outer, scope.file = scope.file, file
        self._run(load(file), scope)
        scope.file = outer
        self._depth -= 1

    def _run(self, parent: Entity, scope: Scope) -> None:
        for entity in parent.children():
            action = self._actions.get(entity.kind)
            if action is None:
                raise entity.error(f"no such entity; offered: {', '.join(sorted(self._actions))}")
            with _at(entity):
                if self._wanted(entity, scope):
                    action(entity, scope)
                    entity.finish()

    def _wanted(self, entity: Entity, scope: Scope) -> bool:
        condition, opposite = entity.optional_text("if"), entity.optional_text("unless")
        if condition is not None and opposite is not None:
            raise entity.error("'if' and 'unless' exclude each other")
        if condition is not None:
            return truth(expand(condition, scope))
        return opposite is None or not truth(expand(opposite, scope))

    # -- variables and environment -------------------------------------------------------------------

    def declare(self, entity: Entity, scope: Scope, must_be_given: bool = True) -> None:
        """Carry out an `arg`."""
        name, default = entity.text("name"), entity.optional_text("default")
        choices = tuple(choice.text("value") for choice in entity.entries("choice"))
        self.plan.arguments.append(Argument(name, default, entity.optional_text("description") or "", choices))
        if name not in scope.variables:
            if default is not None:
                scope.variables[name] = expand(default, scope)
            elif must_be_given:
                raise entity.error(f"'{name}' has no default, so give it as {name}:=VALUE")
        if choices and name in scope.variables and scope.variables[name] not in choices:
            raise entity.error(f"'{name}' must be one of {', '.join(choices)}, not '{scope.variables[name]}'")

    def _let(self, entity: Entity, scope: Scope) -> None:
        scope.variables[expand(entity.text("name"), scope)] = expand(entity.text("value"), scope)

    def _set_env(self, entity: Entity, scope: Scope) -> None:
        scope.environment[expand(entity.text("name"), scope)] = expand(entity.text("value"), scope)

    def _unset_env(self, entity: Entity, scope: Scope) -> None:
        scope.environment.pop(expand(entity.text("name"), scope), None)

    def _push_namespace(self, entity: Entity, scope: Scope) -> None:
        scope.namespace = _join(scope.namespace, expand(entity.text("namespace"), scope))

    def _log(self, entity: Entity, scope: Scope) -> None:
        self.plan.messages.append(expand(entity.text("message"), scope))

    # -- structure -----------------------------------------------------------------------------------

    def _group(self, entity: Entity, scope: Scope) -> None:
        scoped = entity.value("scoped")
        if scoped not in (None, True, False):
            raise entity.error("'scoped' must be true or false")
        if scoped is False:
            self._run(entity, scope)
        else:
            self._run(entity, Scope(scope.file, dict(scope.variables), dict(scope.environment), scope.namespace))

    def _include(self, entity: Entity, scope: Scope) -> None:
        file = Path(expand(entity.text("file"), scope))
        for given in entity.entries("arg"):
            scope.variables[expand(given.text("name"), scope)] = expand(given.text("value"), scope)
            given.finish()
        if file.suffix not in (".yaml", ".yml"):
            raise entity.error(f"only YAML launch files can be included, not '{file.name}'")
        if not file.is_file():
            raise entity.error(f"there is no file {file}")
        self.run_file(file, scope)

    # -- processes -----------------------------------------------------------------------------------

    def _node(self, entity: Entity, scope: Scope) -> None:
        package, name = expand(entity.text("pkg"), scope), expand(entity.text("exec"), scope)
        command, python_path = executable(package, name)
        node = entity.optional_text("name")
        namespace = _join(scope.namespace, expand(entity.optional_text("namespace") or "", scope))
        ros_arguments = []
        if node is not None:
            node = expand(node, scope)
            check_node_name(node)
            ros_arguments += ["-r", f"__node:={node}"]
        if namespace:
            check_namespace(namespace)
            ros_arguments += ["-r", f"__ns:={namespace}"]
        for parameter in entity.entries("param"):
            ros_arguments += self._parameter(parameter, scope)
            parameter.finish()
        for rule in entity.entries("remap"):
            ros_arguments += ["-r", f"{expand(rule.text('from'), scope)}:={expand(rule.text('to'), scope)}"]
            rule.finish()
        ros_arguments += expand_words(entity.optional_text("ros_args") or "", scope)
        arguments = expand_words(entity.optional_text("args") or "", scope)
        full = None if node is None else f"{namespace.rstrip('/')}/{node}"
        command += [*arguments, "--ros-args", *ros_arguments] if ros_arguments else arguments
        self._add(
            entity, scope, name=node or name, command=command, node=full, python_path=tuple(python_path), forkable=True
        )

    def _parameter(self, entity: Entity, scope: Scope) -> list[str]:
        source = entity.optional_text("from")
        if source is not None:
            file = Path(expand(source, scope))
            if not file.is_file():
                raise entity.error(f"there is no parameter file {file}")
            return ["--params-file", str(file)]
        name, kind = expand(entity.text("name"), scope), entity.optional_text("type")
        value: Any = entity.value("value")
        if value is None:
            raise entity.error("'value' is missing")
        if isinstance(value, str):
            expanded = expand(value, scope)
            # YAML decides the type of what a substitution gives, as in ROS 2; plain text stays text.
            if kind is None and "$(" in value:
                return ["-p", f"{name}:={expanded}"]
            value = expanded
        if kind is not None:
            value = _as_kind(entity, kind, value)
        return ["-p", f"{name}:={json.dumps(value)}"]

    def _executable(self, entity: Entity, scope: Scope) -> None:
        command = expand_words(entity.text("cmd"), scope)
        if not command:
            raise entity.error("'cmd' is empty")
        cwd = entity.optional_text("cwd")
        name = expand(entity.optional_text("name") or Path(command[0]).name, scope)
        self._add(entity, scope, name=name, command=command, cwd=None if cwd is None else expand(cwd, scope))

    def _add(
        self,
        entity: Entity,
        scope: Scope,
        *,
        name: str,
        command: list[str],
        node: str | None = None,
        cwd: str | None = None,
        python_path: tuple[str, ...] = (),
        forkable: bool = False,
    ) -> None:
        environment = dict(scope.environment)
        for variable in entity.entries("env"):
            environment[expand(variable.text("name"), scope)] = expand(variable.text("value"), scope)
            variable.finish()
        output = expand(entity.optional_text("output") or "log", scope)
        if output not in OUTPUTS:
            raise entity.error(f"'output' must be one of {', '.join(OUTPUTS)}, not '{output}'")
        on_exit = entity.optional_text("on_exit")
        if on_exit not in (None, "shutdown"):
            raise entity.error(f"'on_exit' can only be shutdown, not '{on_exit}'")
        delay = entity.number("respawn_delay", 0.0)
        respawn = truth(expand(str(entity.value("respawn") or "false"), scope))
        self.plan.processes.append(
            ProcessPlan(
                label=self._label(name),
                command=tuple(command),
                environment=environment,
                node=node,
                cwd=cwd,
                python_path=python_path,
                forkable=forkable,
                screen=output != "log",
                respawn_delay_s=delay if respawn else None,
                shutdown_on_exit=on_exit is not None,
                sigterm_timeout_s=entity.number("sigterm_timeout", SIGTERM_TIMEOUT_S),
                sigkill_timeout_s=entity.number("sigkill_timeout", SIGKILL_TIMEOUT_S),
            )
        )

    def _label(self, name: str) -> str:
        """The name, with a number where an earlier process has it."""
        taken = {plan.label for plan in self.plan.processes}
        numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
        return name if name not in taken else next(label for label in numbered if label not in taken)


def _join(base: str, namespace: str) -> str:
    """An absolute namespace below another one; one that begins with / stands for itself."""
    return base if not namespace else namespace if namespace.startswith("/") else f"{base.rstrip('/')}/{namespace}"


def _as_kind(entity: Entity, kind: str, value: Any) -> Any:
    if kind not in _KINDS:
        raise entity.error(f"'type' must be one of {', '.join(_KINDS)}, not '{kind}'")
    try:
        return _KINDS[kind](str(value))
    except (ValueError, LaunchError):
        raise entity.error(f"'{value}' is no {kind}") from None

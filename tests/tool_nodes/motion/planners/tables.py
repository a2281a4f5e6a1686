"""Doubles of other makers' packages, made of tables of their signatures: what a table lacks, the double lacks.

A table says where it is from. Whoever calls what it does not have gets an AttributeError, and a TypeError for an
argument that it does not have, as from the package itself.
"""

import enum
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.gen3 import GEN3, NAMED_STATES
from toolhand.tool_nodes.motion.checked_planner import checked
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import CollisionScene, JointGoal

PARK = NAMED_STATES["Park"]
ASIDE = PARK + 0.4 * np.eye(7)[0]
FOLDER = Path(__file__).with_name("signatures")

Behaviour = Callable[..., Any]
"""What a method of a double does: it is given the object and its arguments by their names."""


def read_table(name: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return table


def bound(arguments: str, what: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> SimpleNamespace:
    """The arguments of a call by their names, as a signature such as "a, b=..." binds them."""
    signature = inspect.signature(eval(f"lambda {arguments}: None"))  # the table is ours
    try:
        call = signature.bind(*given, **named)
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from error
    call.apply_defaults()
    return SimpleNamespace(**call.arguments)


class PackageDouble:
    """The modules of a table, and what was used of them.

    Args:
        name: Name of the table.
        behaviours: What methods do, by "Class.method"; "Class.attribute" for attributes that are computed.
    """

    def __init__(self, name: str, behaviours: Mapping[str, Behaviour]) -> None:
        self.table = read_table(name)
        self.behaviours = behaviours
        self.used: set[str] = set()
        self.classes: dict[str, Any] = {}
        self.modules: dict[str, ModuleType] = {}
        for module, classes in self.table["modules"].items():
            made = self.modules.setdefault(module, ModuleType(module))
            for class_name, entry in classes.items():
                self.classes[class_name] = self._enum(class_name, entry) or self._class(class_name, entry)
                setattr(made, class_name, self.classes[class_name])
        for module in list(self.modules):  # and the packages that they are in
            parts = module.split(".")
            for count in range(1, len(parts)):
                package = self.modules.setdefault(".".join(parts[:count]), ModuleType(".".join(parts[:count])))
                package.__path__ = []
        for module in self.modules.values():
            module.__spec__ = SimpleNamespace(name=module.__name__)  # type: ignore[assignment]

    def unknown(self) -> set[str]:
        """What was used though the table does not have it."""
        entries = {name: entry for classes in self.table["modules"].values() for name, entry in classes.items()}
        parts = {used: used.partition(".") for used in self.used}
        kinds = ("methods", "static", "attributes")
        return {
            used
            for used, (name, _, key) in parts.items()
            if name not in entries or (key and not any(key in entries[name].get(kind, ()) for kind in kinds))
        }

    def without(self, class_name: str, kind: str, name: str, arguments: str | None) -> "PackageDouble":
        """The double of a table that lacks something, or has it with other arguments."""
        entry = next(classes[class_name] for classes in self.table["modules"].values() if class_name in classes)[kind]
        del entry[name]
        if arguments is not None:
            entry[name] = arguments
        return self

    def answering(self, patch: pytest.MonkeyPatch, answer: Callable[[Any], Any], *names: str) -> None:
        """From now on something happens to what methods answer."""
        behaviours: Any = self.behaviours
        for name in (name for name in names if name in behaviours):
            real = behaviours[name]
            patch.setitem(behaviours, name, lambda *given, real=real, **named: answer(real(*given, **named)))

    def make(self, class_name: str, **state: Any) -> Any:
        """An object of a class that nobody constructs, with attributes."""
        made = object.__new__(self.classes[class_name])
        made.__dict__.update(state)
        return made

    def _enum(self, name: str, entry: Mapping[str, Any]) -> Any:
        members = {key: value.strip("'") for key, value in entry.get("members", {}).items()}
        return enum.Enum(name, members) if members else None

    def _class(self, name: str, entry: Mapping[str, Any]) -> Any:
        double, said = self, f"{self.table['package']} {self.table['version']}"

        def initialise(this: Any, *given: Any, **named: Any) -> None:
            if entry["init"] is None:
                raise TypeError(f"{said}: nobody constructs {name}")
            double.used.add(name)
            arguments = bound(entry["init"], name, given, named)
            this.__dict__.update(vars(arguments))
            double.behaviours.get(f"{name}.__init__", lambda this: None)(this)

        def look_up(this: Any, key: str) -> Any:
            double.used.add(f"{name}.{key}")
            if key in entry["methods"]:
                return lambda *given, **named: double.behaviours[f"{name}.{key}"](
                    this, **vars(bound(entry["methods"][key], f"{name}.{key}", given, named))
                )
            if key in entry["attributes"] and f"{name}.{key}" in double.behaviours:
                return double.behaviours[f"{name}.{key}"](this)
            raise AttributeError(f"{said} has no {name}.{key}")

        def assign(this: Any, key: str, value: Any) -> None:
            if not key.startswith("_") and key not in entry.get("set", ()):
                raise AttributeError(f"{said} cannot set {name}.{key}")
            double.used.add(f"{name}.{key}")
            this.__dict__[key] = value

        def static(key: str) -> Any:
            def call(*given: Any, **named: Any) -> Any:
                double.used.add(f"{name}.{key}")
                arguments = bound(entry["static"][key], f"{name}.{key}", given, named)
                return double.behaviours[f"{name}.{key}"](**vars(arguments))

            return staticmethod(call)

        members: dict[str, Any] = {"__init__": initialise, "__getattr__": look_up, "__setattr__": assign}
        members |= {key: static(key) for key in entry["static"]}
        if "__deepcopy__" in entry["methods"]:
            members["__deepcopy__"] = lambda this, memo: double.behaviours[f"{name}.__deepcopy__"](this)
        if f"{name}.__bool__" in self.behaviours:
            members["__bool__"] = self.behaviours[f"{name}.__bool__"]
        return type(name, (), members)


def refusal(planner: Planner) -> ToolError:
    """The error of a plan, in one line."""
    with pytest.raises(ToolError) as caught:
        checked(planner, GEN3).plan(PARK, JointGoal(ASIDE), CollisionScene())
    assert "\n" not in caught.value.message
    return caught.value

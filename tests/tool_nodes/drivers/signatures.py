"""A double of another project's module, made of a table of its signatures: what the table lacks, the double lacks."""

import enum
import inspect
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

TABLE = json.loads(Path(__file__).with_name("pyzed_signatures.json").read_text(encoding="utf-8"))
_TYPES = {"int": int, "bool": bool, "float": float, "str": str}


def signature(arguments: str, names: dict[str, Any]) -> inspect.Signature:
    """The signature that "a, b=ENUM.MEMBER" means; `names` has the enums and classes of its defaults."""

    class Unknown:
        """A default of a type that nobody calls for here."""

        def __getattr__(self, name: str) -> Any:
            return self

        def __call__(self, *arguments: Any) -> Any:
            return self

    scope = {word: Unknown() for word in ("MODULE", "SIDE", "float", "InputType", "Resolution", "BUS_TYPE")} | names
    made: dict[str, Any] = {}
    exec(f"def call({arguments}): pass", scope, made)  # the table is ours
    return inspect.signature(made["call"])


class Recorder:
    """Attributes of the module that were used, as "Camera.grab" or "UNIT.METER"."""

    def __init__(self) -> None:
        self.used: set[str] = set()


class Double:
    """Base of a class of the table. Subclasses implement what tests need as `_METHOD(self, arguments)`."""

    NAME = ""
    ENUMS: dict[str, Any] = {}  # noqa: RUF012
    recorder = Recorder()

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        entry = TABLE["classes"][self.NAME]
        bound = signature(entry["constructor"], self.ENUMS).bind(*arguments, **keywords)
        for key, value in bound.arguments.items():
            wanted = entry["types"].get(key)
            allowed = _TYPES.get(wanted) or self.ENUMS.get(wanted)
            if isinstance(allowed, type) and not isinstance(value, allowed):
                raise TypeError("Argument is not of right type.")
        bound.apply_defaults()
        self.__dict__["given"] = SimpleNamespace(**bound.arguments)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name in ("NAME", "ENUMS", "given", "recorder", "state"):
            return super().__getattribute__(name)
        entry = TABLE["classes"][self.NAME]
        self.recorder.used.add(f"{self.NAME}.{name}")
        if name in entry["read"]:
            return super().__getattribute__(f"_{name}")
        if name not in entry["methods"]:
            raise AttributeError(f"pyzed {TABLE['version']} has no {self.NAME}.{name}")
        expected = signature(entry["methods"][name], self.ENUMS)

        def call(*arguments: Any, **keywords: Any) -> Any:
            bound = expected.bind(*arguments, **keywords)
            bound.apply_defaults()
            return super(Double, self).__getattribute__(f"_{name}")(SimpleNamespace(**bound.arguments))

        return call

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in TABLE["classes"][self.NAME]["set"]:
            raise AttributeError(f"pyzed {TABLE['version']} cannot set {self.NAME}.{name}")
        super().__setattr__(name if name.startswith("_") else f"_{name}", value)


def enums(error_codes: str = "ERROR_CODE", success: str = "SUCCESS") -> dict[str, Any]:
    """The enums of the table; warnings are below `success`, as the C++ header counts."""
    made = {}
    for name, members in TABLE["enums"].items():
        first = -members.index(success) if name == error_codes else 0
        made[name] = enum.Enum(name, {member: first + index for index, member in enumerate(members)})
    return made


def module(name: str, members: dict[str, Any]) -> ModuleType:
    """A module with these members and no others."""
    made = ModuleType(name)
    made.__dict__.update(members)
    return made

"""Hashes of types."""

from __future__ import annotations


class TypeHash:
    """The hash of a type: the version of the rule, and 32 bytes."""

    __slots__ = ("_value", "_version")

    def __init__(self, version: int = -1, value: bytes = bytes(32)) -> None:
        self.version = version
        self.value = value

    @classmethod
    def _parse(cls, text: str) -> TypeHash:
        """The hash that "RIHS01_..." says; an invalid one for anything else."""
        head, _, digits = text.partition("_")
        try:
            return cls(int(head.removeprefix("RIHS")), bytes.fromhex(digits))
        except ValueError:
            return cls()

    @property
    def version(self) -> int:
        """Version of the rule; -1 in an invalid hash."""
        return self._version

    @version.setter
    def version(self, value: int) -> None:
        assert isinstance(value, int), f"version is an int, not {value!r}"
        self._version = value

    @property
    def value(self) -> bytes:
        """The 32 bytes."""
        return self._value

    @value.setter
    def value(self, value: bytes) -> None:
        assert isinstance(value, bytes), f"value is bytes, not {value!r}"
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeHash) and (self._version, self._value) == (other._version, other._value)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __str__(self) -> str:
        valid = self._version > 0 and len(self._value) == 32
        return f"RIHS{self._version:02}_{self._value.hex()}" if valid else "INVALID"

"""What touches what in the physics, also where objects sleep."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mujoco
import numpy as np

Contacts = frozenset[tuple[str, str]]
"""Pairs that touch, each in alphabetical order: ids of objects, "table", "gripper", "arm"; one of them is an object."""


def touching(contacts: Contacts, name: str) -> frozenset[str]:
    """All that touches one object."""
    return frozenset(a if b == name else b for a, b in contacts if name in (a, b))


class ContactReader:
    """Reads the contacts of one model.

    Args:
        names: Name of the object that each body belongs to, see `Contacts`.

    Attributes:
        last: Contacts that `follow` found last, the only ones known of sleeping bodies; None to read them anew.
    """

    def __init__(self, model: mujoco.MjModel, names: Sequence[str]) -> None:
        self._names = sorted(set(names))
        by_body = np.array([self._names.index(name) for name in names])
        self._of_geom = by_body[model.geom_bodyid]
        self._of_body = by_body
        self._robot_or_table = {self._names.index(name) for name in ("arm", "gripper", "table") if name in names}
        self.last: Contacts | None = None

    def read(self, data: mujoco.MjData) -> Contacts:
        """What touches in a state where nothing sleeps."""
        pairs = {(a, b) if a < b else (b, a) for a, b in self._of_geom[data.contact.geom[: data.ncon]].tolist()}
        apart = self._robot_or_table
        return frozenset((self._names[a], self._names[b]) for a, b in pairs if not (a in apart and b in apart))

    def pressed(self, model: mujoco.MjModel, data: mujoco.MjData, name: str) -> dict[str, float]:
        """Force with which each other object presses down on one, negative where it holds it up [N].

        Args:
            data: A state where nothing sleeps, with its contact forces.
            name: Id of the object that is pressed on.
        """
        here, force = self._names.index(name), np.zeros(6)
        found: dict[str, float] = {}
        for contact, (first, second) in enumerate(self._of_geom[data.contact.geom[: data.ncon]].tolist()):
            other = second if first == here else first
            if here not in (first, second) or other == here or other in self._robot_or_table:
                continue
            mujoco.mj_contactForce(model, data, contact, force)
            # The rows of the frame are its axes; the force is that of the first geom on the second.
            upwards = float(data.contact.frame[contact].reshape(3, 3)[:, 2] @ force[:3])
            down = upwards if first == here else -upwards
            found[self._names[other]] = found.get(self._names[other], 0.0) + down
        return found

    def follow(self, data: mujoco.MjData, all_awake: Callable[[], mujoco.MjData]) -> Contacts:
        """What touches in the state after the one that was followed last.

        What sleeps has no contacts in the physics. It does not move, so that it touches what it touched before, as
        long as that is the table or sleeps too; waking the whole state for each look would take half of the time.

        Args:
            data: The physics' state.
            all_awake: The same with everything awake, for the first look.
        """
        asleep = set(self._of_body[data.body_awake == int(mujoco.mjtSleepState.mjS_ASLEEP)].tolist())
        if not asleep:
            now = self.read(data)
        elif self.last is None:
            now = self.read(all_awake())
        else:
            at_rest = {"table", *(self._names[index] for index in asleep)}
            now = self.read(data) | {pair for pair in self.last if at_rest.issuperset(pair)}
        if now != self.last:  # else the one before is kept: most states of a log share theirs
            self.last = now
        return self.last

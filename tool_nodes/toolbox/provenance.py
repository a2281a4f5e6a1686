"""Where the `$variables` of a conversation come from: their images, what they are of, and the call that made them.

- A variable belongs to the images that its maker was given, by index or by variables, or to the one that it took.
- With an `image_index` of another image, or beside a variable of another one, it is refused: a mask of one image
  fits a cloud of another by its size alone.
- A call that was to make a variable and did not leaves none of that name: the old one would be taken for the new one.

Two images are the same one here where they show the same part of the same view: one camera frame, drawn over or not,
or two frames of a camera between which nothing has moved (a live camera gives another frame at each look).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from toolhand.tool_nodes.results import ToolResult, invalid
from toolhand.tool_nodes.toolbox.arguments import VARIABLE, ArgumentType, show
from toolhand.tool_nodes.toolbox.images import FrameWindow, PackedImage, SessionImage
from toolhand.tool_nodes.types import FloatArray, Frame

if TYPE_CHECKING:
    from toolhand.tool_nodes.toolbox.session import Session

_SAME_POSE = 1e-3
"""Cameras whose poses differ by no more than this in any entry stand still [-, m]; as `scene_change` has it."""
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, eq=False)
class SeenPart:
    """The part of a view that an image shows.

    Attributes:
        index: Where the image stands in the conversation; None where it does not.
        image_origin: `SessionImage.origin`.
        size, window: Size and window of the image, see `SessionImage`.
        camera: "scene" or "wrist"; "" of a foreign image.
        T_base_camera: (4, 4) of its frame; None of a foreign image.
        frame: Its frame; a look may leave it in no image of the conversation. None of a foreign image, and of one
            that is too old to be used.
    """

    index: int | None
    image_origin: object
    size: tuple[int, int]
    window: FrameWindow | None
    camera: str = ""
    T_base_camera: FloatArray | None = None
    frame: Frame | None = None

    @classmethod
    def of(cls, image: SessionImage, index: int | None) -> SeenPart:
        """What an image shows, which stands at an index or nowhere."""
        frame = image.frame
        if frame is None:
            return cls(index, image.origin, image.size, None)
        window = None if image.window == (0, 0, *frame.size) else image.window
        pose = np.array(frame.T_base_camera)
        return cls(index, image.origin, image.size, window, frame.camera, pose, frame)

    def __str__(self) -> str:
        if self.index is not None:
            return f"image {self.index}"
        return f"another picture of the {self.camera} camera" if self.camera else "another picture"

    def same_part(self, other: SeenPart) -> bool:
        """True where a point means the same direction from the same place in both, whatever has moved between them."""
        if self.T_base_camera is None or other.T_base_camera is None:
            return self.image_origin is other.image_origin and self.size == other.size
        return ((self.camera, self.size, self.window) == (other.camera, other.size, other.window)) and np.allclose(
            self.T_base_camera, other.T_base_camera, atol=_SAME_POSE
        )

    def same_view(self, other: SeenPart) -> bool:
        """True where both show the same part of the same scene."""
        if not self.same_part(other):
            return False
        before, after = self.frame, other.frame
        if self.T_base_camera is None or before is after is not None:
            return True
        if before is None or after is None:
            return False
        if not (np.isfinite(before.depth).any() and np.isfinite(after.depth).any()):
            return np.array_equal(before.rgb, after.rgb)
        from toolhand.tool_nodes.scene_change import changed  # scipy: nobody else here needs it

        return not changed(before, after)


@dataclass(frozen=True, eq=False)
class VariableOrigin:
    """Where one variable comes from.

    Attributes:
        value: The variable's value: what was set past the toolbox has another one, and no origin.
        tool: Name of the tool that made it.
        call: Number of that call in the conversation, from 1; None where the agent looked for itself.
        of: Words, point or box that it is of, as that call or one before it was given them; or "".
        images: The images that it belongs to.
    """

    value: Any
    tool: str
    call: int | None
    of: str
    images: tuple[SeenPart, ...]

    def without(self, index: int) -> VariableOrigin:
        """The same where the image of an index has become too old to be used, so that its frame is let go."""
        if all(seen.index != index for seen in self.images):
            return self
        images = (replace(seen, frame=None) if seen.index == index else seen for seen in self.images)
        return replace(self, images=tuple(images))

    def __str__(self) -> str:
        number = "" if self.call is None else f" in call {self.call}"
        return f"made by {self.tool}{number}{self.of and f' of {self.of}'}"


def variable_name(words: str) -> str:
    """Words as a `$variable` can carry them: blanks, and whatever else no variable may have, become underscores."""
    return re.sub(r"^(?=[^\WA-Za-z_])|\W", "_", words)


def names_made(makes: Iterable[str], arguments: Mapping[str, Any]) -> set[str]:
    """The variables that a call is to make.

    Args:
        makes: Names as `tool` has them; `{argument}` stands for the words of an argument.
        arguments: Arguments by their own names; names that need a missing one are left out.
    """
    names = set()
    for name in makes:
        needed = re.findall(r"\{(\w+)\}", name)
        if all(isinstance(arguments.get(key), str) for key in needed):
            names.add(re.sub(r"\{(\w+)\}", lambda key: variable_name(arguments[key[1]].strip()), name))
    return names


def makes(names: Iterable[str], variable: str) -> bool:
    """Whether a tool that makes variables of some names, see `names_made`, can make one."""
    return any(re.fullmatch(re.sub(r"\\\{\w+\\\}", r"\\w+", re.escape(name)), variable) for name in names)


@dataclass(frozen=True, eq=False)
class Used:
    """What a call was given of a conversation.

    Attributes:
        images: By argument.
        origins: Where the variables come from, by argument; names in a program are none.
        inside: Where those come from that a program names.
        told: Other arguments in a text: words, points, numbers.
    """

    images: Mapping[str, SeenPart]
    origins: Mapping[str, VariableOrigin]
    inside: Sequence[VariableOrigin]
    told: str

    @classmethod
    def by(
        cls, given: Mapping[str, Any], values: Mapping[str, Any], kinds: Mapping[str, ArgumentType], session: Session
    ) -> Used:
        """What the arguments of a call are.

        Args:
            given: Arguments as they were written.
            values: Their checked values.
            kinds: Their types; one with a true `program` names variables without a dollar sign.
            session: The conversation.
        """
        images = {key: SeenPart.of(v, _index(given[key], v, session)) for key, v in values.items() if _is_image(v)}
        named = {key: value[1:] for key, value in given.items() if isinstance(value, str) and VARIABLE.match(value)}
        origins = {
            key: origin
            for key, name in named.items()
            if key not in images and (origin := session.origin(name)) is not None
        }
        programs = [value for key, value in values.items() if getattr(kinds[key], "program", False)]
        words = (word for program in programs for word in _IDENTIFIER.findall(program))
        inside = [origin for word in dict.fromkeys(words) if (origin := session.origin(word)) is not None]
        plain = {key: v for key, v in given.items() if key not in images and key not in named}
        return cls(images, origins, inside, ", ".join(f"{key}={show(v)}" for key, v in plain.items()))

    def require_one_image(self, name: str) -> None:
        """Raises ToolError INVALID_ARGUMENT where variables belong to another image than the call is about."""
        belongs = [(key, origin, seen) for key, origin in self.origins.items() for seen in origin.images]
        anchors = dict(self.images) or {key: seen for key, _, seen in belongs[:1]}
        for key, origin, seen in belongs:
            if not any(seen.same_view(anchor) for anchor in anchors.values()):
                other, anchor = next(iter(anchors.items()))
                raise invalid(
                    f"{name}: argument {key!r} belongs to {seen} ({origin}), but {other!r} to {anchor}, which shows "
                    "something else.",
                    "Make all of them from one picture.",
                )

    def require_newest(self, name: str, kinds: Mapping[str, ArgumentType], session: Session) -> None:
        """What is meant in the newest image (types with a true `newest`) must be of one taken from the same place.

        Raises:
            ToolError: INVALID_ARGUMENT where another camera, or another part of the view, showed them.
        """
        if session.seen is None:
            return
        newest = SeenPart.of(SessionImage(session.seen.rgb, session.seen), None)
        for key, origin in self.origins.items():
            for seen in origin.images if getattr(kinds[key], "newest", False) else ():
                if not seen.same_part(newest):
                    raise invalid(
                        f"{name}: argument {key!r} belongs to {seen} ({origin}), but it is meant in the newest picture "
                        f"of the {newest.camera} camera.",
                        "Find the place in that picture.",
                    )

    def origin_of(
        self, tool: str, value: Any, result: ToolResult, index: int | None, session: Session
    ) -> VariableOrigin:
        """Where a variable comes from that a call has made.

        Args:
            tool: Name of the tool.
            value: The variable's value.
            result: Result of the call.
            index: Index of the result's image; None where it has none.
            session: The conversation, after the call.
        """
        origins = [*self.origins.values(), *self.inside]
        given = [*self.images.values(), *(seen for origin in origins for seen in origin.images)]
        of = next((origin.of for origin in origins if origin.of), self.told)
        return VariableOrigin(value, tool, session.calls, of, self._images(value, given, result, index, session))

    def _images(
        self, value: Any, given: Sequence[SeenPart], result: ToolResult, index: int | None, session: Session
    ) -> tuple[SeenPart, ...]:
        if _is_image(value):
            return (SeenPart.of(value, index),)
        frames = [seen.frame for seen in given]
        for made in result.variables.values():
            if _is_image(made) and made.frame is not None and not any(made.frame is frame for frame in frames):
                return (SeenPart.of(made, index),)  # a look: the rest was measured in what it took
        view, seen = result.view, session.seen
        if given or view is None or seen is None or (view.camera, view.stamp) != (seen.camera, seen.stamp):
            return tuple(given)
        return (SeenPart.of(SessionImage(seen.rgb, seen), index),)


def image_of(names: Iterable[str], session: Session) -> SessionImage | None:
    """The camera image, as it was taken, that the first of some variables belongs to which belongs to one."""
    for name in names:
        origin = session.origin(name)
        for seen in origin.images if origin is not None else ():
            if seen.frame is not None and seen.window is None and seen.size == seen.frame.size:
                return SessionImage(seen.frame.rgb, seen.frame)
    return None


NOTHING_USED = Used({}, {}, (), "")
"""Of a call that was refused before its arguments were known."""


def _is_image(value: Any) -> bool:
    return isinstance(value, SessionImage)


def _index(given: Any, image: SessionImage, session: Session) -> int | None:
    """The index of an image that was given by index or by a variable; the first that shows the same part."""
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return int(given)
    mine = SeenPart.of(image, None)
    for index, other in enumerate(session.images):
        if (
            not isinstance(other, PackedImage)
            and other.frame is image.frame
            and SeenPart.of(other, None).same_part(mine)
        ):
            return index
    return None

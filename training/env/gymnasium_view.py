"""The environment as Gymnasium has it; importing this needs the extra `gym`.

    env = gymnasium.make("toolhand.training.env.gymnasium_view:Toolhand-v0")
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step(turn)

An action is one whole assistant turn. A policy that wants the whole conversation takes it from
`env.unwrapped.session.messages()`; more than one episode at once is what `Environment.open` is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.agent_node.policy import Message
from toolhand.agent_node.recovery import Recovery
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.task import Task
from toolhand.sim.tasks.tasks import random_task
from toolhand.tool_nodes.extras import install_extra
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable
from toolhand.training.env.environment import Environment
from toolhand.training.env.session import EpisodeSession

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise unavailable(
        "The Gymnasium view needs the package gymnasium.", f"Install it: {install_extra('gym')}"
    ) from error

ENV_ID = "Toolhand-v0"
"""What it is registered as."""

IMAGE_SIZE = (320, 240)
"""Width and height of an observation's image [px]: as in fast rollouts."""

LONGEST_TEXT = 1_000_000
"""Longest text of an observation [characters], above the system prompt with the tools of all suites."""

_SEEDS = 2**31
"""Seeds that are drawn where none is given are below this."""

GymObservation = dict[str, Any]
"""`text` and `image`."""


class AnyText(spaces.Text):
    """Texts up to a length, of any characters; samples are of letters and digits."""

    def __init__(self, max_length: int) -> None:
        super().__init__(max_length=max_length, min_length=0)

    def contains(self, x: Any) -> bool:
        """See Space."""
        return isinstance(x, str) and len(x) <= self.max_length


class ToolhandEnv(gymnasium.Env[GymObservation, str]):
    """One episode at a time.

    Observations have `text`, what the policy reads because of its turn (at the beginning the whole prompt), and
    `image`, the last one that came with it, uint8 (H, W, 3), scaled to one size and black where none came. `info` has
    the same unscaled: `messages`, each with role, text and image; at the beginning `task` and the schemas of the
    `tools`; after a turn `error_code`; at the end `terms`, `success`, `reasons` and `stages` (time of each that was
    reached [s]).

    The reward is the grader's total at the end, else 0. An episode that runs out of turns is truncated.

    Args:
        environment: Where and how; a simulated station where None.
        make_task: Makes the task of a seed.
        image_size: (width, height) of observations' images [px].
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        environment: Environment | None = None,
        make_task: Callable[[int], Task] = random_task,
        image_size: tuple[int, int] = IMAGE_SIZE,
    ) -> None:
        self._environment = environment or Environment(StationConfig(image_size=image_size, sleep=True))
        self._make_task = make_task
        self._size = image_size
        self._session: EpisodeSession | None = None
        width, height = image_size
        image = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.observation_space = spaces.Dict({"text": AnyText(LONGEST_TEXT), "image": image})
        self.action_space = AnyText(Recovery().turn_characters)

    @property
    def session(self) -> EpisodeSession:
        """The episode. Raises ToolError INVALID_ARGUMENT before the first reset."""
        if self._session is None:
            raise invalid("The environment has no episode.", "Call reset() first.")
        return self._session

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[GymObservation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seed of task and station; drawn where None, from the seed that was given last.
            options: `task`, instead of that of the seed; `rollout`, which of its group it is.

        Raises:
            ToolError: As of `Environment.open`; INVALID_ARGUMENT for another option.
        """
        super().reset(seed=seed)
        options = dict(options or {})
        drawn = int(self.np_random.integers(_SEEDS)) if seed is None else seed
        task, rollout = options.pop("task", None), options.pop("rollout", 0)
        if options:
            raise invalid(f"The options of a reset are task and rollout, not {', '.join(options)}.")
        self._leave()
        task = self._make_task(drawn) if task is None else task
        self._session = self._environment.open(task, drawn, rollout)
        messages = self._session.messages()
        info = {"task": task.text, "tools": self._session.tools(), "messages": _plain(messages)}
        return self._observation(messages), info

    def step(self, action: str) -> tuple[GymObservation, float, bool, bool, dict[str, Any]]:
        """Take one assistant turn.

        Raises:
            ToolError: INVALID_ARGUMENT before a reset and after the end; UNAVAILABLE or INTERNAL where the episode has
                no reward and is to be dropped.
        """
        session = self.session
        said = session.say(action)
        observation = self._observation(said.messages)
        code = None if said.error_code is None else str(said.error_code)
        info: dict[str, Any] = {"messages": _plain(said.messages), "error_code": code}
        if not said.done:
            return observation, 0.0, False, False, info
        score = session.score()
        truncated = session.episode.error_code is ErrorCode.TURN_BUDGET
        info |= {
            "terms": dict(score.terms),
            "success": score.truth.success,
            "reasons": list(score.truth.reasons),
            "stages": {name: stage.first_at_s for name, stage in score.stages.items() if stage},
        }
        return observation, float(score.total), not truncated, truncated, info

    def close(self) -> None:
        """Give back the station, and end what the environment has started."""
        self._leave()
        self._environment.close()

    def _leave(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None

    def _observation(self, messages: Iterable[Message]) -> GymObservation:
        messages = list(messages)
        images = [message.image for message in messages if message.image is not None]
        text = "\n".join(message.text for message in messages)
        if len(text) > LONGEST_TEXT:
            raise ToolError(ErrorCode.INTERNAL, f"An observation has {len(text)} characters: more than {LONGEST_TEXT}.")
        return {"text": text, "image": self._scaled(images[-1] if images else None)}

    def _scaled(self, image: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        width, height = self._size
        if image is None:
            return np.zeros((height, width, 3), np.uint8)
        if image.shape[:2] == (height, width):
            return image.copy()
        return np.asarray(Image.fromarray(image).resize(self._size, Image.Resampling.BILINEAR))


def _plain(messages: Iterable[Message]) -> list[dict[str, Any]]:
    return [{"role": message.role, "text": message.text, "image": message.image} for message in messages]


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point="toolhand.training.env.gymnasium_view:ToolhandEnv")

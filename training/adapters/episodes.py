"""The episodes that an engine's rows name, as plain data: no engine is needed for it.

    episodes = Episodes({"recipe": "dirl", "image_size": [320, 240]})
    session = episodes.open({"task": task_document("distance", 7), "seed": 7}, rollout=3)

Settings are fields of `toolhand.training.rollouts.plan.RolloutPlan`, which checks them, so that an engine's episodes
are those of `toolhand rollouts collect`. Rows of one task and seed are a group.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from toolhand.agent_node.context_window import Memory
from toolhand.agent_node.policies.chat import NativeResult as _Result
from toolhand.agent_node.policies.chat import image_words
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, invalid, unavailable
from toolhand.training.env.environment import Environment
from toolhand.training.env.session import EpisodeSession, TurnResult
from toolhand.training.recipes import recipe_named
from toolhand.training.rollouts.plan import RolloutPlan
from toolhand.training.tasks.kinds import task_document, task_from_document

NOT_SCORED = INFRASTRUCTURE_ERRORS | {ErrorCode.TIMEOUT, ErrorCode.STOPPED}
"""What ends a rollout from outside: it is dropped, whatever the engine, and never scored."""

EVERYTHING = Memory(images=1_000_000, shown=1_000_000)
"""A memory that lets no image go: engines append tokens, so a prompt begins with the one before [images]."""

_PLACEHOLDER = task_document("pick", 0)
_OWN = frozenset({"tasks", "group_size", "seed", "policy", "settings"})
"""Fields of a plan that are the row's or the engine's own."""


class Episodes:
    """Opens episodes; its environment is made when the first one is opened. Any number at once, from any thread.

    Args:
        settings: Fields of RolloutPlan but for tasks, group, seed, policy and settings; and `recipe`, whose protocol,
            suites and reward are taken where they are not given.

    Raises:
        ToolError: INVALID_ARGUMENT for another setting or value.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        given = dict(settings or {})
        allowed = sorted({entry.name for entry in fields(RolloutPlan)} - _OWN | {"recipe"})
        if unknown := sorted(set(given) - set(allowed)):
            raise invalid(f"There is no setting {str(unknown[0])[:60]!r} of episodes, only {', '.join(allowed)}.")
        if recipe := given.pop("recipe", None):
            followed = recipe_named(str(recipe))
            own = {"protocol": followed.protocol, "suites": followed.suites, "reward": followed.name}
            given = own | given
        for name in {"suites", "image_size"} & set(given):
            given[name] = tuple(given[name])
        self._plan = RolloutPlan(tasks=(_PLACEHOLDER,), **given)
        self.protocol = load_protocol(self._plan.protocol)
        self._making = threading.Lock()
        self._environment: Environment | None = None

    def require_native(self, who: str) -> None:
        """Raises ToolError INVALID_ARGUMENT where the protocol lists the tools itself: `who` does so."""
        if self.protocol.tools != "none":
            raise invalid(f"{who}: the protocol must be native, not {self.protocol.name}.")

    @property
    def environment(self) -> Environment:
        """Where the episodes happen."""
        with self._making:
            if self._environment is None:
                self._environment = self._plan.environment(EVERYTHING)
            return self._environment

    def open(self, row: Mapping[str, Any], rollout: int = 0) -> EpisodeSession:
        """Begin the episode of a row.

        Args:
            row: {"task": document, "seed": of the station, 0 where it is not given}; other keys are not read.
            rollout: Number in the group of the task.

        Raises:
            ToolError: INVALID_ARGUMENT for a row without a task; those of `Environment.open`.
        """
        document, seed = row.get("task"), row.get("seed", 0)
        if isinstance(document, str):
            document = _read(document)
        if not isinstance(document, Mapping):
            raise invalid(
                'A row of an episode has a "task", as task_document of toolhand.training.tasks.kinds writes it.'
            )
        task = self._plan.as_hard(task_from_document(document), int(seed))
        return self.environment.open(task, int(seed), int(rollout))

    def close(self) -> None:
        """End what the environment has started."""
        with self._making:
            if self._environment is not None:
                self._environment.close()
            self._environment = None


@functools.cache
def _shared(settings: str) -> Episodes:
    return Episodes(json.loads(settings))


def shared_episodes(settings: Mapping[str, Any] | None = None) -> Episodes:
    """The episodes of these settings in this process: all that ask for them share the stations."""
    return _shared(json.dumps(dict(settings or {}), sort_keys=True, default=list))


def require_sound(session: EpisodeSession) -> None:
    """Raises ToolError UNAVAILABLE where something broke or a call ran out of its time: such a rollout is dropped."""
    if not session.healthy:
        raise unavailable("A tool broke or ran out of its time: the rollout is dropped.")


def words_of(result: TurnResult) -> str:
    """What calls brought, without markup; each image shows as `<image K>`, by which later calls name it."""
    return "\n".join(image_words(_Result("", message.said, message.image_index)) for message in result.messages)


def _read(document: str) -> Any:
    try:
        return json.loads(document)
    except ValueError as error:
        raise invalid(f"The task of a row is no JSON ({error}).") from error

"""PERIA's explore and exploit (4.2, C.2): several trajectories grow side by side until one has the right answer.

In round 1 each must call one tool and may not answer. Then it answers or calls another tool. An answer is compared
with the truth before it is committed: a wrong one is taken out of the conversation, the world goes back to before it,
and the next turn is forced to reflect and to gather new evidence. In the last round it must answer. The trajectory
that is right in the fewest rounds is kept, of those the first one. The paper grows 3 of at most 11 rounds each.

What differs from the paper: the writer is any policy, and the scripted teacher has no chance in its choices. So that
the trajectories differ, each has noise and failures of its own, and all but the first begin with another tool that
looks at everything; in half of the cases the first one does too. Asked to reflect, the scripted teacher, which gets
no prompt, is given such a look and begins anew after it; a model gets the prompts below, which are ours (the
paper shows its own as figures)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from toolhand.agent_node.agent import next_turn
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policy import Message, Policy, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.sim.tasks.task import Task
from toolhand.training.data.synthesis.attempts import Attempt, played
from toolhand.training.env.environment import Environment
from toolhand.training.env.session import EpisodeSession

SAMPLES = 3
"""Trajectories that grow side by side; n_sample of C.2."""
ROUNDS = 11
"""Most turns of each, the answer included; T of C.2."""
EXPLORED = 0.5
"""Share of questions whose first attempt too begins with a look that the policy did not choose [-]; a round figure."""

_SPECIAL = frozenset({"formula_ocr", "table_ocr"})
"""They look for what no task is about."""

EXPLORE = (
    "Choose exactly one tool that shows you something about the question, say why, and call it. Do not answer yet."
)
EXPLOIT = "Decide by what the tools have shown: call one more tool, or answer if the evidence is enough."
REFLECT = (
    "The answer that you were about to give is not right. Say what may have gone wrong, and call a tool that gives new "
    "or better evidence. Do not answer yet."
)
CONCLUDE = "This is the last turn. Go through all that the tools have shown, and answer."

_FIRST_IMAGE = {"image_index": 0, "image_idx": 0, "img_path": "image-0"}
"""How the tools of each paper are given the first image."""

_REFLECTIONS = (
    "Wait. Before I answer I check this: one result may have misled me, so I gather evidence once more, with {tool}.",
    "Hmm, am I sure? What the tools showed may be wrong in a detail. I use {tool} and compare.",
    "I was about to answer, but the evidence is thin. Let me verify it; {tool} first.",
    "Let me double-check: something may have been missed. I begin again with {tool}.",
)
_EXPLORATIONS = (
    "I first get an overview with {tool} before I decide how to answer.",
    "Let me see what {tool} says about the whole view.",
    "To begin with I use {tool}; it may show what matters here.",
)


@dataclass(frozen=True)
class Writing:
    """Who writes, and how it is guided.

    Attributes:
        policy: Writes every turn.
        prompted: A message of the user, kept in no record, says what the round asks for; for models. The scripted
            teacher would take it for its task, and gets none.
    """

    policy: Policy
    protocol: Protocol
    prompted: bool = False


def explore_and_exploit(
    environment: Environment, task: Task, writing: Writing, seed: int, samples: int = SAMPLES, rounds: int = ROUNDS
) -> list[Attempt]:
    """The attempts at a question, the kept one first where there is one.

    Args:
        environment: Its turn budget is at least `rounds`; its stations are of its own.
        task: A question: what an answer does to the world is taken back with it.
        seed: Seed of noise, failures and choices.
        samples, rounds: Numbers of samples and rounds, as in the paper.

    Returns:
        Those that the kept one beats have the label "beaten": they needed more rounds, or were ended by then.
    """
    kept: Attempt | None = None
    others: list[Attempt] = []
    for sample in range(samples):
        limit = rounds if kept is None else int(kept.labels["rounds"]) - 1
        if limit < 2:  # a tool and an answer take two
            break
        trajectory = _Trajectory(environment, writing, np.random.default_rng([seed, sample]), sample, limit)
        found = played(task, partial(trajectory.grow, task, seed), trajectory.labels)
        if found.right:
            kept, found = found, kept
        if found is not None:
            others.append(found)
    if kept is None:
        return others
    return [kept, *(replace(other, labels={**other.labels, "beaten": True}) for other in others)]


class _Trajectory:
    """One of those that grow side by side; `labels` says what happened to it."""

    def __init__(
        self, environment: Environment, writing: Writing, rng: np.random.Generator, sample: int, rounds: int
    ) -> None:
        self._environment = environment
        self._writing = writing
        self._rng = rng
        self._sample = sample
        self._rounds = rounds
        self._looked: set[str] = set()
        self._explores = sample > 0 or float(rng.random()) < EXPLORED
        self.labels: dict[str, Any] = {"sample": sample, "rounds": 0, "refused": 0, "explored": ""}

    def grow(self, task: Task, seed: int) -> EpisodeSession:
        """One turn a round, until an answer is right or no round is left. Raises as `EpisodeSession.say`."""
        station = int(np.random.default_rng([seed, self._sample, 1]).integers(2**31))
        session = self._environment.open(task, station, self._sample)
        try:
            head = fresh = len(session.messages())  # the policy reads the first ones, and those from `fresh` on
            reflect = False
            for number in range(1, self._rounds + 1):
                self.labels["rounds"] = number
                messages = session.messages()
                look = self._look(session, messages[:head], number, reflect)
                reply = look or self._reply([*messages[:head], *messages[fresh:]], number, reflect)
                answers = self._writing.protocol.parse(reply.text).answer is not None
                if answers and number == 1:
                    self.labels["refused"] += 1  # it is not even compared: no tool has been asked
                    continue
                snapshot = session.save() if answers and number < self._rounds else None
                session.say(reply)
                fresh = len(session.messages()) if look else fresh
                reflect = False
                if snapshot is not None and not session.score().truth.success:
                    self.labels["refused"] += 1
                    session.close()
                    session = self._environment.resume(snapshot, self._sample)
                    reflect = True
                    fresh = fresh if self._writing.prompted else len(session.messages())
                elif session.done:
                    break
        except BaseException:
            session.close()
            raise
        return session

    def _look(self, session: EpisodeSession, head: Sequence[Message], number: int, reflect: bool) -> Reply | None:
        """A look to explore with or to reflect on, not of the policy's choice; None where it chooses itself."""
        explore = number == 1 and self._explores
        if not (explore or reflect) or (self._writing.prompted and not explore):
            return None
        looks = looking_calls(session.tools(), bool(session.episode.session.images))
        if not self._writing.prompted:
            begins = self._writing.protocol.parse(self._reply(head, number, reflect).text).calls
            looks = [call for call in looks if call not in begins]  # which it will make by itself
        looks = [call for call in looks if call.name not in self._looked] or looks
        if not looks:
            return None
        call = looks[int(self._rng.integers(len(looks)))]
        self._looked.add(call.name)
        if explore:
            self.labels["explored"] = call.name
        thought = _chosen(self._rng, _EXPLORATIONS if explore else _REFLECTIONS).format(tool=call.name)
        return Reply(self._writing.protocol.render_turn(thought, [call]))

    def _reply(self, messages: Sequence[Message], number: int, reflect: bool) -> Reply:
        writing = self._writing
        if not writing.prompted:
            return next_turn(writing.policy, messages)
        last = number == self._rounds
        prompt = CONCLUDE if last else REFLECT if reflect else EXPLORE if number == 1 else EXPLOIT
        return next_turn(writing.policy, [*messages, Message("user", prompt)])


def looking_calls(schemas: Sequence[Mapping[str, Any]], seen: bool) -> list[ToolCall]:
    """Calls that look at everything: of tools that need no more than an image, none of which moves anything.

    Args:
        schemas: In the function-calling form.
        seen: There is an image that can be looked at; the first one is.
    """
    found = []
    for function in (schema["function"] for schema in schemas):
        required = set(function["parameters"].get("required", ()))
        images = {name: value for name, value in _FIRST_IMAGE.items() if name in required}
        if not required - set(images) and (seen or not images) and function["name"] not in _SPECIAL:
            found.append(ToolCall(function["name"], images))
    return found


def _chosen(rng: np.random.Generator, options: Sequence[str]) -> str:
    return options[int(rng.integers(len(options)))]

"""The reader that asks a chat model for the plan, in the robot's words, and takes nothing that the grammar does not."""

from __future__ import annotations

import math
import re

from toolhand.agent_node.plan.grammar import GRAMMAR_FILE, NotCanonical
from toolhand.agent_node.plan.reader import Understood
from toolhand.agent_node.plan.reading import read_plan
from toolhand.agent_node.policy import Message, Policy
from toolhand.tool_nodes.http_request import plain_line

TRIES = 2
"""How often a model is asked [-]: once more, with the place that does not fit."""
_PROMPT = """You turn what a person says to a robot arm at a table into the robot's own plain words.
Answer with one line: <plan>WORDS</plan>, where WORDS follow this grammar (Lark):

{grammar}
Keep the person's own nouns and adjectives. Courtesy, names, reasons and remarks leave nothing behind. After a turn
before, give what is meant now as a whole plan. What the robot cannot do is "cannot" and the person's own words; what is
not said clearly enough is "unclear"; what asks for nothing is "nothing"."""
_PLAN = re.compile(r"<plan>(.*?)</plan>", re.DOTALL)


class ModelReader:
    """Asks a chat model.

    Args:
        policy: Policy of the model; it is given no tools.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def read(self, utterance: str, context: str = "") -> Understood | None:
        """See `toolhand.agent_node.plan.reader.PlanReader`; None where the model writes no plan of the grammar.

        Raises:
            ToolError: What the policy raises, such as UNAVAILABLE where no server answers.
        """
        before = f'Before: "{context}".\n' if context else ""
        asked = [
            Message("system", _PROMPT.format(grammar=GRAMMAR_FILE.read_text("utf-8"))),
            Message("user", f'{before}The person says: "{utterance}"'),
        ]
        for _ in range(TRIES):
            reply = self._policy.respond(asked)
            found = _PLAN.search(reply.text)
            words = plain_line(found[1] if found else reply.text.strip(), length=2000)
            try:
                plan = read_plan(words)
            except NotCanonical as error:
                asked += [Message("assistant", reply.text), Message("user", f"That does not fit the grammar: {error}")]
                continue
            return Understood(plan, math.exp(sum(reply.logprobs)) if reply.logprobs else 1.0)
        return None

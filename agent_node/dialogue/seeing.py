"""What the answers of `questions.QuestionPolicy` are made of, whichever file they stand in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolhand.agent_node.dialogue.acts import QuestionAct
from toolhand.agent_node.dialogue.measured import SeenBox
from toolhand.agent_node.policies.scripted.steps import Script, ScriptPart
from toolhand.agent_node.policies.scripted.transcript import Response
from toolhand.tool_nodes.types import ImagePoint


class SeeingAnswers:
    """Declares what the policy gives to its answers: the question, and ways to look, point and measure."""

    _act: QuestionAct
    _look: Callable[[], Script]
    _named: Callable[[], ScriptPart[list[tuple[str, ImagePoint]]]]
    _points: Callable[[str], ScriptPart[tuple[ImagePoint, ...]]]
    _boxes: Callable[[Sequence[ImagePoint]], ScriptPart[list[SeenBox | None]]]
    _all: Callable[[Sequence[str]], ScriptPart[list[Response]]]
    _require_one: Callable[[Sequence[ImagePoint], str], None]

"""The sentences of the guide of talking that are the robot's own words are read as their sections say."""

import re
from pathlib import Path

import pytest

from toolhand.agent_node.dialogue.acts import AnswerAct, Deed, FollowUp, GroupAct, QuestionAct, Refused, SkillAct
from toolhand.agent_node.dialogue.reading import act_of, spread
from toolhand.agent_node.plan.reader import CanonicalReader

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "talking.md"
KINDS = {
    "Commands": (Deed,),
    "Places": (Deed,),
    "Answers": (FollowUp,),
    "Going on": (FollowUp, GroupAct),
    "Several things": (GroupAct, Deed),
    "Questions": (QuestionAct,),
    "Other things to do": (SkillAct,),
    "Small talk": (AnswerAct,),
    "What is refused": (Refused,),
}


def sentences() -> list[tuple[str, str]]:
    section, found = "", []
    for line in GUIDE.read_text(encoding="utf-8").splitlines():
        section = line.removeprefix("## ") if line.startswith("## ") else section
        if said := re.fullmatch(r'- "(.+)"', line):
            found.append((section, said[1]))
    return found


@pytest.mark.parametrize(("section", "said"), sentences())
def test_a_sentence_of_the_guide_is_read_as_its_section_says(section: str, said: str) -> None:
    found = CanonicalReader().read(said)
    assert section in KINDS
    assert found is None or all(isinstance(act_of(act), KINDS[section]) for act in spread(found.plan))


def test_the_guide_shows_many_sentences_in_the_robots_own_words() -> None:
    assert sum(CanonicalReader().read(said) is not None for _, said in sentences()) > 30

"""Every sentence of the guide of talking is read as the section says that it stands in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolhand.agent_node.dialogue.acts import Deed, FollowUp, GroupAct, QuestionAct, Refused, SkillAct, SmallTalk
from toolhand.agent_node.dialogue.clauses import parses
from toolhand.agent_node.dialogue.reading import read

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "talking.md"
KINDS = {
    "Commands": Deed,
    "Places": Deed,
    "Answers": FollowUp,
    "Going on": FollowUp,
    "Several things": GroupAct,
    "Questions": QuestionAct,
    "Other things to do": SkillAct,
    "Small talk": SmallTalk,
    "What is refused": Refused,
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
    acts = [part.act for part in read(said)]
    if section == "Several things" and len(acts) > 1:
        assert all(isinstance(act, Deed) and parses(act.text) for act in acts)
        return
    [act] = acts
    assert isinstance(act, KINDS[section])
    if isinstance(act, Deed):
        assert parses(act.text)


def test_every_section_with_sentences_has_its_kind() -> None:
    assert {section for section, _ in sentences()} <= set(KINDS)
    assert len(sentences()) > 30

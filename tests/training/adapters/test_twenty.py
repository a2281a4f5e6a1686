"""The twenty episodes that engines are compared on, in plain sessions: said by calls, and written in a protocol."""

import pytest

from tests.training.adapters.twenty import SAME, SETTINGS, TWENTY, plain_reward
from toolhand.agent_node.protocol import load_protocol
from toolhand.training.adapters.episodes import Episodes


def test_plain_sessions_find_the_rewards_that_are_noted():
    episodes = Episodes({**SETTINGS, "protocol": "native"})
    assert [plain_reward(episodes, one) for one in TWENTY] == pytest.approx([one.reward for one in TWENTY], abs=SAME)
    assert len({one.reward for one in TWENTY}) > 10, "they differ"
    episodes.close()


def test_the_same_replies_in_the_text_of_a_protocol_are_worth_the_same():
    episodes, protocol = Episodes(SETTINGS), load_protocol("spacetools")
    found = []
    for one in TWENTY:
        with episodes.open(one.row) as session:
            for turn in one.written(protocol):
                session.say(turn)
            found.append(session.score().total)
    assert found == pytest.approx([one.reward for one in TWENTY], abs=SAME)
    episodes.close()

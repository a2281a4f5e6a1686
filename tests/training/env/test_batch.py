"""A batch of episodes: bit-equal to each alone, tokens with each turn, and a fault of one is no fault of the others."""

import hashlib
from collections.abc import Sequence

import pytest

from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Message, Reply
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.pick import PickTask
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.batch import BatchResult, OneByOne, run_batch
from toolhand.training.env.environment import Environment
from toolhand.training.env.failures import Failures

SCENE = load_scene(EXAMPLE_SCENE)
PICK = PickTask("pick up the far coconut water", SCENE, ("coconut_water_1",))
SMALL = StationConfig(image_size=(320, 240), timestep=0.004, sleep=True)
FAILURES = Failures({"*": {"OBJECT_NOT_FOUND": 0.2, "TIMEOUT": 0.1}})
LOOK = '<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'


def trace(episode: Episode) -> list[tuple[str, str, str]]:
    """Every message, with a digest of its image."""
    return [
        (m.role, m.text, "" if m.image is None else hashlib.sha256(m.image.tobytes()).hexdigest())
        for m in episode.messages
    ]


class Tokens:
    """The scripted policy with a token for each character of its turns, and a log-probability for each token."""

    name = "tokens"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def respond_all(self, conversations: Sequence[Sequence[Message]]) -> list[Reply]:
        self.sizes.append(len(conversations))
        texts = [ScriptedPolicy().respond(conversation).text for conversation in conversations]
        return [
            Reply(text, token_ids=tuple(map(ord, text)), logprobs=tuple(-k / 100 for k in range(len(text))))
            for text in texts
        ]


def test_four_episodes_in_a_batch_are_bit_equal_to_the_four_alone() -> None:
    environment = Environment(SMALL, failures=FAILURES)
    alone = [run_batch([environment.open(PICK, seed=3, rollout=k)], OneByOne(ScriptedPolicy()))[0] for k in range(4)]
    policy = Tokens()
    together = run_batch([environment.open(PICK, seed=3, rollout=k) for k in range(4)], policy)
    assert [trace(result.episode) for result in together] == [trace(result.episode) for result in alone]
    assert [result.score for result in together] == [result.score for result in alone]
    turns = [len(result.episode.turns) for result in together]
    assert len(set(turns)) > 1, "they end at different turns"
    assert policy.sizes == [sum(count > k for count in turns) for k in range(max(turns))]
    for result in together:
        for turn in result.episode.turns:
            assert "".join(map(chr, turn.as_sampled.token_ids)) == turn.text
            assert len(turn.as_sampled.logprobs) == len(turn.text)


class Failing:
    """Looks, then answers; for the conversation whose sentence has a word it has something else."""

    name = "failing"

    def __init__(self, word: str, instead: Reply | ToolError) -> None:
        self._word, self._instead = word, instead

    def respond_all(self, conversations: Sequence[Sequence[Message]]) -> list[Reply | ToolError]:
        return [
            self._instead
            if self._word in conversation[1].words and len(conversation) > 2
            else Reply(LOOK if len(conversation) < 4 else "<answer>Done.</answer>")
            for conversation in conversations
        ]


def batch(policy: Failing) -> list[BatchResult]:
    environment = Environment(SMALL)
    other = PickTask("pick up the cinnamon", SCENE, ("cinnamon_1",))
    return run_batch([environment.open(PICK), environment.open(other)], policy)


def test_a_fault_of_one_episode_does_not_end_the_others() -> None:
    lost, sound = batch(Failing("coconut", ToolError(ErrorCode.UNAVAILABLE, "The model is gone.")))
    assert (lost.score, lost.error and lost.error.code) == (None, ErrorCode.UNAVAILABLE)
    assert sound.error is None
    assert sound.score is not None
    assert sound.score.total == 0.0
    assert sound.episode.answer == "Done."


def test_what_is_no_turn_ends_that_episode_alone_and_has_no_score() -> None:
    sound, lost = batch(Failing("cinnamon", "a text"))  # type: ignore[arg-type]
    assert sound.score is not None
    assert lost.error is not None
    assert lost.error.code is ErrorCode.INTERNAL
    assert "not str" in lost.error.message


def test_spent_tokens_are_the_episodes_own_end_and_are_scored() -> None:
    spent, _ = batch(Failing("coconut", ToolError(ErrorCode.TURN_BUDGET, "No tokens are left.")))
    assert spent.score is not None
    assert spent.episode.error_code is ErrorCode.TURN_BUDGET


@pytest.mark.parametrize("problem", ["too few", "raises", "unavailable"])
def test_a_policy_that_fails_as_a_whole_leaves_no_score_and_closed_sessions(problem: str) -> None:
    class Broken:
        name = "broken"

        def respond_all(self, conversations: Sequence[Sequence[Message]]) -> list[Reply]:
            if problem == "raises":
                raise ValueError("bad weights")
            if problem == "unavailable":
                raise ToolError(ErrorCode.UNAVAILABLE, "No server.")
            return []

    sessions = [Environment(SMALL).open(PICK) for _ in range(2)]
    results = run_batch(sessions, Broken())
    assert [result.score for result in results] == [None, None]
    expected = ErrorCode.UNAVAILABLE if problem == "unavailable" else ErrorCode.INTERNAL
    assert {result.error.code for result in results if result.error} == {expected}
    with pytest.raises(ToolError, match="The session is closed"):
        sessions[0].messages()
    with pytest.raises(ToolError, match="The session is closed"):
        run_batch(sessions, OneByOne(ScriptedPolicy()))

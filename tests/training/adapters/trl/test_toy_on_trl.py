"""The toy of two turns on TRL's own GRPOTrainer: tools are asked, and rewards are the toy's."""

from tests.training.adapters.trl.toy_on_trl import train_toy_on_trl


def test_episodes_of_the_toy_are_played_and_rewarded_by_grpo_trainer() -> None:
    rewards = train_toy_on_trl(seed=0, iterations=2, groups=4)
    assert len(rewards) >= 2
    assert all(0.0 < reward < 1.0 for reward in rewards), "the form alone is worth about a quarter"

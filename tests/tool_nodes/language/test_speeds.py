"""What of a sentence asks for a speed."""

import pytest

from toolhand.tool_nodes.language.speeds import SLOWLY, spoken_speed


@pytest.mark.parametrize(
    ("sentence", "share", "words"),
    [
        ("Slowly pick up the can", SLOWLY, "Slowly"),
        ("put the can down very gently", SLOWLY, "gently"),
        ("take the can as slowly as you can", SLOWLY, "as slowly as you can"),
        ("put it in the bowl with great care", SLOWLY, "with great care"),
        ("pick up the can quickly, but carefully", SLOWLY, "carefully"),
        ("pick up the can as fast as you can", 1.0, "as fast as you can"),
        ("quickly take the can", 1.0, "quickly"),
        ("at half speed put the can down", 0.5, "at half speed"),
        ("put the can down a bit slower", 0.6, "a bit slower"),
        ("take the can, not so fast", 0.6, "not so fast"),
        ("take the can at 20% speed", 0.2, "at 20% speed"),
        ("take the can in slow motion", 0.3, "in slow motion"),
    ],
)
def test_words_ask_for_a_share_of_the_allowed_speed(sentence: str, share: float, words: str) -> None:
    speed = spoken_speed(sentence)
    assert speed is not None
    assert (speed.share, speed.words) == (share, words)
    assert words in speed.told


@pytest.mark.parametrize("sentence", ["pick up the can", "put the soft toy in the fast food box", "take care of it"])
def test_other_words_ask_for_none(sentence: str) -> None:
    assert spoken_speed(sentence) is None

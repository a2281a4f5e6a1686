import pytest

from toolhand.agent_node.policies.scripted.points import describe, near, still_there, untried


def test_candidates_are_described_by_where_they_are() -> None:
    assert describe([(0.8, 0.5), (0.2, 0.5)]) == "the left one at (0.20, 0.50) or the right one at (0.80, 0.50)"
    assert describe([(0.5, 0.2), (0.5, 0.8)]).startswith("the far one at (0.50, 0.20)")
    assert "the second one from the left at (0.50, 0.50)" in describe([(0.9, 0.5), (0.5, 0.5), (0.1, 0.5)])


def test_alternatives_of_a_place_avoid_the_failed_ones_and_end() -> None:
    failed: list[tuple[float, float]] = []
    while (spot := untried((0.6, 0.5), (0.5, 0.5), failed)) is not None:
        assert not any(near(spot, old, 0.012) for old in failed)
        failed.append(spot)
    assert 5 <= len(failed) <= 12


@pytest.mark.parametrize(
    ("relation", "spot", "expected"),
    [
        ("right_of", (0.6, 0.47), True),
        ("right_of", (0.4, 0.47), False),
        ("right_of", (0.55, 0.7), False),
        ("in_front_of", (0.5, 0.65), True),
        ("behind", (0.5, 0.65), False),
        ("next_to", (0.4, 0.47), True),
        ("anywhere", (0.1, 0.1), True),
    ],
)
def test_another_place_to_try_must_still_be_on_the_side_that_was_asked_for(
    relation: str, spot: tuple[float, float], expected: bool
) -> None:
    assert still_there(relation, spot, [(0.45, 0.5), (0.55, 0.5)]) is expected


def test_another_place_between_two_objects_stays_near_their_middle() -> None:
    pair = [(0.3, 0.5), (0.7, 0.5)]
    assert still_there("between", (0.52, 0.47), pair)
    assert not still_there("between", (0.68, 0.47), pair)

"""Things are picked and placed in the whole graph by paths that came from move_group's services."""

from __future__ import annotations

from bench.ros.move_group import pick_through_graph


def test_things_are_picked_and_placed_by_the_paths_of_a_double_of_move_group() -> None:
    ended = list(pick_through_graph("moveit", (0, 14), "gen3"))
    assert [(error, scored) for _, _, error, scored in ended] == [("", True)] * 2
    assert "place it in the transparent bin" in ended[1][1]

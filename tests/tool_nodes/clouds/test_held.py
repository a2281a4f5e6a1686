"""An object in the hand is seen again nearer to where it truly is than where the hand should have it."""

from __future__ import annotations

import numpy as np

from tests.tool_nodes.clouds.held import held_object, moved_in_hand, whole_cloud
from toolhand.tool_nodes.geometry import invert, transform


def test_a_held_object_is_found_nearer_to_where_it_is() -> None:
    case = held_object(1, "ideal")
    assert case is not None
    item, T_closed, T_now, frame, slip = case
    local = transform(invert(T_closed), item)
    truly = transform(T_now @ slip, local)
    seen = transform(invert(frame.T_base_camera), truly)
    pixels = np.rint(seen[:, :2] / seen[:, 2:] * frame.K[0, 0] + frame.K[:2, 2]).astype(int)
    shown = frame.depth[pixels[:, 1], pixels[:, 0]]
    assert np.nanmedian(np.abs(shown - seen[:, 2])) < 0.02  # the image has it where it was put
    found = moved_in_hand(item, T_closed, T_now, frame)
    assert found is not None
    off = [np.linalg.norm(transform(T, local) - transform(slip, local), axis=1).mean() for T in (np.eye(4), found)]
    assert off[1] < off[0]


def test_clouds_of_a_seed_are_the_same_and_of_three_kinds() -> None:
    assert np.array_equal(whole_cloud(4), whole_cloud(4))
    assert not np.array_equal(whole_cloud(4), whole_cloud(7))
    assert all(len(whole_cloud(seed)) == 5000 for seed in range(3))

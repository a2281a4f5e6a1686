"""An object that is not there: nothing on the table could be meant, and to move anything is wrong."""

from types import SimpleNamespace

import numpy as np
import pytest

from toolhand.sim.tasks import sentences
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.tasks.kinds import make_task
from toolhand.training.tasks.splits import products_of

SAID = SimpleNamespace(error_code=ErrorCode.OBJECT_NOT_FOUND, records=[SimpleNamespace(image_index=0)])


def history(moved_m: float = 0.0, picked: tuple[str, ...] = ()):
    """Two objects of which the first has moved so far [m]."""
    before = {name: SimpleNamespace(position_m=np.zeros(3)) for name in ("salt", "cola")}
    after = before | {"salt": SimpleNamespace(position_m=np.array([moved_m, 0.0, 0.0]))}
    return SimpleNamespace(
        before=SimpleNamespace(objects=before), after=SimpleNamespace(objects=after), picked_up=frozenset(picked)
    )


@pytest.mark.parametrize("split", ["train", "test"])
def test_nothing_on_the_table_could_be_meant(split):
    for seed in range(3):
        task = make_task("absent", seed, split)
        (named,) = task.asked
        assert named in task.text
        assert named in products_of(split)
        assert not any(sentences.could_mean(named, placed.asset) for placed in task.scene.objects)
        assert make_task("absent", seed, split) == task


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ((history(), SAID), ""),
        ((history(0.1), SAID), "it moved salt"),
        ((history(picked=("cola",)), SAID), "it moved cola"),
        ((history(), SimpleNamespace(error_code=None, records=SAID.records)), "does not say"),
        ((history(), SimpleNamespace(error_code=SAID.error_code, records=[])), "no picture"),
    ],
)
def test_it_is_right_to_look_to_leave_all_alone_and_to_say_so(seen, reason):
    score = make_task("absent", 0).score(*seen)
    assert score.success == (not reason)
    assert reason in "".join(score.reasons)
    assert score.wrong_objects == tuple(sorted(seen[0].picked_up))

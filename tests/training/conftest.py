"""One task of every kind, made once."""

import pytest

from toolhand.training.tasks.kinds import TASK_KINDS, make_task

SEED = 1
"""The first seed at which none of the tasks that the teacher must solve is solved by a guess."""


@pytest.fixture(scope="session")
def tasks():
    """Kind -> its task of SEED in the training's split."""
    return {kind: make_task(kind, SEED) for kind in TASK_KINDS}

"""How trajectories are made: each method of a paper, and which shares of them a recipe has.

| method | paper | teacher and world | kept |
|---|---|---|---|
| `points` | SpaceTools, the pointing teacher | tools that err | right, and pointing alone was called |
| `tools` | SpaceTools, the universal teacher | tools that err | right |
| `robot` | SpaceTools, its robot's part | the scripted policy, real physics | right |
| `lines` | none: for small models, in `compact` | a script that tries again; tools err every other time | right |
| `explore` | PERIA, explore and exploit | wrong answers are taken back, tools that err | right in the fewest rounds |
| `verified` | E-ViC, the filter | two policies, 8 rollouts each at most, tools that err | the first that is right |
| `views` | LAST, stage 1 | a question about a tool's image | right, after that tool was called |
| `checked` | LAST, stage 2 | doubtful results are checked | right |
| `failing` | LAST, simulated failures | tools fail on purpose, results are checked | right, and one was checked |

A policy that teaches `points` is offered the pointing tool alone. About 500 of SpaceTools' 8,000 trajectories are of a
mock robot that always succeeds; ours are physics, and more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, invalid
from toolhand.training.data.synthesis import checks, evic, last, peria, spacetools
from toolhand.training.data.synthesis.attempts import Attempt, attempt
from toolhand.training.data.synthesis.teacher_pool import VIEW, TeacherPool, kinds_of, schemas_of, suites_of
from toolhand.training.env.failures import ALL_TOOLS, EMPTY, Failures
from toolhand.training.tasks.kinds import MANIPULATION
from toolhand.training.teacher.careful import HABITS, CarefulPolicy

COMPACT = "compact"
"""The protocol for small models, and what its trajectories are asked for by."""
ERRING = 0.4
"""Difficulty of the worlds whose tools err, see `toolhand.training.env.difficulty` [-], so that a part of the plain
teacher's attempts is wrong."""
MORE_ERRING = 0.8
"""The same where E-ViC's filter is to have something to remove [-]; a round figure."""
UNSURE = Failures({ALL_TOOLS: {EMPTY: 0.3, ErrorCode.EXECUTION_FAILED: 0.1}})
"""Failures per call where wrong answers are wanted, which PERIA takes back [-]; round figures."""
LINES_KINDS = ("pick", "relational_pick", "pick_and_place", "pick_and_place", "absent")
"""Kinds of small models' tasks, drawn alike: a placement has the most words to be read, and stands twice."""
_TRIES = 8
"""Rollouts until one is right and has a failure that was checked; most of LAST have one or two calls, each of which
fails every other time."""
_SEEDS = 2**31
"""Seeds of tasks and stations lie below."""


@dataclass(frozen=True)
class SynthesisJob:
    """One candidate task, and how a trajectory is made of it; the number decides all else.

    Attributes:
        number: Which candidate, from 0.
        method: One of METHODS.
        seed: Seed of task, station and words.
    """

    number: int
    method: str
    kind: str
    seed: int


@dataclass(frozen=True)
class Method:
    """One way to make trajectories.

    Attributes:
        recipe: Recipe with the tools, protocol and grader, see `toolhand.training.recipes`.
        make: (teachers, job) -> attempts, the one to be kept first.
        why_not: A further reason to reject an attempt that is right, or empty.
        reworded: Its thoughts are said in other words, so that no phrase is learned by heart.
    """

    recipe: str
    kinds: Callable[[], tuple[str, ...]]
    make: Callable[[TeacherPool, SynthesisJob], list[Attempt]]
    why_not: Callable[[Attempt], str] = lambda attempt: ""
    reworded: bool = True


def _plain(teachers: TeacherPool, job: SynthesisJob) -> list[Attempt]:
    task = teachers.task(job.kind, job.seed)
    recipe = METHODS[job.method].recipe
    return [attempt(teachers.environment(recipe, ERRING), task, teachers.teacher(task, recipe), job.seed)]


def _points(teachers: TeacherPool, job: SynthesisJob) -> list[Attempt]:
    if not teachers.policy:
        return _plain(teachers, job)
    environment = teachers.environment("dirl", ERRING, pointing=True)
    made = attempt(environment, teachers.task(job.kind, job.seed), teachers.expert(), job.seed)
    return [spacetools.as_student(made, teachers.protocol("dirl"), schemas_of(suites_of("dirl")))]


def _robot(teachers: TeacherPool, job: SynthesisJob) -> list[Attempt]:
    task = teachers.task(job.kind, job.seed)
    teacher = teachers.reflecting(task, "dirl", job.seed)
    return [attempt(teachers.environment("dirl", ERRING), task, teacher, job.seed)]


def _lines(teachers: TeacherPool, job: SynthesisJob) -> list[Attempt]:
    task, protocol = teachers.task(job.kind, job.seed), load_protocol(COMPACT)
    level = ERRING if job.number % 2 else 0.0
    teacher: Policy = CarefulPolicy(HABITS["expert"], protocol, job.seed)
    if teachers.policy:
        teacher = make_policy(teachers.policy, protocol, schemas_of(suites_of("dirl")))
    return [attempt(teachers.environment("dirl", level, by_terms=True, protocol=COMPACT), task, teacher, job.seed)]


def _explore(teachers: TeacherPool, job: SynthesisJob) -> list[Attempt]:
    task = teachers.task(job.kind, job.seed)
    writing = peria.Writing(teachers.teacher(task, "peria"), teachers.protocol("peria"), prompted=bool(teachers.policy))
    return peria.explore_and_exploit(teachers.environment("peria", ERRING, UNSURE), task, writing, job.seed)


def _verified(teachers: TeacherPool, job: SynthesisJob) -> list[Attempt]:
    task = teachers.task(job.kind, job.seed)
    policies = (teachers.teacher(task, "evic"), teachers.reflecting(task, "evic", job.seed))

    def tried(policy: int, rollout: int) -> Attempt:
        seed = int(np.random.default_rng([job.seed, rollout]).integers(_SEEDS))
        environment = teachers.environment("evic", MORE_ERRING)
        return attempt(environment, task, policies[policy], seed, policy, {"policy": policy, "rollout": rollout})

    return evic.verifiable(tried, len(policies))


def _views(teachers: TeacherPool, job: SynthesisJob) -> list[Attempt]:
    task = teachers.task(job.kind, job.seed)
    return [attempt(teachers.environment("last", by_terms=True), task, teachers.teacher(task, "last"), job.seed)]


def _checked(teachers: TeacherPool, job: SynthesisJob) -> list[Attempt]:
    task = teachers.task(job.kind, job.seed)
    return [attempt(teachers.environment("last", ERRING), task, teachers.reflecting(task, "last", job.seed), job.seed)]


def _failing(teachers: TeacherPool, job: SynthesisJob) -> list[Attempt]:
    task = teachers.task(job.kind, job.seed)
    teacher, environment = (
        teachers.reflecting(task, "last", job.seed),
        teachers.environment("last", 0.0, last.SIMULATED),
    )
    found: list[Attempt] = []
    for rollout in range(_TRIES):
        found.insert(0, attempt(environment, task, teacher, job.seed, rollout))
        if found[0].right and not _failed_and_checked(found[0]):
            break
    return found


def _pointed(made: Attempt) -> str:
    return "" if made.episode and spacetools.points_alone(made.episode) else checks.OTHER_TOOLS


def _failed_and_checked(made: Attempt) -> str:
    if made.episode is None or not last.failures_in(made.episode):
        return checks.NO_FAILURE
    return "" if last.failures_checked(made.episode) else checks.NOT_CHECKED


METHODS: Mapping[str, Method] = {
    "points": Method("dirl", lambda: spacetools.POINTING_KINDS, _points, _pointed),
    "tools": Method("dirl", lambda: kinds_of("dirl"), _plain),
    "robot": Method("dirl", lambda: MANIPULATION, _robot),
    "lines": Method("dirl", lambda: LINES_KINDS, _lines, reworded=False),
    "explore": Method("peria", lambda: kinds_of("peria"), _explore),
    "verified": Method("evic", lambda: kinds_of("evic"), _verified),
    "views": Method("last", lambda: (VIEW,), _views),
    "checked": Method("last", lambda: kinds_of("last"), _checked),
    "failing": Method("last", lambda: kinds_of("last"), _failing, _failed_and_checked),
}
"""Every method by name."""

_ROBOT_SHARE = 0.4
"""Share of SpaceTools' trajectories in which the robot works; a mixed thousand has a hundred."""
_STAGE_TWO = 1.0 - last.STAGE_ONE_SHARE

_SHARES: Mapping[str, Mapping[str, float]] = {
    "dirl": {
        "points": (1.0 - _ROBOT_SHARE) * spacetools.POINTING_SHARE,
        "tools": (1.0 - _ROBOT_SHARE) * (1.0 - spacetools.POINTING_SHARE),
        "robot": _ROBOT_SHARE,
    },
    COMPACT: {"lines": 1.0},
    "peria": {"explore": 1.0},
    "evic": {"verified": 1.0},
    "last": {
        "views": last.STAGE_ONE_SHARE,
        "checked": _STAGE_TWO * (1.0 - last.FAILING_SHARE),
        "failing": _STAGE_TWO * last.FAILING_SHARE,
    },
}
_OF_THE_MIXED: Mapping[str, float] = {"dirl": 0.4, "peria": 0.2, "evic": 0.2, "last": 0.2}
"""Shares of the recipes in `mixed` [-]; round figures."""

RECIPES = (*_SHARES, "mixed")
"""What `shares_of` knows."""


def shares_of(recipe: str) -> dict[str, float]:
    """Method -> its share of a recipe's candidates; together 1.

    Raises:
        ToolError: INVALID_ARGUMENT for another recipe than those of RECIPES.
    """
    if recipe == "mixed":
        return {name: part * share for whole, part in _OF_THE_MIXED.items() for name, share in _SHARES[whole].items()}
    if recipe not in _SHARES:
        raise invalid(f"There is no recipe {recipe[:60]!r}, only {', '.join(RECIPES)}.")
    return dict(_SHARES[recipe])


def chosen_shares(recipe: str, methods: Sequence[str] = ()) -> dict[str, float]:
    """As `shares_of`, of some of its methods alone; of all where none is named.

    Raises:
        ToolError: INVALID_ARGUMENT as `shares_of`, and for a method that the recipe does not have.
    """
    shares = shares_of(recipe)
    if unknown := [name for name in methods if name not in shares]:
        raise invalid(f"The recipe {recipe} has no method {unknown[0][:60]!r}, only {', '.join(shares)}.")
    if not methods:
        return shares
    whole = sum(shares[name] for name in dict.fromkeys(methods))
    return {name: shares[name] / whole for name in shares if name in methods}


def job_of(recipe: str, seed: int, number: int, methods: Sequence[str] = ()) -> SynthesisJob:
    """A candidate of a recipe; recipe, methods, seed and number decide everything. Raises as `chosen_shares`."""
    shares = chosen_shares(recipe, methods)
    rng = np.random.default_rng([seed, number])
    method = str(rng.choice(list(shares), p=list(shares.values())))
    kinds = METHODS[method].kinds()
    return SynthesisJob(number, method, kinds[int(rng.integers(len(kinds)))], int(rng.integers(_SEEDS)))

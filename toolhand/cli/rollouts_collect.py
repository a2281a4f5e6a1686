"""`toolhand rollouts collect`: groups of episodes for reinforcement learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from toolhand.agent_node.console.options import PROTOCOL, SUITE, Unprefixed, installed, listed
from toolhand.agent_node.console.terminal import INTERRUPTED, AsJson, emit, say
from toolhand.agent_node.policies.options import ModelSettings
from toolhand.agent_node.policies.registry import protocol_of
from toolhand.agent_node.protocol import OWN
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.tools.suites import parse_suites
from toolhand.training.recipes import RECIPES, recipe_named
from toolhand.training.rollouts.options import ONE_PROCESS, STOPS, RolloutOptions, StopRules, WorkerOptions
from toolhand.training.rollouts.plan import GRADERS, EvaluationPlan, RolloutPlan, tasks_of, tasks_of_recipe
from toolhand.training.tasks.splits import SPLITS

if TYPE_CHECKING:
    from toolhand.training.rollouts.engine import CollectReport

_DEFAULT_MODEL = ModelSettings()


@dataclass(frozen=True, kw_only=True)
class CollectOptions(RolloutOptions):
    """What is collected.

    Attributes:
        n: Rollouts of all groups together; a multiple of --group-size.
        evaluate: One rollout of each task instead, to measure the policy: nothing can be learned from them.
    """

    tasks: Annotated[tuple[str, ...], tyro.conf.arg(help=f"Kinds of tasks, in turn: {installed('task', {})}.")] = (
        "pick_and_place",
    )
    recipe: Annotated[
        str | None,
        tyro.conf.arg(
            help="Recipe whose tasks, protocol, suite and reward are taken where they are not given: "
            f"{listed(tuple(RECIPES))}."
        ),
    ] = None
    split: Annotated[str, tyro.conf.arg(help=f"Split of the tasks: {listed(SPLITS)}.")] = "train"
    n: int = 32
    evaluate: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    protocol: Annotated[str | None, PROTOCOL] = None
    reward: Annotated[
        str | None,
        tyro.conf.arg(
            help=f"What an episode is worth: {listed(tuple(GRADERS))}, or the reward of a recipe: "
            f"{listed(tuple(RECIPES))}. Where it is not given, that of --recipe, or mean."
        ),
    ] = None
    suite: Annotated[str | None, SUITE] = None
    model: ModelSettings = _DEFAULT_MODEL

    def plan(self) -> RolloutPlan:
        """The plan that these options describe. Raises ToolError INVALID_ARGUMENT."""
        group = 1 if self.evaluate else self.group_size
        if group > 0 and (self.n < 1 or self.n % group):
            raise invalid(f"--n must be a multiple of --group-size, got {self.n} and {group}.")
        groups = self.n // max(group, 1)
        followed = None if self.recipe is None else recipe_named(self.recipe)
        tasks = (
            tasks_of(self.tasks, groups, self.seed, self.split)
            if self.recipe is None
            else tasks_of_recipe(self.recipe, groups, self.seed, self.split)
        )
        shared = {entry.name: getattr(self, entry.name) for entry in fields(RolloutOptions)} | {"group_size": group}
        return (EvaluationPlan if self.evaluate else RolloutPlan)(
            tasks,
            settings={k: v for k, v in asdict(self.model).items() if v != getattr(_DEFAULT_MODEL, k)},
            protocol=protocol_of(self.policy, self.protocol or (followed.protocol if followed else OWN)).name,
            reward=self.reward or self.recipe or "mean",
            suites=parse_suites(self.suite) if self.suite else followed.suites if followed else ("spacetools",),
            **shared,
        )


_AS_DEFAULT = CollectOptions()


def rollouts_collect(
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")],
    options: Unprefixed[CollectOptions] = _AS_DEFAULT,
    pool: Unprefixed[WorkerOptions] = ONE_PROCESS,
    stops: Unprefixed[StopRules] = STOPS,
    as_json: AsJson = False,
) -> int:
    """Collect groups of rollouts of a policy into a folder; the same command goes on after a break.

    Each group has one task, from --seed on, and its rollouts differ in what the policy samples and in what fails on
    purpose. Ctrl-C keeps what is whole.

    Args:
        out: Where the rollouts go: a new folder, or one of the same plan.
    """
    from toolhand.tool_nodes.sandbox.seccomp import why_missing
    from toolhand.training.pool.parallel import ProgressLine
    from toolhand.training.rollouts.engine import collect, document_of_report

    plan = options.plan()
    if "spacetools" in plan.suites and (reason := why_missing()):
        say(f"Code cannot be run here, because {reason}: a rollout whose policy tries to is dropped.")
    line = ProgressLine(options.n)
    try:
        report = collect(
            plan,
            out,
            pool,
            stops=stops,
            progress=lambda report: line.show(report.whole + report.dropped.total(), _note(report)),
        )
    finally:
        line.end()
    for sentence in report.bad_rows:
        say(f"Drawn again: {sentence}")
    if as_json:
        emit({"out": str(out), **document_of_report(report)})
    else:
        print(_table(report, out))
    return INTERRUPTED if report.cancelled else 0 if report.whole == report.planned else 1


def _note(report: CollectReport) -> str:
    dropped = f", {report.dropped.total()} dropped" if report.dropped else ""
    return f"{report.true_success} true successes{dropped}"


def _table(report: CollectReport, out: Path) -> str:
    whole, dropped = report.whole, report.dropped.total()
    rows = [
        ("rollouts", f"{whole} of {report.planned} in {out} ({report.found} were there)"),
        (
            "true success",
            f"{report.true_success} of {whole}"
            + (f", {report.true_success / whole:.1%}" if whole else "")
            + (f" ({report.true_success / (whole + dropped):.1%} with the dropped as failures)" if dropped else ""),
        ),
        ("groups", f"{report.groups} whole, {report.zero_variance} with one and the same reward"),
        ("dropped", _counts(report.dropped)),
        ("drawn again", _counts(report.again)),
    ]
    if report.done:
        per_min, per_core = 60 * report.done / report.wall_s, 60 * report.done / report.cpu_s
        rows += [
            (
                "speed",
                f"{per_min:.1f} rollouts/min ({per_core:.1f} a minute of CPU time), "
                f"{report.calls / report.wall_s:.1f} calls/s, {report.peak_mb:.0f} MB a worker",
            ),
            ("time", ", ".join(f"{stage} {share:.0%}" for stage, share in report.shares.items())),
        ]
    if report.cancelled:
        rows.append(("cancelled", "the same command goes on"))
    return "\n".join(f"{name:14}{value}" for name, value in rows)


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{code} {count}" for code, count in sorted(counted.items())) or "none"

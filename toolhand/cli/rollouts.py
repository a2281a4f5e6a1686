"""`toolhand rollouts`: a look into what was collected, and rollouts that go on from a saved state.

Nothing here loads the simulator before it is needed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from toolhand.agent_node.console.options import POLICY, ObjectSets
from toolhand.agent_node.console.terminal import AsJson, emit, say
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import invalid

if TYPE_CHECKING:
    from toolhand.training.rollouts.record import RolloutRecord

_SHOWN = 100
"""Characters of a text that are shown of it."""


def rollouts_show(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")],
    rollout: str = "",
    as_json: AsJson = False,
) -> int:
    """List the rollouts of a folder, or show the turns of one.

    Args:
        folder: Folder of collected rollouts.
        rollout: Its name, such as 00003-001; all are listed where it is left out.
    """
    from toolhand.training.rollouts.collection import read_rollouts
    from toolhand.training.tasks.kinds import other_version

    bad: list[str] = []
    records = list(read_rollouts(folder, lambda error: bad.append(str(error))))
    if rollout:
        records = [record for record in records if record.id == rollout]
        if not records:
            raise invalid(f"There is no rollout {rollout[:40]!r} in {folder}.")
    for sentence in bad:
        say(f"Passed over: {sentence}")
    if older := sorted({why for record in records if (why := other_version(record.task))}):
        say(" ".join(older))
    if as_json:
        emit({"rollouts": [_document(record) for record in records], "bad_rows": bad})
    elif rollout:
        print("\n".join(_turns(records[0])))
    else:
        print(f"{'rollout':12}{'reward':>8}{'turns':>7}{'calls':>7}  {'ended':20}task")
        for record in records:
            calls = sum(len(turn.calls) for turn in record.turns)
            ended = record.error_code or ("done" if record.true_success else "not done")
            print(f"{record.id:12}{record.total:8.3f}{len(record.turns):7}{calls:7}  {ended:20}{_short(record.text)}")
    return 0


def rollouts_measure(
    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DIR")],
    csv: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    as_json: AsJson = False,
) -> int:
    """Count what policies did, by the simulator's truth: wrong objects lifted, false success, refusals, reactions.

    A refusal is right where the policy had asked for the object and was shown it nowhere. One without having asked, and
    one of a task that is a question itself, stand in a column of their own. Several folders are compared by the
    episodes that they have in common; of a world in which tools err, a table has what policies did about it.

    Args:
        folders: Folders of collected rollouts; a row of the table each.
        csv: A file for the outcomes, a line an episode; an earlier one is replaced.
    """
    from toolhand.agent_node.runs.folder import write_atomically
    from toolhand.training.rollouts.comparison import compare

    if not folders:
        raise invalid("Give one folder of rollouts or more.")
    if len({folder.name for folder in folders}) < len(folders):
        raise invalid("Two of the folders have the same name, by which the tables tell them apart.")
    found = compare(folders, lambda error: say(f"Passed over: {error}"))
    if csv is not None:
        write_atomically(csv, found.csv().encode())
    if as_json:
        emit(found.document)
    else:
        print(found.text)
    return 0


def rollouts_branch(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")],
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")],
    group: int = 0,
    after: int = 2,
    n: int = 8,
    policy: Annotated[str | None, POLICY] = None,
    objects: ObjectSets = "",
) -> int:
    """Play the first turns of a collected group once more, and go on from that state several times.

    Args:
        folder: Folder of collected rollouts: its plan says task, world, policy and reward.
        out: A new folder for the rollouts, which are one group; `toolhand rollouts group` shows it.
        group: Which task, from 0.
        after: Turns that are played before the state is saved.
        n: Rollouts that go on from there.
        policy: Instead of the plan's; needed where that one names a model, a server or a folder.
    """
    from toolhand.training.rollouts.branching import branch, plan_of

    plan = plan_of(folder)
    if policy is None and ":" in plan.policy:  # a file of another person does not say who is asked with your key
        raise invalid(
            f"The plan names the policy {plan.policy[:60]!r}, which may lead anywhere.",
            "Give it with --policy if the plan is your own.",
        )
    if named := [name for name in (plan.planner, plan.sensor) if ":" in name and not _own_sensor(name)]:
        raise invalid(f"The plan names {named[0][:60]!r}, which may lead anywhere: its rollouts are not gone on with.")
    if plan.objects and not objects:
        raise invalid(
            f"The plan names the object sets {plan.objects[:60]!r}, which may lead anywhere.",
            "Give them with --objects if the plan is your own.",
        )
    plan = replace(plan, policy=plan.policy if policy is None else policy, objects=objects or plan.objects)
    records = branch(plan, group, after, out, n, lambda record: say(f"{record.id}: reward {record.total:.2f}"))
    done = sum(record.true_success for record in records)
    say(f"Wrote {out}: {len(records)} rollouts from one state after {after} turns, {done} of them done.")
    return 0


def _own_sensor(names: str) -> bool:
    """True where only sensors of this project are named, after "random:", too: their names lead nowhere else."""
    for part in names.replace("random:", "random+").split("+"):
        name = part.partition(":")[0]
        if name not in registry.names("sensor") or not registry.find("sensor", name).value.startswith(
            "toolhand.sim.camera."
        ):
            return False
    return True


def rollouts_group(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")],
    group: int = 0,
    out: Path = Path("group.html"),
    anchor: Literal["returned", "answered"] = "returned",
) -> int:
    """Show one group as a page: its rollouts side by side, with stage credit and advantages of each turn.

    Args:
        folder: Folder of collected rollouts.
        group: Which one, from 0.
        out: The page.
        anchor: Which observation OR-GIGPO compares turns by: the one that a turn's call brought, as PERIA prints it, or
            the one that the turn answered, a variant.
    """
    from toolhand.training.rollouts.collection import read_shard, shard_path, shard_paths
    from toolhand.training.rollouts.group_page import write_group_page
    from toolhand.training.rollouts.images import ImageStore

    path, count = shard_path(folder, max(group, 0)), len(shard_paths(folder))
    if group < 0 or not path.is_file():
        raise invalid(f"There is no group {group} in {folder}, which has {count} groups, from 0.")
    store = ImageStore(folder)
    records = list(read_shard(path, store, lambda error: say(f"Passed over: {error}")))
    write_group_page(records, store, out, anchor)
    say(f"Wrote {out}: {len(records)} rollouts of {_short(records[0].text)!r}.")
    return 0


def _document(record: RolloutRecord) -> dict[str, Any]:
    return {
        "id": record.id, "task": dict(record.task), "text": record.text, "total": record.total,
        "terms": dict(record.terms), "true_success": record.true_success, "success": record.success,
        "error_code": record.error_code, "answer": record.answer, "stages": dict(record.stages),
        "turns": len(record.turns), "calls": sum(len(turn.calls) for turn in record.turns),
        "seeds": dict(record.seeds), "times": dict(record.times),
    }  # fmt: skip


def _turns(record: RolloutRecord) -> list[str]:
    lines = [f"{record.id}: {_short(record.text)}"]
    for number, turn in enumerate(record.turns, start=1):
        lines.append(f"{number:3}  {_short(turn.thought or turn.problem or turn.text)}")
        for call in turn.calls:
            purpose = f" (on purpose: {call.failed_on_purpose})" if call.failed_on_purpose else ""
            lines.append(f"       {call.tool}: {_short(call.words)}{purpose}")
    terms = ", ".join(f"{name} {value:g}" for name, value in record.terms.items())
    return [*lines, f"answer: {_short(record.answer)}", f"reward {record.total:g} ({terms}); {_reasons(record)}"]


def _reasons(record: RolloutRecord) -> str:
    return "true success" if record.true_success else _short(" ".join(record.truth.get("reasons", ())) or "not done")


def _short(text: str) -> str:
    """One line of limited length without control characters of a terminal."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * _SHOWN]).split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"

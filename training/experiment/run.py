"""The small experiment: what `toolhand train RECIPE --preset tiny` does, and the table of all arms.

    run_tiny("dirl", Path("runs/dirl"), seed=0)                   # one seed, a table after each stage
    run_arms(Path("runs/arms"), (0, 1, 2), evaluated=400)         # every arm of three seeds

Both go on where they were broken off, to the same numbers: FOLDER/experiment.json says what the folder is of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_node.console.options import require_at_least
from agent_node.console.terminal import say
from agent_node.runs.folder import write_atomically, write_json
from sim.tasks.generation import TASKS_VERSION
from tool_nodes import plain_json
from tool_nodes.files import NOTES_BYTES, read_file
from tool_nodes.results import ErrorCode, ToolError, invalid
from training.experiment.arms import ARMS, ExperimentArm, arm_of_recipe, arms_named
from training.experiment.measures import Measures, markdown_table, pooled
from training.experiment.sizes import Sizes, scaled
from training.experiment.stages import CONSTANTS, TIMES, ExperimentRun

ABOUT, RESULT, TABLES = "experiment.json", "result.json", "tables.md"
"""Files of a run, in its folder: what it is of, what came of it, and the tables."""

TableRows = list[tuple[str, Measures]]

_SAME_TASKS = "all seeds have the same tasks, and intervals count each episode as one of its own: they are too narrow"


def run_tiny(
    recipe: str,
    folder: Path,
    seed: int = 0,
    *,
    scale: float = 1.0,
    evaluated: int | None = None,
    workers: int = 2,
    sizes: Sizes | None = None,
) -> Mapping[str, Any]:
    """Train the small policy by a recipe's stages, with a table after each; goes on where it was broken off.

    Args:
        recipe: "dirl", "peria" or "last".
        folder: A new one, or one of the same run.
        seed: Seed of the whole experiment, 0 or more.
        scale: Times the sizes; 1 takes about an hour on two cores.
        evaluated: Episodes of each row of a table.
        workers: Processes that draw rollouts.
        sizes: Sizes to scale; the default sizes where None.

    Returns:
        What FOLDER/result.json holds: "tables", one a stage, each {row: measures}; "policy" and "pointer", files of
        weights; "seconds" by step.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown recipe, a bad number, or a folder of another run; UNAVAILABLE without
            torch or where something cannot be written; what a stage raises.
    """
    arm = arm_of_recipe(recipe)
    sizes = _checked(seed, workers, scaled(sizes or Sizes(), scale, evaluated))
    _claim(folder, {"recipe": recipe, "seed": seed, "sizes": sizes.document(), "constants": CONSTANTS}, {"rl": arm})
    say(
        f"About {max(1.0, sizes.minutes):.0f} minutes on two quiet cores, in {folder}; Ctrl-C ends it, and the same "
        "command goes on."
    )
    shop = ExperimentRun(folder, seed, sizes, workers)
    tables: dict[str, TableRows] = {}

    def table(title: str, rows: TableRows) -> None:
        tables[title] = rows
        say(f"\n{title}\n{markdown_table(rows)}")
        _write_tables(folder / TABLES, tables, _times(folder))

    pointer = shop.pointer(arm.stage1)
    table("Scripted policies, by the pointers", _scripted(shop, arm))
    trained = shop.sft(arm)
    table("Stage 2: SFT", _sampled_and_greedy(shop, "sft", trained, pointer))
    final = shop.rl(arm)
    table(f"Stage 3: {(arm.rl or '').upper().replace('_', '-')}", _sampled_and_greedy(shop, "rl", final, pointer))
    result = {
        "recipe": recipe,
        "seed": seed,
        "tables": {title: {name: row.document() for name, row in rows} for title, rows in tables.items()},
        "policy": str(final),
        "pointer": str(pointer),
        "seconds": _times(folder),
    }
    write_json(folder / RESULT, result)
    return result


def run_arms(
    folder: Path,
    seeds: Sequence[int],
    *,
    names: tuple[str, ...] = (),
    scale: float = 1.0,
    evaluated: int = 400,
    workers: int = 2,
    sizes: Sizes | None = None,
) -> Mapping[str, Any]:
    """The table of arms, over seeds; goes on where it was broken off.

    Args:
        folder: A new one, or one of the same run: seed-0, seed-1 and so on are in it.
        seeds: Each 0 or more; stages that arms of one seed share are done once.
        names: Keys of ARMS; all of them where empty.
        scale, workers, sizes: The arguments of `run_tiny`.
        evaluated: Episodes of each seed and row.

    Returns:
        What FOLDER/result.json holds: "arms", {name: {"sampled", "greedy": measures of all seeds together, "seeds":
        those of each, "stopped": why a training stopped}}.

    Raises:
        ToolError: As `run_tiny`; a training that stops itself is reported in the table instead.
    """
    chosen = arms_named(names)
    if not seeds or len(set(seeds)) != len(seeds):
        raise invalid("There must be a seed or more, each once.")
    fixed = _checked(min(seeds), workers, scaled(sizes or Sizes(), scale, evaluated))
    about = {"seeds": list(seeds), "sizes": fixed.document(), "constants": CONSTANTS}
    _claim(folder, about, {name: ARMS[name] for name in chosen})
    rows: dict[str, dict[str, list[Measures]]] = {name: {"sampled": [], "greedy": []} for name in chosen}
    stopped: dict[str, dict[str, str]] = {}
    for seed in seeds:
        shop = ExperimentRun(folder / f"seed-{seed}", seed, fixed, workers)
        for name in chosen:
            why = _measure_arm(shop, name, rows[name])
            if why:
                stopped.setdefault(name, {})[str(seed)] = why
            _write_arms(folder, rows, stopped)
    return _write_arms(folder, rows, stopped)


def _measure_arm(shop: ExperimentRun, name: str, into: dict[str, list[Measures]]) -> str:
    """Adds what an arm of one seed comes to; why its training stopped, or ""."""
    arm, why = ARMS[name], ""
    pointer = shop.pointer(arm.stage1)
    if arm.scripted:
        into["greedy"].append(shop.measured(name, arm.scripted, pointer, 0.0))
        return ""
    try:
        weights = shop.rl(arm)
    except ToolError as error:
        if error.code is not ErrorCode.EXECUTION_FAILED:
            raise
        why = str(error)  # nothing could be learnt: the row is of what it began with
        say(f"{ARMS[name].title}: {why}")
        weights = shop.sft(arm)
    for way, temperature in (("sampled", 1.0), ("greedy", 0.0)):
        into[way].append(shop.measured(f"{name}-{way}", f"tiny:{weights}", pointer, temperature))
    return why


def _scripted(shop: ExperimentRun, arm: ExperimentArm) -> TableRows:
    """What scripted policies do by the pointer that labels made, and by the improved one."""
    rows = []
    for improved in (False, True) if arm.stage1 else (False,):
        pointer = shop.pointer(improved)
        which = "after stage 1" if improved else "labels alone"
        for policy in ("careful:unchecked", "careful", "careful:always"):
            name = f"{policy.replace(':', '-')}-{'hits' if improved else 'start'}"
            rows.append((f"{policy}, pointer {which}", shop.measured(name, policy, pointer, 0.0)))
    return rows


def _sampled_and_greedy(shop: ExperimentRun, name: str, weights: Path, pointer: Path) -> TableRows:
    return [
        (way, shop.measured(f"{name}-{way}", f"tiny:{weights}", pointer, temperature))
        for way, temperature in (("sampled", 1.0), ("greedy", 0.0))
    ]


def _checked(seed: int, workers: int, sizes: Sizes) -> Sizes:
    require_at_least(0, seed=seed)
    require_at_least(1, workers=workers)
    return sizes


def _claim(folder: Path, about: Mapping[str, Any], arms: Mapping[str, ExperimentArm]) -> None:
    """Raises ToolError INVALID_ARGUMENT for a folder of another run, or of other things.

    Arms may be added to those of a folder, but one that is there keeps the learning rate that it was begun with: its
    weights and measurements are found by its name.
    """
    path = folder / ABOUT
    there: dict[str, Any] = dict(about)
    begun: dict[str, float] = {}
    if path.exists():
        try:
            there = dict(plain_json.load(read_file(path, NOTES_BYTES, folder)))
            begun = dict(there.pop("rates", {}))
        except (OSError, ValueError, TypeError) as error:
            raise invalid(f"{path} cannot be read: choose a new folder (--out DIR).") from error
    elif folder.exists() and any(folder.iterdir()):
        raise invalid(f"{folder} holds other things and no {ABOUT}: choose a new folder (--out DIR).")
    noted = there.get("constants")
    made_by = noted.get("tasks_version", 1) if isinstance(noted, Mapping) else TASKS_VERSION
    if made_by != TASKS_VERSION:
        raise invalid(
            f"{folder} holds a run on tasks of version {str(made_by)[:20]} of the task generator; version "
            f"{TASKS_VERSION} makes others: choose a new folder (--out DIR)."
        )
    rates = {**begun, **{name: arm.rate for name, arm in arms.items() if arm.rl}}
    different = [name for name in about if there.get(name) != about[name]]
    different += [f"learning rates ({name})" for name in begun if begun[name] != rates[name]]
    if different or there != about:
        raise invalid(
            f"{folder} holds a run of other {', '.join(different) or 'settings'}: choose another (--out DIR)."
        )
    write_json(path, {**about, "rates": rates})


def _times(folder: Path) -> dict[str, float]:
    """Wall time of each step so far [s]."""
    path = folder / TIMES
    try:
        return dict(plain_json.load(read_file(path, NOTES_BYTES, folder))) if path.exists() else {}
    except (OSError, ValueError, TypeError) as error:
        raise invalid(f"{path} cannot be read: choose a new folder (--out DIR).") from error


def _write_tables(path: Path, tables: Mapping[str, TableRows], times: Mapping[str, float] | None = None) -> None:
    text = "\n\n".join(f"## {title}\n\n{markdown_table(rows)}" for title, rows in tables.items())
    if times:
        rows = "\n".join(f"| {step} | {seconds:,.0f} |" for step, seconds in times.items())
        text += f"\n\n## Wall time\n\n| step | s |\n|---|---|\n{rows}"
    write_atomically(path, f"{text}\n".encode())


def _write_arms(
    folder: Path, rows: Mapping[str, Mapping[str, list[Measures]]], stopped: Mapping[str, Mapping[str, str]]
) -> Mapping[str, Any]:
    """The table of all that is known so far, and the result."""
    arms: dict[str, Any] = {}
    tables: dict[str, TableRows] = {"Sampled at temperature 1": [], "Greedy": []}
    for name, ways in rows.items():
        arms[name] = {"title": ARMS[name].title, "stopped": dict(stopped.get(name, {}))}
        for way, title in (("sampled", "Sampled at temperature 1"), ("greedy", "Greedy")):
            if ways[way]:
                whole = pooled(ways[way])
                arms[name][way] = {**whole.document(), "seeds": [measures.document() for measures in ways[way]]}
                tables[title].append((ARMS[name].title, whole))
    result = {"arms": arms}
    if any(len(of_seeds) > 1 for ways in rows.values() for of_seeds in ways.values()):
        tables = {f"{title} ({_SAME_TASKS})": found for title, found in tables.items()}
    _write_tables(folder / TABLES, {title: found for title, found in tables.items() if found})
    write_json(folder / RESULT, result)
    return result

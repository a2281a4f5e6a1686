"""`toolhand bench advantages`: how long grouping the turns of a training step takes, beside comparing all pairs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import combinations
from typing import Any

import numpy as np

from agent_node.console.terminal import AsJson, say
from bench.stats import machine, publish
from tool_nodes.results import ErrorCode, ToolError
from training.advantages.gigpo import gigpo, or_gigpo
from training.advantages.grouping import DELTA, observation_groups
from training.advantages.steps import Anchor, ScoredRollout

GROUP = 4
"""Rollouts of a prompt [-]; PERIA, Table 5: 64 prompts of 4."""
TURNS = 11
"""Turns of a rollout [-]; PERIA, Table 5."""
CALLS = 3
"""Calls that the rollouts of a prompt choose from at each turn [-]; chosen by hand: a group mostly does the same."""
STATIONS = [
    "Alder", "Bank", "Canal", "Dock", "Elm", "Ferry", "Grange", "Harbour", "Island", "Junction", "Kings", "Lock",
    "Market", "North", "Orchard", "Park", "Quay", "River", "School", "Tower", "Union", "Vale", "West", "York", "Zoo",
]  # fmt: skip


def observation(rng: np.random.Generator, things: Sequence[str], jitter: int) -> str:
    """What a tool says about things: text with boxes, whose numbers and order differ a little from call to call."""
    lines = [
        f"{name}: box [{', '.join(str(c + int(rng.integers(-jitter, jitter + 1))) for c in corners)}], "
        f"score {0.7 + 0.01 * int(rng.integers(0, 3)):.2f}"
        for name, corners in (
            (name, [37 * k + 11 * len(name) + side for side in range(4)]) for k, name in enumerate(things)
        )
    ]
    if rng.random() < 0.2:
        rng.shuffle(lines)
    return f"Found {len(lines)} texts.\n" + "\n".join(lines)


def sampled_rollouts(prompts: int, seed: int) -> list[ScoredRollout]:
    """4 rollouts of 11 turns a prompt: at each turn one of three calls, whose answers are nearly the same each time."""
    rng = np.random.default_rng(seed)
    rollouts = []
    for prompt in range(prompts):
        calls = [
            [rng.choice(STATIONS, size=int(rng.integers(2, 9)), replace=False).tolist() for _ in range(CALLS)]
            for _ in range(TURNS - 1)
        ]
        for _ in range(GROUP):
            texts = [observation(rng, choices[int(rng.integers(CALLS))], jitter=1) for choices in calls]
            anchors = [Anchor.of(text) for text in (f"Question {prompt}", *texts)]
            rollouts.append(ScoredRollout.of_outcome(str(prompt), anchors, float(rng.random() < 0.5)))
    return rollouts


def all_pairs_groups(anchors: Sequence[Anchor], delta: float) -> list[int]:
    """The same groups as `observation_groups` gives, by comparing every pair in both orders: the definition, slowly."""
    group = list(range(len(anchors)))
    for i, j in combinations(range(len(anchors)), 2):
        a, b = anchors[i], anchors[j]
        same = a.digest == b.digest
        if a.text is not None and b.text is not None:
            ratios = [
                SequenceMatcher(None, x, y, autojunk=False).ratio() for x, y in ((a.text, b.text), (b.text, a.text))
            ]
            same = same or max(ratios) >= delta
        if same:
            group = [group[i] if label == group[j] else label for label in group]
    return [group.index(label) for label in group]


def bench_advantages(prompts: int = 64, seed: int = 0, as_json: AsJson = False) -> int:
    """Time the grouping of like observations for a step of OR-GIGPO, beside comparing all pairs of a prompt.

    Args:
        prompts: Prompts of a step, with 4 rollouts of 11 turns each; all pairs of one take a second or more.
        seed: Of the observations.
    """
    if prompts < 1 or seed < 0:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"prompts must be 1 or more and seed 0 or more, got {prompts}, {seed}."
        )
    rollouts = sampled_rollouts(prompts, seed)
    by_prompt = [
        [turn.anchor for rollout in rollouts[k : k + GROUP] for turn in rollout.turns]
        for k in range(0, len(rollouts), GROUP)
    ]
    say("groups")
    began = time.process_time()
    quick = [observation_groups(anchors) for anchors in by_prompt]
    quick_s = time.process_time() - began
    began = time.process_time()
    relaxed, exact = or_gigpo(rollouts, anchor="answered"), gigpo(rollouts)
    both_s = time.process_time() - began
    say("all pairs")
    began = time.process_time()
    slow = [all_pairs_groups(anchors, DELTA) for anchors in by_prompt]
    slow_s = time.process_time() - began
    same = all(len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b)) for a, b in zip(quick, slow, strict=True))
    document = {
        "bench": "advantages",
        "machine": machine(),
        "seeds": [seed],
        "rollouts": len(rollouts),
        "turns": TURNS,
        "pairs": sum(len(anchors) * (len(anchors) - 1) // 2 for anchors in by_prompt),
        "characters": round(float(np.mean([len(a.text or "") for anchors in by_prompt for a in anchors]))),
        "groups": sum(int(labels.max()) + 1 for labels in quick),
        "same_groups": same,
        "quick_cpu_s": round(quick_s, 5),
        "all_pairs_cpu_s": round(slow_s, 5),
        "times_faster": round(slow_s / quick_s, 1),
        "advantages_cpu_s": round(both_s, 3),
        "credited_turns": {
            "exact": round(exact.share_of_credited_turns, 4),
            "relaxed": round(relaxed.share_of_credited_turns, 4),
        },
    }
    publish(document, _report, as_json)
    return 0 if same else 1


def _report(document: Mapping[str, Any]) -> str:
    credited = document["credited_turns"]
    return "\n".join(
        [
            f"{document['rollouts']} rollouts of {document['turns']} turns, observations of {document['characters']} "
            f"characters, {document['pairs']} pairs, {document['groups']} groups (seed {document['seeds'][0]})",
            f"grouped in {document['quick_cpu_s']} s, all pairs in {document['all_pairs_cpu_s']} s (CPU): "
            f"{document['times_faster']} times faster, {'the same' if document['same_groups'] else 'OTHER'} groups",
            f"advantages with exact and with relaxed groups: {document['advantages_cpu_s']} s; turns with credit of "
            f"their own: {100 * credited['exact']:.1f} % and {100 * credited['relaxed']:.1f} %",
            f"{document['machine']['cpu']}",
        ]
    )

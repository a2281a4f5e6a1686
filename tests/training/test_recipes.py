"""The papers' recipes: what they take of a task's score, and what their formulas make of a conversation."""

from types import SimpleNamespace

import numpy as np
import pytest

from toolhand.agent_node.conversation import Conversation
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policy import Reply
from toolhand.agent_node.protocol import load_protocol
from toolhand.sim.tasks.task import Score, Stage
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool
from toolhand.tool_nodes.tools.suites import SUITES
from toolhand.training.recipes import RECIPES, recipe_named
from toolhand.training.rewards import REWARDS
from toolhand.training.tasks.kinds import QUESTIONS, TASK_KINDS


class Tools:
    """One tool that works and one that does not."""

    @tool("EstimateDepth")
    def works(self) -> ToolResult:
        """It works."""
        return ToolResult(text="1 m")

    @tool("image_zoom_in", repeatable=True)
    def zooms(self) -> ToolResult:
        """It fails."""
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "There is nothing to see there.")


def said(protocol, *turns):
    """The episode in which a policy wrote these turns."""
    conversation = Conversation("?", Toolbox([Tools()]), ConversationSettings(protocol=load_protocol(protocol)))
    for turn in turns:
        conversation.step(Reply(turn))
    assert conversation.done
    return conversation.episode


def graded(recipe, kind, terms, success, episode):
    return RECIPES[recipe](SimpleNamespace(kind=kind), episode, Score(terms, success))


def test_every_reward_is_used_by_a_task_or_a_recipe(tasks):
    used = {name for kind in QUESTIONS for name in tasks[kind].marking.names}
    used |= {
        name for recipe in RECIPES.values() for name in (*(reward for _, reward in recipe.kinds.values()), *recipe.adds)
    }
    assert set(REWARDS) - used == {"spacetools.format"}  # the paper tried it and left it out (E.2)
    assert used - set(REWARDS) <= {"free", "close", "failed_calls"}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_a_recipe_is_whole(tasks, recipe):
    assert recipe_named(recipe.name) is recipe
    assert set(recipe.kinds) <= set(TASK_KINDS)
    assert all(share > 0 for share, _ in recipe.kinds.values())
    assert set(recipe.suites) <= set(SUITES)
    load_protocol(recipe.protocol)
    for kind, (_, name) in recipe.kinds.items():
        assert name == "stages" if kind not in QUESTIONS else name in tasks[kind].marking.names


def test_dirl_pays_the_answer_alone_as_the_papers_table_5_chose():
    dirl = RECIPES["dirl"]
    assert {dirl.kinds[kind][1] for kind in ("point", "free_space")} == {"spacetools.nndc"}
    for answer in ("<think>I see.</think><answer>A</answer>", "<answer>A</answer>"):
        grade = graded("dirl", "depth", {"spacetools.choice": 1.0}, True, said("spacetools", answer))
        assert (grade.total, grade.terms) == (1.0, {"spacetools.choice": 1.0})


def test_a_free_place_is_paid_by_its_distance_to_the_middle_of_the_region_and_in_full_within_it(tasks):
    task = tasks["free_space"]
    hull = np.array(task.truth[0])
    middle, outside = hull.mean(axis=0), hull.max(axis=0) + 0.1
    paid = [task.marking.terms(point[None], task.truth)["spacetools.nndc"] for point in (middle, outside)]
    assert paid[0] == 1.0
    assert 0 < paid[1] < 1


def test_dirl_pays_manipulation_by_stages():
    truth = Score({"picked": False}, False, (), {"hand_at_target": Stage(True, 1.0), "held": Stage(False)})
    episode = said("spacetools", "<think>Done.</think><answer>Done.</answer>")
    grade = RECIPES["dirl"](SimpleNamespace(kind="pick"), episode, truth)
    assert grade.terms["stages"] == pytest.approx(1 / 3)
    assert grade.total == pytest.approx(1 / 3)


def test_peria_adds_repetition_and_format():
    good = "<think>Hm.</think><answer>3</answer>"
    assert graded("peria", "count", {"peria.answer": 1.0}, True, said("peria", good)).total == 2.0
    worst = f"<think>{'la ' * 25}</think><answer>3</answer>"
    grade = graded("peria", "count", {"peria.answer": 0.0}, False, said("peria", worst))
    assert grade.terms == {"peria.answer": 0.0, "peria.repetition": -3.0, "peria.format": 1.0}
    assert grade.total == -2.0


def test_evic_closes_its_gate_and_charges_failed_calls():
    answer = "So. \\boxed{A}"
    call = '<tool_call>\n{"name": "image_zoom_in", "arguments": {}}\n</tool_call>'
    looked = graded("evic", "choice", {"evic.choice": 1.0}, True, said("evic", call, answer))
    assert looked.total == pytest.approx(2.0 * 1.0 - 0.05)
    assert looked.terms["failed_calls"] == pytest.approx(-0.05)
    unseeing = graded("evic", "choice", {"evic.choice": 1.0}, True, said("evic", answer))
    assert unseeing.total == pytest.approx(1.0)
    again = graded("evic", "choice", {"evic.choice": 1.0}, True, said("evic", call, call, answer))
    assert again.total == pytest.approx(-0.1)


def test_last_pays_a_tool_that_worked_only_with_a_right_answer():
    turns = "<analy>Far?</analy><action>EstimateDepth()</action>", "<analy>So.</analy><ans>A</ans>"
    right = graded("last", "depth", {"last.choice": 1.0}, True, said("last", *turns))
    assert right.total == pytest.approx(1.3)
    wrong = graded("last", "depth", {"last.choice": 0.0}, False, said("last", *turns))
    assert wrong.terms["last.tool"] == 0.0
    assert wrong.total == 0.0
    blind = graded("last", "depth", {"last.choice": 1.0}, True, said("last", turns[1]))
    assert blind.total == pytest.approx(1.0)


def test_a_seed_of_a_recipe_is_one_task_of_its_mix():
    recipe = recipe_named("peria")
    kinds = {recipe.task(seed).kind for seed in range(12)}
    assert len(kinds) > 2
    assert kinds <= set(recipe.kinds)
    assert recipe.task(4) == recipe.task(4)


def test_an_unknown_recipe_and_a_foreign_task_are_told_in_a_sentence():
    with pytest.raises(ToolError, match="There is no recipe 'ppo', only dirl, peria, evic, last"):
        recipe_named("ppo")
    with pytest.raises(ToolError, match="no reward for a task of kind 'map_route', only for depth"):
        graded("last", "map_route", {}, False, said("last", "<ans>A</ans>"))

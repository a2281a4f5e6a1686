"""The recipes of four papers: tasks, tools, how turns are written, what an episode is worth, and how it is trained.

    recipe = recipe_named("dirl")
    task = recipe.task(seed=7)
    grade = recipe(task, episode, truth)       # a toolhand.training.env.grading.Grader
    print(recipe.training.stages)              # the paper's numbers, each with its table or section

A task's score has several rewards as terms; a recipe takes one of them for each kind, and adds what its paper adds for
the form of the conversation, as the paper's formula has it. One file is one paper.
"""

from __future__ import annotations

from toolhand.tool_nodes.results import invalid
from toolhand.training.recipes.dirl import DIRL
from toolhand.training.recipes.evic import EVIC
from toolhand.training.recipes.last import LAST
from toolhand.training.recipes.peria import PERIA
from toolhand.training.recipes.recipe import STAGES, TrainingRecipe

__all__ = ["RECIPES", "STAGES", "TrainingRecipe", "recipe_named"]

RECIPES: dict[str, TrainingRecipe] = {recipe.name: recipe for recipe in (DIRL, PERIA, EVIC, LAST)}
"""Every recipe by name. The papers' sets hold photographs; shares of the mixes are chosen by hand."""


def recipe_named(name: str) -> TrainingRecipe:
    """The recipe of this name.

    Raises:
        ToolError: INVALID_ARGUMENT for another one, with all names.
    """
    if name not in RECIPES:
        raise invalid(f"There is no recipe {name[:60]!r}, only {', '.join(RECIPES)}.")
    return RECIPES[name]

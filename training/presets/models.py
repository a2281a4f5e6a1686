"""The models that presets are written for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolhand.tool_nodes.results import invalid

if TYPE_CHECKING:
    from toolhand.training.recipes.recipe import TrainingRecipe
    from toolhand.training.recipes.stages import Sourced

SMOLLM2 = "smollm2"
"""The preset that trains here, at once."""


@dataclass(frozen=True)
class ModelPreset:
    """A model that is trained elsewhere, on GPUs.

    Attributes:
        weights: Name on the Hugging Face hub.
        template: Chat template, under LLaMA-Factory's name.
        patch: Side of the squares that its vision encoder takes [px].
    """

    name: str
    weights: str
    template: str
    patch: int

    def trained_by(self, recipe: TrainingRecipe) -> bool:
        """Whether the recipe's paper gives its numbers for this very model."""
        return self.weights in recipe.training.models

    def source(self, recipe: TrainingRecipe, number: Sourced[Any]) -> str:
        """Where a number is from, and that it is another model's where it is."""
        if not number.given or self.trained_by(recipe):
            return number.source
        return f"{number.source}, for {', '.join(short(name) for name in recipe.training.models)}"


MODELS = {
    model.name: model
    for model in (
        ModelPreset("qwen2.5-vl-3b", "Qwen/Qwen2.5-VL-3B-Instruct", "qwen2_vl", 14),
        ModelPreset("qwen3-vl-8b", "Qwen/Qwen3-VL-8B-Thinking", "qwen3_vl", 16),
    )
}
"""Every one by name: the model of SpaceTools and the largest one of PERIA."""

PRESETS = (SMOLLM2, *MODELS)
"""What `toolhand train RECIPE --preset` takes."""


def model_named(name: str) -> ModelPreset:
    """The preset of this name. Raises ToolError INVALID_ARGUMENT for another one, with all names."""
    if name not in MODELS:
        raise invalid(f"There is no preset {name[:60]!r}, only {', '.join(PRESETS)}.")
    return MODELS[name]


def short(weights: str) -> str:
    """A model without who published it."""
    return weights.rpartition("/")[2]

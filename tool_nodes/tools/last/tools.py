"""LAST-Box: spatial skills as tools (LAST, section 3.1 and appendix A)."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolhand.tool_nodes.perception.object_finder import ObjectFinder
from toolhand.tool_nodes.results import ToolResult, invalid
from toolhand.tool_nodes.toolbox.toolbox import ToolSpec
from toolhand.tool_nodes.tools.last.loading import FOLDER, load_skills
from toolhand.tool_nodes.tools.last.skill import Skill


@functools.cache
def paper_skills() -> tuple[Skill, ...]:
    """The six skills of appendix A."""
    return tuple(load_skills(FOLDER))


class SkillTools:
    """EstimateDepth, EstimateSize, SegmentObjects, CountObjects, ZoomCrop and Get3DPoint, and skills of one's own.

    Args:
        finder: Looks at the images.
        folder: More skills, one YAML file each (docs/reference/skills.md).

    Raises:
        ToolError: INVALID_ARGUMENT where a skill file is wrong, or two skills have one name.
    """

    suite = "last"

    def __init__(self, finder: ObjectFinder, folder: Path | None = None) -> None:
        self._finder = finder
        self.skills: dict[str, Skill] = {}
        for skill in [*paper_skills(), *(load_skills(folder) if folder else [])]:
            if skill.name in self.skills:
                raise invalid(f"Two skills are called {skill.name!r}.")
            self.skills[skill.name] = skill

    def tool_specs(self) -> Iterable[ToolSpec]:
        """Every skill as the toolbox offers it."""
        for skill in self.skills.values():
            yield ToolSpec(
                name=skill.name,
                description=skill.description,
                kinds={name: argument.kind for name, argument in skill.arguments.items()},
                argument_docs={name: argument.description for name, argument in skill.arguments.items()},
                required=tuple(name for name, argument in skill.arguments.items() if argument.required),
                aliases=(),
                renamed={},
                motion=False,
                function=functools.partial(self._run, skill),
                suite=self.suite,
                example=skill.example,
            )

    def _run(self, skill: Skill, **values: Any) -> ToolResult:
        return skill.run(self._finder, values)

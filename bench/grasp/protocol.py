"""What one trial of the benchmark of grasps asks for."""

from typing import Literal

GraspProtocol = Literal["attempt", "any", "clear"]
"""One thing of a scene once, whatever is seen best, or that until the scene is empty."""

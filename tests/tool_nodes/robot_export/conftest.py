from pathlib import Path

import pytest

from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.robot_export.folder import export_robot


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The exported folder of each robot that comes along, by its name."""
    folder = tmp_path_factory.mktemp("exported")
    return {name: export_robot(load_robot(name), folder / name).folder for name in ("gen3", "jaco2_j2s7s300")}

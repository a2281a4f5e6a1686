"""These tests run where Open3D is installed: `make test-open3d`."""

from importlib.util import find_spec
from pathlib import Path

collect_ignore = [] if find_spec("open3d") else [path.name for path in Path(__file__).parent.glob("test_*.py")]

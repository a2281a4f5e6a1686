"""The folder of an engine is tested where that engine is installed: in its own environment, see docs/engines.md."""

from importlib.util import find_spec
from pathlib import Path

collect_ignore = [
    folder.name for folder in Path(__file__).parent.iterdir() if folder.is_dir() and find_spec(folder.name) is None
]

"""The tests of an engine run in the environment where it is installed: docs/guides/train_with_engines.md."""

from importlib.util import find_spec
from pathlib import Path

collect_ignore = [
    folder.name for folder in Path(__file__).parent.iterdir() if folder.is_dir() and find_spec(folder.name) is None
]

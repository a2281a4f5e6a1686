"""The folder of an engine is tested where that engine is installed: in its own environment, see docs/engines.md."""

from importlib.util import find_spec

from training.adapters.environments import ENGINES

collect_ignore = [name for name, engine in ENGINES.items() if find_spec(engine.module) is None]

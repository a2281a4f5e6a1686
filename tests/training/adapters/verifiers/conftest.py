"""uv, which starts verifiers' harnesses, lies beside the interpreter of the engine's environment."""

import os
import sys
from pathlib import Path

os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

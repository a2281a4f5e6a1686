"""Keeps the pages of the tests as `toolhand console` does; the settings are a line of its input.

A further line of its input is answered by the process number of the pages; it ends with its input.
"""

import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from toolhand.console import supervisor
from toolhand.console.settings import ConsoleSettings

if __name__ == "__main__":
    supervisor.STOP_MODULE, supervisor.PAGES_MODULE = "tests.console.browser.kept_stop", "tests.console.browser.serving"
    kept = supervisor.ConsoleSupervisor(
        ConsoleSettings.from_line(sys.stdin.readline()), lambda said: print(said, file=sys.stderr)
    )
    try:
        kept.start()
        threading.Thread(target=kept.watch, daemon=True).start()
        print(kept.pids()["pages"], flush=True)
        for _ in sys.stdin:
            print(kept.pids()["pages"], flush=True)
    finally:
        kept.close()

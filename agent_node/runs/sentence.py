"""The folder of one sentence of an operator, whatever it becomes.

| what is carried out | where it is kept |
|---|---|
| the command that the sentence is, or the first of several | in the folder of the sentence |
| each further one, and what moves the arm on the way | in a folder inside it, named by its number |
| a look on the way to a command | nowhere; it is the sentence's run where no command came of it |

At the end `result.json` and the report of the folder say what came of the whole sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolhand.agent_node.runs.folder import clear_empty, keep_newest, new_run_dir, write_json
from toolhand.agent_node.runs.index import RESULT_FILE, read_result
from toolhand.agent_node.runs.report import refresh_head
from toolhand.tool_nodes.results import ErrorCode, ToolError

STEPS = "steps"
"""Entry of `result.json`: the folders inside that hold the rest of a sentence, in order."""
FIRST_TASK = "first_task"
"""Entry of `result.json`: the command of a sentence of several whose run the folder itself holds."""


class SentenceFolder:
    """Where the runs of one sentence are kept.

    Args:
        root: Folder of runs.
        said: The operator's words.
        keep: How many of the newest runs stay in `root`; 0 keeps all.

    Attributes:
        path: The folder; None before the first command.
    """

    def __init__(self, root: Path, said: str, keep: int = 0) -> None:
        self._root, self._keep, self.said = root, keep, said
        self.path: Path | None = None
        self._has_command, self._inside = False, list[str]()
        self._instead: Callable[[Path], Any] | None = None

    def begin(self, on_the_way: bool) -> Path:
        """A folder for the next command; one on the way to it is written only if it has moved the arm.

        Raises:
            ToolError: UNAVAILABLE where none can be made.
        """
        if self.path is None:
            self.path = new_run_dir(self._root)
            keep_newest(self._root, self._keep)
        if not on_the_way and not self._has_command:
            self._has_command = True
            return self.path
        inside = self.path / str(len(self._inside) + 2)
        inside.mkdir(exist_ok=True)
        return inside

    def keep(self, folder: Path, write: Callable[[Path], Any], only_instead: bool) -> Path | None:
        """Write a run into the folder that it was given, or have it written at the end if nothing else is.

        Args:
            folder: The one that `begin` gave.
            write: Writes the run into a folder.
            only_instead: It is of interest only where no command comes of the sentence.

        Returns:
            Where it was written; None where it was not.
        """
        if only_instead:
            self._instead = write
            clear_empty(folder)
            return None
        if folder != self.path:
            self._inside.append(folder.name)
        write(folder)
        return folder

    def end(self, answer: str, success: bool, code: ErrorCode | None, again: str = "") -> None:
        """Say in the folder what came of the whole sentence.

        Args:
            success: Whether all of it was done.
            code: Code of the first fault.
            again: Command line that says the sentence once more.

        Raises:
            ToolError: UNAVAILABLE where that cannot be written.
        """
        if self.path is None:
            return
        whole = bool(self._inside)
        if not (self.path / RESULT_FILE).is_file():
            if self._instead is None:
                return
            self._instead(self.path)
            whole = True
        if not whole:
            return
        try:
            result = read_result(self.path / RESULT_FILE)
        except ToolError:  # the disk was full: that was said
            return
        result |= {FIRST_TASK: result.get("task", ""), "task": self.said, STEPS: self._inside}
        result |= {"answer": answer, "success": success, "error_code": code}
        result |= {"command": again} if again else {}
        result.pop("said", None)
        write_json(self.path / RESULT_FILE, result)
        refresh_head(self.path / "report.html", result)

    def close(self) -> None:
        """Leave no empty folder."""
        if self.path is not None:
            clear_empty(self.path)


def with_words(about: Mapping[str, Any], said: str, task: str) -> dict[str, Any]:
    """Entries of a result with the operator's words, where the command that came of them is another sentence."""
    return dict(about) | ({"said": said} if said != task else {})

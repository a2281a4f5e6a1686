"""What all pages of a console share: what was said and done, what waits, and the question that is open.

It lives in the process of the pages and not in a page, so that a page that is loaded again shows what it showed
before. Its methods may be called in any thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from toolhand.agent_node.events import (
    LONGEST_ANSWER,
    CommandEnded,
    OperatorAnswer,
    OperatorQuestion,
    ToolCalled,
)
from toolhand.agent_node.memory import at_point
from toolhand.agent_node.pointed import PointedPoint
from toolhand.console.robot import Heard, Robot, ShownImage, SpokenOutcome, SpokenWords
from toolhand.tool_nodes.language.stopping import is_stop
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.stop_latch import HOW_TO_RESET

MOST_ENTRIES = 300
"""Newest entries that are kept and shown [-]: some twenty commands; all others are in the reports of their runs."""
LONGEST_TEXT = 4000
"""Longest text of an entry [characters]: what is longer is cut, and is whole in the report."""
MOST_WAITING = 20
"""Sentences that may wait [-]: more than an operator plans ahead."""
LONGEST_SENTENCE = LONGEST_ANSWER
"""Longest sentence [characters], as the agent takes it."""
MOST_IMAGES = 12
"""Newest images of tools that are kept [-]: 12 of some 60 kB; older ones are in the reports."""
RESET_HERE = "Once nobody is near the arm, press “Reset the stop” at the top of the page."
"""What pages say in place of HOW_TO_RESET, which names commands of a terminal."""
_LOOK_S = 0.1
"""How often a question that waits looks whether its command still runs [s]."""


@dataclass(frozen=True)
class TranscriptEntry:
    """One line of what was said and done.

    Attributes:
        number: From 1, in order, without gaps.
        kind: "said", "told", "command", "thought", "call", "result", "image", "note", "refusal", "question",
            "operator", "ended" or "page", which is a sentence of the console itself.
        text: Line as it is shown: always text, never markup.
        detail: Text shown when the entry is unfolded, e.g. the arguments of a call; empty for none.
        code: Code of the error; empty for none.
        run_dirs: Folders of the reports of what has ended.
    """

    number: int
    kind: str
    text: str
    detail: str = ""
    code: str = ""
    run_dirs: tuple[str, ...] = ()


@dataclass(frozen=True)
class WaitingSentence:
    """A sentence that waits for its turn: its number, and what is said."""

    number: int
    said: SpokenWords


@dataclass(frozen=True)
class AskedQuestion:
    """A question that waits for the operator.

    Attributes:
        number: Number of its entry.
        text: The question.
        candidates: Objects that it lets choose from, in the order of their numbers from 1.
    """

    number: int
    text: str
    candidates: tuple[PointedPoint, ...]


class ConsoleState:
    """Shares the state of a console among its pages, and says to the robot what operators say, one after the other.

    Args:
        robot: The robot.

    Attributes:
        robot: The same.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._changed = threading.Condition(threading.RLock())
        self._listeners: list[Callable[[], None]] = []
        self._entries: deque[TranscriptEntry] = deque(maxlen=MOST_ENTRIES)
        self._numbers = 0
        self._waiting: list[WaitingSentence] = []
        self._running: SpokenWords | None = None
        self._held_back = ""
        self._cancelling = False
        self._instead = False
        self._question: AskedQuestion | None = None
        self._answer: OperatorAnswer | None = None
        self._answered = False
        self._images: deque[tuple[int, ShownImage]] = deque(maxlen=MOST_IMAGES)
        self._closed = False
        self._worker = threading.Thread(target=self._work, daemon=True, name="console-hub")
        self._worker.start()

    # -- what pages read ------------------------------------------------------------------------

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have a function called after every change, in any thread; calling what is returned ends it."""
        with self._changed:
            self._listeners.append(changed)

        def close() -> None:
            with self._changed, contextlib.suppress(ValueError):
                self._listeners.remove(changed)

        return close

    def entries(self, after: int = 0) -> list[TranscriptEntry]:
        """Entries with greater numbers, in order."""
        with self._changed:
            return [entry for entry in self._entries if entry.number > after]

    def image(self, number: int) -> bytes | None:
        """The image of an entry as JPEG; None where it is not kept any more."""
        with self._changed:
            return next((shown.jpeg for known, shown in self._images if known == number), None)

    @property
    def running(self) -> SpokenWords | None:
        """What is carried out."""
        return self._running

    @property
    def cancelling(self) -> bool:
        """What is carried out was cancelled, and has not ended yet."""
        return self._cancelling

    @property
    def waiting(self) -> tuple[WaitingSentence, ...]:
        """Sentences that wait, in order."""
        with self._changed:
            return tuple(self._waiting)

    @property
    def held_back(self) -> str:
        """Why the sentences that wait do not go on by themselves; empty where they do."""
        return self._held_back

    @property
    def question(self) -> AskedQuestion | None:
        """The question that waits for the operator."""
        return self._question

    # -- what operators do ----------------------------------------------------------------------

    def say(self, said: SpokenWords) -> None:
        """Answer the question that waits, stop what runs, or have a sentence carried out after those that wait.

        Raises:
            ToolError: INVALID_ARGUMENT for an empty or too long sentence, and where too many wait.
        """
        text = said.text.strip()
        if not text and not said.pointed:
            raise invalid("Say something.", 'Such as "pick up the lemon".')
        if len(text) > LONGEST_SENTENCE:
            raise invalid(f"A sentence may have at most {LONGEST_SENTENCE:,} characters, got {len(text):,}.")
        with self._changed:
            if self._question is not None:
                point = said.pointed[0].point if said.pointed else None
                self.answer(self._question.number, OperatorAnswer(text, point))
                return
            if not text:
                raise invalid("A point alone is no command.", 'Say what to do with it, such as "pick up this one".')
            if self._running is not None and is_stop(text):
                self._add("said", text)
                self.cancel()
                return
            if len(self._waiting) >= MOST_WAITING:
                raise invalid(f"At most {MOST_WAITING} sentences may wait.", "Cancel, or let some be done first.")
            self._numbers += 1
            self._waiting.append(WaitingSentence(self._numbers, replace(said, text=text)))
            self._add("said", text, _points_text(said.pointed), number=self._numbers)

    def answer(self, number: int, answer: OperatorAnswer) -> None:
        """Answer the question of an entry.

        Raises:
            ToolError: INVALID_ARGUMENT where that question does not wait, or has its answer.
        """
        with self._changed:
            if self._question is None or self._question.number != number or self._answered:
                raise invalid("That question does not wait any more.")
            self._answer, self._answered = answer, True
            self._changed.notify_all()

    def cancel(self, why: str = "") -> None:
        """Cancel what is carried out, and hold back what waits."""
        with self._changed:
            if self._running is None:
                return
            if why and not self._cancelling:
                self._add("page", why)
            self._cancelling = True
            self._notify()
        self.robot.cancel()

    def say_instead(self, said: SpokenWords) -> None:
        """Cancel what is carried out, and have this carried out next, before all that waits.

        Raises:
            ToolError: INVALID_ARGUMENT for an empty or too long sentence.
        """
        if not 0 < len(said.text) <= LONGEST_SENTENCE:
            raise invalid(f"A sentence has 1 to {LONGEST_SENTENCE:,} characters.")
        with self._changed:
            self._numbers += 1
            self._waiting.insert(0, WaitingSentence(self._numbers, said))
            self._instead = self._running is not None
            if not self._instead:
                self._held_back = ""
            self._add("said", said.text, _points_text(said.pointed), number=self._numbers)
        self.cancel()

    def go_on(self) -> None:
        """Let the sentences that wait be carried out after one has failed."""
        with self._changed:
            self._held_back = ""
            self._notify()

    def drop_waiting(self, number: int | None = None) -> None:
        """Forget a sentence that waits, or all of them."""
        with self._changed:
            self._waiting = [] if number is None else [each for each in self._waiting if each.number != number]
            if not self._waiting:
                self._held_back = ""
            self._notify()

    def note(self, sentence: str, code: str = "") -> None:
        """Show a sentence of the console itself."""
        with self._changed:
            self._add("page", sentence, code=code)

    def close(self) -> None:
        """End what is carried out, and take nothing more."""
        with self._changed:
            self._closed = True
            self._waiting = []
            self._changed.notify_all()
        self.robot.cancel()
        self.robot.close()

    # -- carrying out ---------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (not self._waiting or self._held_back):
                    self._changed.wait()
                if self._closed:
                    return
                said = self._waiting.pop(0).said
                self._running, self._cancelling = said, False
                self._notify()
            try:
                outcome = self.robot.say(said, self._hear, self._ask)
            except ToolError as error:
                outcome = SpokenOutcome(str(error), False, error.code)
            except Exception as error:  # the page says so; a console that dies of a command shows nothing at all
                message = f"The console failed inside: {type(error).__name__}: {error}"
                outcome = SpokenOutcome(message, False, ErrorCode.INTERNAL)
            self._end(outcome)

    def _end(self, outcome: SpokenOutcome) -> None:
        with self._changed:
            self._running, self._cancelling, self._question = None, False, None
            code = "" if outcome.error_code is None else str(outcome.error_code)
            self._add("ended", outcome.answer, code=code, run_dirs=outcome.run_dirs)
            instead, self._instead = self._instead, False
            if not outcome.success and self._waiting and not instead:
                self._held_back = "The sentence before was not done, so that those that wait are held back."
            self._notify()

    def _ask(self, question: OperatorQuestion) -> OperatorAnswer | None:
        """See `toolhand.agent_node.events.Ask`: waits for the answer as long as the command runs."""
        with self._changed:
            said = self._running
            self._answer, self._answered = None, False
            number = self._add("question", question.text).number
            self._question = AskedQuestion(number, question.text, question.candidates)
            self._notify()
            while not (self._answered or self._closed or self._cancelling or self._running is not said):
                self._changed.wait(_LOOK_S)
            if self._question is not None and self._question.number == number:
                self._question = None
            self._notify()
            return self._answer if self._answered else None

    def _hear(self, event: Heard) -> None:
        """Note an event of what is carried out."""
        with self._changed:
            if isinstance(event, ShownImage):
                if event.jpeg:
                    entry = self._add("picture", event.name)
                    self._images.append((entry.number, event))
            elif isinstance(event, ToolCalled):
                self._add(event.kind, event.call.name, event.text)
            elif not isinstance(event, OperatorQuestion | CommandEnded):  # noted where asked, and with the outcome
                self._add(event.kind, event.words, event.detail, event.code if event.kind == "refusal" else "")

    def _add(
        self,
        kind: str,
        text: str,
        detail: str = "",
        code: str = "",
        run_dirs: tuple[str, ...] = (),
        number: int = 0,
    ) -> TranscriptEntry:
        if not number:
            self._numbers += 1
            number = self._numbers
        entry = TranscriptEntry(number, kind, _cut(text), _cut(detail), code, run_dirs)
        self._entries.append(entry)
        self._notify()
        return entry

    def _notify(self) -> None:
        self._changed.notify_all()
        for listener in tuple(self._listeners):
            listener()


def _cut(text: str) -> str:
    text = text.replace(HOW_TO_RESET, RESET_HERE)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ... ({len(text):,} characters in all)"


def _points_text(pointed: Sequence[PointedPoint]) -> str:
    """Points as they stand beside the sentence: "1 at (0.412, 0.530)"."""
    shown = [f"{each.label or k} at {at_point(each.point)}" for k, each in enumerate(pointed, 1) if each.point]
    return ", ".join(shown)

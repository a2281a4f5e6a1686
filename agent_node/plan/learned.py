"""The learned reader: a small network writes the plan of an utterance, limited to what the grammar allows."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from toolhand.agent_node.plan.grammar import END, PlanWriter, is_small, symbols
from toolhand.agent_node.plan.network import ArrayNetwork, Floats, load_weights
from toolhand.agent_node.plan.pieces import PieceVocabulary, words_of
from toolhand.agent_node.plan.reader import Understood
from toolhand.agent_node.plan.reading import is_plan, read_plan
from toolhand.tool_nodes.files import why
from toolhand.tool_nodes.results import unavailable

WEIGHTS = Path(__file__).with_name("weights")
WEIGHTS_FILE = "reader.safetensors"
"""The shipped weights' folder, and the name of the file in it."""
START_SYMBOL, END_SYMBOL = "<start>", "<end>"
_AGAIN = "Install toolhand again, or train a reader: `toolhand train reader`."


class LearnedReader:
    """Reads utterances by a network.

    Args:
        folder: Folder of its weights, with the vocabulary in their metadata.

    Raises:
        ToolError: UNAVAILABLE where the weights are missing, damaged or made for another grammar.
    """

    def __init__(self, folder: Path = WEIGHTS) -> None:
        path = folder / WEIGHTS_FILE
        try:
            weights, metadata = load_weights(path)
            self._network = ArrayNetwork(weights)
            self._encoder = PieceVocabulary(json.loads(metadata["pieces"]))
            self._symbols: list[str] = json.loads(metadata["symbols"])
            self._fixed = int(metadata["fixed"])
        except OSError as error:
            raise unavailable(f"The reader's weights {path} cannot be read: {why(error)}.", _AGAIN) from error
        except (KeyError, ValueError) as error:
            raise unavailable(f"{path} holds no weights of a reader, or damaged ones.", _AGAIN) from error
        if unknown := set(self._symbols[2 : self._fixed]) - set(symbols()):
            raise unavailable(f'{path} is of another version: it writes "{min(unknown)}", which no plan has.', _AGAIN)
        self._number = {symbol: k for k, symbol in enumerate(self._symbols[: self._fixed])}
        directions = weights["piece.weight"] - weights["piece.weight"].mean(0)
        self._directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        self._free = [k for k, symbol in enumerate(self._symbols) if k >= self._fixed]

    def likeness(self, words: str, name: str) -> float:
        """How alike two names are [-1..1], see `toolhand.agent_node.plan.likeness`."""
        one, other = (
            self._directions[[number for word in words_of(text) for number in self._encoder.pieces(word)]]
            for text in (words, name)
        )
        if not (len(one) and len(other)):
            return 0.0
        alike = one @ other.T
        return float(alike.max(1).mean() + alike.max(0).mean()) / 2

    def read(self, utterance: str, context: str = "") -> Understood | None:
        """See `PlanReader`; None where the plan would be longer than the network writes."""
        said, certainty, unused = self.write(utterance, context)
        return Understood(read_plan(said), certainty, unused) if is_plan(said) else None

    def write(self, utterance: str, context: str = "") -> tuple[str, float, tuple[str, ...]]:
        """The likeliest plan, the least probability of a step of it, and the words that nothing was copied from."""
        source = self._encoder.encode(utterance, context)
        decoder, writer, many = self._network.read(source), PlanWriter(), len(self._symbols)
        symbol, copied, least, said, used = self._number[START_SYMBOL], -1, 0.0, False, set()
        written: list[str] = []
        allowed = writer.allowed()
        for _ in range(self._network.longest):
            logs = _shared(decoder.next(symbol, copied), source.words, many)
            may_come = self._open(allowed, source.words, said)
            if copied >= 0:
                may_come[many + copied] = False  # nobody names anything by the same word twice
            open_logs = np.where(may_come, logs, -np.inf)
            chosen = int(np.argmax(open_logs))
            # How sure it is among what may come: what it would write beside the grammar, as a hyphen, tells nothing.
            least = min(least, float(open_logs[chosen] - np.logaddexp.reduce(open_logs)))
            if chosen == self._number[END_SYMBOL]:
                break
            word = source.words[chosen - many] if chosen >= many else self._symbols[chosen]
            free = chosen >= self._fixed
            terminal = self._terminal(word, allowed, free, said)
            if not (said and free):
                writer.write(terminal, word)
                allowed = writer.allowed()
            said = terminal == "SAID"
            written.append(word)
            symbol, copied = (many, chosen - many) if chosen >= many else (chosen, -1)
            used.add(copied)
        own = zip(source.words, source.starts, strict=True)
        unused = tuple(
            word for k, (word, start) in enumerate(own) if k not in used and source.types[start] == 0 and word.isalnum()
        )
        return " ".join(written), math.exp(least), unused

    def _open(self, allowed: frozenset[str], words: tuple[str, ...], said: bool) -> np.ndarray:
        """True for what may be written next, of symbols and words of the input."""
        mask = np.zeros(len(self._symbols) + len(words), dtype=bool)
        for symbol, names in symbols().items():
            if symbol in self._number:
                mask[self._number[symbol]] = not allowed.isdisjoint(names)
        mask[self._number[END_SYMBOL]] = END in allowed
        for k in [*self._free, *range(len(self._symbols), len(mask))]:
            word = self._symbols[k] if k < len(self._symbols) else words[k - len(self._symbols)]
            if said or "SAID" in allowed:
                mask[k] = word not in ";"
            elif word.isdigit():
                mask[k] = "NUMBER" in allowed or "WORD" in allowed
            else:
                # A small word of the grammar would begin something that the words before it have not ended.
                begins = word in symbols() and (is_small(word) or not allowed.isdisjoint(symbols()[word]))
                mask[k] = "WORD" in allowed and any(c.isalnum() for c in word) and not begins
        return mask

    @staticmethod
    def _terminal(word: str, allowed: frozenset[str], free: bool, said: bool) -> str:
        if not free:
            return next(name for name in symbols()[word] if name in allowed)
        if said or "SAID" in allowed:
            return "SAID"
        return "NUMBER" if "NUMBER" in allowed and word.isdigit() else "WORD"


def _shared(logs: Floats, words: tuple[str, ...], many: int) -> Floats:
    """The log-probabilities with those of one and the same word added at its first place."""
    found = logs.copy()
    first: dict[str, int] = {}
    for k, word in enumerate(words):
        at = first.setdefault(word, many + k)
        if at != many + k:
            found[at] = np.logaddexp(found[at], found[many + k])
            found[many + k] = -np.inf
    return found

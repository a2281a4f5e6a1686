"""From rollouts and turns to tokens: only what the policy sampled is given credit (E-ViC, section 3.3, Eq. 6 and
Figure 2).

A mask (L,) is True on the policy's tokens: thoughts, calls and answers. Answers of tools are transitions of the
environment; their tokens have no advantage and no importance ratio.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import BoolArray, FloatArray


def of_rollout(advantage: float, mask: BoolArray) -> FloatArray:
    """A(tau) on each of the policy's tokens, 0 on the others (Eq. 6): (L,)."""
    return np.where(mask, float(advantage), 0.0)


def of_turns(advantages: FloatArray, spans: Sequence[tuple[int, int]], length: int) -> FloatArray:
    """Each turn's advantage on the tokens of its span, 0 elsewhere (PERIA, C.3): (L,).

    Args:
        advantages: (T,).
        spans: T pairs of first token and the one after the last, in order, not overlapping.
        length: L.

    Raises:
        ToolError: INVALID_ARGUMENT for spans of another number, out of order or out of range.
    """
    edges = np.array([0, *(edge for span in spans for edge in span), length])
    if len(spans) != len(advantages) or (np.diff(edges) < 0).any():
        raise invalid(f"{len(advantages)} turns need as many spans, in order, within {length} tokens.")
    tokens = np.zeros(length)
    for advantage, (start, end) in zip(advantages, spans, strict=True):
        tokens[start:end] = advantage
    return tokens


def spans_of(mask: BoolArray) -> list[tuple[int, int]]:
    """First token, and the one after the last, of each run of the policy's tokens: its turns."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def token_ratios(logprobs: FloatArray, sampled: FloatArray, mask: BoolArray) -> FloatArray:
    """Importance ratio of each token, exp(log pi - log pi_old), (L,); 1 on tokens of the environment (Figure 2).

    Args:
        logprobs: Under the policy, (L,).
        sampled: Under the policy that sampled, (L,); whatever stands on tokens of the environment, NaN too, is not
            read.
        mask: (L,).
    """
    return np.exp(np.where(mask, logprobs - sampled, 0.0))


def step_ratios(logprobs: FloatArray, sampled: FloatArray, spans: Sequence[tuple[int, int]]) -> FloatArray:
    """Importance ratio of each whole step, pi(o_t | h_t) / pi_old(o_t | h_t) (Eq. 5), (T,): the product over its
    tokens."""
    difference = logprobs - sampled
    return np.exp(np.array([difference[start:end].sum() for start, end in spans]))

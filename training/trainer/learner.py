"""Network and optimiser, a step at a time, in torch: what SFT and RL share.

RL's loss of the tokens t that the policy wrote (SpaceTools Eq. 2; PERIA, section 4.3; E-ViC Eq. 4), with
rho_t = pi(t) / pi_old(t), pi_old being the policy that sampled:

    L = -mean_t( min(rho_t A_t, clip(rho_t, 1 - low, 1 + high) A_t) )
        + kl_coef * mean_t( KL_t ) - entropy_coef * mean_t( H_t )

KL_t is Schulman's estimate of the divergence from the policy that the training began with, r - 1 - log r with
r = pi_begin(t) / pi(t), as GRPO has it (Shao et al. 2024, Eq. 4).
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from agent_node.policies.tiny.weights import TinyWeights
from tool_nodes.files import require_regular, write_whole
from tool_nodes.results import ErrorCode, ToolError, invalid
from tool_nodes.types import BoolArray
from training.trainer.network import Dropout, TinyTransformer, chosen_device, nothing_dropped
from training.trainer.sequences import Floats, TokenBatch, TokenSequence, alike
from training.trainer.settings import OptimiserSettings, PolicySettings

_BETA1 = 0.9
"""How slowly the mean of gradients follows [-]: AdamW's default in torch, and the momentum of SGD."""
_SEQUENCES_AT_ONCE = 32
"""Sequences that are read at once where a step has more; of like lengths, so that little is filled up."""
_SEEDS = 2**62
"""Seeds of torch that are drawn from [-], within its 64 bits."""
_NEVER = -1e9
"""Logit of a token that is not allowed: its share is 0, and so is that times its logarithm, which minus infinity would
not give."""


def _optimiser(network: TinyTransformer, settings: OptimiserSettings) -> torch.optim.Optimizer:
    if settings.optimiser == "sgd":
        return torch.optim.SGD(network.parameters(), settings.learning_rate, momentum=_BETA1)
    betas, decay = (_BETA1, settings.beta2), settings.weight_decay
    return torch.optim.AdamW(network.parameters(), settings.learning_rate, betas=betas, weight_decay=decay)


class Learner:
    """The network under training.

    Args:
        weights: Where it begins.
        settings: Settings of the optimiser, the device and the threads.
    """

    def __init__(self, weights: TinyWeights, settings: OptimiserSettings) -> None:
        torch.set_num_threads(settings.threads)
        self.device = chosen_device(settings.device)
        self._begun_with, self._settings = weights, settings
        self._grammar = weights.grammar
        self._masks: WeakKeyDictionary[TokenSequence, BoolArray] = WeakKeyDictionary()
        self.network = TinyTransformer.from_weights(weights).to(self.device)
        self._optimiser = _optimiser(self.network, settings)
        self._reference: TinyTransformer | None = None
        self._grad_norm = 0.0
        self.step_number = 0

    @property
    def parameters(self) -> int:
        """How many numbers are learned."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    @property
    def weights(self) -> TinyWeights:
        """As they are now."""
        return self.network.to_weights(self._begun_with)

    # -- steps -----------------------------------------------------------------------------------------

    def dropout(self, share: float, rng: np.random.Generator) -> Callable[[Tensor], Tensor]:
        """What `supervise` leaves out in a step, by a generator; of 0 it is nothing, and nothing is drawn."""
        if not share:
            return nothing_dropped
        return Dropout(share, torch.Generator(self.device).manual_seed(int(rng.integers(_SEEDS))))

    def supervise(
        self, sequences: Sequence[TokenSequence], rate: float = 1.0, drop: Callable[[Tensor], Tensor] = nothing_dropped
    ) -> dict[str, float]:
        """One step of SFT.

        Args:
            sequences: Conversations of the step; a token counts as much as its advantage says.
            rate: Share of the highest learning rate.
            drop: Share of the network's numbers that is kept, see `dropout`.

        Returns:
            "loss" [nat a token] before the step, "accuracy" (share of tokens that were the likeliest), "tokens",
            all of the tokens that count.

        Raises:
            ToolError: INTERNAL where the loss is no number: nothing was changed by it.
        """
        self.network.train()
        logits, batch = self._scored(sequences, drop)
        targets = batch.targets
        tokens = batch.advantages.sum()
        counts = batch.advantages / tokens.clamp(min=1.0)
        loss = (F.cross_entropy(logits, targets, reduction="none") * counts).sum()
        likeliest = (logits.argmax(-1) == targets).float()
        figures = {"accuracy": float((likeliest * counts).sum()), "tokens": float(tokens)}
        self._require_number(loss)
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self._descend(rate)
        return {"loss": float(loss.detach()), **figures}

    def reinforce(
        self, sequences: Sequence[TokenSequence], settings: PolicySettings, rate: float = 1.0
    ) -> dict[str, float]:
        """One step of RL; see the module.

        Args:
            sequences: Conversations with advantages, and log-probabilities of the policy that sampled.
            settings: Settings of the objective.
            rate: Share of the highest learning rate, once the first steps are over.

        Returns:
            "loss", "clip_fraction" (share of tokens whose ratio was cut), "approx_kl" of the policy that sampled from
            the one that takes the step (rho - 1 - log rho) and "entropy" [nat], "reference_kl" from the policy that the
            training began with [nat] where `settings.kl_coef` is above 0, "grad_norm", "tokens".

        Raises:
            ToolError: INTERNAL where the loss is no number: nothing was changed by it.
        """
        self.network.train()
        self._optimiser.zero_grad(set_to_none=True)
        count = sum(int(sequence.sampled.sum()) for sequence in sequences)
        parts = []
        for some in alike(sequences, _SEQUENCES_AT_ONCE):
            loss, metrics = self._part_of_step(some, settings)
            self._require_number(loss)
            (loss / count).backward()
            parts.append({**metrics, "loss": float(loss.detach())})
        self._descend(rate * min(1.0, (self.step_number + 1) / (settings.warmup_steps + 1)))
        means = {name: sum(part[name] for part in parts) / count for name in parts[0]}
        return {**means, "tokens": float(count), "grad_norm": self._grad_norm}

    def _part_of_step(
        self, sequences: Sequence[TokenSequence], settings: PolicySettings
    ) -> tuple[Tensor, dict[str, float]]:
        """Sums over the sampled tokens of some sequences: the loss, and the metrics of `reinforce`."""
        logits, batch = self._scored(sequences)
        everything = F.log_softmax(logits, -1)
        logprobs = batch.of_targets(everything)
        ratio = torch.exp(logprobs - batch.logprobs)
        cut = ratio.clamp(1.0 - settings.clip_low, 1.0 + settings.clip_high)
        gain = torch.minimum(ratio * batch.advantages, cut * batch.advantages)
        entropy = -(everything.exp() * everything).sum()
        loss = -gain.sum() - settings.entropy_coef * entropy
        metrics = {"entropy": float(entropy.detach())}
        if settings.kl_coef > 0:
            drift = _divergence(self._reference_logprobs(batch), logprobs).sum()
            loss = loss + settings.kl_coef * drift
            metrics["reference_kl"] = float(drift.detach())
        with torch.no_grad():
            metrics["clip_fraction"] = float((gain < ratio * batch.advantages).float().sum())
            metrics["approx_kl"] = float(_divergence(logprobs, batch.logprobs).sum())  # the samples are the old one's
        return loss, metrics

    def _require_number(self, loss: Tensor) -> None:
        if not torch.isfinite(loss):
            raise _no_number("loss", self.step_number)

    def _descend(self, rate: float) -> None:
        """A step along the gradients that are there."""
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), self._settings.max_grad_norm)
        if not torch.isfinite(norm):
            raise _no_number("gradient", self.step_number)
        for group in self._optimiser.param_groups:
            group["lr"] = self._settings.learning_rate * rate
        self._optimiser.step()
        self.step_number += 1
        self._grad_norm = float(norm)

    # -- without gradients -----------------------------------------------------------------------------

    @torch.no_grad()
    def logprobs(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Of each sequence the natural log-probability of each token that was sampled, (L,), 0 elsewhere."""
        self.network.eval()
        found = []
        for first in range(0, len(sequences), _SEQUENCES_AT_ONCE):
            some = sequences[first : first + _SEQUENCES_AT_ONCE]
            logits, batch = self._scored(some)
            values = batch.of_targets(F.log_softmax(logits, -1)).cpu().numpy()
            edges = np.cumsum([int(sequence.sampled.sum()) for sequence in some])[:-1]
            for sequence, own in zip(some, np.split(values, edges), strict=True):
                out = np.zeros(len(sequence), np.float32)
                out[sequence.sampled] = own
                found.append(out)
        return found

    @torch.no_grad()
    def measure(self, sequences: Sequence[TokenSequence]) -> dict[str, float]:
        """Loss [nat a token] and accuracy, by name, of sequences that are not trained on."""
        self.network.eval()
        lost, right, count = 0.0, 0, 0
        for first in range(0, len(sequences), _SEQUENCES_AT_ONCE):
            logits, batch = self._scored(sequences[first : first + _SEQUENCES_AT_ONCE])
            lost += float(F.cross_entropy(logits, batch.targets, reduction="sum"))
            right += int((logits.argmax(-1) == batch.targets).sum())
            count += len(batch.targets)
        return {"loss": lost / count, "accuracy": right / count}

    def _scored(
        self, sequences: Sequence[TokenSequence], drop: Callable[[Tensor], Tensor] = nothing_dropped
    ) -> tuple[Tensor, _Sampled]:
        """Logits (N, V) that the N sampled tokens of a batch were drawn from, and these.

        Where a grammar guides the policy, logits of tokens that it did not allow are too low to be drawn.
        """
        batch = TokenBatch.of(sequences)
        sampled = torch.from_numpy(batch.sampled[:, 1:]).to(self.device)
        tokens = torch.from_numpy(batch.tokens).long().to(self.device)
        visual_features = torch.from_numpy(batch.visual_features).to(self.device)
        sampled_of = _Sampled(self, batch, tokens, visual_features, sampled, self._allowed(sequences))
        hidden = self.network(tokens[:, :-1], visual_features[:, :-1], drop)[sampled]
        return sampled_of.guided(self.network.logits(hidden)), sampled_of

    def _allowed(self, sequences: Sequence[TokenSequence]) -> Tensor | None:
        """(N, V) of a batch."""
        if self._grammar is None:
            return None
        for sequence in sequences:
            if sequence not in self._masks:
                self._masks[sequence] = self._grammar.masks(sequence.tokens, sequence.sampled)
        return torch.from_numpy(np.concatenate([self._masks[sequence] for sequence in sequences])).to(self.device)

    def _reference_logprobs(self, batch: _Sampled) -> Tensor:
        if self._reference is None:
            self._reference = TinyTransformer.from_weights(self._begun_with).to(self.device).eval()
        with torch.no_grad():
            hidden = self._reference(batch.tokens[:, :-1], batch.visual_features[:, :-1])[batch.sampled]
            return batch.of_targets(F.log_softmax(batch.guided(self._reference.logits(hidden)), -1))

    # -- to resume -------------------------------------------------------------------------------------

    def save(self, path: Path, more: Mapping[str, Any]) -> None:
        """Write a checkpoint, whole or not at all: network, optimiser, and plain data besides. Raises OSError."""
        state = {"network": self.network.state_dict(), "optimiser": self._optimiser.state_dict()}
        buffer = io.BytesIO()
        torch.save({**state, "step": self.step_number, "more": dict(more)}, buffer)
        write_whole(path, buffer.getvalue())

    def load(self, path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
        """Go on from a checkpoint.

        Args:
            path: The file to read.
            identity: Expected "identity": that of the same training.

        Returns:
            What was saved beside the network.

        Raises:
            ToolError: INVALID_ARGUMENT where it is damaged or of another training; nothing was changed.
        """
        try:
            require_regular(path)
            state = torch.load(path, map_location=self.device, weights_only=True)
            more = dict(state["more"])
            before = more["identity"]
        except OSError as error:
            raise invalid(f"Cannot read {path}: {error.strerror or error}.") from error
        except (RuntimeError, ValueError, KeyError, TypeError, EOFError, pickle.UnpicklingError) as error:
            raise _damaged(path) from error
        if before.get("version", 1) != identity.get("version", 1):
            raise invalid(
                f"{path} is a checkpoint of version {before.get('version', 1)}, and this trainer goes on with version "
                f"{identity.get('version', 1)}.",
                "Finish it with the release that began it, or choose another folder.",
            )
        if before != identity:
            other = [name for name in identity if before.get(name) != identity[name]]
            raise invalid(
                f"{path.parent} holds a training of other {', '.join(other) or 'settings'}.",
                "Choose another folder, or delete its checkpoint.",
            )
        kept = copy.deepcopy(self.network.state_dict())
        try:
            self.network.load_state_dict(state["network"])
            self._optimiser.load_state_dict(state["optimiser"])
            self.step_number = int(state["step"])
        except (RuntimeError, ValueError, KeyError, TypeError) as error:
            self.network.load_state_dict(kept)
            raise _damaged(path) from error
        return more


class _Sampled:
    """The N tokens of a batch that were sampled, as tensors."""

    def __init__(
        self,
        learner: Learner,
        batch: TokenBatch,
        tokens: Tensor,
        visual_features: Tensor,
        sampled: Tensor,
        allowed: Tensor | None,
    ) -> None:
        def flat(values: Any) -> Tensor:
            return torch.from_numpy(values[:, 1:]).to(learner.device)[sampled]

        self.tokens, self.visual_features, self.sampled, self._allowed = tokens, visual_features, sampled, allowed
        self.targets = tokens[:, 1:][sampled]
        self.advantages, self.logprobs = flat(batch.advantages), flat(batch.logprobs)

    def guided(self, logits: Tensor) -> Tensor:
        """Logits (N, V) with those that were not allowed too low to be drawn."""
        return logits if self._allowed is None else logits.masked_fill(~self._allowed, _NEVER)

    def of_targets(self, values: Tensor) -> Tensor:
        """(N,): of values (N, V), those of the tokens that were sampled."""
        return values.gather(-1, self.targets[:, None])[:, 0]


def _divergence(other: Tensor, own: Tensor) -> Tensor:
    """r - 1 - log r with r = other / own, of log-probabilities: 0 or more, its mean over own's samples is the KL."""
    difference = other - own
    return torch.exp(difference) - 1.0 - difference


def _no_number(what: str, step: int) -> ToolError:
    return ToolError(ErrorCode.INTERNAL, f"The {what} of step {step + 1} is not a number: training stopped.")


def _damaged(path: Path) -> ToolError:
    return invalid(f"The checkpoint {path} is damaged or of another network.", "Delete it to begin again.")

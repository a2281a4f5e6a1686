"""What decides a training of the tiny policy, apart from its data and its seed.

Papers train models of billions of parameters, whose rates are a hundred times smaller: SpaceTools (Table 1) SFT 1e-5,
batch 8, 2 epochs, warm-up 0.1, cosine; RL 1e-6, batch 64, groups of 5, KL 1e-4, no entropy term. PERIA (Table 5) RL
1e-6, groups of 4, epsilon 0.2, omega 1, gamma 0.99, delta 0.9, no KL. E-ViC (section 4.2) RL 1e-6, 128 rollouts in
groups of 16, epsilon 0.2, no KL. LAST SFT 1e-5, batch 64, 5 epochs, warm-up 0.05; KL 0.01.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from tool_nodes.results import invalid
from training.advantages.dapo import CLIP
from training.advantages.gigpo import GAMMA, OMEGA, PRINTED, AnchorChoice
from training.advantages.grouping import DELTA

AdvantageName = Literal["grpo", "or_gigpo"]
"""How rollouts of a group are compared: as wholes, or turn by turn as well."""

OptimiserName = Literal["adamw", "sgd"]


@dataclass(frozen=True)
class OptimiserSettings:
    """How weights are moved, the same for both kinds of training.

    Attributes:
        optimiser: AdamW, or SGD with a momentum of 0.9.
        learning_rate: Highest.
        weight_decay: Weight decay of AdamW; SGD has none.
        beta2: Decay of AdamW's mean of squares.
        max_grad_norm: Norm that gradients of a step are cut to.
        device: "cpu", "cuda", or "auto": a GPU where there is one.
        threads: Processor threads of torch; another number gives other last digits.
    """

    optimiser: OptimiserName = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    beta2: float = 0.999
    max_grad_norm: float = 1.0
    device: str = "auto"
    threads: int = 1

    def __post_init__(self) -> None:
        self._require(self.optimiser in ("adamw", "sgd"), 'optimiser must be "adamw" or "sgd"')
        self._require(0 < self.learning_rate < math.inf, "learning_rate must be above 0")
        self._require(0 <= self.weight_decay < math.inf, "weight_decay must be 0 or more")
        self._require(0 <= self.beta2 < 1, "beta2 must be in 0..1, below 1")
        self._require(self.max_grad_norm > 0, "max_grad_norm must be above 0")
        self._require(self.threads >= 1, "threads must be 1 or more")

    def _require(self, true: bool, allowed: str) -> None:
        if not true:
            raise invalid(f"{type(self).__name__}: {allowed}.")


@dataclass(frozen=True)
class SupervisedSettings(OptimiserSettings):
    """Of SFT: cross-entropy of the tokens that the teacher's policy wrote.

    Attributes:
        learning_rate: Highest. Ten epochs of 265 rows came to 0.59 nat a token on rows of other tasks with 1e-3 and
            a beta2 of 0.999, to 0.49 with 2e-3 and 0.95.
        beta2: Decay of AdamW's mean of squares, as in GPT-3 (Brown et al. 2020).
        epochs: Times that each row is seen.
        batch: Rows of a step; SpaceTools has 8, PERIA 32.
        warmup_ratio: Share of all steps in which the rate rises; after it, it falls to 0 as a cosine (SpaceTools: 0.1).
        dropout: Share of the network's numbers that each step leaves out.
        held_out: Share of the rows that is not trained on, only measured.
        sentences, conversations: Rows of each epoch that practise copying, see `training.trainer.practice.Renaming`.

    Raises:
        ToolError: INVALID_ARGUMENT, in one sentence that says what is allowed; so does every settings class here.
    """

    learning_rate: float = 2e-3
    beta2: float = 0.95
    epochs: int = 6
    batch: int = 24
    warmup_ratio: float = 0.1
    dropout: float = 0.0
    held_out: float = 0.05
    sentences: int = 0
    conversations: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.epochs >= 1 and self.batch >= 1, "epochs and batch must be 1 or more")
        self._require(0 <= self.dropout < 1, "dropout must be in 0..1, below 1")
        self._require(
            0 <= self.warmup_ratio < 1 and 0 <= self.held_out < 1, "warmup_ratio and held_out must be in 0..1, below 1"
        )
        self._require(self.sentences >= 0 and self.conversations >= 0, "sentences and conversations must be 0 or more")


@dataclass(frozen=True)
class PolicySettings(OptimiserSettings):
    """Of a step of RL: the clipped objective over tokens that were sampled (SpaceTools Eq. 2; PERIA, section 4.3).

    Attributes:
        optimiser: SGD moves what the rollouts speak of most; AdamW moves every weight as far, whatever its gradient:
            seven iterations of it at 4e-4 ended where they began.
        learning_rate: After the first steps; with AdamW 2e-4 moved a thousandth of a nat an iteration, and at
            6e-4 a policy came apart; so did SGD at 0.25 in uneven batches.
        warmup_steps: Steps in which the rate rises.
        advantages: GRPO or OR-GIGPO.
        epochs: Times that each rollout is learned from before new ones are drawn.
        batch: Most rollouts of a step; all steps of an epoch have as many. docs/results/small_experiment.md has what
            epochs and batches gain.
        target_kl: Divergence from the policy that sampled [nat a token] from which on no more steps are made before
            new rollouts are drawn, as Spinning Up's PPO has it: so that a rate may be high and nothing comes apart.
        clip_low, clip_high: Epsilon below and above 1 [-]; 0.2 in the papers, DAPO has 0.28 above.
        kl_coef: Weight of the divergence from the policy that the training began with; SpaceTools 1e-4, LAST 0.01,
            PERIA 0.
        entropy_coef: Weight of the entropy of the next token, which is added; 0 in SpaceTools.
        omega, gamma, delta, anchor: Settings of OR-GIGPO, see `training.advantages.gigpo.or_gigpo`; GiGPO has no delta
            and the anchor "answered".
        with_std: Divide advantages by the group's standard deviation.
        max_logprob_diff: Mean difference of the log-probability of a token as it was sampled and as the trainer
            computes it [nat] from which on a training stops: then rows are not what the policy saw. It is a
            hundred times what rounding makes.
    """

    optimiser: OptimiserName = "sgd"
    learning_rate: float = 0.08
    warmup_steps: int = 2
    advantages: AdvantageName = "grpo"
    epochs: int = 4
    batch: int = 160
    target_kl: float = 0.02
    clip_low: float = CLIP
    clip_high: float = CLIP
    kl_coef: float = 0.0
    entropy_coef: float = 0.0
    omega: float = OMEGA
    gamma: float = GAMMA
    delta: float | None = DELTA
    anchor: AnchorChoice = PRINTED
    with_std: bool = True
    max_logprob_diff: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.warmup_steps >= 0, "warmup_steps must be 0 or more")
        names = get_args(AdvantageName)
        self._require(self.advantages in names, f"advantages must be one of {', '.join(names)}")
        self._require(self.epochs >= 1 and self.batch >= 1, "epochs and batch must be 1 or more")
        self._require(self.target_kl > 0, "target_kl must be above 0")
        self._require(0 < self.clip_low <= 1 and self.clip_high > 0, "clip_low must be in 0..1, clip_high above 0")
        self._require(
            0 <= self.kl_coef < math.inf and 0 <= self.entropy_coef < math.inf,
            "kl_coef and entropy_coef must be 0 or more",
        )
        self._require(0 <= self.gamma <= 1 and math.isfinite(self.omega), "gamma must be in 0..1 and omega finite")
        self._require(
            self.anchor in get_args(AnchorChoice), f"anchor must be one of {', '.join(get_args(AnchorChoice))}"
        )
        self._require(self.delta is None or 0 < self.delta <= 1, "delta must be above 0 and at most 1, or None")
        self._require(self.max_logprob_diff > 0, "max_logprob_diff must be above 0")


@dataclass(frozen=True)
class ReinforceSettings(PolicySettings):
    """Of RL in physics.

    Attributes:
        iterations: Times that rollouts are drawn and learned from.
        min_lr_ratio: Share of the learning rate in the last iteration; it falls to it in a line from the first.
        group_size: Rollouts of each task; SpaceTools 5, PERIA 4, E-ViC 16.
        workers: Processes that draw them.
        deadline_s: Longest wall time of a rollout [s].
        stop_zero_variance: Groups in a row, each with equal rewards, after which a training stops; 0 never does.
        stop_no_tool_calls: The same for groups in which no tool was called.
        keep: Iterations whose rollouts stay in the folder, the newest; None keeps all.
    """

    iterations: int = 20
    min_lr_ratio: float = 1.0
    group_size: int = 8
    workers: int = 2
    deadline_s: float = 120.0
    stop_zero_variance: int = 24
    stop_no_tool_calls: int = 8
    keep: int | None = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.iterations >= 1 and self.workers >= 1, "iterations and workers must be 1 or more")
        self._require(0 < self.min_lr_ratio <= 1, "min_lr_ratio must be above 0 and at most 1")
        self._require(self.group_size >= 2, "group_size must be 2 or more: advantages compare rollouts of one task")
        self._require(self.deadline_s > 0, "deadline_s must be above 0")
        self._require(
            self.stop_zero_variance >= 0 and self.stop_no_tool_calls >= 0,
            "stop_zero_variance and stop_no_tool_calls must be 0 or more",
        )
        self._require(self.keep is None or self.keep >= 1, "keep must be 1 or more, or None")

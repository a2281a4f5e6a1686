"""The toy of two turns on TRL's GRPOTrainer; everything is made here.

TRL's model writes calls as JSON, so a piece of JSON is one token here: a turn with a call is four tokens (call, word,
end of call, end of turn), one with the answer two.
"""

from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any, Literal

from tests.training.adapters.toy import (
    ANSWERS,
    COLOURS,
    TOOLS,
    TOY_EPOCHS,
    TOY_FORM_BATCH,
    TOY_FORM_RATE,
    TOY_FORM_STEPS,
    TOY_GROUP,
    TOY_RATE,
    ToyEpisode,
    ToyTask,
    form_examples,
)
from toolhand.training.adapters.environments import require_engine

_CALL, _CALLED, _END = '<tool_call>\n{"name": "ask", "arguments": {"tool": "', '"}}\n</tool_call>', "<|im_end|>"
_MARKS = (_END, "<user>", "<assistant>", "<tool>", _CALL, _CALLED, "says ", "nothing")
_TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    '{% for c in m.tool_calls or [] %}<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
    "{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
_WIDTH, _HEADS = 32, 2
"""Of the network, of two layers."""
_LONGEST = 16
"""Completion of a rollout, what the tool says included [tokens]; two turns are 14."""


class ToyOnTrl:
    """The toy as GRPOTrainer's environment."""

    def reset(self, colour: str, secret: str, **_: Any) -> None:
        """Begin a task."""
        self._episode = ToyEpisode(ToyTask(colour, secret))

    def ask(self, tool: Literal["left", "right"]) -> str:
        """Ask one who may know.

        Args:
            tool: Whom.
        """
        return "" if self._episode.done else self._episode.say(f"ask {tool}")

    def get_reward(self) -> float:
        """Of the episode."""
        return self._episode.total

    def _hear(self, message: Any) -> None:
        if not self._episode.done and not message.get("tool_calls"):
            self._episode.say(f"answer {message.get('content') or ''}")


def train_toy_on_trl(seed: int = 0, iterations: int = 10, groups: int = 8) -> tuple[float, ...]:
    """Teach the form by SFT and go on with TRL's GRPO.

    Args:
        seed: Decides everything.
        iterations: Of RL, each with new rollouts.
        groups: Of TOY_GROUP episodes each, in an iteration.

    Returns:
        Mean reward of each iteration, 0..1, sampled.

    Raises:
        ToolError: UNAVAILABLE without TRL.
    """
    with require_engine("trl"):
        from trl import GRPOConfig
        from trl.chat_template_utils import qwen3_template
    import torch
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    from toolhand.training.adapters.on_trl import step_trainer

    torch.manual_seed(seed)
    words = Tokenizer(models.WordLevel({"<pad>": 0, "<unk>": 1}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", unk_token="<unk>", chat_template=_TEMPLATE
    )
    tokenizer.add_tokens([*_MARKS, *TOOLS, *COLOURS, *ANSWERS])
    tokenizer.eos_token = _END
    tokenizer.response_template = qwen3_template
    network = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=_WIDTH,
            num_hidden_layers=2,
            num_attention_heads=_HEADS,
            num_key_value_heads=_HEADS,
            head_dim=_WIDTH // _HEADS,
            intermediate_size=2 * _WIDTH,
            tie_word_embeddings=True,
            max_position_embeddings=64,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    network.generation_config.eos_token_id = tokenizer.eos_token_id
    network.generation_config.pad_token_id = tokenizer.pad_token_id
    _teach_the_form(network, tokenizer, seed)
    tasks = [ToyTask.of(k) for _ in range(iterations) for k in range(groups)]
    rows = [
        {"prompt": [{"role": "user", "content": task.colour}], "colour": task.colour, "secret": task.secret}
        for task in tasks
    ]
    batch = groups * TOY_GROUP
    with TemporaryDirectory() as folder:
        trainer = step_trainer()(
            model=network,
            args=GRPOConfig(
                output_dir=folder, per_device_train_batch_size=batch, num_generations=TOY_GROUP,
                num_iterations=TOY_EPOCHS, max_steps=iterations * TOY_EPOCHS,
                learning_rate=TOY_RATE, lr_scheduler_type="constant", max_completion_length=_LONGEST,
                max_tool_calling_iterations=1, shuffle_dataset=False, use_cpu=not torch.cuda.is_available(), bf16=False,
                report_to="none", save_strategy="no", logging_steps=1, disable_tqdm=True, seed=seed,
            ),
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            environment_factory=ToyOnTrl,
        )  # fmt: skip
        trainer.train()
    return tuple(float(entry["reward"]) for entry in trainer.state.log_history if "reward" in entry)


def _teach_the_form(network: Any, tokenizer: Any, seed: int) -> None:
    """SFT on the episodes of a teacher that knows the form alone."""
    import torch

    pad = tokenizer.pad_token_id
    rows = [_tokens(said, tokenizer) for said in form_examples(seed, TOY_FORM_BATCH * TOY_FORM_STEPS)]
    longest = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [pad] * (longest - len(ids)) for ids, _ in rows])
    labels = torch.tensor([own + [-100] * (longest - len(own)) for _, own in rows])
    optimizer = torch.optim.AdamW(network.parameters(), lr=TOY_FORM_RATE)
    for first in range(0, len(rows), TOY_FORM_BATCH):
        part = slice(first, first + TOY_FORM_BATCH)
        loss = network(input_ids=ids[part], attention_mask=ids[part] != pad, labels=labels[part]).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _tokens(said: Sequence[str], tokenizer: Any) -> tuple[list[int], list[int]]:
    """Ids of an episode's texts in the template's form, and labels: -100 but for the policy's own."""
    colour, tool, says, answer = said[0].split()[-1], said[1].split()[1], said[2], said[3].split()[1]
    parts = [
        (f"<user>{colour}{_END}<assistant>", False),
        (f"{_CALL}{tool}{_CALLED}{_END}", True),
        (f"<tool>{says}{_END}<assistant>", False),
        (f"{answer}{_END}", True),
    ]
    ids: list[int] = []
    labels: list[int] = []
    for text, own in parts:
        part = tokenizer(text)["input_ids"]
        ids += part
        labels += part if own else [-100] * len(part)
    return ids, labels

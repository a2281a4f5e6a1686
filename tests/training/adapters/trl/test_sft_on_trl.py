"""An adapter trained by TRL's SFTTrainer on a tiny model: what is written, and that a broken-off training goes on."""

import json
from dataclasses import asdict

import pytest
import transformers

from tests.random_qwen import byte_tokenizer, text_settings
from toolhand.agent_node.policies.adapters import base_of, write_base
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters.sft_on_trl import LoraSettings, first_tokens, logits_of, train_adapter


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    tokenizer = byte_tokenizer()
    transformers.set_seed(0)
    transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**text_settings(tokenizer))).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_base(folder, "mine", "aa")
    return folder


def prepared(folder, base, **more):
    """A folder to train in: eight conversations of which the last three tokens are to be learned."""
    settings = LoraSettings(str(base), rank=4, batch=4, micro_batch=2, learning_rate=3e-2, save_steps=2, **more)
    rows = [{"input_ids": [10 + k, 20, 30, 40, 50], "labels": [-100, -100, 30, 40, 50]} for k in range(8)]
    (folder / "settings.json").write_text(json.dumps(asdict(settings)))
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def losses(folder):
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row]


def test_an_adapter_is_written_in_half_precision_with_log_and_curves_and_the_loss_falls(base, tmp_path):
    folder = prepared(tmp_path, base, epochs=6.0)
    adapter = train_adapter(folder)
    found = losses(folder)
    assert len(found) == 12
    assert found[-1] < found[0] - 0.3
    assert (adapter / "adapter_config.json").is_file()
    assert base_of(adapter) == {"base": "mine", "sha256": "aa"}, "the base that it is of is noted"
    assert list((folder / "events").rglob("events*"))
    from safetensors.torch import load_file

    weights = load_file(adapter / "adapter_model.safetensors")
    assert {str(tensor.dtype) for tensor in weights.values()} == {"torch.float16"}
    written = (adapter / "adapter_model.safetensors").stat().st_mtime_ns
    assert train_adapter(folder) == adapter
    assert (adapter / "adapter_model.safetensors").stat().st_mtime_ns == written, "what is there is left alone"


def test_a_training_that_was_broken_off_goes_on_to_the_same_numbers(base, tmp_path, monkeypatch):
    whole, broken = (
        prepared(tmp_path / name, base, epochs=2.0) for name in ("whole", "broken") if not (tmp_path / name).mkdir()
    )
    train_adapter(whole)

    def power_cut(self, args, state, control, **more):
        if state.global_step == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(transformers.TrainerCallback, "on_step_end", power_cut)
    from toolhand.training.adapters import sft_on_trl

    kept = sft_on_trl.callbacks
    monkeypatch.setattr(sft_on_trl, "callbacks", lambda *given: [*kept(*given), transformers.TrainerCallback()])
    with pytest.raises(KeyboardInterrupt):
        train_adapter(broken)
    assert not (broken / "adapter").exists()
    monkeypatch.undo()
    train_adapter(broken)
    assert losses(broken) == pytest.approx(losses(whole), abs=1e-4)


@pytest.mark.parametrize(
    ("name", "content"), [("settings.json", '{"depth": 3}'), ("rows.jsonl", '{"input_ids": [1]}\n'), ("rows.jsonl", "")]
)
def test_a_bad_file_is_told_before_anything_is_loaded(base, tmp_path, name, content):
    folder = prepared(tmp_path, base)
    (folder / name).write_text(content)
    with pytest.raises(ToolError, match=name) as caught:
        train_adapter(folder)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_the_first_token_of_each_turn_is_told_from_the_others():
    import torch

    labels = torch.tensor([[-100, 5, 6, -100, -100, 7, -100], [-100, -100, -100, -100, 8, 9, 9]])
    assert first_tokens(labels).int().tolist() == [[1, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0]]


def test_the_first_token_of_a_turn_weighs_in_the_loss_what_is_asked_and_is_logged(base, tmp_path):
    logs = []
    for name, weight in (("plain", 1.0), ("weighed", 10.0)):
        (tmp_path / name).mkdir()
        train_adapter(prepared(tmp_path / name, base, epochs=1.0, first_token=weight))
        logs.append(json.loads((tmp_path / name / "log.jsonl").read_text().splitlines()[0]))
    plain, weighed = logs
    assert weighed["first_token_loss"] == plain["first_token_loss"]
    assert weighed["loss"] == pytest.approx(plain["loss"] + 9 * plain["first_token_loss"] / 3, rel=1e-5)


def test_rows_filled_up_on_either_side_have_the_logits_that_each_has_alone(base):
    import accelerate
    import peft
    import torch

    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).eval()
    tuned = peft.get_peft_model(model, peft.LoraConfig(target_modules="all-linear", task_type="CAUSAL_LM"))
    ids = torch.tensor([[3, 10, 20, 30, 40], [11, 21, 31, 4, 4]])
    seen = torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    learned = torch.tensor([[0, 0, 1, 1], [0, 1, 0, 0]], dtype=torch.bool)
    with torch.no_grad():
        found = logits_of(accelerate.Accelerator(cpu=True), tuned, ids, seen, learned)
        alone = [model(row[there.bool()][None]).logits[0] for row, there in zip(ids, seen, strict=True)]
    torch.testing.assert_close(found, torch.stack([alone[0][1], alone[0][2], alone[1][1]]))

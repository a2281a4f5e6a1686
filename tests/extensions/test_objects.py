"""Things of another package that no robot knows, as docs/guides/objects.md says."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from tests.extensions.package import GUIDES, Package, install_guide, promised

PAGE = (GUIDES / "objects.md").read_text(encoding="utf-8")
SCENE, RUN = (shlex.split(line) for line in re.findall(r"^    toolhand ((?:scene|run) .*)$", PAGE, re.MULTILINE))
"""The commands of the page."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    package = install_guide(tmp_path_factory.mktemp("objects") / "site", "objects")
    block = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
    (package.work / "workshop.yaml").write_text(block, encoding="utf-8")
    return package


def test_a_thing_of_another_package_stands_in_a_scene_file(package: Package) -> None:
    assert promised("objects") == f"{package.files} file, {package.lines} line"
    ended = package.toolhand(*SCENE, "--json")
    assert ended.returncode == 0, ended.stderr
    thing, _ = json.loads(ended.stdout)["objects"]
    assert (thing["id"], thing["name"], thing["size_m"]) == ("mallet_1", "workshop/mallet", [0.12, 0.05, 0.05])
    assert (package.work / "workshop.png").stat().st_size > 10_000


def test_what_the_robot_does_not_know_is_picked_up_judged_and_never_named(package: Package) -> None:
    ended = package.toolhand(*RUN, "--no-animation", "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    document = json.loads(ended.stdout)
    assert document["truth"]["picked"]
    assert document["judged_against"]["goal"] == "pick mallet_1"
    conversation = ended.stderr.partition("judgement")[0] + document["answer"]
    assert "Picked up the grey object" in conversation
    assert "mallet" not in conversation


def test_its_name_is_known_to_the_simulators_truth_alone(package: Package) -> None:
    words = ("call", "roborefer.detect_one", json.dumps({"obj_name": "mallet", "image_index": 0}))
    told, seen = (package.toolhand(*words, "--scene", "workshop.yaml", "--perception", p) for p in ("sim", "pixels"))
    assert told.returncode == 0, told.stderr
    assert seen.returncode != 0
    assert "mallet" not in (seen.stdout + seen.stderr).replace("'mallet'", "").replace('"mallet"', "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("workshop/malet", '"malet" is not in the set "workshop", the nearest names are "mallet"'),
        ("workshp/mallet", "There is no object set 'workshp'"),
        ("red bx", 'line 2: "red bx" is not in the catalogue, the nearest names are "red box"'),
    ],
)
def test_an_unknown_name_is_one_sentence_with_the_nearest_names(package: Package, name: str, said: str) -> None:
    (package.work / "wrong.yaml").write_text(
        f"objects:\n  - {{name: {name}, position: [0.5, 0.0]}}\n", encoding="utf-8"
    )
    ended = package.toolhand("scene", "wrong.yaml")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") <= 2
    assert "wrong.yaml, line 2: " in ended.stderr
    assert said in " ".join(ended.stderr.split())

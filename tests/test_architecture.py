"""The shape of the code base: which room may import which, and what the core never needs."""

import ast
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("tool_nodes", "sim", "agent_node", "training", "bench", "console", "toolhand")
ALLOWED = {
    "tool_nodes": set(),
    "sim": {"tool_nodes"},
    "agent_node": {"tool_nodes"},
    "training": {"tool_nodes", "sim", "agent_node"},
    "bench": {"tool_nodes", "sim", "agent_node", "training"},
    "console": {"tool_nodes", "agent_node"},
    "toolhand": {"tool_nodes", "sim", "agent_node", "training", "bench", "console"},
}
HEAVY = {
    "torch",
    "transformers",
    "ray",
    "verl",
    "trl",
    "openenv",
    "verifiers",
    "vllm",
    "open3d",
    "pxr",
    "pyzed",
    "curobo",
    "moveit",
    "rapidocr",
    "onnxruntime",
    "cv2",
    "gymnasium",
    "pyarrow",
    "safetensors",
    "huggingface_hub",
    "zmq",
    "msgpack",
    "trimesh",
    "coacd",
    "networkx",
    "nicegui",
    "viser",
    "yourdfpy",
    "pydantic",
    "pydantic_core",
}
ADAPTERS = {
    "toolhand.bench.serving.on_ray": {"ray"},
    "toolhand.console.scene_view": {"viser", "yourdfpy"},
    "toolhand.console.serve": {"nicegui"},
    "toolhand.sim.objects.reading.coacd_child": {"coacd"},
    "toolhand.tool_nodes.drivers.curobo": {"curobo", "torch"},
    "toolhand.tool_nodes.drivers.moveit_py": {"moveit"},
    "toolhand.tool_nodes.drivers.open3d": {"open3d"},
    "toolhand.tool_nodes.drivers.zed": {"pyzed"},
    "toolhand.tool_nodes.perception.text.rapid": {"rapidocr"},
    "toolhand.tool_nodes.serve.calling": {"ray"},
    "toolhand.tool_nodes.serve.cluster": {"ray"},
    "toolhand.tool_nodes.serve.replicas": {"ray"},
    "toolhand.tool_nodes.serve.trust": {"ray"},
    "toolhand.tool_nodes.serve.transport": {"ray"},
    "toolhand.tool_nodes.record_schemas": {"pydantic", "pydantic_core"},
    "toolhand.tool_nodes.records": {"pydantic_core"},
    "toolhand.training.adapters.on_openenv": {"openenv", "pydantic"},
    "toolhand.training.adapters.on_trl": {"torch", "trl"},
    "toolhand.training.adapters.sft_on_trl": {"torch", "transformers", "trl"},
    "toolhand.training.adapters.grpo_on_trl": {"torch", "transformers", "trl"},
    "toolhand.training.adapters.own_episodes": {"safetensors", "torch", "transformers"},
    "toolhand.training.adapters.packed": {"torch", "transformers"},
    "toolhand.training.adapters.chat_rows": {"transformers"},
    "toolhand.training.adapters.on_verifiers": {"pydantic", "verifiers"},
    "toolhand.training.adapters.on_verl": {"pydantic", "verl"},
    "toolhand.training.adapters.on_verl_trainer": {"torch", "verl"},
    "toolhand.training.data.arrow": {"pyarrow"},
    "toolhand.training.env.gymnasium_view": {"gymnasium"},
    "toolhand.training.pool.ray_workers": {"ray"},
    "toolhand.training.reader.fit": {"torch"},
    "toolhand.training.reader.network": {"torch"},
}
"""The one file that imports such a package: only when it is asked to read, or what Gymnasium itself imports."""
ROS_MODULE = re.compile(
    r".*_node|(tool_nodes|sim|agent_node|bench)\.ros(\..*)?|console\.ros(_\w+)?|bench\.redteam\.ros_sequences"
)
"""The nodes and the transport: only these know ROS 2, and nothing that runs in process imports them at its top."""
LAZY = {"toolhand.tool_nodes.ros.client", "toolhand.sim.ros.graph"}
"""Modules among them that load ROS 2 only when they are called."""


def knows_ros(module: str) -> bool:
    return module not in LAZY and ROS_MODULE.fullmatch(module.removeprefix("toolhand.")) is not None


def room_of(module: str) -> str:
    """Folder at the top of the repository: "sim" of toolhand.sim.world, "toolhand" of toolhand.cli.run."""
    below = module.split(".")[1:2]
    return below[0] if below and below[0] in ROOMS else "toolhand"


def modules() -> dict[str, Path]:
    found = {}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts if room == "toolhand" else ("toolhand", *parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


@dataclass
class Facts:
    """What the tests below ask of a file of Python.

    Attributes:
        imports: Names of all modules that it imports, with what it takes from them.
        at_top: Those that are imported at its top.
        at_run_time: Those that not only a type checker imports.
        strings: Texts in quotes, names of loggers aside.
        types: Classes and type aliases at its top; neither private ones nor type variables.
        enum_operands: Lines that compare something with a member of an enum of MuJoCo: numpy does that pixel by pixel
            in Python.
        of_yaml: What it takes of the package yaml.
    """

    imports: set[str] = field(default_factory=set)
    at_top: set[str] = field(default_factory=set)
    at_run_time: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    enum_operands: list[int] = field(default_factory=list)
    of_yaml: set[str] = field(default_factory=set)


@cache
def facts(path: Path) -> Facts:
    """What one walk through a file finds: parsing the whole project takes seconds."""
    found, strings, loggers = Facts(), dict[int, str](), set[int]()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left: list[tuple[ast.AST, bool]] = [(tree, True)]
    while left:
        node, at_run_time = left.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                left += [(child, False) for child in node.body]
                left += [(child, at_run_time) for child in node.orelse]
                continue
            case ast.Import() | ast.ImportFrom():
                found.imports |= imported(node)
                found.at_run_time |= imported(node) if at_run_time else set()
            case ast.Constant(value=str(text)):
                strings[id(node)] = text
            case ast.Attribute(value=ast.Name(id="yaml")):
                found.of_yaml.add(node.attr)
            case ast.Compare():
                found.enum_operands += [node.lineno for side in (node.left, *node.comparators) if is_enum_member(side)]
            case ast.Call(func=ast.Attribute(attr="getLogger")):
                loggers |= {id(argument) for argument in node.args}
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr="isin")):
                operands = [inner for argument in node.args for inner in getattr(argument, "elts", [argument])]
                found.enum_operands += [node.lineno for operand in operands if is_enum_member(operand)]
        left += [(child, at_run_time) for child in ast.iter_child_nodes(node)]
    found.strings = {text for name, text in strings.items() if name not in loggers}
    for statement in tree.body:
        match statement:
            case ast.Import() | ast.ImportFrom():
                found.at_top |= imported(statement)
            case ast.ClassDef(name=name) if name[0].isupper():
                found.types.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp()):
                found.types |= {name} if name[0].isupper() and not name.isupper() else set()
    return found


def imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = {alias.name for alias in node.names}
    if isinstance(node, ast.Import):
        return names
    return {node.module, *(f"{node.module}.{name}" for name in names)} if node.module else set()


def is_enum_member(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node).startswith("mujoco.mjt")


def named(path: Path) -> set[str]:
    """Modules of this project that stand in strings, as "module:Class" or for a lazy import; not in docstrings."""
    return {name for text in facts(path).strings if (name := text.split(":")[0]) in MODULES and "." in name}


def packages(names: Iterable[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


# One test for all modules: the import of each is looked at in less time than pytest takes for a test of its own.


def test_a_room_imports_only_the_rooms_below_it() -> None:
    for module, path in MODULES.items():
        room = room_of(module)
        foreign = {room_of(name) for name in facts(path).imports | named(path) if name.startswith("toolhand.")}
        assert foreign - {room} <= ALLOWED[room], module


def test_the_core_never_imports_heavy_packages() -> None:
    for module, path in MODULES.items():
        heavy = packages(facts(path).imports) & HEAVY
        allowed = {"nicegui"} if module.startswith("toolhand.console.pages.") else ADAPTERS.get(module, set())
        assert heavy <= allowed, module


def test_numbers_are_compared_with_the_number_of_an_enum_not_with_its_object() -> None:
    assert {str(path): lines for path in MODULES.values() if (lines := facts(path).enum_operands)} == {}


def test_only_nodes_and_the_transport_know_ros() -> None:
    for module in (name for name in MODULES if not knows_ros(name)):
        assert "rclpy" not in packages(facts(MODULES[module]).imports), module
        needed = facts(MODULES[module]).at_top & set(MODULES)
        assert not [name for name in needed if knows_ros(name)], module


def test_no_module_imports_itself_through_others() -> None:
    graph = {name: {n for n in facts(path).at_top if n in MODULES} for name, path in MODULES.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for other in graph[name]:
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())
    assert done == set(MODULES)


LEVEL_ROOMS = ("tool_nodes", "sim", "agent_node", "training", "bench", "console", "toolhand")
"""Rooms inside which imports run one way, too."""


def part_of(module: str) -> str:
    """The folder of a module inside its room, or the module itself where it lies in no folder."""
    return ".".join(module.split(".")[:3])


def arrows(room: str) -> dict[str, set[str]]:
    """For each part of a room those that it imports, also inside functions."""
    found: dict[str, set[str]] = {}
    package = "toolhand.cli" if room == "toolhand" else f"toolhand.{room}"
    for module in (name for name in MODULES if name.startswith(f"{package}.")):
        needed = {part_of(name) for name in facts(MODULES[module]).at_run_time if name in MODULES}
        others = {name for name in needed if name.startswith(f"{package}.")} - {part_of(module)}
        found.setdefault(part_of(module), set()).update(others)
    return found


@pytest.mark.parametrize("room", LEVEL_ROOMS)
def test_inside_a_room_imports_run_one_way(room: str) -> None:
    left = arrows(room)
    assert left
    while lowest := {part for part, below in left.items() if not below & set(left)}:
        left = {part: below for part, below in left.items() if part not in lowest}
    assert not left, "these import each other: " + ", ".join(
        f"{part} -> {other}" for part, below in sorted(left.items()) for other in sorted(below & set(left))
    )


def test_parameters_of_nodes_are_declared_where_those_that_cannot_change_are_refused() -> None:
    declaring = {name for name, path in MODULES.items() if ".declare_parameter(" in path.read_text(encoding="utf-8")}
    assert declaring == {"toolhand.tool_nodes.ros.parameters"}


def test_the_folders_at_the_top_are_packages_of_toolhand_alone() -> None:
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == set(ROOMS)
    (folders,) = re.findall(r"^FOLDERS = (\(.+?\))$", (ROOT / "setup.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*ast.literal_eval(folders)} == {*ROOMS, "urdf"} - {"toolhand"}
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    assert {name.split(".")[0] for name in data} <= {
        "rclpy_zenoh",
        "toolhand",
        "toolhand_bringup",
        "toolhand_interfaces",
    }


def test_nobody_imports_them_by_their_folders() -> None:
    files = [path for folder in (*ROOMS, "docs", "examples", "tests") for path in (ROOT / folder).rglob("*.py")]
    by_folder = re.compile(rf"^ *(from|import) ({'|'.join(set(ROOMS) - {'toolhand'})})\b", re.MULTILINE)
    for path in files:
        assert not by_folder.search(path.read_text(encoding="utf-8")), path


def test_folders_that_would_shadow_other_packages_are_no_packages() -> None:
    assert not [folder for folder in ("launch", "urdf", "tests") if (ROOT / folder / "__init__.py").exists()]


def test_files_stay_short_enough_to_read() -> None:
    long = {name: lines for name, path in MODULES.items() if (lines := path.read_text().count("\n")) > 460}
    assert not long, f"split these or give a reason here: {long}"


SAME_NAME = {
    "Options": "the options of each benchmark, one in each file of bench/commands",
    "Plan": "a planned motion, and what a teacher thinks before a move",
    "Relation": "the relations of places in sentences, and those of them that the judge knows",
}
"""Types of one name in several modules, and why."""


def test_no_two_types_share_a_name() -> None:
    homes: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for name in facts(path).types:
            homes.setdefault(name, []).append(module)
    shared = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert set(shared) == set(SAME_NAME), shared


def test_nothing_refers_to_a_machine_or_a_registry() -> None:
    forbidden = ("/" + "work/", "/" + "root/", "/" + "home/", "pypi" + ".org", "index" + "-url http")
    folders = [path for folder in ("docs", "examples", ".github") for path in (ROOT / folder).rglob("*")]
    files = [path for path in folders if path.suffix in (".md", ".py", ".rst", ".yml")]
    files += [*MODULES.values(), *ROOT.glob("*.md"), ROOT / "Makefile", ROOT / ".pre-commit-config.yaml"]
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not [word for word in forbidden if word in text], path


def test_nothing_else_in_the_project_reads_yaml() -> None:
    """Another reader would have to know all of the above again."""
    reading = {"load", "safe_load", "full_load", "unsafe_load", "load_all", "safe_load_all", "parse", "compose", "scan"}
    for room in (*ROOMS, "urdf", "ros2_ws/src/rclpy_zenoh/rclpy_zenoh"):
        for path in (ROOT / room).rglob("*.py"):
            assert path.name == "plain_yaml.py" or not facts(path).of_yaml & reading, path


CLIENT = ROOT / "ros2_ws" / "src" / "rclpy_zenoh"


def test_the_ros_client_knows_nothing_of_this_project() -> None:
    for path in (CLIENT / "rclpy_zenoh").rglob("*.py"):
        assert not packages(facts(path).imports) & set(ROOMS), path
        assert "toolhand" not in path.read_text(encoding="utf-8").lower(), path


def test_only_the_public_interface_of_the_ros_client_is_used() -> None:
    rows = re.findall(r"^\| `(rclpy_zenoh[\w.]*)` \| (.+?) \|", (CLIENT / "README.md").read_text("utf-8"), re.MULTILINE)
    public = {f"{module}.{name}" for module, names in rows for name in re.findall(r"`(\w+)`", names)}
    modules = {module for module, _ in rows} | {"rclpy_zenoh"}
    for path in [*MODULES.values(), *(ROOT / "examples").glob("*.py")]:
        used = {name for name in facts(path).imports if name.split(".")[0] == "rclpy_zenoh"}
        assert used <= public | modules, path


def test_this_project_asks_for_all_that_the_ros_client_needs() -> None:
    ours, clients = (tomllib.loads((folder / "pyproject.toml").read_text())["project"] for folder in (ROOT, CLIENT))
    assert set(clients["dependencies"]) <= set(ours["dependencies"])
    assert clients["requires-python"] == ours["requires-python"]


def test_rooms_keep_to_their_lines() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    budgets = {
        room: int(lines.replace(",", "")) for room, lines in re.findall(r"^\| `(\w+)/` .*\| ([\d,]+) \|$", page, re.M)
    }
    assert set(budgets) == set(ROOMS)
    used = {room: sum(path.read_text().count("\n") for path in (ROOT / room).rglob("*.py")) for room in ROOMS}
    for room, lines in used.items():
        print(f"{room}: {lines} of {budgets[room]} lines ({lines / budgets[room]:.0%})")
    above = {room: lines for room, lines in used.items() if lines > budgets[room]}
    assert not above, "make these smaller, or give them more lines in docs/architecture.md and say why"

"""What another user of the machine has prepared is neither read nor joined, and nothing of it is ended or removed."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import refused
from toolhand.tool_nodes.results import Cause, ErrorCode, ToolError
from toolhand.tool_nodes.serve import processes, service_file
from toolhand.tool_nodes.serve.calling import connect
from toolhand.tool_nodes.serve.cluster import ServiceSupervisor, take_down
from toolhand.tool_nodes.serve.config import parse_config
from toolhand.tool_nodes.serve.trust import listening_users, require_trusted

STRANGER = 54321
"""A user of nobody."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")


def document(**changed: Any) -> dict[str, Any]:
    whole = {
        "id": "f" * 32,
        "address": "127.0.0.1:6379",
        "keeper": 2**22 + 1,
        "own": True,
        "ready": True,
        "began": 1,
        "token": "",
    }
    return whole | changed


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A service folder, with a note of somebody's service in it."""
    folder = tmp_path / "home" / "serve"
    folder.parent.mkdir(mode=0o755)
    folder.mkdir(mode=0o700)
    (folder / "service.json").write_text(json.dumps(document()))
    monkeypatch.setenv(service_file.VARIABLE, str(folder))
    return folder


def _owned(folder: Path) -> None:
    os.chown(folder, STRANGER, STRANGER)


def _below_one_of_a_stranger(folder: Path) -> None:
    os.chown(folder.parent, STRANGER, STRANGER)


def _below_one_that_all_can_write(folder: Path) -> None:
    folder.parent.chmod(0o777)


def _below_one_that_a_group_can_write(folder: Path) -> None:
    os.chown(folder.parent, -1, STRANGER)
    folder.parent.chmod(0o770)


def _link(folder: Path) -> None:
    target = folder.with_name("elsewhere")
    folder.rename(target)
    folder.symlink_to(target)


def _through_a_link_of_a_stranger(folder: Path) -> None:
    real = folder.parent.parent / "real"
    folder.parent.rename(real)
    folder.parent.symlink_to(real)
    os.chown(folder.parent, STRANGER, STRANGER, follow_symlinks=False)


def _open_to_all(folder: Path) -> None:
    folder.chmod(0o755)


def _open_to_its_group(folder: Path) -> None:
    folder.chmod(0o770)


def _file(folder: Path) -> None:
    (folder / "service.json").unlink()
    folder.rmdir()
    folder.write_text("x")


ATTACKS = [
    pytest.param(_owned, "belongs to another user", marks=as_root),
    pytest.param(_below_one_of_a_stranger, "belongs to another user", marks=as_root),
    (_below_one_that_all_can_write, "other users can write into"),
    pytest.param(_below_one_that_a_group_can_write, "other users can write into", marks=as_root),
    (_link, "is a link"),
    pytest.param(_through_a_link_of_a_stranger, "is a link of another user", marks=as_root),
    (_open_to_all, "is open to other users"),
    (_open_to_its_group, "is open to other users"),
    (_file, "is no folder"),
]


@contextlib.contextmanager
def _program(text: str, user: int | None = None, **options: Any) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A program, of another user where one is named, and the first line that it prints."""
    become = (
        "" if user is None else f"import os, socket, time; os.setgroups([]); os.setgid({user}); os.setuid({user})\n"
    )
    with subprocess.Popen([sys.executable, "-c", become + text], stdout=subprocess.PIPE, **options) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().decode().strip()
        finally:
            process.kill()


def _sleeper(user: int | None = None, **options: Any) -> Any:
    return _program("import time; print('sleeps', flush=True); time.sleep(600)", user, **options)


@pytest.mark.parametrize(("attack", "told"), ATTACKS)
@pytest.mark.parametrize(
    "use",
    [connect, take_down, service_file.noted, lambda: ServiceSupervisor(parse_config({"ports": {"depth": "pixels"}}))],
)
def test_a_folder_that_is_not_this_users_alone_is_not_believed(
    here: Path, attack: Callable[[Path], None], told: str, use: Callable[[], Any]
) -> None:
    with _sleeper() as (victim, _):
        (here / "service.json").write_text(json.dumps(document(keeper=victim.pid, began=processes.began(victim.pid))))
        attack(here)
        before = sorted(here.parent.rglob("*"))
        with refused(ErrorCode.UNAVAILABLE, told) as caught:
            use()
        assert service_file.VARIABLE in caught.value.hint
        assert sorted(here.parent.rglob("*")) == before
        assert victim.poll() is None


def test_the_folder_lies_below_this_users_own_and_never_in_a_shared_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(service_file.VARIABLE, raising=False)
    runtime, home = tmp_path / "run", tmp_path / "home"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert service_file.folder() == runtime / "toolhand" / "serve"
    for changed in (
        {"XDG_RUNTIME_DIR": "relative"},
        {"XDG_RUNTIME_DIR": ""},
        {"XDG_RUNTIME_DIR": str(tmp_path / "no")},
    ):
        monkeypatch.setenv(*changed.popitem())
        assert service_file.folder() == home / ".cache" / "toolhand" / "serve"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    runtime.chmod(0o777)  # what is left of another user after su is not this one's either
    assert service_file.folder().is_relative_to(home)
    made = service_file.private(service_file.folder())
    assert [each.stat().st_mode & 0o777 for each in (made, made.parent, made.parent.parent)] == [0o700] * 3


def test_what_is_large_does_not_lie_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(service_file.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for runtime, ray in ((tmp_path / "run", "cache/toolhand/ray"), (tmp_path / "none", "cache/toolhand/serve/ray")):
        (tmp_path / "run").mkdir(mode=0o700, exist_ok=True)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        assert (
            service_file.ray_folder(ServiceSupervisor(parse_config({"ports": {"depth": "pixels"}})).service)
            == tmp_path / ray
        )


@pytest.mark.parametrize(
    "note",
    [
        "{",
        "[]",
        "null",
        "1e999",
        "[" * 100_000,
        "x" * 20_000,
        json.dumps(document() | {"folder": "/"}),
        json.dumps({"id": "x"}),
        json.dumps({name: value for name, value in document().items() if name != "token"}),
        *(
            json.dumps(document(**{name: value}))
            for name, value in [
                ("id", ""),
                ("id", "../../x"),
                ("id", 7),
                ("address", "auto"),
                ("address", "198.51.100.7:6379"),
                ("address", "127.0.0.1:6379\n"),
                ("address", 6379),
                ("keeper", 1),
                ("keeper", -1),
                ("keeper", True),
                ("keeper", "7"),
                ("own", 1),
                ("ready", "yes"),
                ("began", "1"),
                ("began", 1.0),
            ]
        ),
    ],
)
def test_what_is_no_note_is_one_sentence(here: Path, note: str) -> None:
    (here / "service.json").write_text(note)
    with pytest.raises(ToolError, match=r"service\.json cannot be read") as caught:
        service_file.noted()
    assert len(str(caught.value)) < 400
    with pytest.raises(ToolError, match="cannot be read"):
        take_down()


def test_a_note_that_is_no_file_is_not_waited_for(here: Path, tmp_path: Path) -> None:
    note, outside = here / "service.json", tmp_path / "outside.json"
    outside.write_text(note.read_text())
    for make in (lambda: os.mkfifo(note), lambda: note.symlink_to("/dev/zero"), lambda: note.symlink_to(outside)):
        note.unlink()
        make()
        with pytest.raises(ToolError, match="cannot be read"):
            service_file.noted()


@pytest.mark.parametrize("mine", [True, pytest.param(False, marks=as_root)])
def test_a_process_that_is_not_proven_to_be_the_keeper_is_left_alone(here: Path, mine: bool) -> None:
    """Its number and its beginning are right; only the keeper has the keeper's file open."""
    with _sleeper(None if mine else STRANGER) as (victim, _):
        (here / "service.json").write_text(json.dumps(document(keeper=victim.pid, began=processes.began(victim.pid))))
        assert take_down() is not None
        assert victim.poll() is None
        assert service_file.noted() is None


def test_only_the_process_that_has_the_keepers_file_open_is_the_keeper(here: Path) -> None:
    service = service_file.ServiceNote("f" * 32, "", os.getpid(), str(here), True, began=processes.began(os.getpid()))
    assert not processes.keeps(service)
    with service_file.keeper_file(service).open("w"):
        assert processes.keeps(service)
        assert not processes.keeps(service_file.ServiceNote(**(vars(service) | {"began": 1})))
        assert not processes.keeps(service_file.ServiceNote(**(vars(service) | {"began": None})))
        assert not processes.keeps(service_file.ServiceNote(**(vars(service) | {"id": "e" * 32})))
    assert not processes.keeps(service)


@as_root
def test_a_strangers_process_with_the_mark_of_the_service_is_left_alone() -> None:
    service = service_file.ServiceNote("f" * 32, "", 2**22 + 1, "/nowhere", own=True)
    with _sleeper(STRANGER, env={service_file.MARK: service.id}) as (victim, _):
        assert processes.of_service(service) == []
        assert processes.end_all(service) == 0
        assert victim.poll() is None


def test_a_link_below_the_folder_is_not_followed_when_it_is_removed(here: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (here / "ray").symlink_to(kept)
    take_down()
    assert (kept / "file").exists()


_LISTEN = """
import socket, sys, time
probe = socket.socket(socket.{family})
probe.bind(({host!r}, 0)); probe.listen()
print(probe.getsockname()[1], flush=True); time.sleep(600)
"""


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("user", [None, pytest.param(STRANGER, marks=as_root)])
def test_a_cluster_of_ones_own_is_joined_only_where_this_user_listens(host: str, user: int | None) -> None:
    listen = _LISTEN.format(family="AF_INET6" if ":" in host else "AF_INET", host=host)
    with _program(listen, user) as (_, told):
        port = int(told)
        assert listening_users("127.0.0.1", port) == {os.geteuid() if user is None else user}
        service = service_file.ServiceNote("f" * 32, f"127.0.0.1:{port}", 2, "/nowhere", own=True, ready=True)
        if user is None:
            require_trusted(service)
            return
        with pytest.raises(ToolError, match="another user of this machine listens") as caught:
            require_trusted(service)
        assert caught.value.cause == Cause.NOT_SERVED


def test_where_nobody_listens_no_cluster_answers() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        service = service_file.ServiceNote(
            "f" * 32, f"127.0.0.1:{probe.getsockname()[1]}", 2, "/nowhere", own=True, ready=True
        )
        with pytest.raises(ToolError, match="No cluster answers at"):
            require_trusted(service)


def test_the_commands_say_it_in_one_sentence_and_touch_nothing(here: Path) -> None:
    here.chmod(0o755)
    for words in (["serve", "status"], ["serve", "down"], ["run", "pick up the red box", "--perception", "served"]):
        done = subprocess.run(
            [sys.executable, "-m", "toolhand", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=here.parent,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        )
        assert done.returncode == 1
        assert "is open to other users" in done.stderr
        assert "Traceback" not in done.stderr
    assert [each.name for each in here.iterdir()] == ["service.json"]


def test_a_service_of_another_machine_is_asked_from_here_and_only_forgotten(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = document(keeper=service_file.ELSEWHERE, own=False, address="10.0.0.1:6379", began=None, token="/t")
    (here / "service.json").write_text(json.dumps(joined))
    service = service_file.running_service()
    assert (service.elsewhere, service.address) == (True, "10.0.0.1:6379")
    assert service.environment()["RAY_AUTH_TOKEN_PATH"] == "/t"
    assert take_down() == service
    assert service_file.noted() is None
    monkeypatch.setenv(service_file.ADDRESS, "head.lab:6379")
    assert service_file.running_service().address == "head.lab:6379"
    monkeypatch.setenv(service_file.ADDRESS, "head.lab")
    with refused(ErrorCode.INVALID_ARGUMENT, "must be HOST:PORT"):
        service_file.running_service()
    with pytest.raises(ToolError, match="cannot be read"):
        service_file.of_another_machine("10.0.0.1:6379", here / "nothing")


def test_no_name_of_the_shared_temporary_folder_is_fixed_in_advance() -> None:
    """Such a name can be taken by anybody first: `tempfile` makes others, and only for what dies with the process."""
    root, shared = Path(__file__).parents[3], "gettempdir"
    found = [
        str(file.relative_to(root))
        for folder in ("tool_nodes", "sim", "agent_node", "training", "toolhand", "ros2_ws", "examples")
        for file in (root / folder).rglob("*.py")
        if shared in file.read_text(encoding="utf-8")
    ]
    assert found == []
    assert tempfile.gettempdir()

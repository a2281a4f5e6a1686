"""`python -m rclpy_zenoh.run` and the overlay."""

import importlib.machinery
import signal
import subprocess
import sys

import pytest

from rclpy_zenoh import overlay, run


def test_overlay_says_the_same_again():
    before = list(sys.path)
    assert overlay.install() is True
    assert overlay.install() is True
    assert sys.path == before


def test_overlay_leaves_a_real_rclpy_alone(monkeypatch):
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(overlay.FOLDER)])
    spec = importlib.machinery.ModuleSpec("rclpy", None)
    monkeypatch.setattr(overlay.importlib.util, "find_spec", lambda name: spec)
    assert overlay.install() is False
    assert str(overlay.FOLDER) not in sys.path


def test_program_gets_its_arguments(program):
    started = program(
        "import sys, rclpy; print(__name__, sys.argv[1:], rclpy.__file__)", "a", "--ros-args", "-p", "b:=1"
    )
    code, out, err = started.wait()
    assert (code, err) == (0, "")
    assert "__main__ ['a', '--ros-args', '-p', 'b:=1']" in out
    assert "ros_packages" in out


def test_module_of_the_current_folder(program, tmp_path, monkeypatch):
    (tmp_path / "my_node.py").write_text("import rclpy\nprint(__name__)")
    result = subprocess.run(
        [sys.executable, "-m", "rclpy_zenoh.run", "my_node"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(overlay.FOLDER.parents[1])},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (result.returncode, result.stdout) == (0, "__main__\n")


def test_distribution_is_chosen(program, capsys):
    text = "from rclpy_zenoh.interfaces import registry; print(registry().distro)"
    started = program(text)
    started.wait()
    path = started.process.args[-1]
    result = subprocess.run(
        [sys.executable, "-m", "rclpy_zenoh.run", "--distro", "kilted", path],
        env={"PYTHONPATH": str(overlay.FOLDER.parents[1])},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert result.stdout == "kilted\n"


@pytest.mark.parametrize("arguments", [[], ["no_such_file.py"], ["--distro", "noetic", "x.py"]])
def test_wrong_arguments(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        run.main(arguments)
    assert caught.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_error_of_the_program_is_shown(program):
    code, _, err = program("raise ValueError('mine')").wait()
    assert code == 1
    assert "ValueError: mine" in err


SPIN = """
    import rclpy
    from rclpy.node import Node
    rclpy.init()
    node = Node("spinner")
    node.create_timer(0.05, lambda: print("ready", flush=True))
    rclpy.spin(node)
"""


def test_sigint_ends_a_spinning_program_without_a_traceback(program):
    started = program(SPIN)
    assert started.read_line() == "ready"
    started.interrupt()
    code, _, err = started.wait()
    assert (code, err) == (run.SIGINT_EXIT, "")


def test_sigterm_ends_spin(program):
    started = program(SPIN)
    assert started.read_line() == "ready"
    started.interrupt(signal.SIGTERM)
    code, _, err = started.wait()
    # In rclpy, too: spin raises if the signal comes while it waits, and returns if it comes during a callback.
    assert (code, err) == (0, "") or (code == 1 and "ExternalShutdownException" in err)

"""Interfaces are imported as with ROS 2, and a real ROS 2 goes first."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rclpy_zenoh.interfaces import get_class, install_import_hook, remove_import_hook, use_distro


@pytest.fixture
def no_hook() -> Iterator[None]:
    """Without the hook at first, and as it was at the end."""
    before = list(sys.meta_path)
    remove_import_hook()
    yield
    remove_import_hook()
    sys.meta_path[:] = before
    importlib.invalidate_caches()


@pytest.mark.usefixtures("no_hook")
def test_messages_services_and_actions_are_imported_as_with_ros() -> None:
    assert install_import_hook() is True
    from control_msgs.action import FollowJointTrajectory
    from sensor_msgs.msg import Image
    from std_srvs.srv import Trigger
    from workshop_interfaces.srv import TakePicture

    assert Image is get_class("sensor_msgs/msg/Image")
    assert (Image.__module__, Image.__name__) == ("sensor_msgs.msg", "Image")
    assert Trigger.Response(success=True).success
    assert FollowJointTrajectory.Goal().trajectory.joint_names == []
    assert TakePicture is get_class("workshop_interfaces/srv/TakePicture")


@pytest.mark.usefixtures("no_hook")
def test_a_module_lists_its_interfaces() -> None:
    install_import_hook()
    module = importlib.import_module("std_srvs.srv")
    assert {"Empty", "SetBool", "Trigger"} <= set(dir(module))
    assert module.__all__ == ["Empty", "SetBool", "Trigger"]


@pytest.mark.usefixtures("no_hook")
@pytest.mark.parametrize("name", ["no_such_msgs.msg", "std_srvs.msg", "std_msgs.msg.String"])
def test_what_there_is_not_cannot_be_imported(name: str) -> None:
    install_import_hook()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


@pytest.mark.usefixtures("no_hook")
def test_an_unknown_interface_is_an_import_error() -> None:
    install_import_hook()
    with pytest.raises(ImportError, match="cannot import name 'Strin'"):
        exec("from std_msgs.msg import Strin")


@pytest.mark.usefixtures("no_hook")
def test_imports_follow_the_chosen_distribution() -> None:
    install_import_hook()
    module = importlib.import_module("lifecycle_msgs.msg")
    assert hasattr(module.TransitionEvent(), "timestamp")
    use_distro("lyrical")
    assert hasattr(module.TransitionEvent(), "stamp")


@pytest.mark.usefixtures("no_hook")
def test_installing_twice_adds_one_finder_and_removing_takes_the_modules_along() -> None:
    count = len(sys.meta_path)
    install_import_hook()
    install_import_hook()
    assert len(sys.meta_path) == count + 1
    importlib.import_module("std_msgs.msg")
    remove_import_hook()
    assert len(sys.meta_path) == count
    assert "std_msgs.msg" not in sys.modules


@pytest.mark.usefixtures("no_hook")
def test_nothing_is_installed_where_ros_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "builtin_interfaces").mkdir()
    (tmp_path / "builtin_interfaces" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    count = len(sys.meta_path)
    assert install_import_hook() is False
    assert len(sys.meta_path) == count


@pytest.mark.usefixtures("no_hook")
def test_a_package_that_exists_is_left_alone_and_a_bare_folder_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_import_hook()
    (tmp_path / "vision_msgs").mkdir()
    (tmp_path / "vision_msgs" / "__init__.py").write_text("ORIGIN = 'real'\n")
    (tmp_path / "std_msgs" / "msg").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    real = importlib.import_module("vision_msgs")
    try:
        assert real.ORIGIN == "real"
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("vision_msgs.msg")
        assert importlib.import_module("std_msgs.msg").String is get_class("std_msgs/msg/String")
    finally:
        del sys.modules["vision_msgs"]

"""The camera node whose scene camera is a ZED of its own process, over a double of the SDK."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tf2_ros import StaticTransformBroadcaster
from toolhand_interfaces.srv import CaptureImage

from tests.ros.tool_nodes.fake_camera import transform_of
from toolhand.sim.station import Station
from toolhand.tool_nodes.camera_names import ZED
from toolhand.tool_nodes.ros.calling import Deadlines, Service
from toolhand.tool_nodes.ros.messages import image_to_rgb, pose_to_matrix

DEADLINES = Deadlines(availability_s=60.0, response_s=60.0)

SDK = '''
"""What Stereolabs' installer would put here."""

from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from tests.tool_nodes.drivers.fake_zed import ZedState, make_sl

globals().update(vars(make_sl(ZedState(Station(load_scene(EXAMPLE_SCENE), StationConfig()).camera.capture()))))
'''


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdk")
    (folder / "pyzed").mkdir()
    (folder / "pyzed" / "__init__.py").touch()
    (folder / "pyzed" / "sl.py").write_text(SDK)
    return folder


def test_its_images_come_by_the_service_with_the_pose_of_tf(
    sdk: Path, start: Any, make_node: Any, station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(sdk))
    start("toolhand.tool_nodes.nodes.camera_node", "--ros-args", "-r", "__ns:=/own", "-p", "scene.camera:=zed")
    caller, frame = make_node("caller"), station.camera.capture()
    publisher = StaticTransformBroadcaster(caller)
    publisher.sendTransform(transform_of(frame))
    look = Service(caller, CaptureImage, "/own/capture_image", DEADLINES)
    response = look(CaptureImage.Request(camera="scene"))
    assert np.array_equal(image_to_rgb(response.image), frame.rgb)
    assert response.image.header.frame_id == ZED["new"].optical_frame
    np.testing.assert_allclose(pose_to_matrix(response.camera_pose.pose), frame.T_base_camera, atol=1e-12)
    np.testing.assert_allclose(np.array(response.camera_info.k).reshape(3, 3), frame.K)


def test_without_the_sdk_the_node_ends_with_one_sentence(start: Any) -> None:
    status, _, err = start("toolhand.tool_nodes.nodes.camera_node", "--ros-args", "-p", "scene.camera:=zed").wait()
    assert status == 2
    assert "The camera 'zed' needs pyzed.sl, which cannot be imported" in err
    assert "get_python_api.py" in err
    assert "Traceback" not in err

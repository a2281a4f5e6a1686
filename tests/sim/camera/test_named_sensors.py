"""The named sensors: on stations, with one name or two, drawn at random, and against their published figures."""

import pickle
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from toolhand.sim.camera.ray import camera_pose, wrist_camera
from toolhand.sim.camera.sensor import View, make_sensor, measured, unit_of
from toolhand.sim.camera.sensors import presets
from toolhand.sim.camera.sensors.noise import TERMS, NoiseTerms
from toolhand.sim.camera.sensors.randomised import Randomised
from toolhand.sim.camera.sensors.unit import RgbdSensor
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.geometry import intrinsics
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray

NAMES = ("clean", "realsense_d435", "zed2", "azure_kinect", "kinova_wrist", "hard")
SMALL = (320, 240)


def station(sensor: str, seed: int = 0, perception: str = "sim") -> Station:
    scene = parse_scene("objects:\n  - {name: red box, position: [0.45, 0.05]}\n", "scene")
    return Station(
        scene, StationConfig(perception=perception, seed=seed, image_size=SMALL, ports=PortNames(sensor=sensor))
    )


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_a_sensor_of_a_station_and_its_images_are_the_same_again(name: str) -> None:
    first, second = station(name), station(name)
    frames = [one.camera.capture() for one in (first, second)]
    assert frames[0].key == frames[1].key
    first.reset(0)
    assert first.camera.capture().key == frames[1].key
    assert (first.arm.state().q == second.arm.state().q).all()


def test_two_names_are_for_the_scene_camera_and_for_the_one_at_the_wrist() -> None:
    both = station("clean+kinova_wrist")
    exact = station("clean")
    assert both.camera.capture().key == exact.camera.capture().key
    assert both.wrist_camera.capture().key != exact.wrist_camera.capture().key
    with pytest.raises(ToolError, match="names too many") as caught:
        station("clean+hard+zed2")
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    with pytest.raises(ToolError, match="There is no sensor 'lidar'"):
        station("clean+lidar")


def test_perception_is_given_the_reported_calibration_and_the_truth_stays_where_it_was() -> None:
    off, exact = station("hard", seed=3), station("clean", seed=3)
    for noisy, true in ((off.camera, exact.camera), (off.wrist_camera, exact.wrist_camera)):
        frame, ideal = noisy.capture(), true.capture()
        T_true_reported = np.linalg.inv(ideal.T_base_camera) @ frame.T_base_camera
        shift = np.linalg.norm(T_true_reported[:3, 3])
        turn = np.arccos(np.clip((np.trace(T_true_reported[:3, :3]) - 1.0) / 2.0, -1.0, 1.0))
        assert 0.0 < shift <= 0.005
        assert 0.0 < turn <= np.radians(0.5) + 1e-6
        assert not np.array_equal(frame.K, ideal.K)
        assert np.array_equal(frame.ids, ideal.ids)  # what is seen is where it was
    (moved,), (kept,) = (one.world.snapshot().objects.values() for one in (off, exact))
    assert np.array_equal(moved.position_m, kept.position_m)
    off.world.step(50)
    later = off.camera.capture()
    assert np.array_equal(later.T_base_camera, station("hard", seed=3).camera.capture().T_base_camera)


def test_a_late_image_shows_a_moment_before_and_is_stamped_now() -> None:
    late = station("hard")
    late.world.step(100)
    at = np.array([0.45, -0.1, 0.3])
    late.camera.capture()
    late.world.place_object(late.scene.objects[0].id, at, np.array([1.0, 0.0, 0.0, 0.0]))
    late.world.step(20)  # 40 ms: the log has it, the image of 100 ms ago has not
    early = late.camera.capture()
    assert early.stamp == late.world.time
    late.world.step(60)
    after = late.camera.capture()
    assert np.count_nonzero(early.ids != after.ids) > 100


def test_the_pose_of_a_late_image_of_the_wrist_is_that_of_now() -> None:
    late = station("kinova_wrist")
    start = late.arm.state().q
    late.world.command_arm(start + 0.1)
    late.world.step(60)
    frame = late.wrist_camera.capture()
    true = camera_pose(late.world.model, late.world.data, wrist_camera(late.robot, SMALL))
    assert np.linalg.norm(frame.T_base_camera[:3, 3] - true[:3, 3]) < 0.004
    assert late.wrist_camera.capture() is frame


@pytest.mark.parametrize("name", ["hard", "random"])
def test_a_saved_moment_goes_on_with_the_same_late_and_noisy_images(name: str) -> None:
    one, like = station(name, seed=5), station(name)
    one.world.step(30)
    one.camera.capture()
    saved = pickle.loads(pickle.dumps(one.save()))
    seen = []
    for going_on in (one, one, like):
        going_on.restore(saved)
        going_on.world.command_arm(going_on.robot.park + 0.1)
        going_on.world.step(40)
        frames = (going_on.camera.capture(), going_on.wrist_camera.capture())
        seen.append((*(frame.key for frame in frames), going_on.arm.state().q.tobytes()))
    assert seen[0] == seen[1] == seen[2]


def test_joints_and_jaws_are_read_with_the_steps_of_their_encoders() -> None:
    exact, coarse = station("clean"), station("realsense_d435")
    noise = presets.REALSENSE_D435
    errors, steps = [], noise.joint_step_rad
    for _ in range(40):
        coarse.world.step()
        state = coarse.arm.state()
        assert np.allclose(state.q / steps, np.rint(state.q / steps), atol=1e-6)
        assert state.opening_m / noise.jaw_step_m == pytest.approx(round(state.opening_m / noise.jaw_step_m), abs=1e-6)
        assert (coarse.arm.state().q == state.q).all()  # the same moment, the same reading
        errors.append(state.q - coarse.world.arm_position)
        assert abs(state.opening_m - coarse.world.opening_m) < 0.0012
    assert noise.joint_rad / 2 < np.std(errors) < 2 * (noise.joint_rad + steps)
    assert (exact.arm.state().q == exact.world.arm_position).all()


def test_a_random_sensor_is_another_one_in_each_station_and_the_same_in_each_image() -> None:
    drawn = [Randomised("realsense_d435").drawn(seed, "scene") for seed in range(40)]
    assert len(set(drawn)) == 40
    assert drawn[3] == Randomised("realsense_d435").drawn(3, "scene")
    assert {term for one in drawn for term in one.terms()} <= set(presets.REALSENSE_D435.terms())
    varied = [one.disparity_px for one in drawn]
    assert min(varied) == 0.0
    assert max(varied) <= 0.16
    pool = [Randomised().drawn(seed, "scene") for seed in range(40)]
    assert {one.baseline_m for one in pool} >= {0.05, 0.12, 0.055}
    one = station("random")
    first = one.camera.capture().T_base_camera
    one.reset(1)
    other = one.camera.capture().T_base_camera
    assert other.tobytes() == station("random", seed=1).camera.capture().T_base_camera.tobytes() != first.tobytes()
    with pytest.raises(ToolError, match="The sensor 'stereo' has no noise terms"):
        station("random:stereo")


# -- against the published figures ------------------------------------------------------------------

PLANE = (640, 480)
K = intrinsics(660.0, *PLANE)


def plane_fit(name: str, distance_m: float, seed: int) -> tuple[float, float, float]:
    """RMS about the fitted plane [m], fill rate and mean error [m] of a white wall in the middle of the image."""
    sensor = make_sensor(name, "scene", seed)
    rgb = np.full((*PLANE[::-1], 3), 200, dtype=np.uint8)
    depth = np.full(PLANE[::-1], distance_m, dtype=np.float32)
    _, seen = measured(unit_of(sensor, seed, "scene"), rgb, depth, np.random.default_rng(seed), View(K))
    part = seen[48:-48, 64:-64].astype(float)
    v, u = np.nonzero(np.isfinite(part))
    z = part[v, u]
    A: FloatArray = np.column_stack([u, v, np.ones(len(u))])
    fit, *_ = np.linalg.lstsq(A, z, rcond=None)
    return float(np.sqrt(np.mean((z - A @ fit) ** 2))), len(z) / part.size, float(z.mean() - distance_m)


@pytest.mark.parametrize("distance_m", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", ["realsense_d435", "kinova_wrist"])
def test_a_stereo_module_has_the_noise_that_its_maker_computes_and_keeps_the_datasheet(
    name: str, distance_m: float
) -> None:
    sensor = make_sensor(name, "scene", 0)
    assert isinstance(sensor, RgbdSensor)
    computed = distance_m**2 * 0.08 / (sensor.focal_px * sensor.baseline_m)  # Intel: z^2 * subpixel / (f * B)
    rms, fill, _ = plane_fit(name, distance_m, seed=1)
    assert rms == pytest.approx(computed, rel=0.15)
    assert rms <= 0.02 * distance_m  # datasheet 337029: RMS <= 2 % up to 2 m
    assert fill >= 0.99  # the same: fill rate >= 99 %


@pytest.mark.parametrize("distance_m", [0.5, 1.0, 2.0, 3.0])
def test_a_zed2_is_within_one_percent_up_to_three_metres(distance_m: float) -> None:
    rms, fill, error = plane_fit("zed2", distance_m, seed=1)
    assert 0.0003 < rms < 0.01 * distance_m
    assert abs(error) < 0.01 * distance_m
    assert fill > 0.99


@pytest.mark.parametrize("distance_m", [0.6, 1.0, 2.0, 3.5])
def test_a_time_of_flight_camera_is_within_its_random_and_systematic_error(distance_m: float) -> None:
    found = [plane_fit("azure_kinect", distance_m, seed) for seed in range(6)]
    for rms, fill, error in found:
        assert rms <= 0.0175  # 17 mm, and the millimetres in which depth is sent
        assert abs(error) < 0.011 + 0.001 * distance_m + 0.0005
        assert fill > 0.99
    assert np.std([error for *_, error in found]) > 0.001
    assert found[0][0] == pytest.approx(0.017 * (distance_m / 3.5) ** 2, rel=0.15, abs=0.0004)


def test_every_term_of_the_model_is_on_in_some_named_sensor() -> None:
    used = {term for name in NAMES for term in getattr(presets, name)().terms()}
    assert used == set(TERMS)


def test_the_page_about_sensors_has_the_figures_of_the_code() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "sensors.md").read_text(encoding="utf-8")
    (head,) = re.findall(r"^\| term \| attribute \| (.*) \|$", page, re.MULTILINE)
    sensors = [make_sensor(name.strip("`"), "scene", 0) for name in head.split(" | ")]
    rows = {
        name: cells.split(" | ") for name, cells in re.findall(r"^\| [^|]*\| `(\w+)` \| (.*) \|$", page, re.MULTILINE)
    }
    assert rows
    assert rows.keys() <= {entry.name for entry in fields(NoiseTerms)}
    for name, cells in rows.items():
        for sensor, cell in zip(sensors, cells, strict=True):
            if name != "baseline_m" or cell != "-":
                assert getattr(sensor, name) == pytest.approx(0.0 if cell == "-" else float(cell), rel=5e-3), name

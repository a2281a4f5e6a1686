"""One episode by its verbs: what OpenEnv, TRL, verl, verifiers and Gymnasium adapters are thin views of.

An engine that parses calls itself says `call`; one that hands over whole turns says `say`. The record is the same.
The backend `mock` has recorded frames instead of a robot: `physics` simulates one, `ros` reaches graphs of ROS 2.

    python examples/11_an_episode_session.py

You will see:

    system: You are an expert ...
    user: pick up the sponge
    ... tools, among them robot.execute_grasp
    robot.capture_image: Captured 320x240 image ...
    roborefer.detect_one: Detected 1 instance(s) ...
    roborefer.detect_one: NOT_RECOGNISED
    total 0.0, terms {'grasp_point': 0.0}, because the last grasp closes on nothing
    a batch of 4: totals [1.0, 1.0, 1.0, 1.0], turns [...]
"""

from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.mock.data import read_dataset
from toolhand.sim.mock.tasks import recorded_scene
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.pick import PickTask
from toolhand.training.env.batch import OneByOne, run_batch
from toolhand.training.env.environment import Environment

environment = Environment(StationConfig(image_size=(320, 240)), backend="mock")
task = PickTask("pick up the sponge", recorded_scene(read_dataset(), 0), ("sponge_1",))

with environment.open(task, seed=7) as session:
    for message in session.messages():
        print(f"{message.role}: {message.text[:60].splitlines()[0]}")
    names = [schema["function"]["name"] for schema in session.tools()]
    print(len(names), "tools, among them", next(name for name in names if "grasp" in name and "robot" in name))

    looked = session.call("robot.capture_image", {})
    print(f"robot.capture_image: {looked.text[:30]}")
    for words in ("sponge", "zebra"):
        pointed = session.call("roborefer.detect_one", {"obj_name": words, "image_index": 0})
        print(f"roborefer.detect_one: {pointed.error_code or pointed.text[:30]}")
    session.say("<answer>I give up.</answer>")

    score = session.score()
    print(f"total {score.total}, terms {score.terms}, because {score.truth.reasons[0]}")

group = [environment.open(task, seed=7, rollout=k) for k in range(4)]
results = run_batch(group, OneByOne(ScriptedPolicy()))  # a model answers all four in one batch
totals = [None if result.score is None else result.score.total for result in results]
print(f"a batch of 4: totals {totals}, turns {[len(result.episode.turns) for result in results]}")

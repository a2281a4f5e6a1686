"""Rollouts: `reset(task)`, `step(turn)`; the trainer owns the loop, the model and its batches.

The scripted policy stands in for a model here; a model's turn has its token ids and log-probabilities in the `Reply`.
An infrastructure error is never a reward: `step` raises it as a ToolError, and that episode is to be dropped.

    python examples/10_a_rollout_loop.py

You will see:

    Pick up ...
    turn 1: ... messages, done=False
    ...
    turn ...: ... messages, done=True
    Score(terms={'picked': True, 'placed': True}, success=True, reasons=())
"""

from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.tasks import random_task
from toolhand.training.env.environment import Environment

environment = Environment(StationConfig(perception="pixels"))
policy = ScriptedPolicy()

task = random_task(seed=2)  # a sentence, a scene, and what it means; the same seed gives the same bytes
print(task.text)
observation, done = environment.reset(task, seed=2), False
while not done:
    turn = policy.respond(observation)  # the conversation so far, images included
    observation, rewards, done = environment.step(turn)
    print(f"turn {len(environment.episode.turns)}: {len(observation)} messages, done={done}")
print(environment.score)

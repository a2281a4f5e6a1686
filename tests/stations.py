"""Stations for tests that do not depend on the size of pictures or the time step."""

from sim.scene.files import parse_scene
from sim.station import StationConfig

FAST = StationConfig(image_size=(320, 240), timestep=0.004, sleep=True)
"""A quarter of the pixels, half as many time steps, and physics only of what moves: an episode takes a third of the
processor time."""

BLOCK_AND_BOX = parse_scene("""
objects:
  - {name: toy block, position: [0.45, 0.0]}
  - {name: red box, position: [0.50, -0.15]}
""")
"""Two things with room about each."""

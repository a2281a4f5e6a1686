"""How likely grasps hold: trials of them in physics, and the probabilities that are fitted to these."""

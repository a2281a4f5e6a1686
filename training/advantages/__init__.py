"""How good each rollout, turn or token was beside the others of its group: pure functions, numpy alone."""

"""The environment as engines of reinforcement learning take it: one file an engine, which imports it when called."""

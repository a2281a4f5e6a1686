"""Conversations whose every sentence has a goal of its own, held in physics and judged by the simulator's truth."""

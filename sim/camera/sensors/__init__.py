"""Simulated RGB-D sensors: one noise model, and named ones with the published figures of real devices."""

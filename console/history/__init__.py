"""Data of past runs, benchmarks and trainings, from their folders."""

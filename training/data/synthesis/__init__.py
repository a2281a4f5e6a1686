"""Trajectories to learn from, made by teachers and kept only where the task's own score says that they are right.

One file a paper (`spacetools`, `peria`, `evic`, `last`), and what they share: `attempts` (one episode), `checks`
(what is kept), `reflection` (a second try after a failed call), `wording` (thoughts said in other words)."""

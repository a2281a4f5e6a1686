"""Hand-eye calibration: where a camera is, from pictures of a board and the joint positions of the arm."""

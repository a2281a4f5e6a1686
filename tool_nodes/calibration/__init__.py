"""Hand-eye calibration: where a camera is, from images of a board and the joint positions of the arm."""

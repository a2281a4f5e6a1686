"""The operator's console in a browser: talk, point, watch, approve, stop, and what was."""

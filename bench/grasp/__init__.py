"""The grasp benchmark: scenes, trials, rows, paired comparisons, records, plots and a page of every failure."""

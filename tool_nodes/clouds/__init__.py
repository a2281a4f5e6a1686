"""Point clouds by themselves: smallest boxes, alignment, files and images, over numpy and scipy alone."""

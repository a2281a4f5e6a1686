"""Point clouds by themselves: smallest boxes, files and images, over numpy and scipy alone."""

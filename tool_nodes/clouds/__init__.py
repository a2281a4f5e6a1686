"""Point clouds by themselves: smallest boxes, alignment, files and pictures, over numpy and scipy alone."""

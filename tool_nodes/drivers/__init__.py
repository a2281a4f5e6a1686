"""Hardware: one file a device or a library, each behind the port that it serves."""

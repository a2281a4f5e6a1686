"""Pages of the console, by NiceGUI."""

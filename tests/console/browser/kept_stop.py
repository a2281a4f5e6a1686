"""A stop server that stops nothing: it is there as long as its input."""

import sys

if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.read()

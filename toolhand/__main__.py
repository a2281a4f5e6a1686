"""`python -m toolhand`: as the installed command."""

from toolhand.cli.entry import main

main()

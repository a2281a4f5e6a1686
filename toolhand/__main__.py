"""`python -m toolhand`: as the installed command."""

from toolhand.entry import main

main()

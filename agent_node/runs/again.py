"""What people are told about running a command again."""

FROM_THE_BEGINNING = "in the scene as it was at the beginning (what was done before is not restored)"
"""Where a run that is carried out again begins: the sentences before it are not said again."""

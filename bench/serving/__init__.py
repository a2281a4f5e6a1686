"""`toolhand bench serving`: calls of tools from many conversations, served and in process."""

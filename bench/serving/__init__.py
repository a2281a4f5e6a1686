"""`toolhand bench serving`: what is served, and four other ways to call a tool from many conversations."""

"""Episodes on the screen and in files: what comes in are scenes, whoever plays them."""

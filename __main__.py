"""`python -m operant` is `operant`."""

from .cli import main

main()

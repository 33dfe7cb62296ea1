"""A worker, as the trainer starts it."""

from __future__ import annotations

from .worker import main

if __name__ == "__main__":
    main()

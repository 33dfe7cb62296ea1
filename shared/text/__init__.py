"""Text: made safe to show, numbers in it, secrets masked."""

"""Text from outside, made safe; numbers and secrets in it."""

"""Text from outside, made safe; patterns, numbers and secrets in it."""

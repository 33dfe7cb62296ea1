"""What a sweep looks like."""

"""Ways to run the model, chosen by name or by measuring."""

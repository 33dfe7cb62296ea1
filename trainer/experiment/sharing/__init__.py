"""Trained policies to share: as a folder with a model card, and on the Hugging Face Hub."""

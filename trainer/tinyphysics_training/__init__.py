"""Policies for TinyPhysics: behaviour cloning, then PPO on whole episodes."""

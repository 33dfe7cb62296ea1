"""Sends messages about a user's runs, through their own command and the services of apprise."""

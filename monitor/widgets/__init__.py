"""What takes keys and the mouse. Each is given what it shows, and draws again what has changed."""

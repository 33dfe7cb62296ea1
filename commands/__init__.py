"""One file a command: parse, import the one side needed, call it, print."""

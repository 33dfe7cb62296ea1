"""Several processes that train one policy: a process group, and how ranks meet and end."""

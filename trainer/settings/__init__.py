"""The base classes of configuration tables, and the tables that policies are built from."""

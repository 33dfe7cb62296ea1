"""Code that several commands use: choosing a run, output, tables, starting a trainer."""

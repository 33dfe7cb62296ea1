"""Runs that other programs logged into files, written as runs of operant's."""

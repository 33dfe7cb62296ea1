"""Gymnasium's MuJoCo environments of version 5, many at once on the threads of mjbatch."""

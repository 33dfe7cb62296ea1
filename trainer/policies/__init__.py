"""Networks, and the statistics that their inputs are normalised by."""

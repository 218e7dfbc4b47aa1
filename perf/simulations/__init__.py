"""How often intervals, gates and labels are right, by simulation: `python -m perf.simulations` prints the tables that
stand in docs/statistics.md."""

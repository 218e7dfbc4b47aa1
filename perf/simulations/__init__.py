"""Error rates of intervals, gates and labels, by simulation.
`python -m perf.simulations` prints the tables of docs/statistics.md."""

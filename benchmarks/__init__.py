"""The benchmarks, one file for each kind of task: `pytest benchmarks`."""

"""What is measured: one file for each kind of task. `pytest benchmarks`, or `pytest --pyargs needlework.benchmarks`."""

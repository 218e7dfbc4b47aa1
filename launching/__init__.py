"""Runs of more than one process: shards on clusters, batch services, a run for each of many configurations.

The floor above the benchmarks: it starts their command lines, follows the folders that they write, and judges what they
left. Nothing below imports it.
"""

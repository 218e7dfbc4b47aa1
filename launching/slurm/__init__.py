"""Shards as one job array of Slurm."""

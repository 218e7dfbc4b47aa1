"""Engines that serve a model: recipes as data, the command line that follows, and the child process that it runs in."""

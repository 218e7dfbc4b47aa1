pytest_plugins = ("haystack_fixtures.plugin", "scoring.plugin", "results.plugin")

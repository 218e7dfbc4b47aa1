pytest_plugins = ("needlework.plugin",)

"""Launches on real clusters, all on this machine and on 127.0.0.1: `make test-clusters`; left out elsewhere."""

from pathlib import Path

import pytest

from tests.cluster.real.launches import Launches


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave them out, unless `-m clusters` asks for them or one is named (`file.py::test`)."""
    here = Path(__file__).parent
    mine = [item for item in items if here in item.path.parents]
    for item in mine:
        item.add_marker(pytest.mark.clusters)
        item.add_marker(pytest.mark.slow)
    if "clusters" in config.option.markexpr or any("::" in named for named in config.args):
        return
    items[:] = [item for item in items if item not in mine]
    config.hook.pytest_deselected(items=mine)


@pytest.fixture(scope="session")
def one_process(tmp_path_factory):
    """The folder of the same 200 cells, asked by one process."""
    launches = Launches(tmp_path_factory.mktemp("one"))
    launches.one_process()
    return launches.run


@pytest.fixture
def launches(tmp_path):
    made = Launches(tmp_path)
    yield made
    made.close()

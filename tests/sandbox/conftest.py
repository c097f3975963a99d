from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox_runs import EVERY_LAYER, configured

from grader.sandbox.server import ForkServer


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    """A fork server that all tests of a worker share: what one submission does must not reach the next."""
    started = configured()
    yield started
    started.close()


@pytest.fixture(scope="session")
def bare_server() -> Iterator[ForkServer]:
    """The same without confinement, for what the judge has to withstand where no kernel helps it."""
    started = configured(without=EVERY_LAYER)
    yield started
    started.close()


@pytest.fixture(params=["confined", "bare"])
def any_server(request: pytest.FixtureRequest) -> ForkServer:
    """Both of them in turn."""
    found: ForkServer = request.getfixturevalue("server" if request.param == "confined" else "bare_server")
    return found


@pytest.fixture
def own_server() -> Iterator[ForkServer]:
    """A fork server for a test that harms or inspects it."""
    started = configured()
    started.wait_ready()
    yield started
    started.close()


@pytest.fixture
def own_bare_server() -> Iterator[ForkServer]:
    """The same without confinement."""
    started = configured(without=EVERY_LAYER)
    started.wait_ready()
    yield started
    started.close()

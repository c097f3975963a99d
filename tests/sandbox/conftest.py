from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox_runs import configured

from grader.sandbox.server import ForkServer


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    """A fork server that all tests of a worker share: what one submission does must not reach the next."""
    started = configured()
    yield started
    started.close()


@pytest.fixture
def own_server() -> Iterator[ForkServer]:
    """A fork server for a test that harms or inspects it."""
    started = configured()
    started.wait_ready()
    yield started
    started.close()

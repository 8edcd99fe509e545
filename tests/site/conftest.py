"""Fixtures of the site checks: the built book, served below a sub-path. The browser is that of tests/conftest.py."""

import pytest

from tests.site import checks


@pytest.fixture(scope="session")
def site():
    """The folder of the built book."""
    if not (checks.SITE / "index.html").is_file():
        pytest.fail("There is no built book to check: run `make book` first.")
    return checks.SITE


@pytest.fixture(scope="session")
def home(site):
    """The address that the built book is served at."""
    with checks.serve(site) as address:
        yield address

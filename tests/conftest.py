"""What every test shares: a quiet, repeatable set-up, and one browser."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny tensors: more threads are slower, and sum in another order
os.environ.setdefault("MPLBACKEND", "agg")  # no test opens a window

import pytest
from playwright.sync_api import sync_playwright

from tests.site import checks


def pytest_collection_modifyitems(items):
    """Mark what opens a browser, so that `-m "not browser"` leaves it out."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser():
    """The one browser of the run. Where there is none the tests are skipped, but where CI is set they fail."""
    with sync_playwright() as playwright:
        found = checks.find_browser(playwright)
        if found is None:
            stop = pytest.fail if os.environ.get("CI") else pytest.skip
            stop(checks.HOW_TO_GET_A_BROWSER)
        with playwright.chromium.launch(executable_path=found, args=checks.ARGUMENTS) as running:
            yield running

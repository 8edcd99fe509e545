"""Run the tests of the whole project, one stage after another, and say at the end which stages passed.

    python tools/suite.py test     everything; builds the book first when it is missing or out of date
    python tools/suite.py check    the fast part: lint, chapters in step with their texts, unit tests that are quick and open no browser

A stage that fails does not stop the others, so that one run shows all that is wrong.
"""

import argparse
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from book import build, clean_environment, is_current

ROOT = Path(__file__).resolve().parent.parent
NBVAL = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=120", "--nbval-sanitize-with=tests/nbval_sanitize.cfg")
IN_ORDER = ("-p", "no:randomly")  # the cells of a notebook, and the pages of a site, have an order
TOGETHER = ("-n", "auto", "--maxprocesses", "8", "--dist", "loadfile")  # one process a core; what a file sets up is set up once
SHARED_OUT = ("-n", "auto", "--maxprocesses", "4", "--dist", "worksteal")  # each process has its own browser and server
NO_BROWSER = "no browser"


def run(*arguments: str, environment: dict[str, str] | None = None) -> str:
    """Run a module of this Python in the repository and give the stage's result."""
    command = [sys.executable, *arguments]
    return "passed" if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0 else "FAILED"


def lint() -> str:
    """The code, by ruff."""
    return run("-m", "ruff", "check", ".")


def chapters() -> str:
    """Chapters and their texts: the same inputs, normal form, the rules."""
    return run("tools/notebooks.py", "check")


def unit() -> str:
    """The unit tests, in random order, one process a core."""
    return run("-m", "pytest", *TOGETHER, "--ignore=tests/site")


def fast_unit() -> str:
    """The unit tests that are not slow and open no browser."""
    return run("-m", "pytest", *TOGETHER, "--ignore=tests/site", "-m", "not slow and not browser")


def outputs() -> str:
    """The stored outputs of every chapter, compared strictly with those of a new run."""
    return run("-m", "pytest", *IN_ORDER, *NBVAL, "notebooks", environment=clean_environment())


def book() -> str:
    """The book, built when it is missing or older than what it is made from."""
    if is_current(ROOT):
        print("The book is up to date.")
        return "passed"
    return "passed" if build(ROOT) == 0 else "FAILED"


def site() -> str:
    """Every built page in a real browser; without one, what can be checked without one."""
    if not is_current(ROOT):
        print("The book could not be built, so its pages cannot be checked.")
        return "FAILED"
    if has_browser() or os.environ.get("CI"):
        return run("-m", "pytest", *IN_ORDER, *SHARED_OUT, "tests/site")
    result = run("-m", "pytest", *IN_ORDER, *SHARED_OUT, "tests/site", "-m", "not browser")
    return NO_BROWSER if result == "passed" else result


def has_browser() -> bool:
    """Whether the finder of the site checks finds a browser."""
    script = (
        "import sys; from playwright.sync_api import sync_playwright; from tests.site.checks import find_browser\n"
        "with sync_playwright() as playwright: sys.exit(find_browser(playwright) is None)"
    )
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


SUITES: dict[str, tuple[Callable[[], str], ...]] = {
    "test": (lint, chapters, unit, outputs, book, site),
    "check": (lint, chapters, fast_unit),
}


def banner(text: str) -> str:
    """A text that cannot be overlooked."""
    lines = textwrap.wrap(text, 96)
    return "\n".join(["#" * 100, *(f"# {line:<96} #" for line in lines), "#" * 100])


def main(arguments: list[str] | None = None) -> int:
    """Run a suite and return 0 only if every stage passed."""
    parser = argparse.ArgumentParser(description="Run the tests of the whole project.")
    parser.add_argument("suite", choices=SUITES)
    results: dict[str, tuple[str, float]] = {}
    for stage in SUITES[parser.parse_args(arguments).suite]:
        description = (stage.__doc__ or "").splitlines()[0]
        print(f"\n--- {stage.__name__}: {description}", flush=True)
        start = time.monotonic()
        results[description] = stage(), time.monotonic() - start
    print("\n" + "\n".join(f"{result:>10}  {seconds:5.0f} s  {text}" for text, (result, seconds) in results.items()))
    states = {result for result, _ in results.values()}
    if NO_BROWSER in states:
        sys.path.insert(0, str(ROOT))
        from tests.site.checks import HOW_TO_GET_A_BROWSER

        print("\n" + banner(f"THE SITE WAS NOT CHECKED. {HOW_TO_GET_A_BROWSER}"), flush=True)
    return 1 if "FAILED" in states else 0


if __name__ == "__main__":
    sys.exit(main())

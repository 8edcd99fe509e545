"""Runs the mutants: each is made in a copy of the package, and the tests that know its module must fail.

    python -m tests.mutants                    # all of them, some minutes
    python -m tests.mutants "mask inverted"    # those whose name holds these words
    python -m tests.mutants --jobs 4

Exits with 1 when a mutant survives, no longer applies, or breaks the copy so that no test could judge it.
"""

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import Mutant
from .core import CORE

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = CORE
TESTS = [
    "attention",
    "masks",
    "positional",
    "embedding",
    "feed_forward",
    "add_norm",
    "encoder",
    "validation",
    "config",
    "cases",
]
SECONDS = 300


def main() -> int:
    """Runs the chosen mutants, prints one line each, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="run only mutants whose name holds one of these words")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the package tested at a time (default 1)")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.names or any(name in m.name for name in options.names)]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        copies: queue.Queue[Path] = queue.Queue()
        for i in range(options.jobs):
            copies.put(_copy(Path(folder) / str(i)))
        verdict, why = _judge(copies.queue[0], TESTS)
        if verdict != "survived":
            print(f"the tests fail without any mutant ({why}); mend that first")
            return 1
        with ThreadPoolExecutor(options.jobs) as pool:
            results = [
                _report(m, *found) for m, found in zip(chosen, pool.map(lambda m: _try(m, copies), chosen), strict=True)
            ]
    killed = results.count("killed")
    print(f"{killed} of {len(chosen)} mutants killed in {time.perf_counter() - start:.0f} s")
    return 0 if chosen and killed == len(chosen) else 1


def _try(mutant: Mutant, copies: "queue.Queue[Path]") -> tuple[str, str]:
    copy = copies.get()
    path = copy / "transformer_lab" / mutant.file
    text = path.read_text("utf-8")
    try:
        path.write_text(mutant.apply(text), "utf-8")
        return _judge(copy, sorted(TESTS, key=lambda name: f"{name}.py" != mutant.file))  # its own tests first
    except ValueError as error:
        return "stale", str(error)
    finally:
        path.write_text(text, "utf-8")
        copies.put(copy)


def _judge(copy: Path, tests: list[str]) -> tuple[str, str]:
    """What the tests say of the copy: killed (and by which test), survived, or broken (and how)."""
    command = [sys.executable, "-m", "pytest", *(f"tests/test_{name}.py" for name in tests)]
    command += ["-x", "-q", "-m", "not slow", "-p", "no:randomly", "-p", "no:cacheprovider", "--tb=no"]
    settings = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "HYPOTHESIS_PROFILE": "lab-mutants"}
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "broken", f"no verdict after {SECONDS} s"
    if done.returncode == 0:
        return "survived", ""
    failed = re.search(r"^FAILED tests/(\S+::[^\s\[]+)", done.stdout, re.MULTILINE)
    if done.returncode == 1 and failed:
        return "killed", failed[1]
    return "broken", (done.stdout + done.stderr).strip().splitlines()[-1]


def _copy(folder: Path) -> Path:
    for name in ("transformer_lab", "tests", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def _report(mutant: Mutant, verdict: str, why: str) -> str:
    print(f"{verdict:8}  {mutant.file:15}  {mutant.name:42}  {why}", flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())

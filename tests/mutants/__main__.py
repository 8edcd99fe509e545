"""Runs the mutants: each is made in a copy of the package, and the tests that know its module must fail.

    python -m tests.mutants                    # all of them, some minutes
    python -m tests.mutants "mask inverted"    # those whose name holds these words
    python -m tests.mutants --jobs 4

Exits with 1 when a mutant survives, no longer applies, or breaks the copy so that no test could judge it.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "HYPOTHESIS_PROFILE": "lab-mutants"}  # before torch and hypothesis are imported

import argparse
import importlib
import multiprocessing
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import wait
from pathlib import Path

from . import Mutant
from .core import CORE
from .model import MODEL
from .training import TRAINING

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = [*CORE, *MODEL, *TRAINING]
TRAINING_TESTS = ["batches", "loss", "schedule", "training_loop", "training_resume", "training_progress", "distributed"]
TESTS = [
    "validation",
    "attention",
    "masks",
    "positional",
    "embedding",
    "feed_forward",
    "add_norm",
    "encoder",
    "cases",
    "config",
    "decoder",
    "cache",
    "transformer",
    "generation",
    "model_cases",
    "costs",
    *TRAINING_TESTS,
]
OPTIONS = ["-x", "-q", "--tb=no", "-m", "not slow", "-p", "no:randomly", "-p", "no:cacheprovider"]
SECONDS = 600


def main() -> int:
    """Runs the chosen mutants, prints one line each, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="run only mutants whose name holds one of these words")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the package tested at a time (default 1)")
    options = parser.parse_args()
    if "fork" not in multiprocessing.get_all_start_methods():
        parser.error("this command forks a process per mutant, which this system cannot; use Linux or macOS")
    chosen = [m for m in MUTANTS if not options.names or any(name in m.name for name in options.names)]
    _import_once()
    start, killed = time.perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        copies = [_copy(Path(folder) / str(i)) for i in range(options.jobs)]
        for _, verdict, why in _judge_all([None], copies):
            if verdict != "survived":
                print(f"the tests fail without any mutant ({why}); mend that first")
                return 1
        for mutant, verdict, why in _judge_all(chosen, copies):
            killed += verdict == "killed"
            print(f"{verdict:8}  {mutant.file:15}  {mutant.name:42}  {why}", flush=True)
    print(f"{killed} of {len(chosen)} mutants killed in {time.perf_counter() - start:.0f} s")
    return 0 if chosen and killed == len(chosen) else 1


def _judge_all(mutants: list[Mutant | None], copies: list[Path]) -> Iterator[tuple[Mutant | None, str, str]]:
    """Yields each mutant with its verdict (killed, survived, stale or broken) and the reason, as they come."""
    waiting, free, running = list(mutants), list(copies), {}
    while waiting or running:
        while waiting and free:
            mutant, copy = waiting.pop(0), free.pop()
            try:
                text = _make(mutant, copy)
            except ValueError as error:
                free.append(copy)
                yield mutant, "stale", str(error)
                continue
            process = multiprocessing.get_context("fork").Process(target=_run_tests, args=(copy, _order(mutant)))
            process.start()
            running[process.sentinel] = (process, mutant, copy, text, time.monotonic() + SECONDS)
        for sentinel in wait(list(running), timeout=5) or [
            s for s, job in running.items() if time.monotonic() > job[-1]
        ]:
            process, mutant, copy, text, late = running.pop(sentinel)
            process.join(0 if time.monotonic() > late else 60)  # its pipe closes a moment before it is gone
            verdict, why = _read_verdict(process, copy)
            if mutant:
                (copy / "transformer_lab" / mutant.file).write_text(text, "utf-8")
            free.append(copy)
            yield mutant, verdict, why


def _make(mutant: Mutant | None, copy: Path) -> str:
    if mutant is None:
        return ""
    path = copy / "transformer_lab" / mutant.file
    text = path.read_text("utf-8")
    path.write_text(mutant.apply(text), "utf-8")
    return text


def _order(mutant: Mutant | None) -> list[str]:
    """All tests that judge, those of the mutant's own module first."""
    part = None if mutant is None else Path(mutant.file).parts[0].removesuffix(".py")
    own = TRAINING_TESTS if part == "training" else [part]
    return sorted(TESTS, key=lambda name: name not in own)


def _run_tests(copy: Path, tests: list[str]) -> None:
    """In a process of its own: runs the copy's tests on the copy's package, and ends with pytest's exit status."""
    import pytest

    with open(copy / "said.txt", "w", encoding="utf-8") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    os.chdir(copy)
    sys.dont_write_bytecode = True
    sys.path[:] = [str(copy), *(path for path in sys.path if path and Path(path).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "transformer_lab")]:
        del sys.modules[name]
    status = pytest.main([*OPTIONS, *(f"tests/test_{name}.py" for name in tests)])
    sys.stdout.flush()
    os._exit(status)


def _read_verdict(process: multiprocessing.Process, copy: Path) -> tuple[str, str]:
    if process.is_alive():
        process.kill()
        process.join()
        return "broken", f"no verdict after {SECONDS} s"
    process.join()
    said = (copy / "said.txt").read_text("utf-8")
    failed = re.search(r"^FAILED tests/(\S+::[^\s\[]+)", said, re.MULTILINE)
    if process.exitcode == 0:
        return "survived", ""
    if process.exitcode == 1 and failed:
        return "killed", failed[1]
    return "broken", said.strip().splitlines()[-1]


def _import_once() -> None:
    """Imports what takes seconds, so that each forked process has it already. Nothing of it may have run yet."""
    for name in (
        "pytest",
        "playwright.sync_api",
        "numpy",
        "torch",
    ):  # not hypothesis: pytest wants to import that itself
        importlib.import_module(name)
    sys.modules["torch"].set_num_threads(1)


def _copy(folder: Path) -> Path:
    for name in ("transformer_lab", "tests", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


if __name__ == "__main__":
    sys.exit(main())

"""tools/suite.py and tools/book.py: what they say at the end, and serving the pages."""

import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import suite

import book

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def stages(monkeypatch):
    """Replace the stages of the suite by ones that give the given results; list those that ran."""
    ran = []

    def use(**results):
        def stage(name):
            def run():
                ran.append(name)
                return results[name]

            run.__name__, run.__doc__ = name, f"Stage {name}."
            return run

        monkeypatch.setitem(suite.SUITES, "test", tuple(stage(name) for name in results))
        return ran

    return use


def test_every_stage_runs_and_one_failure_is_a_failure(stages, capsys):
    ran = stages(one="passed", two="FAILED", three="passed")
    assert suite.main(["test"]) == 1
    assert ran == ["one", "two", "three"]
    said = capsys.readouterr().out
    assert "FAILED      0 s  Stage two." in said
    assert "NOT CHECKED" not in said


def test_all_passed_is_success(stages):
    stages(one="passed", two="passed")
    assert suite.main(["test"]) == 0


def test_without_a_browser_the_last_words_say_so(stages, capsys):
    stages(one="passed", site=suite.NO_BROWSER)
    assert suite.main(["test"]) == 0
    last = capsys.readouterr().out.rstrip().splitlines()
    assert last[-1] == "#" * 100
    banner = " ".join(line.strip("# ") for line in last)
    assert "THE SITE WAS NOT CHECKED" in banner
    assert "apt-get install chromium" in banner


@pytest.mark.parametrize(("browser", "ci", "arguments", "result"), [
    (True, "", (), "passed"),
    (False, "", ("-m", "not browser"), suite.NO_BROWSER),
    (False, "true", (), "passed"),
])  # fmt: skip
def test_pages_are_opened_unless_there_is_no_browser_and_no_ci(monkeypatch, browser, ci, arguments, result):
    calls = []
    monkeypatch.setattr(suite, "is_current", lambda folder: True)
    monkeypatch.setattr(suite, "has_browser", lambda: browser)
    monkeypatch.setattr(suite, "run", lambda *words: calls.append(words) or "passed")
    monkeypatch.setenv("CI", ci)
    assert suite.site() == result
    assert calls == [("-m", "pytest", *suite.IN_ORDER, *suite.SHARED_OUT, "tests/site", *arguments)]


@pytest.mark.slow
def test_where_ci_is_set_a_missing_browser_fails_each_test_that_needs_it(tmp_path):
    test = "tests/site/test_site_checks.py::test_a_sound_page_has_no_problem"
    script = (
        "import sys, pytest; from tests.site import checks; checks.find_browser = lambda playwright: None\n"
        f"sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {test!r}]))"
    )
    for ci, code, word in (("true", 1, "1 error"), ("", 0, "1 skipped")):
        environment = {**book.clean_environment(), "CI": ci}
        result = subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert (result.returncode, word in result.stdout) == (code, True), result.stdout
        assert "No Chromium or Chrome was found" in result.stdout


def test_serving_needs_a_book(tmp_path, capsys):
    assert book.main(["serve", "--source", str(tmp_path)]) == 1
    assert "make book" in capsys.readouterr().err


def test_serving_takes_the_next_free_port_and_forbids_caching(tmp_path):
    pages = tmp_path / "_build" / "html"
    pages.mkdir(parents=True)
    (pages / "index.html").write_text("a page")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [sys.executable, str(ROOT / "tools" / "book.py"), "serve", "--source", str(tmp_path)]
        command += ["--port", str(taken.getsockname()[1])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            said = server.stdout.readline() + server.stdout.readline()
            address = said.split("Serving the book at ")[1].split(" ")[0]
            with urllib.request.urlopen(address) as answer:
                assert answer.read() == b"a page"
                assert answer.headers["Cache-Control"] == "no-store"
            server.terminate()
    assert "files have changed since this book was built" in said


def test_a_build_does_nothing_when_the_book_is_up_to_date(tmp_path, capsys):
    (tmp_path / "_config.yml").write_text("title: A book\n")
    (tmp_path / "_build").mkdir()
    book.stamp_file(tmp_path).write_text(book.fingerprint(tmp_path) + "\n")
    assert book.main(["build", "--if-needed", "--source", str(tmp_path)]) == 0
    assert "up to date" in capsys.readouterr().out
    (tmp_path / "_config.yml").write_text("title: Another book\n")
    assert not book.is_current(tmp_path)


def test_the_reason_of_a_failure_is_taken_from_the_log():
    log = "reading sources\n/a/b.md:3: WARNING: undefined label\nloading\n"
    assert book.reasons(log) == "/a/b.md:3: WARNING: undefined label"
    assert book.reasons("a\nb") == "a\nb"

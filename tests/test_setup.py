"""tools/setup.sh on machines where something is missing: fake Pythons stand for real ones, nothing is installed."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the set-up script needs a POSIX shell")

# A Python that answers what the script asks: its version, whether it has venv, and `-m venv`, `-m pip install`.
FAKE_PYTHON = """#!/bin/sh
case "$*" in
    *"version_info < (3, 11)"*) [ {minor} -ge 11 ] ;;
    *"import ensurepip, venv"*) {has_venv} ;;
    *"print("*version_info*) echo 3.{minor} ;;
    --version) echo Python 3.{minor}.1 ;;
    *torch.__version__*) cat "$(dirname "$0")/torch" 2>/dev/null ;;
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && touch "$3/pyvenv.cfg" ;;
    "-m pip install "*) shift 3; echo "$*" >>"{calls}"; {pip}
        for word; do case "$word" in torch==*) echo "${{word#torch==}}" >"$(dirname "$0")/torch" ;; esac; done ;;
esac
"""


@pytest.fixture
def machine(tmp_path):
    """A copy of the repository's set-up in a folder with a space, on a machine whose only Python is the given fake."""
    folder = tmp_path / "my copy"
    (folder / "tools").mkdir(parents=True)
    for name in ("tools/setup.sh", "pyproject.toml", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in (
        "sh",
        "dirname",
        "fold",
        "cat",
        "cksum",
        "sed",
        "df",
        "awk",
        "rm",
        "tail",
        "grep",
        "mkdir",
        "cp",
        "touch",
    ):
        (commands / name).symlink_to(shutil.which(name))

    class Machine:
        root, calls = folder, tmp_path / "calls.txt"

        def python(self, minor=11, has_venv="true", pip=":", name="python3"):
            script = commands / name
            script.write_text(FAKE_PYTHON.format(minor=minor, has_venv=has_venv, pip=pip, calls=self.calls))
            script.chmod(script.stat().st_mode | stat.S_IXUSR)

        def set_up(self, **settings):
            environment = {"PATH": str(commands), "HOME": str(tmp_path), "NEED_GB": "0", **settings}
            command = [shutil.which("sh"), str(folder / "tools" / "setup.sh")]
            result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            return result.returncode, " ".join((result.stdout + result.stderr).split())

        def installed(self):
            return self.calls.read_text().splitlines() if self.calls.exists() else []

    return Machine()


def pin() -> str:
    return next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))


def test_torch_comes_first_and_exactly_then_the_rest_and_the_second_time_nothing(machine):
    machine.python()
    code, said = machine.set_up()
    assert code == 0, said
    assert machine.installed() == [f"-c constraints.txt {pin()}", "-c constraints.txt -e .[dev]"]
    assert "The environment is ready." in said
    assert machine.set_up() == (0, "")
    assert len(machine.installed()) == 2


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.txt", "constraints.txt"])
def test_a_change_brings_the_environment_up_to_date_without_pytorch_again(machine, name):
    machine.python()
    machine.set_up()
    with (machine.root / name).open("a") as file:
        file.write("# changed\n")
    assert machine.set_up()[0] == 0
    assert machine.installed()[2:] == ["-c constraints.txt -e .[dev]"]


def test_a_folder_that_was_moved_is_installed_again(machine, tmp_path):
    machine.python()
    machine.set_up()
    moved = machine.root.rename(tmp_path / "elsewhere")
    script = [shutil.which("sh"), str(moved / "tools" / "setup.sh")]
    subprocess.run(script, env={"PATH": str(tmp_path / "bin"), "NEED_GB": "0"}, check=True, capture_output=True)
    assert machine.installed()[2:] == ["-c constraints.txt -e .[dev]"]


def test_other_builds_of_pytorch(machine):
    machine.python()
    machine.set_up(TORCH_ARGS="--index-url https://example.com/cpu")
    alone = f"--force-reinstall --no-deps --index-url https://example.com/cpu {pin()}"
    assert machine.installed() == [alone, "-c constraints.txt -e .[dev]"]
    machine.set_up()
    machine.set_up(TORCH_ARGS="--index-url https://example.com/cpu")
    assert len(machine.installed()) == 2, "the choice is remembered"
    machine.set_up(TORCH_ARGS="--index-url https://example.com/cuda")
    assert machine.installed()[2].startswith("--force-reinstall --no-deps --index-url https://example.com/cuda")


def test_an_environment_elsewhere(machine, tmp_path):
    machine.python()
    assert machine.set_up(VENV=str(tmp_path / "far away"))[0] == 0
    assert (tmp_path / "far away" / "transformer-lab.stamp").is_file()
    assert not (machine.root / ".venv").exists()


def test_the_first_python_that_is_new_enough_is_taken(machine):
    machine.python(minor=9)
    machine.python(minor=12, has_venv="false", name="python3.12")
    machine.python(minor=13, name="python3.13")
    code, said = machine.set_up()
    assert code == 0
    assert "with Python 3.13.1" in said


@pytest.mark.parametrize(
    ("python", "settings", "words"),
    [
        (None, {}, ["needs Python 3.11 or newer, and none was found.", "apt-get install python3", "PYTHON=/path/to"]),
        ({"minor": 9}, {}, ["none was found (python3 is 3.9)"]),
        ({}, {"PYTHON": "/no/python"}, ["none was found at /no/python"]),
        ({"has_venv": "false"}, {}, ["its venv module is missing", "apt-get install python3-venv"]),
        ({}, {"NEED_GB": "9000000"}, ["Not enough disk space", "VENV=/elsewhere/venv"]),
        ({"pip": "echo 'Failed to establish a new connection'; exit 1"}, {}, ["could not be downloaded", "HTTPS_PROXY"]),
        ({"pip": "echo 'OSError: No space left on device'; exit 1"}, {}, ["The disk is full", "TMPDIR"]),
        ({"pip": "echo 'ERROR: No matching distribution found'; exit 1"}, {}, ["do not all exist", "CONSTRAINTS=/dev/null"]),
        ({"pip": "echo 'a surprise'; exit 1"}, {}, ["a surprise", "pip could not install", "setup.log"]),
        ({}, {"CONSTRAINTS": "none.txt"}, ["none.txt is missing"]),
    ],
)  # fmt: skip
def test_what_is_missing_is_said_in_a_paragraph(machine, python, settings, words):
    if python is not None:
        machine.python(**python)
    code, said = machine.set_up(**settings)
    assert code == 1
    assert [word for word in words if word not in said] == []
    assert "Traceback" not in said
    assert (machine.root / ".venv").exists() == ("pip" in (python or {})), (
        "nothing is made before what it needs is there"
    )


def test_after_a_failure_the_same_command_goes_on(machine):
    machine.python(pip="exit 1")
    assert machine.set_up()[0] == 1
    machine.python()
    shutil.copy(machine.root.parent / "bin" / "python3", machine.root / ".venv" / "bin" / "python")
    assert machine.set_up()[0] == 0


def test_a_broken_environment_is_made_anew_and_a_strange_folder_is_left_alone(machine):
    machine.python()
    broken = machine.root / ".venv"
    broken.mkdir()
    (broken / "pyvenv.cfg").touch()
    code, said = machine.set_up()
    assert code == 0
    assert "making it anew" in said
    strange = machine.root / "thesis"
    strange.mkdir()
    (strange / "thesis.txt").write_text("years of work")
    code, said = machine.set_up(VENV="thesis")
    assert code == 1
    assert "thesis is there but is not a Python environment" in said
    assert (strange / "thesis.txt").read_text() == "years of work"


@pytest.mark.skipif(shutil.which("bash") is None, reason="continuous integration runs in bash")
@pytest.mark.parametrize("there", [(), ("make", "chromium"), ("make", "google-chrome")])
def test_ci_installs_what_is_missing_and_runs_make_test(machine, tmp_path, there):
    commands, said = tmp_path / "bin", tmp_path / "said.txt"
    machine.python()
    (commands / "bash").symlink_to(shutil.which("bash"))

    def command(name, line):
        (commands / name).write_text(f"#!/bin/sh\n{line}\n")
        (commands / name).chmod(0o755)

    make = f'echo "make $* CI=$CI" >>"{said}"'
    command("id", "echo 0")
    made = f"printf '#!/bin/sh\\n%s\\n' '{make}' >\"{commands}/make\"; /bin/chmod 755 \"{commands}/make\""
    command("apt-get", f'echo "apt-get $*" >>"{said}"; case "$1" in install) {made} ;; esac')
    for name in there:
        command(name, make)
    (machine.root / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", machine.root / ".ci" / "run")
    subprocess.run([shutil.which("bash"), str(machine.root / ".ci" / "run")], env={"PATH": str(commands)}, check=True)
    installed = [
        "apt-get update",
        "apt-get install -y --no-install-recommends make chromium fonts-liberation",
    ]
    assert said.read_text().splitlines() == [*([] if there else installed), "make test CI=true"]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_help_is_what_make_says_first():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    said = subprocess.run(["make"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    makefile = (ROOT / "Makefile").read_text()
    phony = next(line for line in makefile.splitlines() if line.startswith(".PHONY:")).split()[1:]
    assert [name for name in phony if name not in ("help", "environment") and f"make {name} " not in said] == []

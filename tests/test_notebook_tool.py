"""tools/notebooks.py, tried on a toy repository: build, check, pull, and nbval on what it writes."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from notebook_run import ChapterError, execute
from notebook_text import HEADER, parse_text, setup_source

import notebooks

ROOT = Path(__file__).resolve().parent.parent

TOY = f"""{HEADER}
# Toy

You will see a number. 5 minutes. Prerequisites: none.

```{{code-cell}} ipython3
x = torch.arange(3.0)
print("first line")
print("second line")
x.mean()
```

One thought.

+++

Another thought, with $\\frac{{1}}{{2}}$ and `code`.

```{{code-cell}} ipython3
---
mystnb:
  image:
    alt: A line that rises from one to three   # the author's own spacing and comment
---
import matplotlib.pyplot as plt

fig, ax = plt.subplots()
_ = ax.plot([1, 2, 3])
```

```{{code-cell}} ipython3
:tags: [raises-exception]

raise ValueError("expected 3,\\ngot 4")
```

The panel needs a live kernel; this is its still.

```{{code-cell}} ipython3
:tags: [live-only]

class Panel:
    def _repr_mimebundle_(self, include=None, exclude=None):
        if get_ipython().kernel._allow_stdin:
            import ipywidgets

            return {{**ipywidgets.IntSlider()._repr_mimebundle_(), "text/plain": "panel"}}
        return {{"text/plain": "panel", "text/html": "<p>still</p>"}}


Panel()
```

## Summary

It was a number.
"""


def make_repository(folder, text=TOY, address=""):
    """A toy repository with one chapter."""
    (folder / "notebooks" / "src").mkdir(parents=True)
    (folder / "notebooks" / "src" / "01_toy.md").write_text(text, "utf-8")
    (folder / "_config.yml").write_text(f'repository:\n  url: "{address}"\n  branch: main\n')
    (folder / "transformer_lab").mkdir()
    (folder / "transformer_lab" / "masks.py").write_text("def causal_mask(): ...\n")
    return folder


def run(root, *arguments):
    """Run the command in this process and return its exit status."""
    return notebooks.main(["--root", str(root), *arguments])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A built toy repository, shared; tests that change it take a copy."""
    root = make_repository(tmp_path_factory.mktemp("toy"))
    assert run(root, "build") == 0
    return root


@pytest.fixture
def toy(built, tmp_path):
    """A copy of the built toy repository, free to be changed."""
    return shutil.copytree(built, tmp_path / "toy")


def text_of(root):
    return (root / "notebooks" / "src" / "01_toy.md").read_text("utf-8")


def notebook_of(root):
    return json.loads((root / "notebooks" / "01_toy.ipynb").read_text("utf-8"))


def edit_notebook(root, change):
    """Change the notebook as someone in Jupyter would, and save it in Jupyter's way."""
    notebook = notebook_of(root)
    change(notebook)
    (root / "notebooks" / "01_toy.ipynb").write_text(json.dumps(notebook), "utf-8")


def edit_text(root, old, new):
    text = text_of(root)
    assert old in text
    (root / "notebooks" / "src" / "01_toy.md").write_text(text.replace(old, new), "utf-8")


def test_the_notebook_is_in_normal_form(built):
    raw = (built / "notebooks" / "01_toy.ipynb").read_text("utf-8")
    notebook = json.loads(raw)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert raw.endswith("}\n") and not raw.endswith("\n\n")
    assert [cell["id"] for cell in notebook["cells"]] == [f"cell-{n:02d}" for n in range(1, len(notebook["cells"]) + 1)]
    assert [cell["execution_count"] for cell in code] == [1, 2, 3, 4, 5]
    assert set(notebook["metadata"]) == {"kernelspec", "language_info", "transformer_lab"}
    assert "version" not in notebook["metadata"]["language_info"]
    assert not any("execution" in cell["metadata"] for cell in notebook["cells"])
    assert code[1]["outputs"][0]["text"] == ["first line\n", "second line\n"]
    assert code[1]["outputs"][1]["data"] == {"text/plain": ["tensor(1.)"]}
    assert code[3]["outputs"][0]["traceback"] == ["ValueError: expected 3,\ngot 4"]
    assert "widget-view" not in raw


def test_a_figure_is_kept_without_metadata(built):
    figure = notebook_of(built)["cells"][5]["outputs"][0]["data"]["image/png"]
    png, position, chunks = base64.b64decode(figure), 8, []
    while position < len(png):
        chunks.append(png[position + 4 : position + 8])
        position += 12 + int.from_bytes(png[position : position + 4], "big")
    assert set(chunks) == {b"IHDR", b"IDAT", b"IEND"}


@pytest.mark.slow
def test_a_second_build_gives_the_same_bytes(toy):
    first = (toy / "notebooks" / "01_toy.ipynb").read_bytes(), text_of(toy)
    assert run(toy, "build", "1") == 0
    assert ((toy / "notebooks" / "01_toy.ipynb").read_bytes(), text_of(toy)) == first


@pytest.mark.slow
def test_the_set_up_cell_is_put_in_and_follows_the_address(toy, capsys):
    before = text_of(toy)
    without = re.sub(r"```\{code-cell\} ipython3\n:tags: \[remove-cell\].*?\n```\n\n", "", before, flags=re.DOTALL)
    assert without == TOY and "pip install -e ." in before and "git+" not in before
    (toy / "_config.yml").write_text("repository: {url: https://example.org/lab, branch: main}\n")
    assert run(toy, "check") == 1
    assert "not the current set-up cell" in capsys.readouterr().out
    assert run(toy, "build") == 0
    assert '%pip install -q "transformer-lab @ git+https://example.org/lab@main"' in text_of(toy)
    assert run(toy, "check") == 0


def test_the_set_up_cell_says_how_to_install_a_missing_package(tmp_path, capfd):
    code = setup_source(make_repository(tmp_path)).split("import matplotlib")[0]
    code = code.replace("transformer_lab", "no_such_package")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ModuleNotFoundError: no_such_package is not installed" in done.stderr and "pip install -e ." in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("import sys\nprint('oh', file=sys.stderr)", "wrote to stderr"),
        ("import warnings\nwarnings.warn('old')", "wrote to stderr"),
        ("import ipywidgets\nw = ipywidgets.IntSlider()", "a widget was made"),
        (":tags: [raises-exception]\n\n1 + 1", "raised nothing"),
        ("while True: pass", "longer than 1 s"),
    ],
)
def test_a_cell_that_goes_wrong_is_an_error(tmp_path, cell, message):
    notebook = parse_text(f"{HEADER}\n```{{code-cell}} ipython3\n{cell}\n```\n")
    with pytest.raises(ChapterError, match=message):
        execute(notebook, tmp_path, timeout=1 if "while" in cell else 30)


@pytest.mark.slow
def test_a_failing_build_shows_the_cell_and_leaves_the_old_notebook(toy, capsys):
    old = (toy / "notebooks" / "01_toy.ipynb").read_bytes()
    edit_text(toy, "x.mean()", "x.mean()\nnumber = 7\nnumber / 0")
    assert run(toy, "build") == 1
    error = capsys.readouterr().err
    assert "cell 3" in error and "number = 7" in error and "ZeroDivisionError: division by zero" in error
    assert "\x1b" not in error
    assert (toy / "notebooks" / "01_toy.ipynb").read_bytes() == old
    assert sorted(path.name for path in (toy / "notebooks").iterdir()) == ["01_toy.ipynb", "src"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (":tags: [raises-exception]", ":foo: 1", "cell 7 has metadata foo"),
        ("kernelspec:", "title: Toy\nkernelspec:", "header holds title"),
        ("tags: [raises", "tags: [[raises", "cannot be read"),
    ],
)
def test_a_text_that_would_lose_something_is_not_built(toy, capsys, old, new, message):
    edit_text(toy, old, new)
    assert run(toy, "build") == 1
    assert message in capsys.readouterr().err


def test_check_accepts_what_build_wrote(built, capsys):
    assert run(built, "check") == 0
    assert "1 chapters" in capsys.readouterr().out


def set_in(*keys, to):
    """A change of one value, deep inside the notebook."""

    def change(notebook):
        place = notebook
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "message", "repair"),
    [
        (set_in("cells", 3, "source", to=["Other."]), "the notebook was edited", "pull 01_toy"),
        (set_in("cells", 2, "execution_count", to=9), "cells[2].execution_count", "build 01_toy"),
        (set_in("cells", 2, "id", to="b7e3"), "cells[2].id", "build 01_toy"),
        (set_in("cells", 2, "metadata", "execution", to={"x": "2026"}), "cells[2].metadata.execution", "build 01_toy"),
        (set_in("metadata", "language_info", "version", to="3.11"), "metadata.language_info.version", "build 01_toy"),
        (lambda notebook: None, "layout of the file", "build 01_toy"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_check_names_each_difference_and_the_command_that_repairs_it(toy, capsys, change, message, repair):
    edit_notebook(toy, change)
    assert run(toy, "check") == 1
    out = capsys.readouterr().out
    assert message in out and f"python tools/notebooks.py {repair}" in out


def test_check_refuses_a_notebook_without_outputs(toy, capsys):
    def strip(notebook):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell.update(outputs=[], execution_count=None)

    edit_notebook(toy, strip)
    assert run(toy, "check") == 1
    out = capsys.readouterr().out
    assert "not in normal form" in out and "no stored outputs at all" in out


def test_check_tells_which_side_was_edited(toy, capsys):
    edit_text(toy, "One thought.", "One edited thought.")
    assert run(toy, "check") == 1
    out = capsys.readouterr().out
    assert "the text was edited" in out and "One edited thought." in out and "build 01_toy" in out
    edit_notebook(toy, set_in("cells", 3, "source", to=["One other thought."]))
    assert run(toy, "check") == 1
    assert "both edited" in capsys.readouterr().out


def test_check_wants_both_files(toy, capsys):
    shutil.copy(toy / "notebooks" / "01_toy.ipynb", toy / "notebooks" / "02_alone.ipynb")
    (toy / "notebooks" / "src" / "03_new.md").write_text(TOY, "utf-8")
    (toy / "notebooks" / "src" / "04_bad.md").write_text(TOY, "utf-8")
    (toy / "notebooks" / "04_bad.ipynb").write_text("no json")
    assert run(toy, "check") == 1
    out = capsys.readouterr().out
    for problem in ("02_alone: has no text", "03_new: has no notebook", "04_bad.ipynb is not a notebook"):
        assert problem in out


@pytest.mark.slow
def test_a_damaged_notebook_is_named_and_replaced_on_request(toy, capsys):
    (toy / "notebooks" / "01_toy.ipynb").write_text("<<<<<<< HEAD\n{}\n")
    for command in ("check", "build"):
        assert run(toy, command) == 1
        written = capsys.readouterr()
        assert "01_toy.ipynb is not a notebook" in written.out + written.err
        assert "build --overwrite 01_toy" in written.out + written.err
    assert run(toy, "build", "--overwrite", "01_toy") == 0
    assert run(toy, "check") == 0


@pytest.mark.slow
def test_building_over_edits_is_refused(toy, capsys):
    edit_notebook(toy, set_in("cells", 3, "source", to=["Mine."]))
    assert run(toy, "build") == 1
    assert "edited by hand" in capsys.readouterr().err
    assert notebook_of(toy)["cells"][3]["source"] == ["Mine."]
    assert run(toy, "build", "--overwrite") == 0
    assert run(toy, "check") == 0


def test_pull_takes_edits_and_keeps_every_other_line(toy, capsys):
    def edit(notebook):
        notebook["cells"][3]["source"] = ["One thought, edited."]
        extra = {**notebook["cells"][2], "id": "x", "execution_count": 7, "outputs": [], "source": ["1 + 1"]}
        notebook["cells"].insert(5, {**extra, "metadata": {"collapsed": True}})

    before = text_of(toy)
    edit_notebook(toy, edit)
    assert run(toy, "pull", "01") == 0
    out = capsys.readouterr().out
    expected = before.replace("One thought.", "One thought, edited.")
    expected = expected.replace("and `code`.\n", "and `code`.\n\n```{code-cell} ipython3\n1 + 1\n```\n")
    assert text_of(toy) == expected
    assert "+One thought, edited." in out and "kept in" not in out


def test_pull_keeps_a_copy_of_a_text_with_edits_of_its_own(toy, capsys):
    for turn in (1, 2):
        edit_text(toy, "It was a number.", "It was one number.")
        mine = text_of(toy)
        edit_notebook(toy, set_in("cells", 3, "source", to=[f"Edit {turn}."]))
        assert run(toy, "pull", "01_toy.ipynb") == 0
        assert f"kept in 01_toy.md.{turn}.bak" in capsys.readouterr().out
        assert (toy / "notebooks" / "src" / f"01_toy.md.{turn}.bak").read_text("utf-8") == mine
        assert f"Edit {turn}." in text_of(toy)


def test_pull_makes_a_text_for_a_notebook_without_one(toy):
    before = text_of(toy)
    (toy / "notebooks" / "src" / "01_toy.md").unlink()
    assert run(toy, "pull", "01") == 0
    assert notebooks.inputs(parse_text(text_of(toy))) == notebooks.inputs(parse_text(before))


def test_pull_does_not_undo_edits_of_the_text(toy, capsys):
    edit_text(toy, "One thought.", "One edited thought.")
    assert run(toy, "pull", "01") == 1
    assert "only the text was edited" in capsys.readouterr().err
    assert "One edited thought." in text_of(toy)


def test_an_unknown_chapter_is_named(built):
    with pytest.raises(SystemExit, match="'09'; chapters: 01_toy"):
        run(built, "build", "09")


def nbval(folder):
    """Run nbval as the project does and return (status, output)."""
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:randomly"]
    command += ["-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder), "-W", "error"]
    command += ["--nbval-sanitize-with", str(ROOT / "tests" / "nbval_sanitize.cfg"), str(folder / "notebooks")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_nbval_accepts_what_build_wrote(built):
    status, output = nbval(built)
    assert status == 0, output
    assert "5 passed" in output


@pytest.mark.slow
def test_nbval_notices_an_altered_number_and_an_altered_error(toy):
    edit_notebook(toy, set_in("cells", 2, "outputs", 1, "data", "text/plain", to=["tensor(1.001)"]))
    edit_notebook(toy, set_in("cells", 6, "outputs", 0, "evalue", to="expected 3,\ngot 5"))
    status, output = nbval(toy)
    assert status == 1, output
    assert "2 failed, 3 passed" in output

"""tools/repository.py: one address, and everything that follows from it, in a copy of the repository's own files."""

import json
import re
import shutil
from pathlib import Path

import pytest
import repository

from tests.site.tiny_book import ROOT, build, make_tiny_book, page

ADDRESS = "https://github.com/some-people/transformer-lab"
COLAB = (
    "https://colab.research.google.com/github/some-people/transformer-lab/blob/main/notebooks/02_self_attention.ipynb"
)
FILES = ("_config.yml", "README.md", "CITATION.cff", "pyproject.toml")


@pytest.fixture
def copy(tmp_path):
    """The files that speak of the address, one chapter's text and its notebook, in a folder of their own."""
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    texts = tmp_path / "notebooks" / "src"
    texts.mkdir(parents=True)
    for path in (ROOT / "notebooks" / "src").glob("02*.md"):
        shutil.copy(path, texts / path.name)
    (tmp_path / "notebooks" / "02_self_attention.ipynb").write_text("{}")
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()
    }


def test_the_repository_s_own_files_follow_its_address():
    assert repository.disagreements() == []


def test_an_empty_address_is_spoken_of_nowhere(copy):
    repository.set_address("", copy, build_chapters=False)
    written = contents(copy)
    assert "repository-code" not in written["CITATION.cff"]
    assert "[project.urls]" not in written["pyproject.toml"]
    assert re.search(r"<!-- repository:start -->\n<!-- repository:end -->", written["README.md"])
    assert "git+https" not in written["notebooks/src/02_self_attention.md"]


def test_setting_an_address_reaches_every_place_and_taking_it_away_gives_the_files_back(copy):
    repository.set_address("", copy, build_chapters=False)
    before = contents(copy)
    repository.set_address(f"{ADDRESS}.git/", copy, build_chapters=False)
    written = contents(copy)
    assert {name for name in before if before[name] != written[name]} == {*FILES, "notebooks/src/02_self_attention.md"}
    assert repository.repository_url(copy) == ADDRESS
    assert f'repository-code: "{ADDRESS}"' in written["CITATION.cff"]
    assert f'[project.urls]\nRepository = "{ADDRESS}"' in written["pyproject.toml"]
    assert COLAB in written["README.md"]
    assert f"git+{ADDRESS}@main" in written["notebooks/src/02_self_attention.md"]
    assert repository.disagreements(copy) == []
    repository.set_address("", copy, build_chapters=False)
    assert contents(copy) == before


@pytest.mark.parametrize("place", [*FILES[1:], "notebooks/src/02_self_attention.md"])
def test_check_names_a_file_that_does_not_follow(copy, place, capsys):
    repository.set_address("", copy, build_chapters=False)
    old = (copy / place).read_text("utf-8")
    repository.set_address(ADDRESS, copy, build_chapters=False)
    (copy / place).write_text(old, "utf-8")
    capsys.readouterr()
    assert repository.main(["--root", str(copy), "check"]) == 1
    said = capsys.readouterr().out
    assert place in said
    assert f"set {ADDRESS}" in said


@pytest.mark.parametrize(
    "address", ["github.com/a/b", "http://github.com/a/b", "https://github.com/a", "git@github.com:a/b"]
)
def test_what_is_not_an_address_is_refused_and_nothing_is_written(copy, address, capsys):
    before = contents(copy)
    assert repository.main(["--root", str(copy), "set", address]) == 1
    assert "expected https://HOST/ORGANISATION/NAME" in capsys.readouterr().err
    assert contents(copy) == before


def test_show_says_where_colab_opens_the_chapter(copy, capsys):
    repository.main(["--root", str(copy), "show"])
    assert "address: empty" in capsys.readouterr().out
    repository.set_address(ADDRESS, copy, build_chapters=False)
    repository.main(["--root", str(copy), "show"])
    assert COLAB in capsys.readouterr().out


def test_colab_is_offered_for_github_only():
    assert repository.colab_link("https://gitlab.com/a/b", "main", "notebooks/x.ipynb") == ""


@pytest.mark.slow
@pytest.mark.parametrize("address", ["", ADDRESS, "https://gitlab.com/some-people/transformer-lab"])
def test_the_buttons_of_the_pages_follow_the_address(tmp_path, address):
    folder = make_tiny_book(tmp_path, "print('fine')")
    config = folder / "_config.yml"
    config.write_text(repository.config_text(config.read_text("utf-8"), address), "utf-8")
    code, said = build(folder)
    assert code == 0, said
    chapter, index = page(folder), page(folder, "book/index")
    outside = set(re.findall(r'href="(https?://[^"]+)"', chapter))
    if not address:
        assert outside == set()
        assert "fa-rocket" not in chapter
        return
    assert address in outside
    assert f"{address}/issues/new" in " ".join(outside) or "gitlab" in address
    assert (COLAB in outside) == (address == ADDRESS)
    assert "colab" not in index, "a page without code has nothing to run"
    edits = {link.split("?")[0] for link in outside if "/edit/" in link}
    assert len(edits) == 1
    assert edits.pop().endswith("/edit/main/notebooks/src/02_self_attention.md")


@pytest.mark.slow
def test_setting_an_address_builds_the_notebooks_again(copy):
    text = (copy / "notebooks" / "src" / "02_self_attention.md").read_text("utf-8")
    header = text[: text.index("---", 3) + 4]
    (copy / "notebooks" / "src" / "02_self_attention.md").write_text(
        f"{header}\n# Tiny\n\nA chapter.\n\n```{{code-cell}} ipython3\n1 + 1\n```\n", "utf-8"
    )
    (copy / "notebooks" / "02_self_attention.ipynb").unlink()
    assert repository.set_address(ADDRESS, copy) == 0
    notebook = json.loads((copy / "notebooks" / "02_self_attention.ipynb").read_text("utf-8"))
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert f"git+{ADDRESS}@main" in code[0]
    assert code[1] == "1 + 1"

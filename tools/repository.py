"""The public address of the repository: one setting, and everything that follows from it.

    python tools/repository.py show
    python tools/repository.py set https://github.com/ORGANISATION/NAME     ("" takes the address away)
    python tools/repository.py check

The setting is repository.url in _config.yml. The pages read it when they are built (book/_ext/tl_sphinx.py): buttons for
Colab, the repository, issues and edits. `set` also writes what other files say of it: the block of README.md between its
two marks, the address in CITATION.cff, the links in pyproject.toml, and the set-up cell of every chapter. `check` says
where they disagree. While the address is empty, none of them speaks of one.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python tools/repository.py"
ADDRESS = re.compile(r"https://[\w.-]+(:\d+)?/[\w.-]+/[\w.-]+")
SETTING = re.compile(r"^(repository:\n(?:[ #].*\n)*?  url:)[^\n#]*?([ \t]*#.*)?$", re.MULTILINE)
MARKED = re.compile(r"(<!-- repository:start -->\n).*?(<!-- repository:end -->)", re.DOTALL)
CITED = re.compile(r"^repository-code:.*\n", re.MULTILINE)
LINKED = re.compile(r"^\[project\.urls\]\n(?:[^\[\n].*\n)*\n?", re.MULTILINE)
COLAB = "https://colab.research.google.com"


def repository_settings(root: Path = ROOT) -> tuple[str, str]:
    """The public address and the branch that _config.yml names; the address is "" while it is not known."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8")) or {}
    repository = config.get("repository") or {}
    return (repository.get("url") or "").strip(), repository.get("branch") or "main"


def repository_url(root: Path = ROOT) -> str:
    """The public address of the repository, "" while it is not known."""
    return repository_settings(root)[0]


def normal_address(given: str) -> str:
    """The address as it is kept: no slash and no .git at its end.

    Raises:
        ValueError: If it does not look like https://HOST/ORGANISATION/NAME.
    """
    address = given.strip().rstrip("/").removesuffix(".git")
    if address and not ADDRESS.fullmatch(address):
        raise ValueError(f"expected https://HOST/ORGANISATION/NAME (or nothing, to take it away), got {given!r}")
    return address


def colab_link(address: str, branch: str, notebook: str) -> str:
    """Where Colab opens a notebook of the repository; "" where it cannot, which is anywhere but on GitHub."""
    path = address.removeprefix("https://github.com/")
    return f"{COLAB}/github/{path}/blob/{branch}/{notebook}" if address and path != address else ""


def config_text(text: str, address: str) -> str:
    """_config.yml with the address in its one place."""
    changed, count = SETTING.subn(lambda match: f'{match[1]} "{address}"{match[2] or ""}', text)
    if count != 1:
        raise ValueError("_config.yml has no line `  url:` below `repository:`")
    return changed


def readme_text(text: str, address: str, branch: str, notebooks: list[str]) -> str:
    """README.md with the block between its marks: how to get the repository, and chapters to open in Colab."""
    block = ""
    if address:
        block = f"The repository: <{address}>\n"
        for notebook in notebooks:
            if link := colab_link(address, branch, notebook):
                title = Path(notebook).stem.replace("_", " ").capitalize()
                block += f"\n[![Open {title} in Colab]({COLAB}/assets/colab-badge.svg)]({link}) {title}\n"
    return MARKED.sub(lambda match: match[1] + block + match[2], text)


def citation_text(text: str, address: str) -> str:
    """CITATION.cff with or without the address of the code."""
    text = CITED.sub("", text)
    return re.sub(r"^(version: .*\n)", rf'\1repository-code: "{address}"\n', text, flags=re.M) if address else text


def project_text(text: str, address: str) -> str:
    """pyproject.toml with or without links, which the package's page on an index would show."""
    text = LINKED.sub("", text)
    links = f'[project.urls]\nRepository = "{address}"\nIssues = "{address}/issues"\n\n'
    return (
        text.replace("[project.optional-dependencies]\n", f"{links}[project.optional-dependencies]\n")
        if address
        else text
    )


def chapter_text(text: str, root: Path) -> str:
    """The text of a chapter with the set-up cell that the address asks for."""
    from notebook_text import with_setup  # needs jupytext, which reading the address does not

    return with_setup(text, root)


def derived_files(root: Path, address: str, branch: str) -> dict[Path, Callable[[str], str]]:
    """Every file that speaks of the address, with the function that writes what it must say."""
    notebooks = sorted(path.relative_to(root).as_posix() for path in (root / "notebooks").glob("*.ipynb"))
    files: dict[Path, Callable[[str], str]] = {
        root / "README.md": lambda text: readme_text(text, address, branch, notebooks),
        root / "CITATION.cff": lambda text: citation_text(text, address),
        root / "pyproject.toml": lambda text: project_text(text, address),
    }
    for path in sorted((root / "notebooks" / "src").glob("*.md")):
        files[path] = lambda text: chapter_text(text, root)
    return files


def disagreements(root: Path = ROOT) -> list[str]:
    """The files that do not say what follows from the setting."""
    address, branch = repository_settings(root)
    problems = []
    if address != normal_address(address):
        problems.append(f"_config.yml: the address should be written {normal_address(address)}")
    for path, write in derived_files(root, address, branch).items():
        text = path.read_text(encoding="utf-8")
        if write(text) != text:
            problems.append(f"{path.relative_to(root).as_posix()} does not follow the address {address or '(empty)'}")
    if not MARKED.search((root / "README.md").read_text(encoding="utf-8")):
        problems.append("README.md has lost the marks <!-- repository:start --> and <!-- repository:end -->")
    return problems


def set_address(given: str, root: Path = ROOT, build_chapters: bool = True) -> int:
    """Write the setting and all that follows from it; return 0 if the chapters could be built again."""
    address = normal_address(given)
    config = root / "_config.yml"
    config.write_text(config_text(config.read_text(encoding="utf-8"), address), encoding="utf-8")
    changed = [config]
    for path, write in derived_files(root, address, repository_settings(root)[1]).items():
        old = path.read_text(encoding="utf-8")
        if (new := write(old)) != old:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    print(f"The repository's address is {address or 'empty'}. Written: {', '.join(path.name for path in changed)}.")
    if not build_chapters or not any(path.parent.name == "src" for path in changed):
        return 0
    print("The chapters' set-up cells have changed; building the notebooks again.", flush=True)
    command = [sys.executable, str(Path(__file__).with_name("notebooks.py")), "--root", str(root), "build"]
    return subprocess.run(command, check=False).returncode


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository (default: the one of this tool)")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("show", help="print the address and what follows from it")
    commands.add_parser("check", help="say where a file does not follow from it")
    command = commands.add_parser("set", help="set it, and write all that follows from it")
    command.add_argument("url", help='https://HOST/ORGANISATION/NAME, or "" for none')
    command.add_argument(
        "--no-build", action="store_true", help="do not build the notebooks again (make notebooks does)"
    )
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    if options.command == "set":
        try:
            return set_address(options.url, root, not options.no_build)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
    if options.command == "check":
        problems = disagreements(root)
        print("\n".join(problems) or "Every file follows the repository's address.")
        if problems:
            print(f"To repair: {COMMAND} set {repository_url(root) or chr(34) * 2}")
        return 1 if problems else 0
    address, branch = repository_settings(root)
    print(
        f"address: {address or 'empty: no buttons, and chapters say how to install from a local copy'}\nbranch:  {branch}"
    )
    for notebook in sorted((root / "notebooks").glob("*.ipynb")):
        if link := colab_link(address, branch, notebook.relative_to(root).as_posix()):
            print(f"Colab:   {link}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Import floors: a module imports lower floors only, and importing the package loads torch and little else.

The table below is the one place that says on which floor a module stands. A new module has to be given a floor.
"""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "transformer_lab"

# Bottom first. A module may import every floor below its own, but no other module of its own floor.
FLOORS = {
    "0 checks": {"validation", "atomic"},
    "0 data": {"config", "masks", "cache"},
    "1 parts": {"attention", "positional", "feed_forward", "add_norm", "embedding"},
    "2 layers": {"encoder", "decoder"},
    "3 model": {"transformer", "article_names"},
    "4a files": {"sealed"},
    "4a use": {"generation", "checkpoint"},
    "4b training": {"training"},
    "4c pretrained": {"pretrained"},
    "5 eyes": {"element", "trace", "plots", "show", "diagrams"},
    "6 hands": {"explorers", "quiz", "widgets", "checks", "labs"},
    "7a commands": {"commands"},
    "7b door": {"__main__"},
}
EYES = "5 eyes"  # look at models from outside: they may import floor 0 only
ORDER = list(FLOORS)
FLOOR_OF = {module: floor for floor, modules in FLOORS.items() for module in modules}

# Beside torch and the standard library.
OTHERS = {
    "sealed": {"safetensors"},
    "checkpoint": {"safetensors"},
    "training": {"sacrebleu", "tqdm"},
    "commands": {"tqdm"},
    "plots": {"matplotlib", "seaborn", "numpy"},
    "show": {"IPython"},
    "widgets": {"ipywidgets", "IPython"},
}


def part_of(path, package):
    """The module or folder that a file of the package belongs to; None for the package's own __init__."""
    first = path.relative_to(package).parts[0]
    return None if first == "__init__.py" else first.removesuffix(".py")


def imports_of(path, package):
    """Everything that a file imports, anywhere in it, as full dotted names."""
    here = [package.name, *path.relative_to(package).with_suffix("").parts]
    here = here[:-1]  # what a single dot means: the folder that holds the file, also for __init__.py
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*base, node.module] if node.module else base)
            names.update({module} if node.module else {f"{module}.{alias.name}" for alias in node.names})
    return names


def problems(package):
    """Everything in a package that breaks the floors."""
    found = []
    for path in sorted(package.rglob("*.py")):
        name, part = path.relative_to(package).as_posix(), part_of(path, package)
        if part is None:
            continue
        if part not in FLOOR_OF:
            found.append(f"{name}: stands on no floor; give it one in tests/test_floors.py")
            continue
        floor = FLOOR_OF[part]
        for imported in sorted(imports_of(path, package)):
            top, _, rest = imported.partition(".")
            if top == package.name:
                target = rest.split(".")[0]
                if target == part and (package / part).is_dir():
                    continue
                below = FLOOR_OF.get(target) in ORDER[: ORDER.index(floor)]
                if not below or (floor == EYES and not FLOOR_OF[target].startswith("0")):
                    found.append(f"{name}: floor {floor} imports {imported}, floor {FLOOR_OF.get(target, 'none')}")
            elif top not in sys.stdlib_module_names and top != "torch" and top not in OTHERS.get(part, set()):
                found.append(f"{name}: imports {top}, which {part} may not need")
    return found


def circles(package):
    """Files of one folder that import each other in a circle."""
    found = []
    for folder in (path for path in package.iterdir() if (path / "__init__.py").exists()):
        modules = {f"{package.name}.{folder.name}.{path.stem}": path for path in folder.glob("*.py")}
        graph = {name: imports_of(path, package) & set(modules) for name, path in modules.items()}
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            found.append(f"{folder.name}: {' -> '.join(error.args[1])}")
    return found


def loaded_by(statement, first=None):
    """The top-level modules that a fresh Python loads for a statement, beside those of the standard library."""
    code = f"import sys; sys.path[:0] = {[str(first)] if first else []}; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return {name.split(".")[0] for name in done.stdout.split()} - set(sys.stdlib_module_names)


def make_package(folder, files):
    """A toy package of the given files, {path: text}; a path needs no .py, and an empty __init__ is added."""
    package = folder / "transformer_lab"
    for name, text in {"__init__": "", **files}.items():
        path = package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return package


def test_every_module_imports_lower_floors_only():
    found = problems(PACKAGE)
    assert not found, "\n".join(found)


def test_no_folder_imports_in_a_circle():
    assert circles(PACKAGE) == []


def test_every_module_stands_on_one_floor():
    listed = [module for modules in FLOORS.values() for module in modules]
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"masks": "from .attention import x"}, "floor 0 data imports transformer_lab.attention, floor 1 parts"),
        ({"masks": "def f():\n    from . import plots"}, "imports transformer_lab.plots"),
        ({"masks": "import transformer_lab.encoder"}, "imports transformer_lab.encoder"),
        ({"masks": "from .config import x"}, "floor 0 data imports transformer_lab.config, floor 0 data"),
        ({"plots": "from .attention import x"}, "floor 5 eyes imports transformer_lab.attention"),
        ({"plots": "from .element import x"}, "floor 5 eyes imports transformer_lab.element"),
        ({"trace/shapes": "from ..encoder import x"}, "trace/shapes.py: floor 5 eyes imports transformer_lab.encoder"),
        ({"encoder": "from transformer_lab import AddNorm"}, "imports transformer_lab, floor none"),
        ({"utils": ""}, "utils.py: stands on no floor"),
        ({"helpers/inner": ""}, "helpers/inner.py: stands on no floor"),
        ({"masks": "import numpy"}, "imports numpy"),
        ({"masks": "if True:\n    import matplotlib.pyplot"}, "imports matplotlib"),
    ],
)
def test_a_wrong_import_is_noticed(tmp_path, files, message):
    found = problems(make_package(tmp_path, files))
    assert len(found) == 1 and message in found[0]


def test_right_imports_are_fine(tmp_path):
    files = {
        "__init__": "from .encoder import Encoder",
        "masks": "import torch.nn, math\nfrom .validation import x",
        "encoder": "from . import attention\nfrom .config import TINY",
        "plots": "import matplotlib.pyplot as plt\nfrom .masks import causal_mask",
        "training/loop": "from .data import x\nfrom ..encoder import x\nfrom tqdm import tqdm",
        "training/data": "from . import tokens",
        "__main__": "from .training.loop import x",
    }
    assert problems(make_package(tmp_path, files)) == []


def test_a_circle_is_noticed(tmp_path):
    files = {"trace/__init__": "from .b import x", "trace/b": "from . import c", "trace/c": ""}
    assert circles(make_package(tmp_path, files)) == []
    assert "transformer_lab.trace.b" in circles(make_package(tmp_path, {**files, "trace/c": "from .b import x"}))[0]


def test_importing_the_package_loads_torch_and_little_else():
    extra = loaded_by("import transformer_lab") - loaded_by("import torch, torch.nn.functional") - {"transformer_lab"}
    assert not extra, f"import transformer_lab also loads {sorted(extra)}"


@pytest.mark.slow
def test_a_heavy_import_would_be_noticed(tmp_path):
    make_package(tmp_path, {"__init__": "import matplotlib"})
    assert "matplotlib" in loaded_by("import transformer_lab", first=tmp_path) - loaded_by("import torch")

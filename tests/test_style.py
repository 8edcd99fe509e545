"""The rules of STYLE.md that a program can check: sizes, docstrings, forbidden calls, tests that can fail, clean text."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = sorted((ROOT / "transformer_lab").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)

FILE_LINES, FUNCTION_LINES = 250, 40
FORBIDDEN_CALLS = {"eval", "exec", "torch.load", "yaml.load", "compile", "__import__"}
FORBIDDEN_MODULES = {"pickle", "dill", "marshal", "shelve", "joblib", "cloudpickle"}
ASSERTING_CALL = re.compile(r"^(assert|check|expect)(_|s$|$)|^(raises|warns|fail|gradcheck|gradgradcheck)$")
MACHINE_PATH = re.compile(r"/(?:wor[k]|roo[t]|hom[e]|User[s])/|\.\./share[d]\b|[A-Z]:\\User[s]", re.ASCII)
UNFINISHED = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X]|lorem ipsu[m]|coming soo[n]|not implemented ye[t])\b")
PICTURE = re.compile(r'"image/png": "[^"]*"')  # letters in base64, which mean nothing
TEXT = {
    ".py",
    ".md",
    ".toml",
    ".yml",
    ".yaml",
    ".txt",
    ".cfg",
    ".sh",
    ".js",
    ".css",
    ".json",
    ".ipynb",
    ".bib",
    ".cff",
    "",
}


def ids(path):
    return path.relative_to(ROOT).as_posix()


def dotted(node):
    """The dotted name of an expression such as torch.load, or an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def own_nodes(function):
    """The nodes of a function without those of functions and classes inside it."""
    pending = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (*FUNCTION, ast.ClassDef, ast.Lambda)):
            pending += ast.iter_child_nodes(node)


def code_lines(function):
    """The lines of a function without its docstring: explaining at length is welcome."""
    first = function.body[0]
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return function.end_lineno - function.lineno + 1 - (first.end_lineno - first.lineno + 1 if documented else 0)


def too_long(source):
    """Files and functions over the limit."""
    tree, length = ast.parse(source), len(source.splitlines())
    if length > FILE_LINES:
        yield f"{length} lines, limit {FILE_LINES}; split it by idea"
    for node in ast.walk(tree):
        if isinstance(node, FUNCTION) and code_lines(node) > FUNCTION_LINES:
            yield f"{node.name} has {code_lines(node)} lines without its docstring, limit {FUNCTION_LINES}"


def forbidden(source):
    """Statements that the package may not hold: assertions (python -O drops them) and whatever runs a file's contents."""
    for node in ast.walk(ast.parse(source)):
        where = f"line {getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Assert):
            yield f"{where}: assert; raise a ValueError that says what was expected and what came"
        elif isinstance(node, ast.Call) and dotted(node.func) in FORBIDDEN_CALLS:
            yield f"{where}: {dotted(node.func)}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (f"{where}: import of {name}" for name in names if name.split(".")[0] in FORBIDDEN_MODULES)
            if names == ["torch"] and any(alias.name == "load" for alias in node.names):
                yield f"{where}: torch.load"


def public_definitions(tree):
    """The public functions and classes of a module and the public methods of those classes, with their owner."""
    for node in tree.body:
        if isinstance(node, (*FUNCTION, ast.ClassDef)) and not node.name.startswith("_"):
            yield node.name, node, None
            for inner in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(inner, FUNCTION) and not inner.name.startswith("_"):
                    yield f"{node.name}.{inner.name}", inner, node


def parameters(function, owner):
    """The arguments that a docstring has to explain."""
    a = function.args
    names = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    static = any(dotted(d) == "staticmethod" for d in function.decorator_list)
    return [arg.arg for arg in names[1 if owner and not static else 0 :] if not arg.arg.startswith("_")]


def raises_something(function):
    """Whether a function raises an exception of its own, or calls a check that does."""
    for node in own_nodes(function):
        if isinstance(node, ast.Raise) and node.exc is not None:
            return True
        if isinstance(node, ast.Call) and dotted(node.func).startswith("check_"):
            return True
    return False


def undocumented(source):
    """What the docstrings of public names lack."""
    tree = ast.parse(source)
    if not ast.get_docstring(tree):
        yield "the module has no docstring"
    for name, node, owner in public_definitions(tree):
        text = ast.get_docstring(node) or ""
        decorators = {dotted(d.func if isinstance(d, ast.Call) else d).split(".")[-1] for d in node.decorator_list}
        if not text:
            yield f"{name}: no docstring"
        if not text or decorators & {"property", "cached_property", "setter", "override"}:
            continue
        wanted = ["Source"]
        if isinstance(node, FUNCTION):
            nothing = node.returns is None or (isinstance(node.returns, ast.Constant) and node.returns.value is None)
            arguments = parameters(node, owner)
            wanted += ["Args"] * bool(arguments) + ["Returns|Yields"] * (not nothing)
            wanted += ["Raises"] * raises_something(node)
            yield from (f"{name}: Args does not explain {a}" for a in arguments if not re.search(rf"\b{a}\b", text))
        for section in wanted:
            if not re.search(rf"^(?:{section}):$", text, re.MULTILINE):
                yield f"{name}: no section {section}"
        for chapter in re.findall(r"[Cc]hapters? (\w+)(?: and (\w+))?", text):
            if not all(number == "" or number in CHAPTERS for number in chapter):
                yield f"{name}: names chapter {' and '.join(filter(None, chapter))}, which the book does not have"


CHAPTERS = {f"{number:02d}" for number in range(1, 13)}


def asserting(tree):
    """The names of the functions that assert something, directly or through another function of the same file."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, FUNCTION)}
    known = set()
    while True:
        more = {name for name, node in functions.items() if name not in known and asserts(node, known)}
        if not more:
            return known
        known |= more


def asserts(function, known=frozenset()):
    """Whether something in a function can fail a test."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = dotted(node.func).split(".")[-1]
            if ASSERTING_CALL.match(name) or name in known:
                return True
    return False


def weak_tests(source, helpers=frozenset()):
    """Tests that cannot fail or that hide: without an assertion, left by return, skipped or expected to fail without a reason."""
    tree = ast.parse(source)
    known = asserting(tree) | helpers
    for node in ast.walk(tree):
        if isinstance(node, FUNCTION) and node.name.startswith("test"):
            if not asserts(node, known):
                yield f"{node.name} asserts nothing"
            if leaves_unchecked(node, known):
                yield f"{node.name} leaves by return without having asserted; use pytest.skip with a reason"
        if isinstance(node, ast.Attribute | ast.Call):
            yield from without_reason(node, tree)


def leaves_unchecked(function, known):
    """Whether a return stands in a block in which nothing was asserted before it."""
    for node in [function, *(n for n in own_nodes(function) if not isinstance(n, (*FUNCTION, ast.ClassDef)))]:
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            for index, statement in enumerate(block if isinstance(block, list) else []):
                if isinstance(statement, ast.Return) and not any(asserts(before, known) for before in block[:index]):
                    return True
    return False


def without_reason(node, tree):
    """Skips and expected failures that do not say why."""
    called = isinstance(node, ast.Call)
    name = dotted(node.func if called else node)
    if name.endswith(("mark.skip", "mark.skipif", "mark.xfail")):
        if not called and any(isinstance(n, ast.Call) and n.func is node for n in ast.walk(tree)):
            return  # the same mark, seen inside its call
        reasoned = called and (any(k.arg == "reason" for k in node.keywords) or (name.endswith("skip") and node.args))
        if not reasoned:
            yield f"line {node.lineno}: {name} without a reason"
    elif called and name in ("pytest.skip", "pytest.xfail") and not (node.args or node.keywords):
        yield f"line {node.lineno}: {name} without a reason"


def helper_names():
    """The functions of test helpers (files that are not tests) that assert something."""
    helpers = [path for path in TESTS if not path.name.startswith("test_")]
    return frozenset().union(*(asserting(ast.parse(path.read_text("utf-8"))) for path in helpers))


def text_files():
    """The text files that belong to the repository, without vendored ones."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    paths = [ROOT / name for name in listed.split("\0") if name and "/vendor/" not in name]
    return [path for path in paths if path.suffix in TEXT and path.is_file()]


@pytest.mark.parametrize("path", PACKAGE, ids=ids)
def test_files_and_functions_are_small(path):
    assert list(too_long(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", PACKAGE, ids=ids)
def test_the_package_holds_nothing_that_runs_files_or_vanishes_when_optimised(path):
    assert list(forbidden(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", PACKAGE, ids=ids)
def test_public_names_are_documented(path):
    assert list(undocumented(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", [path for path in TESTS if path.name.startswith("test_")], ids=ids)
@pytest.mark.slow
def test_every_test_can_fail(path):
    assert list(weak_tests(path.read_text("utf-8"), helper_names())) == []


@pytest.mark.parametrize(
    ("what", "pattern"), [("a path of one machine", MACHINE_PATH), ("unfinished text", UNFINISHED)]
)
def test_the_text_of_the_repository_is_clean(what, pattern):
    found = [
        f"{ids(path)}:{number}: {what}: {match.group()}"
        for path in text_files()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if (match := pattern.search(PICTURE.sub("", line)))
    ]
    assert not found, "\n".join(found)


LONG = "x = 1\n" * (FILE_LINES + 1)
DOCUMENTED = '''"""Module."""


def double(x, *, scale=2):
    """Doubles x.

    Args:
        x: a number.
        scale: factor.

    Returns:
        scale * x.

    Raises:
        ValueError: x is negative.

    Source:
        Paper 3.1; chapter 02.
    """
    check_positive(x=x)
    return scale * x
'''.replace("scale=2):", "scale=2) -> int:")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (LONG, "251 lines"),
        ("def f():\n" + "    x = 1\n" * 40, "f has 41 lines"),
        ("class A:\n    async def f(self):\n" + "        x = 1\n" * 40, "f has 41 lines"),
    ],
)
def test_a_long_file_or_function_is_noticed(source, message):
    assert message in "".join(too_long(source))


def test_a_docstring_does_not_count_as_code():
    text = '    """One.\n' + "    more\n" * 60 + '    """\n'
    assert list(too_long("def f():\n" + text + "    x = 1\n" * 39)) == []


@pytest.mark.parametrize(
    "source",
    ["assert x", "torch.load(f)", "from torch import load", "import pickle", "from pickle import load", "eval(x)"]
    + ["def f():\n    exec(x)", "import os, dill.session", "yaml.load(f)", "__import__('os')"],
)
def test_a_forbidden_statement_is_noticed(source):
    assert len(list(forbidden(source))) == 1


def test_look_alikes_are_allowed():
    assert list(forbidden("model.eval()\nre.compile(x)\nload_file(x)\nx = 'assert eval(y)'")) == []


def test_a_whole_docstring_is_enough():
    assert list(undocumented(DOCUMENTED)) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"""Module."""', "", "the module has no docstring"),
        ("    Args:\n", "", "no section Args"),
        ("        scale: factor.\n", "", None),
        ("scale=2", "amount=2", "Args does not explain amount"),
        ("    Returns:\n", "", "no section Returns"),
        ("    Raises:\n", "", "no section Raises"),
        ("    Source:\n", "", "no section Source"),
        ("chapter 02", "chapter 13", "names chapter 13"),
        ("chapter 02", "chapters 02 and 2", "names chapter 02 and 2"),
        ("def double", "class A:\n    def f(self): ...\n\ndef double", "A.f: no docstring"),
    ],
)
def test_a_gap_in_a_docstring_is_noticed(old, new, message):
    assert old in DOCUMENTED
    found = "\n".join(undocumented(DOCUMENTED.replace(old, new)))
    assert found == "" if message is None else message in found


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def test_a():\n    f()", "test_a asserts nothing"),
        ("class TestA:\n    def test_a(self):\n        f()", "test_a asserts nothing"),
        ("def helper():\n    f()\ndef test_a():\n    helper()", "test_a asserts nothing"),
        ("def test_a():\n    if x:\n        return\n    assert y", "leaves by return"),
        ("def test_a():\n    assert y\n    if x:\n        z()\n        return", "leaves by return"),
        ("def test_a():\n    pytest.skip()\n    assert y", "pytest.skip without a reason"),
        ("@pytest.mark.skip\ndef test_a():\n    assert y", "pytest.mark.skip without a reason"),
        ("@pytest.mark.skipif(x)\ndef test_a():\n    assert y", "pytest.mark.skipif without a reason"),
        ("@pytest.mark.xfail(strict=True)\ndef test_a():\n    assert y", "pytest.mark.xfail without a reason"),
    ],
)
def test_a_test_that_cannot_fail_is_noticed(source, message):
    found = list(weak_tests(source))
    assert len(found) == 1 and message in found[0]


@pytest.mark.parametrize(
    "source",
    [
        "def test_a():\n    assert x",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()",
        "def test_a():\n    torch.testing.assert_close(x, y)",
        "def helper():\n    inner()\ndef inner():\n    assert x\ndef test_a():\n    helper()",
        "def test_a():\n    if x:\n        assert y\n        return\n    assert z",
        "def test_a():\n    def f():\n        return 1\n    assert f()",
        "@pytest.mark.skipif(x, reason='no GPU')\ndef test_a():\n    pytest.skip('no font')\n    assert y",
        "@pytest.mark.skip('broken there')\ndef test_a():\n    assert y",
    ],
)
def test_a_good_test_is_accepted(source):
    assert list(weak_tests(source)) == []


def test_patterns_find_what_they_are_for():
    for text in ("/" + "root/x", "/" + "home/me/x", "C:\\" + "Users\\me", "../" + "shared/x"):
        assert MACHINE_PATH.search(f"in {text} there")
    assert UNFINISHED.search("# TO" + "DO: write") and not UNFINISHED.search("mastodon")
    assert not MACHINE_PATH.search("tests/site/x, /usr/share/fonts, framework/x")

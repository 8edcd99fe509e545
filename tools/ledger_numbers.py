"""Numbers as a text writes them, and whether a computed value is the number that was written.

A written number claims no more than its digits: 58 % stands for anything that rounds to 58 %, 0.71 for anything that
rounds to 0.71, "about 60,600" for anything that rounds to it at its last digit that is not 0.
"""

import ast
import math
import operator
import re
from dataclasses import dataclass
from fractions import Fraction

NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:_\d{3})+|\d+(?:\.\d+)?(?:e[+-]?\d+)?"
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "kB": 10**3, "MB": 10**6, "GB": 10**9}
SCALES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
ROUND_WORDS = r"about|some|nearly|almost|roughly|around|approximately|near|≈|~|\\approx"
NAMES = {"sqrt": math.sqrt, "ln": math.log, "log2": math.log2, "exp": math.exp, "sin": math.sin, "cos": math.cos, "tanh": math.tanh}
NAMES |= {"sigma": lambda x: 1 / (1 + math.exp(-x))}
VALUES = {"pi": math.pi, "e": math.e}
BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow}
BINARY |= {ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
HUGE = 1e300  # no result beyond it is anyone's claim


def plain(text: str) -> float:
    """The value of a number without sign and unit."""
    return float(text.replace(",", "").replace("_", ""))


def last_place(text: str, rounded: bool) -> float:
    """What one more in the last digit that counts would add: 0.01 for 0.71, 1 for 60,600, and 100 for a rounded 60,600."""
    mantissa, _, exponent = text.replace(",", "").replace("_", "").partition("e")
    whole, _, decimals = mantissa.partition(".")
    zeros = len(whole) - len(whole.rstrip("0")) if rounded and not decimals and whole.strip("0") else 0
    return float(Fraction(10) ** (zeros - len(decimals) + int(exponent or 0)))


@dataclass(frozen=True)
class Written:
    """A number in prose.

    Attributes:
        text: As it stands there, with its unit: 58 %, 63.1 million.
        value: Its value, the unit included.
        half: Half of what one more in the last digit that counts would add: computed values may differ by so much.
        unit: %, million, GiB, …, or nothing.
        exact: Whether it is a whole number that no word calls rounded: then it is a count, and must be met exactly.
        known: The calculation in the text itself that gives it, if there is one.
        among: All numbers of the row that it stands in, such as [6, 0]; nothing for a single number.
    """

    text: str
    value: float
    half: float
    unit: str = ""
    exact: bool = False
    known: str = ""
    among: tuple[float, ...] = ()

    def fits(self, value: float, unit: str = "") -> bool:
        """Whether a computed value, in a unit of its own, rounds to this number.

        Signs are left to the words around it (a fall by 0.69).
        """
        value = abs(value * factor(unit))
        if self.exact and value != round(value):
            return False
        return abs(value - self.value) <= self.half * (1 + 1e-9) + 1e-12 * self.value

    def within(self, low: float, high: float) -> bool:
        """Whether an interval that is asserted pins this number down: it holds it and is at most a quarter of it wide."""
        return not self.exact and low <= self.value <= high and high - low <= self.value / 4


def factor(unit: str) -> float:
    """What a unit multiplies by."""
    return 0.01 if unit == "%" else SCALES.get(unit, 1)


def written(text: str, unit: str = "", rounded: bool = False, known: str = "", among: tuple[float, ...] = ()) -> Written:
    """A number from its digits, its unit (%, million, GiB, …) and whether a word before it says that it is rounded."""
    places = last_place(text, rounded and not unit) * factor(unit)
    exact = not unit and not rounded and text.replace(",", "").isdigit()
    return Written(f"{text} {unit}".strip(), plain(text) * factor(unit), places / 2, unit, exact, known, among)


def calculate(node: ast.AST) -> float | None:
    """The value of an expression made of numbers, arithmetic and the functions of NAMES; None if anything else is in it."""
    if isinstance(node, ast.Expression):
        return calculate(node.body)
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int | float) and not isinstance(node.value, bool) else None
    if isinstance(node, ast.Name):
        return VALUES.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = calculate(node.operand)
        return value if value is None or isinstance(node.op, ast.UAdd) else -value
    try:
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            left, right = calculate(node.left), calculate(node.right)
            if left is None or right is None or (isinstance(node.op, ast.Pow) and abs(right) > 100):
                return None
            value = BINARY[type(node.op)](left, right)
            return value if isinstance(value, int | float) and abs(value) < HUGE else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES and len(node.args) == 1:
            value = calculate(node.args[0])
            return None if value is None else NAMES[node.func.id](value)
    except (ArithmeticError, ValueError):
        pass
    return None


def calculate_text(text: str) -> float | None:
    """The value of a calculation written in Python; None if it is something else."""
    try:
        return calculate(ast.parse(text.strip(), mode="eval"))
    except (SyntaxError, ValueError, RecursionError):
        return None


GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
ONE = rf"(?:{GROUP}|(\d|\\pi))"
LATEX = (
    (re.compile(r"\\(?:left|right|big|Big|displaystyle|,|;|!|:| )|\{,\}"), ""),
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), ""),
    (re.compile(r"\\[td]?frac\s*" + ONE + r"\s*" + ONE), lambda m: f"(({m[1] or m[2]})/({m[3] or m[4]}))"),
    (re.compile(r"\\sqrt\s*" + ONE), lambda m: f"sqrt({m[1] or m[2]})"),
    (re.compile(r"\^\s*(?:" + GROUP + r"|(\w))"), lambda m: f"**({m[1] or m[2]})"),
    (re.compile(r"\\log_2\s*"), "log2 "),
    (re.compile(r"\\(?:cdot|times)|×|·"), "*"),
    (re.compile(r"−|–"), "-"),
    (re.compile(r"\\pi\b"), " pi "),
    (re.compile(r"\\(ln|sin|cos|tanh|exp|sigma)\b"), r" \1 "),
    (re.compile(r"\b(ln|sin|cos|tanh|exp|log2)\s+(\d[\d.]*)"), r"\1(\2)"),
    (re.compile(r"\b(ln|sin|cos|tanh|exp|log2|sigma)\s+\("), r"\1("),
    (re.compile(r"(?<=[\d)])\s*(?=(?:pi|ln|sqrt|sin|cos|tanh|log2|\()(?:\b|$|\())"), "*"),
)


def calculate_formula(latex: str) -> float | None:
    r"""The value of a formula in LaTeX that holds numbers only, such as \frac{8}{2} or 0.5^{20}; None if it holds names."""
    for pattern, replacement in LATEX:
        for _ in range(3):  # fractions stand inside fractions
            latex, count = pattern.subn(replacement, latex)
            if not count:
                break
    return None if "\\" in latex or not re.search(r"\d", latex) else calculate_text(latex)

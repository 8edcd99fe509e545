"""What every panel shares: controls in a live notebook, a still picture elsewhere, and errors shown as text.

Floor 6.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..element import escape, still_card

DTYPES = ("float32", "float64", "bfloat16", "float16")
STILL = (
    "This is a still picture. The panel needs a live kernel: run this cell in Jupyter or Colab to set {names} yourself."
)


class Panel:
    """Controls over a function in a live notebook, a still picture of its first result elsewhere.

    Args:
        title: what is run.
        run: takes the settings by keyword and gives a report; its keyword defaults are the settings to start with.
        tell: from settings, report and whether the kernel is live to pieces of HTML; those of a still are the same anywhere.
        say: from settings and report to one line of text.
        settings: what to start with instead of the defaults.
        choices: {setting: what it may be}; other settings are typed.

    Raises:
        TypeError: a setting is unknown.
        ValueError: a setting is refused by `run`.

    Source:
        Ours; chapter 02.
    """

    def __init__(
        self,
        title: str,
        run: Callable[..., Any],
        tell: Callable[[Mapping[str, Any], Any, bool], list[str]],
        say: Callable[[Mapping[str, Any], Any], str],
        settings: Mapping[str, Any],
        choices: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.title, self._run, self._tell, self._say = title, run, tell, say
        self._choices = choices or {}
        self.report = run(**settings)
        self.settings = {**run.__kwdefaults__, **settings}

    def __repr__(self) -> str:
        return f"{self.title} panel (needs a live kernel): {self._say(self.settings, self.report)}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if has_reader() and (view := self._view()):
            return {"text/plain": repr(self), "application/vnd.jupyter.widget-view+json": view}
        names = list(self.settings)
        still = STILL.format(names=f"{', '.join(names[:-1])} and {names[-1]}")
        pieces = self._tell(self.settings, self.report, False)
        return {"text/plain": repr(self), "text/html": still_card(*pieces, f"<p><em>{still}</em></p>")}

    def controls(self) -> Any:
        """Makes the live controls, for a notebook that does not show them by itself.

        Returns:
            An ipywidgets box.

        Raises:
            ModuleNotFoundError: ipywidgets is not installed.

        Source:
            Ours; chapter 02.
        """
        import ipywidgets as ipw

        fields = {name: _field(ipw, name, value, self._choices.get(name)) for name, value in self.settings.items()}
        button = ipw.Button(description="Run", button_style="primary")
        result = ipw.HTML(value=still_card(*self._tell(self.settings, self.report, True)))

        def run(_button: Any) -> None:
            result.value = self.attempt({name: field.value for name, field in fields.items()})

        button.on_click(run)
        rows = ipw.Layout(display="flex", flex_flow="row wrap")
        return ipw.VBox([ipw.Box([*fields.values(), button], layout=rows), result])

    def attempt(self, settings: Mapping[str, Any]) -> str:
        """Runs once and tells what came out, or what was wrong: the message is the lesson.

        Args:
            settings: all of them.

        Returns:
            HTML.

        Source:
            Ours; chapter 02.
        """
        try:
            report = self._run(**settings)
        except (ValueError, TypeError, RuntimeError) as error:
            return still_card(f"<p><strong>{type(error).__name__}</strong>: {escape(error)}</p>")
        return still_card(*self._tell(settings, report, True))

    def _view(self) -> dict[str, Any] | None:
        try:
            box = self.controls()
        except ModuleNotFoundError:
            return None
        return {"version_major": 2, "version_minor": 0, "model_id": box.model_id}


def has_reader() -> bool:
    """Tells whether someone sits before this kernel.

    JupyterLab, Notebook, Colab and VS Code allow a cell to ask for input; whatever executes notebooks for pages or tests
    (nbclient, nbval, Jupyter Book) does not.

    Returns:
        True when the running cell may ask for input.

    Source:
        Ours; chapter 02.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))


def devices() -> tuple[str, ...]:
    """Lists the devices that a panel offers.

    Returns:
        "cpu", and "cuda" where there is one.

    Source:
        Ours; chapter 02.
    """
    return ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)


def check_choices(**given: tuple[str, Sequence[str]]) -> None:
    """Refuses words that are none of the choices.

    Args:
        given: {setting: (its value, the choices)}.

    Raises:
        ValueError: a value is no choice.

    Source:
        Ours; chapter 02.
    """
    for name, (value, choices) in given.items():
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_sizes(limit: int, numbers: int, **sizes: int) -> None:
    """Refuses sizes below 1 and tensors that would fill the memory.

    Args:
        limit: most numbers in one tensor.
        numbers: those of the largest tensor.
        sizes: {setting: its value}.

    Raises:
        ValueError: a size is below 1, or the largest tensor is too large.

    Source:
        Ours; chapter 02.
    """
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
    if numbers > limit:
        raise ValueError(f"these sizes need a tensor of {numbers:,} numbers; take sizes that need at most {limit:,}")


def facts(rows: Mapping[str, Any]) -> str:
    """Draws names and values as a small table.

    Args:
        rows: {name: value}.

    Returns:
        HTML with colours of its own.

    Source:
        Ours; chapter 02.
    """
    cell = "padding:3px 10px;text-align:left;font-weight:normal"
    lines = "".join(
        f'<tr style="background:#fff"><th scope="row" style="{cell}">{escape(name)}</th><td style="{cell}">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f'<table style="border-collapse:collapse;margin:0;background:#fff;color:#18202c"><tbody>{lines}</tbody></table>'


def _field(ipw: Any, name: str, value: Any, choices: Sequence[str] | None) -> Any:
    wide = isinstance(value, str) and choices is None
    common = {
        "description": name,
        "value": value,
        "style": {"description_width": "7em"},
        "layout": ipw.Layout(width="30em" if wide else "16em", max_width="100%"),
    }
    if choices is not None:
        return ipw.Dropdown(options=choices, **common)
    return ipw.Text(**common) if isinstance(value, str) else ipw.IntText(**common)

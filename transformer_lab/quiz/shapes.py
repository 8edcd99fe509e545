"""Predicting the shape of a tensor before the code prints it.

Floor 6.
"""

from collections.abc import Mapping, Sequence

from ..element import Element, escape, read_source, still_card
from .markup import parse, to_html, to_text
from .questions import interface_strings


def predict_shape(
    prompt: str,
    expected: Sequence[int],
    *,
    why: str,
    axes: Sequence[str] | None = None,
    strings: Mapping[str, str] | None = None,
) -> Element:
    """Asks for a shape; says what is right and which axis is wrong, and shows the answer when asked to.

    Read as the same: 1, 6, 64 · [1,6,64] · (1, 6, 64) · torch.Size([1, 6, 64]) · 1×6×64.

    Args:
        prompt: the question, with the markup of `quiz.markup`.
        expected: the shape, such as (1, 6, 64) or a tensor's own `.shape`.
        why: the explanation that comes with the right answer.
        axes: a name for each axis, such as ("B", "S", "d_k"), to be named beside its number.
        strings: words of the interface to use instead of the English ones, by the keys of quiz.en.json.

    Returns:
        The element; without scripts it shows the prompt, and the answer folded below it.

    Raises:
        ValueError: a size is not a whole number from 0 up, the axes are not named one by one, or a key of `strings` is
            unknown.

    Source:
        Ours; chapter 02.
    """
    sizes = list(expected)
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise ValueError(f"expected must be whole numbers from 0 up, got {tuple(expected)}")
    if axes is not None and len(axes) != len(sizes):
        raise ValueError(f"axes must name each of the {len(sizes)} axes of {tuple(sizes)}, got {len(axes)} names")
    text = interface_strings(strings)
    config = {
        "prompt": parse(prompt),
        "expected": sizes,
        "why": parse(why),
        "axes": list(axes) if axes is not None else None,
        "strings": text,
    }
    answer = escape(text["answer"].format(shape=sizes))
    still = still_card(
        f"<p><strong>{to_html(config['prompt'])}</strong></p>"
        f"<details><summary>{text['answer_title']}</summary><p>{answer} {to_html(config['why'])}</p></details>"
    )
    script = read_source("transformer_lab.quiz", "quiz.css", "markup.js", "shape.js")
    return Element("shape", script, config, to_text(config["prompt"]), still)

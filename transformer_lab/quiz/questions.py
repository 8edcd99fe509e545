"""Multiple choice with feedback on every answer.

Floor 6.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from ..element import Element, read_source, still_card
from .markup import parse, to_html, to_text

Option = tuple[str, bool, str]  # text, whether it is right, feedback


def choice(question: str, options: Sequence[Option], *, strings: Mapping[str, str] | None = None) -> Element:
    """Asks one question; pressing an answer says whether it is right, and why.

    Args:
        question: the question, with the markup of `quiz.markup`.
        options: (text, correct, feedback) for each answer; several may be correct.
        strings: words of the interface to use instead of the English ones, by the keys of quiz.en.json.

    Returns:
        The element; without scripts it shows the question, and the answers folded below it.

    Raises:
        ValueError: fewer than two answers, none correct, one without feedback, or a key of `strings` is unknown.
        TypeError: an option is not (text, correct, feedback).

    Source:
        Ours; chapter 02.
    """
    return choices([(question, options)], strings=strings)


def choices(questions: Sequence[tuple[str, Sequence[Option]]], *, strings: Mapping[str, str] | None = None) -> Element:
    """Asks several questions in one element; see `choice`.

    Args:
        questions: (question, options) for each.
        strings: words of the interface to use instead of the English ones, by the keys of quiz.en.json.

    Returns:
        The element.

    Raises:
        ValueError: no question, or a question as `choice` refuses it.
        TypeError: an option is not (text, correct, feedback).

    Source:
        Ours; chapter 02.
    """
    if not questions:
        raise ValueError("choices needs at least one question")
    text = interface_strings(strings)
    asked = [_read(question, options) for question, options in questions]
    plain = "\n".join(_plain(one) for one in asked)
    still = still_card(*(_still(one, text) for one in asked))
    script = read_source("transformer_lab.quiz", "quiz.css", "markup.js", "choice.js")
    return Element("choice", script, {"questions": asked, "strings": text}, plain, still)


def interface_strings(own: Mapping[str, str] | None) -> dict[str, str]:
    """Gives the words of the interface.

    Args:
        own: those to use instead of the English ones, by the keys of quiz.en.json.

    Returns:
        All of them.

    Raises:
        ValueError: a key is unknown.

    Source:
        Ours; chapter 02.
    """
    english = json.loads(files("transformer_lab.quiz").joinpath("quiz.en.json").read_text(encoding="utf-8"))
    for key in own or {}:
        if key not in english:
            raise ValueError(
                f"strings has no use for {key!r}; the keys are those of quiz.en.json: {', '.join(english)}"
            )
    return english | dict(own or {})


def _read(question: str, options: Sequence[Option]) -> dict[str, Any]:
    read = []
    for option in options:
        if not (isinstance(option, tuple) and [type(part) for part in option] == [str, bool, str]):
            raise TypeError(f"an option is (text, correct, feedback): str, bool, str; got {option!r}")
        text, correct, feedback = option
        if not feedback.strip():
            raise ValueError(f"the answer {text!r} needs feedback: say why it is {'right' if correct else 'wrong'}")
        read.append({"text": parse(text), "correct": correct, "feedback": parse(feedback)})
    right = sum(option["correct"] for option in read)
    if len(read) < 2 or not right:
        raise ValueError(
            f"a question needs at least two answers and one that is correct, got {len(read)} and {right}: {question!r}"
        )
    return {"prompt": parse(question), "options": read}


def _plain(question: dict[str, Any]) -> str:
    lettered = zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", question["options"], strict=False)
    return "\n".join([to_text(question["prompt"]), *(f"  {letter}. {to_text(o['text'])}" for letter, o in lettered)])


def _still(question: dict[str, Any], text: dict[str, str]) -> str:
    options = "".join(f"<li>{to_html(option['text'])}</li>" for option in question["options"])
    answers = "".join(
        f"<li><strong>{text['right' if option['correct'] else 'wrong']}</strong> {to_html(option['feedback'])}</li>"
        for option in question["options"]
    )
    letters = 'style="list-style:upper-alpha"'
    return (
        f"<p><strong>{to_html(question['prompt'])}</strong></p><ol {letters}>{options}</ol>"
        f"<details><summary>{text['answers']}</summary><ol {letters}>{answers}</ol></details>"
    )

"""Draw the pictures of the book's pages and of the README into book/_static.

    python tools/pictures.py            write them
    python tools/pictures.py --check    say which are out of date, and change nothing

The drawings come from transformer_lab.diagrams, the README's picture from the trained model and its untrained control. The
PNG carries the numbers that it shows, so that it can be checked without comparing pixels, which change with matplotlib.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from PIL import Image
from torch import Tensor

from transformer_lab import diagrams
from transformer_lab.plots import plot_heads
from transformer_lab.pretrained import load_world
from transformer_lab.trace import record_attention

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "book" / "_static"
DRAWINGS = {"architecture.svg": diagrams.architecture}
README_PICTURE = "attention.png"
SENTENCE = "the cat sat on the mat"


def attention_of_both() -> Tensor:
    """Attention of the last layer, mean of its heads, of the trained model and of its untrained control: [2, S, S]."""
    maps = []
    for model in (load_world(), load_world(trained=False)):
        with torch.no_grad(), record_attention(model.encoder) as recorded:
            model.encoder(model.encode(SENTENCE))
        last_layer = list(recorded.values())[-1][0]  # [1, h, S, S]
        maps.append(last_layer[0].mean(0))  # [S, S]
    return torch.stack(maps)


def numbers_shown(weights: Tensor) -> str:
    """The numbers as they stand in the cells of the picture, row by row."""
    return " ".join(f"{number:.2f}" for number in weights.flatten().tolist())


def readme_picture() -> bytes:
    """Draw the two maps side by side and return the PNG."""
    weights = attention_of_both()
    axes = plot_heads(weights, query_tokens=SENTENCE.split(), titles=["trained", "untrained control"], vmax=0.6)
    figure, buffer = axes[0].figure, io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None, "Description": numbers_shown(weights)})
    plt.close(figure)
    return buffer.getvalue()


def out_of_date() -> list[str]:
    """The names of the pictures that are missing or differ from what the package says today."""
    stale = []
    for name, draw in DRAWINGS.items():
        path = STATIC / name
        if not path.exists() or path.read_text("utf-8") != draw().svg:
            stale.append(name)
    path = STATIC / README_PICTURE
    if not path.exists() or Image.open(path).text.get("Description") != numbers_shown(attention_of_both()):
        stale.append(README_PICTURE)
    return stale


def write() -> None:
    """Write every picture that is out of date."""
    for name in out_of_date():
        if name in DRAWINGS:
            (STATIC / name).write_text(DRAWINGS[name]().svg, "utf-8")
        else:
            (STATIC / name).write_bytes(readme_picture())
        print(f"wrote {(STATIC / name).relative_to(ROOT)}")


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the book's pages and of the README.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail when a picture is out of date")
    if not parser.parse_args(arguments).check:
        write()
        return 0
    for name in (stale := out_of_date()):
        print(f"book/_static/{name} is out of date: run python tools/pictures.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

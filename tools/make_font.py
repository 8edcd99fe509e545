"""Build the small Chinese font that the figures use: python tools/make_font.py

matplotlib's own fonts have no Chinese glyphs, and neither has Colab. This command cuts a subset out of Noto Sans CJK SC
(SIL Open Font License 1.1) and writes it to transformer_lab/fonts/. The subset holds ASCII and Latin-1, the punctuation of
Chinese text, the 3,755 most frequent characters (level 1 of the national standard GB 2312), and every Chinese character
that occurs in the package, the chapters and the book. The output depends on its inputs alone: no date is written.

The source font comes with Debian and Ubuntu (apt-get install fonts-noto-cjk) or from
https://github.com/notofonts/noto-cjk. It is needed only to rebuild the subset, never to use the package.
"""

import argparse
import os
import re
import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTCollection, TTFont

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")
OUTPUT = ROOT / "transformer_lab" / "fonts" / "TransformerLabCJK-Regular.otf"
FAMILY = "TransformerLab CJK"
POSTSCRIPT = "TransformerLabCJK-Regular"
SIMPLIFIED_CHINESE = "NotoSansCJKsc-Regular"  # the collection holds one face per region

TEXT_FOLDERS = ("transformer_lab", "notebooks/src", "book")
TEXT_SUFFIXES = {".py", ".json", ".js", ".md", ".txt", ".tsv", ".csv", ".html"}
CJK = re.compile("[\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def gb2312_level_1() -> str:
    """The 3,755 most frequent simplified characters: rows 16 to 55 of GB 2312, ordered by pronunciation."""
    codes = [bytes([row, cell]) for row in range(0xB0, 0xD8) for cell in range(0xA1, 0xFF)]
    return b"".join(codes).decode("gb2312", errors="ignore")  # the last five cells of row 55 are empty


def base_characters() -> str:
    """What the font always holds, whatever the repository's text says."""
    latin = [*range(0x20, 0x7F), *range(0xA0, 0x100)]
    marks = [*range(0x3000, 0x3012), *range(0xFF01, 0xFF5F)]  # 、。《》「」 and full-width forms
    return "".join(map(chr, latin + marks)) + "–—‘’“”…·•￥" + gb2312_level_1()


def repository_characters(root: Path = ROOT) -> set[str]:
    """Every ideograph, CJK punctuation mark and full-width form in the text of the package, the chapters and the book."""
    found: set[str] = set()
    for folder in TEXT_FOLDERS:
        for path in (root / folder).rglob("*"):
            if path.suffix in TEXT_SUFFIXES and "vendor" not in path.parts:
                found.update(CJK.findall(path.read_text("utf-8")))
    return found


def face_number(source: Path) -> int:
    """Where the simplified Chinese face stands in the Noto collection."""
    with TTCollection(source, lazy=True) as collection:
        names = [font["name"].getDebugName(6) for font in collection.fonts]
    if SIMPLIFIED_CHINESE not in names:
        raise SystemExit(f"{source} has no face named {SIMPLIFIED_CHINESE}, only {', '.join(names)}")
    return names.index(SIMPLIFIED_CHINESE)


def cut(font: TTFont, characters: set[str]) -> None:
    """Keep the glyphs of these characters, drop hinting and layout tables, which matplotlib does not use."""
    missing = sorted(c for c in characters if ord(c) not in font.getBestCmap())
    if missing:
        raise SystemExit(f"the source font has no glyph for: {' '.join(missing)}")
    options = subset.Options()
    options.layout_features = []
    options.hinting = False
    options.desubroutinize = True  # smaller here, and simpler for the renderer
    options.notdef_outline = True
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "BASE", "vhea", "vmtx", "VORG", "DSIG"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(text="".join(sorted(characters)))
    subsetter.subset(font)


def rename(font: TTFont) -> None:
    """Give the subset its own name: a modified version may not be called by the original's reserved or trade names."""
    version = font["name"].getDebugName(5).split(";")[0].removeprefix("Version ")
    names = {
        1: FAMILY,
        2: "Regular",
        3: f"{version};{POSTSCRIPT}",
        4: f"{FAMILY} Regular",
        5: f"Version {version}, subset for Transformer Lab",
        6: POSTSCRIPT,
    }
    for name_id, text in names.items():
        font["name"].removeNames(nameID=name_id)
        font["name"].setName(text, name_id, 3, 1, 0x409)
    cff = font["CFF "].cff
    cff.fontNames[0] = POSTSCRIPT
    cff.topDictIndex[0].FullName = f"{FAMILY} Regular"
    cff.topDictIndex[0].FamilyName = FAMILY


def build(source: Path = SOURCE, output: Path = OUTPUT, root: Path = ROOT) -> int:
    """Write the subset font.

    Args:
        source: The Noto Sans CJK collection (.ttc).
        output: Where the subset goes; replaced in one step.
        root: The repository whose text is searched for characters.

    Returns:
        The number of characters in the font.

    Raises:
        SystemExit: If the source font is missing or lacks a character.
    """
    if not source.exists():
        raise SystemExit(f"source font not found: {source}\nDebian: apt-get install fonts-noto-cjk; or pass --source")
    characters = set(base_characters()) | repository_characters(root)
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(output.name + ".partial")
    with TTFont(source, fontNumber=face_number(source), recalcTimestamp=False) as font:
        cut(font, characters)
        rename(font)
        font["head"].modified = font["head"].created
        font.save(partial)
    os.replace(partial, output)
    return len(characters)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--source", type=Path, default=SOURCE, help="the Noto Sans CJK collection (default: %(default)s)"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where to write the subset")
    options = parser.parse_args(arguments)
    count = build(options.source, options.output)
    print(f"{options.output}: {count} characters, {options.output.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The Chinese font that ships with the package: complete, loadable, reproducible, renamed."""

import importlib.util
import sys
import warnings
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

ROOT = Path(__file__).resolve().parent.parent
FONT = ROOT / "transformer_lab" / "fonts" / "TransformerLabCJK-Regular.otf"
REBUILD = "run: python tools/make_font.py"


@pytest.fixture(scope="module")
def make_font():
    spec = importlib.util.spec_from_file_location("make_font", ROOT / "tools" / "make_font.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def glyphs():
    with TTFont(FONT) as font:
        return set(map(chr, font.getBestCmap()))


def draw(text, font):
    """Draw the text and return the warnings that drawing gave."""
    figure = Figure()
    FigureCanvasAgg(figure)
    figure.text(0.1, 0.5, text, fontproperties=font)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.canvas.draw()
    return [str(warning.message) for warning in caught]


def test_every_chinese_character_of_the_repository_is_in_the_font(make_font, glyphs):
    missing = make_font.repository_characters(ROOT) - glyphs
    assert not missing, f"{FONT.name} lacks {''.join(sorted(missing))}; {REBUILD}"


def test_the_search_for_characters_sees_text_and_skips_vendored_files(make_font, tmp_path):
    files = {"book/a.md": "多头", "book/vendor/b.js": "龘", "transformer_lab/c.json": '"猫"', "tests/d.py": "鱻"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    assert make_font.repository_characters(tmp_path) == set("多头猫")


def test_the_base_list_is_level_1_of_the_national_standard(make_font, glyphs):
    level_1 = make_font.gb2312_level_1()
    assert len(level_1) == len(set(level_1)) == 3755
    assert (level_1[0], level_1[-1]) == ("啊", "座")
    assert set(make_font.base_characters()) <= glyphs


def test_matplotlib_draws_chinese_without_a_missing_glyph():
    assert draw("我爱你", FontProperties(fname=FONT)) == []


def test_the_drawing_check_notices_a_missing_glyph():
    assert any("missing from" in message for message in draw("我爱你", FontProperties(family="DejaVu Sans")))


def test_the_font_is_small_and_carries_its_own_name_and_the_licence():
    with TTFont(FONT) as font:
        names = font["name"]
    assert FONT.stat().st_size < 1_200_000
    assert names.getDebugName(1) == "TransformerLab CJK"
    for number in (1, 3, 4, 6):
        assert "Noto" not in names.getDebugName(number) and "Source" not in names.getDebugName(number)
    assert "SIL Open Font License" in names.getDebugName(13)
    licence = FONT.with_name("OFL.txt").read_text("utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence and "Copyright 2014-2021 Adobe" in licence


@pytest.mark.slow
def test_rebuilding_gives_the_same_bytes(make_font, tmp_path):
    if not make_font.SOURCE.exists():
        pytest.skip(f"the source font {make_font.SOURCE} is not installed (Debian: fonts-noto-cjk)")
    rebuilt = tmp_path / FONT.name
    make_font.build(output=rebuilt)
    assert rebuilt.read_bytes() == FONT.read_bytes(), f"{FONT.name} is not what tools/make_font.py makes; {REBUILD}"


def test_a_missing_source_font_is_named(make_font, tmp_path):
    with pytest.raises(SystemExit, match="source font not found"):
        make_font.build(source=tmp_path / "none.ttc", output=tmp_path / "out.otf")
    assert not list(tmp_path.iterdir())

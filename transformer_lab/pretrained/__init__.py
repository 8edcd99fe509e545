"""Models that ship with the package, one line each, with no network.

Floor 4c. `load_world()` is the encoder of mini-world, `load_translator()` translates English to Chinese. What each model is, how
it was made and what it fails at stands in its card, the JSON file beside its weights.
"""

import json
from importlib import resources
from typing import Any

import torch

from ..training.translation import Translator, read_translator
from ..training.translator_measures import untrained_control
from ..training.world import WorldModel, new_world, read_world
from ..validation import check_device


def load_world(trained: bool = True, *, device: torch.device | str = "cpu") -> WorldModel:
    """Loads the mini-world model, or its untrained control.

    Args:
        trained: True gives the shipped weights; False the very weights that training started from.
        device: where the model goes.

    Returns:
        The model, in float32 and eval mode.

    Raises:
        TypeError: trained is not True or False.
        ValueError: there is no such device.
        CheckpointError: the packaged file is damaged.

    Source:
        Ours; chapter 02.
    """
    _check_trained("load_world", trained)
    device = check_device(device)
    if not trained:
        return new_world(world_card()["recipe"]["seed"]).to(device)
    with resources.as_file(resources.files(__name__) / "world.safetensors") as path:
        return read_world(path, device)


def world_card() -> dict[str, Any]:
    """Reads the card of the mini-world model: how it was made, every measured figure, and its limits.

    Returns:
        The card; `trained` and `untrained` hold the same figures of the model and its control.

    Source:
        Model cards (Mitchell et al. 2019); chapter 02.
    """
    return _card("world")


def load_translator(trained: bool = True, *, device: torch.device | str = "cpu") -> Translator:
    """Loads the translator from English to Chinese, or its untrained control.

    Args:
        trained: True gives the shipped weights; False the very weights that training started from, with the same vocabularies.
        device: where the model goes.

    Returns:
        The translator: `load_translator()("I love you").text` is 我爱你. Its model is in float32 and eval mode.

    Raises:
        TypeError: trained is not True or False.
        ValueError: there is no such device.
        CheckpointError: the packaged file is damaged.

    Source:
        Paper 3; article, "Full model"; chapter 11.
    """
    _check_trained("load_translator", trained)
    device = check_device(device)
    with resources.as_file(resources.files(__name__) / "translator.safetensors") as path:
        translator = read_translator(path, device)
    if trained:
        return translator
    control = untrained_control(translator, translator_card()["recipe"]["seed"])
    control.model.to(device)
    return control


def translator_card() -> dict[str, Any]:
    """Reads the card of the translator: data, licence, how it was made, every measured figure, and its limits.

    Returns:
        The card; `trained` and `untrained` hold the same figures of the model and its control, `seeds` those of every seed.

    Source:
        Model cards (Mitchell et al. 2019); chapter 11.
    """
    return _card("translator")


def _card(name: str) -> dict[str, Any]:
    return json.loads((resources.files(__name__) / f"{name}.json").read_text(encoding="utf-8"))


def _check_trained(loader: str, trained: bool) -> None:
    if not isinstance(trained, bool):
        raise TypeError(f"trained must be True or False, got {trained!r}; {loader}(trained=False) is the untrained control")

"""Weights under the article's names, given ours.

Floor 3: torch only. The article and this package name nearly everything alike; three things differ.

    article                            here
    …norm1, …norm2, …norm3             …add_norm1.norm, …add_norm2.norm, …add_norm3.norm
    …pos_encoding.pe                   nothing: the table is computed, not stored
    embedding rows used as they are    the same with `scale_embedding=False` in the config

Its dropout inside the feed-forward network and on the embedding has no weights. Its model is post-LN with untied tables and an
output bias, so this config fits it: `TransformerConfig(…, scale_embedding=False)`.
"""

import re
from collections.abc import Mapping

from torch import Tensor

_NORM = re.compile(r"(^|\.)norm([123])\.(weight|bias)$")
_TABLE = re.compile(r"(^|\.)pos_encoding\.pe$")


def from_article_names(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Renames the weights of the article's model, of one of its stacks or of one of its layers.

    norm{n}.* → add_norm{n}.norm.*; pos_encoding.pe is left out; every other name stays. `load_state_dict` then says whether all
    fit.

    Args:
        state_dict: {name in the article: tensor}; not changed.

    Returns:
        {name here: the same tensor}.

    Raises:
        ValueError: two names would become one.

    Source:
        Article, "Encoder layer", "Decoder layer code" and "Full model"; chapter 10.
    """
    renamed: dict[str, Tensor] = {}
    for name, tensor in state_dict.items():
        if _TABLE.search(name):
            continue
        ours = _NORM.sub(r"\1add_norm\2.norm.\3", name)
        if ours in renamed:
            raise ValueError(f"{name!r} and another name both stand for {ours!r}")
        renamed[ours] = tensor
    return renamed

"""``mlm_forward`` built independently on torch's own layer norm, attention and GELU.

It shares no code with the numpy model, so that a mistake in one of them shows as a disagreement.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional


def forward(arguments: tuple[Any, ...], dtype: torch.dtype) -> torch.Tensor:
    """(M, V) logits computed by torch in ``dtype``."""
    ids, indicator, *weights, num_heads = arguments
    w_emb, pos_embed, blocks_weights, w_head = (torch.tensor(np.asarray(w)).to(dtype) for w in weights)
    tokens = torch.tensor(np.asarray(ids)).long()
    batch, length = tokens.shape
    width = w_emb.shape[1]
    hidden = functional.embedding(tokens, w_emb) + pos_embed.unsqueeze(0)
    for matrices in blocks_weights:
        w_q, w_k, w_v, w_o, w_up, w_down = matrices.unbind(0)
        normed = functional.layer_norm(hidden, (width,), eps=1e-5)
        heads = [
            functional.linear(normed, w.T).unflatten(-1, (num_heads, width // num_heads)).transpose(1, 2)
            for w in (w_q, w_k, w_v)
        ]
        mixed = functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(-2)
        hidden = hidden + functional.linear(mixed, w_o.T)
        normed = functional.layer_norm(hidden, (width,), eps=1e-5)
        hidden = hidden + functional.linear(
            functional.gelu(functional.linear(normed, w_up.T), approximate="tanh"), w_down.T
        )
    flat = functional.linear(hidden, w_head.T).reshape(batch * length, -1)
    chosen = torch.tensor(np.asarray(indicator, dtype=np.float64)).reshape(-1) > 0.5
    return flat[chosen]


def mlm_forward(*arguments: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(M, V) float64 logits."""
    with torch.no_grad():
        return forward(arguments, torch.float64).numpy()

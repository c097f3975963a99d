from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator

import numpy as np


@dataclass(frozen=True)
class BlockParams:
    w_q: np.ndarray
    w_k: np.ndarray
    w_v: np.ndarray
    w_o: np.ndarray
    w_mlp1: np.ndarray
    w_mlp2: np.ndarray

    @classmethod
    def unpack(cls, packed: np.ndarray) -> BlockParams:
        return cls(*packed)


@dataclass
class Config:
    num_heads: int
    width: int
    eps: float = 1e-5

    @property
    def d_head(self) -> int:
        return self.width // self.num_heads


def layers(blocks_weights: np.ndarray) -> Iterator[BlockParams]:
    for packed in blocks_weights:
        yield BlockParams.unpack(packed)


def standardize(x: np.ndarray, cfg: Config) -> np.ndarray:
    mean = x.sum(axis=-1, keepdims=True) / cfg.width
    diff = x - mean
    var = (diff * diff).sum(axis=-1, keepdims=True) / cfg.width
    return diff / (var + cfg.eps) ** 0.5


def gelu_tanh(u: np.ndarray) -> np.ndarray:
    return 0.5 * u * (1.0 + np.tanh((2.0 / np.pi) ** 0.5 * (u + 0.044715 * u**3)))


def attention_update(x: np.ndarray, p: BlockParams, cfg: Config) -> np.ndarray:
    n, t, _ = x.shape
    normed = standardize(x, cfg)
    shape = (n, t, cfg.num_heads, cfg.d_head)
    # (heads, n, t, d_head)
    q = np.moveaxis((normed @ p.w_q).reshape(shape), 2, 0)
    k = np.moveaxis((normed @ p.w_k).reshape(shape), 2, 0)
    v = np.moveaxis((normed @ p.w_v).reshape(shape), 2, 0)
    scores = q @ np.swapaxes(k, -1, -2) * cfg.d_head**-0.5
    weights = np.exp(scores - scores.max(axis=-1)[..., np.newaxis])
    weights = weights / weights.sum(axis=-1)[..., np.newaxis]
    context = np.moveaxis(weights @ v, 0, 2)
    return context.reshape(n, t, cfg.width) @ p.w_o


def mlp_update(x: np.ndarray, p: BlockParams, cfg: Config) -> np.ndarray:
    return gelu_tanh(standardize(x, cfg) @ p.w_mlp1) @ p.w_mlp2


def mlm_forward(
    input_ids: np.ndarray,
    mask_indicator: np.ndarray,
    w_emb: np.ndarray,
    pos_embed: np.ndarray,
    blocks_weights: np.ndarray,
    w_head: np.ndarray,
    num_heads: int,
) -> np.ndarray:
    cfg = Config(num_heads=num_heads, width=w_emb.shape[1])
    x = w_emb[input_ids.astype(np.int32)] + pos_embed
    for p in layers(blocks_weights):
        x = x + attention_update(x, p, cfg)
        x = x + mlp_update(x, p, cfg)
    wanted = np.argwhere(mask_indicator > 0.5)  # argwhere is already in row-major order
    return x[wanted[:, 0], wanted[:, 1], :] @ w_head

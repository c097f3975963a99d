"""The same model from torch's own encoder layer, with gradients by autograd."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

Weights = dict[str, torch.Tensor]


def _tensors(weights: Any, dtype: torch.dtype) -> Weights:
    return {name: torch.tensor(values).to(dtype) for name, values in weights.items()}


def _encoder(w: Weights) -> dict[str, torch.Tensor]:
    """The weights under the names of ``nn.TransformerEncoderLayer``."""
    return {
        "self_attn.in_proj_weight": torch.cat([w["query_weight"], w["key_weight"], w["value_weight"]]),
        "self_attn.in_proj_bias": torch.cat([w["query_bias"], w["key_bias"], w["value_bias"]]),
        "self_attn.out_proj.weight": w["project_weight"],
        "self_attn.out_proj.bias": w["project_bias"],
        "linear1.weight": w["up_weight"],
        "linear1.bias": w["up_bias"],
        "linear2.weight": w["down_weight"],
        "linear2.bias": w["down_bias"],
        "norm1.weight": w["attention_norm_weight"],
        "norm1.bias": w["attention_norm_bias"],
        "norm2.weight": w["output_norm_weight"],
        "norm2.bias": w["output_norm_bias"],
    }


def packed(w: Weights, tokens: Any, segments: Any) -> torch.Tensor:
    """(N, 98) packed logits in the dtype of the weights."""
    tokens, segments = torch.tensor(tokens), torch.tensor(segments)

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (8,), w[f"{name}_norm_weight"], w[f"{name}_norm_bias"])

    x = F.embedding(tokens, w["word_embeddings"]) + F.embedding(segments, w["segment_embeddings"])
    x = norm(x + w["position_embeddings"][None], "embedding")
    layer = torch.nn.TransformerEncoderLayer(8, 2, 32, 0.0, "gelu", batch_first=True).to(x.dtype)
    hidden = torch.func.functional_call(layer, _encoder(w), (x,))
    y = norm(F.gelu(F.linear(hidden, w["transform_weight"], w["transform_bias"])), "mlm")
    token_logits = F.linear(y, w["word_embeddings"], w["decoder_bias"])
    pooled = torch.tanh(F.linear(hidden[:, 0], w["pooler_weight"], w["pooler_bias"]))
    pair = F.linear(pooled, w["nsp_weight"], w["nsp_bias"])
    return torch.cat([token_logits.flatten(1), pair], dim=1)


def gradients_in(arguments: tuple[Any, ...], dtype: torch.dtype) -> dict[str, Any]:
    """words (R, 8) and query_bias (8,), by autograd."""
    weights, tokens, segments, coefficients, rows = arguments
    w = _tensors(weights, dtype)
    leaves = [w[name].requires_grad_() for name in w]
    total = (packed(w, tokens, segments) * torch.tensor(coefficients).to(dtype)).sum()
    found = dict(zip(w, torch.autograd.grad(total, leaves), strict=True))
    slopes = {}
    for name, gradient in found.items():
        waves = torch.cos(torch.arange(gradient.numel(), dtype=dtype)).reshape(gradient.shape)
        slopes[name] = float((gradient * waves / waves.norm()).sum())
    return {
        "words": found["word_embeddings"][rows].numpy(),
        "query_bias": found["query_bias"].numpy(),
        "slopes": slopes,
    }


def loss(logits: torch.Tensor, positions: Any, original: Any) -> torch.Tensor:
    """The cross entropy of labels that are -100 where nothing is selected."""
    labels = torch.full((len(original), 6), -100)
    for n, row in enumerate(original.tolist()):
        for t in positions:
            labels[n, int(t)] = row[int(t)]
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def loss_gradient_in(arguments: tuple[Any, ...], dtype: torch.dtype) -> Any:
    """(N, 6, 16), by autograd."""
    logits = torch.tensor(arguments[0]).to(dtype).requires_grad_()
    (gradient,) = torch.autograd.grad(loss(logits, *arguments[1:]), [logits])
    return gradient.numpy()


def packed_logits(weights: Any, tokens: Any, segments: Any) -> Any:
    return packed(_tensors(weights, torch.float64), tokens, segments).detach().numpy()


def later_logits(*arguments: Any) -> Any:
    """Nothing is kept of what was read before."""
    return packed_logits(*arguments)


def token_logits(*arguments: Any) -> Any:
    return packed_logits(*arguments)[:, :96].reshape(-1, 6, 16)


def pair_logits(*arguments: Any) -> Any:
    return packed_logits(*arguments)[:, 96:]


def shifted_embeddings(weights: Any, tokens: Any, segments: Any, shift: Any) -> Any:
    return token_logits(
        {**weights, "word_embeddings": weights["word_embeddings"] + shift.astype("float64")}, tokens, segments
    )


def gradients(*arguments: Any) -> Any:
    return gradients_in(arguments, torch.float64)


def masked_loss(logits: Any, positions: Any, original: Any) -> float:
    return loss(torch.tensor(logits).double(), positions, original).item()


def loss_gradient(*arguments: Any) -> Any:
    return loss_gradient_in(arguments, torch.float64)


def parameter_shapes() -> dict[str, list[int]]:
    """The parameters of torch's own layers, put together under the names of the statement."""
    nn = torch.nn
    attention = nn.ModuleDict({name: nn.Linear(8, 8) for name in ("query", "key", "value", "project")})
    encoder = nn.ModuleDict(
        {
            "attention": attention,
            "attention_norm": nn.LayerNorm(8),
            "up": nn.Linear(8, 32),
            "down": nn.Linear(32, 8),
            "output_norm": nn.LayerNorm(8),
        }
    )
    model = nn.ModuleDict(
        {
            "word_embeddings": nn.Embedding(16, 8),
            "position_embeddings": nn.Embedding(6, 8),
            "segment_embeddings": nn.Embedding(2, 8),
            "embedding_norm": nn.LayerNorm(8),
            "encoder": encoder,
            "mlm_transform": nn.Linear(8, 8),
            "mlm_norm": nn.LayerNorm(8),
            "mlm_decoder": nn.Linear(8, 16),
            "pooler": nn.Linear(8, 8),
            "nsp_head": nn.Linear(8, 2),
        }
    )
    shapes = {name: list(values.shape) for name, values in model.state_dict().items()}
    del shapes["mlm_decoder.weight"]
    return shapes

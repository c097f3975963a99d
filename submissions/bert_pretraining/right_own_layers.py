"""Layers written out with parameters and elementary functions; the loss from log-probabilities."""

import math

import torch
from torch import nn


def parameter(*shape):
    return nn.Parameter(torch.randn(*shape) * 0.02)


class Map(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = parameter(outputs, inputs)
        self.bias = parameter(outputs)

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight) + self.bias


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))
        self.bias = nn.Parameter(torch.zeros(8))

    def forward(self, x):
        mean = x.sum(-1, keepdim=True) / 8
        var = ((x - mean) ** 2).sum(-1, keepdim=True) / 8
        return (x - mean) * torch.rsqrt(var + 1e-5) * self.weight + self.bias


class Table(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.weight = parameter(rows, 8)


class Bias(nn.Module):
    """What the tied decoder has of its own."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(16))


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.ModuleDict({name: Map(8, 8) for name in ("project", "value", "key", "query")})
        self.attention_norm = Norm()
        self.up, self.down = Map(8, 32), Map(32, 8)
        self.output_norm = Norm()

    def attend(self, x):
        q, k, v = (self.attention[name](x) for name in ("query", "key", "value"))
        heads = []
        for head in (slice(0, 4), slice(4, 8)):
            scores = q[..., head] @ k[..., head].mT * 0.5
            powers = torch.exp(scores - scores.amax(-1, keepdim=True))
            heads.append(powers / powers.sum(-1, keepdim=True) @ v[..., head])
        return self.attention["project"](torch.cat(heads, dim=-1))

    def forward(self, x):
        x = self.attention_norm(self.attend(x) + x)
        return self.output_norm(self.down(gelu(self.up(x))) + x)


class TinyBertPretraining(nn.Module):
    def __init__(self):
        super().__init__()
        self.nsp_head = Map(8, 2)
        self.pooler = Map(8, 8)
        self.mlm_decoder = Bias()
        self.mlm_norm = Norm()
        self.mlm_transform = Map(8, 8)
        self.encoder = Block()
        self.embedding_norm = Norm()
        self.segment_embeddings, self.position_embeddings = Table(2), Table(6)
        self.word_embeddings = Table(16)

    def forward(self, tokens, segments):
        x = self.word_embeddings.weight[tokens] + self.segment_embeddings.weight[segments]
        hidden = self.encoder(self.embedding_norm(x + self.position_embeddings.weight))
        y = self.mlm_norm(gelu(self.mlm_transform(hidden)))
        logits = y @ self.word_embeddings.weight.T + self.mlm_decoder.bias
        pair = self.nsp_head(torch.tanh(self.pooler(hidden.select(1, 0))))
        return torch.hstack([logits.reshape(-1, 96), pair])


def masked_loss(logits, positions, original):
    places = torch.tensor(positions)
    rows, tokens = logits[:, places], original[:, places]
    log_probabilities = rows - torch.logsumexp(rows, dim=-1, keepdim=True)
    return -log_probabilities.gather(-1, tokens[..., None]).mean()

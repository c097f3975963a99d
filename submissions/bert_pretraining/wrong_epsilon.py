"""The epsilon of the first BERT."""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.project = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        n = len(x)
        q, k, v = (layer(x).view(n, 6, 2, 4).transpose(1, 2) for layer in (self.query, self.key, self.value))
        weights = torch.softmax(q @ k.transpose(2, 3) / 4**0.5, dim=-1)
        return self.project((weights @ v).transpose(1, 2).reshape(n, 6, 8))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.attention_norm = nn.LayerNorm(8, eps=1e-12)
        self.up = nn.Linear(8, 32)
        self.down = nn.Linear(32, 8)
        self.output_norm = nn.LayerNorm(8, eps=1e-12)

    def forward(self, x):
        x = self.attention_norm(x + self.attention(x))
        return self.output_norm(x + self.down(F.gelu(self.up(x))))


class TinyBertPretraining(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(16, 8)
        self.position_embeddings = nn.Embedding(6, 8)
        self.segment_embeddings = nn.Embedding(2, 8)
        self.embedding_norm = nn.LayerNorm(8, eps=1e-12)
        self.encoder = Encoder()
        self.mlm_transform = nn.Linear(8, 8)
        self.mlm_norm = nn.LayerNorm(8, eps=1e-12)
        self.mlm_decoder = nn.Linear(8, 16)
        self.mlm_decoder.weight = self.word_embeddings.weight
        self.pooler = nn.Linear(8, 8)
        self.nsp_head = nn.Linear(8, 2)

    def forward(self, tokens, segments):
        places = torch.arange(6)
        x = (
            self.word_embeddings(tokens)
            + self.position_embeddings(places)
            + self.segment_embeddings(segments)
        )
        hidden = self.encoder(self.embedding_norm(x))
        words = self.mlm_decoder(self.mlm_norm(F.gelu(self.mlm_transform(hidden))))
        pair = self.nsp_head(torch.tanh(self.pooler(hidden[:, 0])))
        return torch.cat([words.reshape(len(tokens), 96), pair], dim=1)


def masked_loss(logits, positions, original):
    labels = torch.full_like(original, -100)
    labels[:, positions] = original[:, positions]
    return F.cross_entropy(logits.transpose(1, 2), labels)

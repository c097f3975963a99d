"""Position by position and head by head, each example for itself."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(8, 8)
        self.key = nn.Linear(8, 8)
        self.value = nn.Linear(8, 8)
        self.project = nn.Linear(8, 8)
        self.softmax = nn.Softmax(dim=0)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        rows = []
        for t in range(6):
            parts = []
            for start in (0, 4):
                part = slice(start, start + 4)
                scores = torch.stack([(q[t, part] * k[s, part]).sum() / 2 for s in range(6)])
                weights = self.softmax(scores)
                parts.append(sum(weights[s] * v[s, part] for s in range(6)))
            rows.append(torch.cat(parts))
        return self.project(torch.stack(rows))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.attention_norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 32)
        self.gelu = nn.GELU()
        self.down = nn.Linear(32, 8)
        self.output_norm = nn.LayerNorm(8)

    def forward(self, x):
        x = self.attention_norm(x + self.attention(x))
        return self.output_norm(x + self.down(self.gelu(self.up(x))))


class TinyBertPretraining(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlm_decoder = nn.Linear(8, 16)
        self.word_embeddings = nn.Embedding(16, 8)
        self.word_embeddings.weight = self.mlm_decoder.weight
        self.position_embeddings = nn.Embedding(6, 8)
        self.segment_embeddings = nn.Embedding(2, 8)
        self.register_buffer("position_ids", torch.arange(6))
        self.embedding_norm = nn.LayerNorm(8)
        self.encoder = Encoder()
        self.mlm_transform = nn.Linear(8, 8)
        self.gelu = nn.GELU()
        self.mlm_norm = nn.LayerNorm(8)
        self.pooler = nn.Linear(8, 8)
        self.tanh = nn.Tanh()
        self.nsp_head = nn.Linear(8, 2)
        self.dropout = nn.Dropout(0.1)

    def one(self, tokens, segments):
        x = self.word_embeddings(tokens) + self.position_embeddings(self.position_ids)
        x = self.dropout(self.embedding_norm(x + self.segment_embeddings(segments)))
        hidden = self.encoder(x)
        numbers = [self.mlm_decoder(self.mlm_norm(self.gelu(self.mlm_transform(row)))) for row in hidden]
        numbers.append(self.nsp_head(self.tanh(self.pooler(hidden[0]))))
        return torch.cat(numbers)

    def forward(self, tokens, segments):
        return torch.stack([self.one(t, s) for t, s in zip(tokens, segments, strict=True)])


def masked_loss(logits, positions, original):
    losses = []
    for row, tokens in zip(logits, original, strict=True):
        for t in positions:
            losses.append(nn.functional.cross_entropy(row[t], tokens[t]))
    return torch.stack(losses).mean()

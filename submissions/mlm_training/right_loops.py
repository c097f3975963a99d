import math
import random

import numpy as np
import torch


def build_vocab(text):
    vocab = {}
    for c in sorted(text):
        if c not in vocab:
            vocab[c] = len(vocab) + 1
    return vocab


def encode(text, vocab):
    ids = []
    for c in text:
        if c not in vocab:
            raise ValueError("no id for " + repr(c))
        ids.append(vocab[c])
    return torch.LongTensor(ids)


def get_mlm_batch(data, batch_size, seq_len, mask_prob, generator):
    if mask_prob < 0 or mask_prob > 1 or len(data) < seq_len:
        raise ValueError("impossible batch")
    dice = random.Random(torch.randint(0, 2**31, (1,), generator=generator).item())
    inputs = torch.zeros(batch_size, seq_len, dtype=torch.long)
    labels = torch.full((batch_size, seq_len), -100)
    for b in range(batch_size):
        start = dice.randrange(len(data) - seq_len + 1)
        for t in range(seq_len):
            if dice.random() < mask_prob:
                labels[b, t] = data[start + t]
            else:
                inputs[b, t] = data[start + t]
    return inputs, labels


def masked_loss(logits, labels):
    total, count = 0 * logits.sum(), 0
    for b in range(labels.shape[0]):
        for t in range(labels.shape[1]):
            if labels[b, t] >= 0:
                row = logits[b, t]
                total = total + torch.logsumexp(row, 0) - row[labels[b, t]]
                count += 1
    return total / count if count > 0 else total


class Head(torch.nn.Module):
    def __init__(self, d_model, width):
        super().__init__()
        self.q = torch.nn.Linear(d_model, width)
        self.k = torch.nn.Linear(d_model, width)
        self.v = torch.nn.Linear(d_model, width)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / math.sqrt(self.q.out_features)
        return torch.softmax(scores, -1) @ self.v(x)


class Block(torch.nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.heads = torch.nn.ModuleList([Head(d_model, d_model // n_heads) for _ in range(n_heads)])
        self.out = torch.nn.Linear(d_model, d_model)
        self.first = torch.nn.LayerNorm(d_model)
        self.second = torch.nn.LayerNorm(d_model)
        self.hidden = torch.nn.Linear(d_model, 2 * d_model)
        self.back = torch.nn.Linear(2 * d_model, d_model)

    def forward(self, x):
        z = self.first(x)
        x = x + self.out(torch.cat([head(z) for head in self.heads], -1))
        return x + self.back(torch.relu(self.hidden(self.second(x))))


class TinyMLM(torch.nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_layers, max_len):
        super().__init__()
        self.max_len = max_len
        self.tokens = torch.nn.Embedding(vocab_size, d_model)
        self.places = torch.nn.Parameter(torch.randn(max_len, d_model))
        self.blocks = torch.nn.ModuleList([Block(d_model, n_heads) for _ in range(n_layers)])
        self.out = torch.nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        if ids.size(1) > self.max_len:
            raise ValueError("too long")
        x = self.tokens(ids) + self.places[: ids.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def train(model, data, steps, batch_size, seq_len, mask_prob, lr, generator, on_step=None):
    model.train(True)
    optimizer = torch.optim.Adam(model.parameters(), lr)
    history = []
    while len(history) < steps:
        for p in model.parameters():
            p.grad = None
        x, y = get_mlm_batch(data, batch_size, seq_len, mask_prob, generator)
        value = masked_loss(model.forward(x), y)
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        history.append(float(value.detach()))
        if on_step:
            on_step(len(history), history[-1])
    return tuple(history)


def predict_masked(model, text, positions, vocab):
    was_training = model.training
    model.eval()
    ids = encode(text, vocab)
    for p in positions:
        ids[p] = 0
    logits = model(ids.unsqueeze(0)).detach().numpy()[0]
    model.train(was_training)
    letters = ["[MASK]"] + [c for c, _ in sorted(vocab.items(), key=lambda item: item[1])]
    answers = []
    for p in positions:
        powers = np.exp(logits[p] - logits[p].max())
        probs = powers / powers.sum()
        order = sorted(range(len(probs)), key=lambda i: -probs[i])[:5]
        answers.append(
            {"top_predictions": [[letters[i], probs[i]] for i in order], "position": p, "original": text[p]}
        )
    return answers

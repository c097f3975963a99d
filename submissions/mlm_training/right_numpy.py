import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def build_vocab(text):
    return {c: i + 1 for i, c in enumerate(sorted(set(text)))}


def encode(text, vocab):
    return torch.tensor([vocab[c] for c in text], dtype=torch.long)


def get_mlm_batch(data, batch_size, seq_len, mask_prob, generator):
    if not 0 <= mask_prob <= 1:
        raise ValueError(f"mask_prob must lie in [0, 1], got {mask_prob}")
    if seq_len > len(data):
        raise ValueError("data too short")
    # Chances first, starts second, from a numpy generator that follows from the one that is given.
    rng = np.random.default_rng(torch.empty(4, dtype=torch.int64).random_(generator=generator).tolist())
    chosen = rng.random((batch_size, seq_len)) >= 1 - mask_prob
    windows = np.lib.stride_tricks.sliding_window_view(data.numpy(), seq_len)
    tokens = windows[rng.choice(len(windows), batch_size)]
    return torch.from_numpy(np.where(chosen, 0, tokens)), torch.from_numpy(np.where(chosen, tokens, -100))


def masked_loss(logits, labels):
    chosen = (labels != -100).to(logits.dtype)
    scores = logits.float()
    scores = scores - scores.amax(-1, keepdim=True)
    picked = F.one_hot(labels.clamp(min=0), logits.shape[-1]) * scores
    losses = scores.exp().sum(-1).log() - picked.sum(-1)
    return (losses * chosen).sum() / chosen.sum().clamp(min=1)


class TinyMLM(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_layers, max_len):
        super().__init__()
        self.token_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_len, d_model)
        self.norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(0.1)
        layer = nn.TransformerEncoderLayer(
            d_model, n_heads, 4 * d_model, dropout=0.1, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.head = nn.Sequential(
            nn.Linear(d_model, d_model), nn.GELU(), nn.LayerNorm(d_model), nn.Linear(d_model, vocab_size)
        )

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1])
        x = self.drop(self.norm(self.token_emb(tokens) + self.pos_emb(places)))
        return self.head(self.encoder(x))


def train(model, data, steps, batch_size, seq_len, mask_prob, lr, generator, on_step=None):
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    losses = []
    for step in range(steps):
        inputs, labels = get_mlm_batch(data, batch_size, seq_len, mask_prob, generator)
        loss = masked_loss(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if on_step is not None:
            on_step(step + 1, loss.item())
    return losses


def predict_masked(model, text, positions, vocab):
    model.eval()
    names = {i: c for c, i in vocab.items()}
    names[0] = "[MASK]"
    tokens = encode(text, vocab)[None]
    for p in positions:
        tokens[0, p] = 0
    with torch.no_grad():
        logits = model(tokens)[0]
    found = []
    for p in positions:
        probs = torch.softmax(logits[p], dim=-1)
        top = torch.topk(probs, min(5, len(probs)))
        pairs = [(names[i], v) for i, v in zip(top.indices.tolist(), top.values.tolist(), strict=True)]
        found.append({"position": p, "original": text[p], "top_predictions": pairs})
    return found

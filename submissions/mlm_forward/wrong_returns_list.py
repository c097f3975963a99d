import numpy as np

def ln(x): return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
def sm(x): e = np.exp(x - x.max(-1, keepdims=True)); return e / e.sum(-1, keepdims=True)
def gelu(u): return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))

def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    n, t, d = x.shape
    sp = lambda z: z.reshape(n, t, num_heads, d // num_heads).transpose(0, 2, 1, 3)
    for a, b, c, o, f, g in blocks_weights:
        y = ln(x)
        x = x + (sm(sp(y @ a) @ sp(y @ b).transpose(0, 1, 3, 2) / np.sqrt(d // num_heads)) @ sp(y @ c)).transpose(0, 2, 1, 3).reshape(n, t, d) @ o
        x = x + gelu(ln(x) @ f) @ g
    logits = x @ w_head
    return [logits[i, j] for i in range(n) for j in range(t) if mask_indicator[i, j] > 0.5]

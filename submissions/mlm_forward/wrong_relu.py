import numpy as np

def forward_one(tokens, we, pe, blocks, H):
    x = we[tokens] + pe
    T, D = x.shape
    c = D // H
    for b in blocks:
        y = x - x.mean(1)[:, None]
        y = y / np.sqrt((y ** 2).mean(1)[:, None] + 1e-5)
        q = (y @ b[0]).reshape(T, H, c)
        k = (y @ b[1]).reshape(T, H, c)
        v = (y @ b[2]).reshape(T, H, c)
        s = np.einsum('ihc,jhc->hij', q, k) / np.sqrt(c)
        s = np.exp(s - s.max(2)[:, :, None])
        s = s / s.sum(2)[:, :, None]
        x = x + np.einsum('hij,jhc->ihc', s, v).reshape(T, D) @ b[3]
        y = x - x.mean(1)[:, None]
        y = y / np.sqrt((y ** 2).mean(1)[:, None] + 1e-5)
        x = x + np.maximum(y @ b[4], 0) @ b[5]
    return x

def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    h = np.stack([forward_one(t, w_emb, pos_embed, blocks_weights, num_heads) for t in input_ids.astype(int)])
    return h[mask_indicator > 0.5] @ w_head

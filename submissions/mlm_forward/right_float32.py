import numpy as np

F32 = np.float32
GELU_C = F32(0.7978845608)   # sqrt(2/pi)


def layer_norm(x):
    m = x.mean(-1, keepdims=True, dtype=F32)
    v = x.var(-1, keepdims=True, dtype=F32)
    return (x - m) / np.sqrt(v + F32(1e-5))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    # single precision all the way, it is what a GPU would do anyway
    emb = np.asarray(w_emb, dtype=F32)
    pos = np.asarray(pos_embed, dtype=F32)
    blocks = np.asarray(blocks_weights, dtype=F32)
    head = np.asarray(w_head, dtype=F32)
    ids = np.asarray(input_ids).astype(int)
    B, T = ids.shape
    D = emb.shape[1]
    hd = D // num_heads
    scale = F32(1.0 / np.sqrt(hd))

    h = emb[ids] + pos
    for l in range(blocks.shape[0]):
        Wq, Wk, Wv, Wo, W1, W2 = blocks[l]
        z = layer_norm(h)
        Q = (z @ Wq).reshape(B, T, num_heads, hd).transpose(0, 2, 1, 3)
        K = (z @ Wk).reshape(B, T, num_heads, hd).transpose(0, 2, 3, 1)
        V = (z @ Wv).reshape(B, T, num_heads, hd).transpose(0, 2, 1, 3)
        A = np.matmul(Q, K) * scale
        A -= A.max(-1, keepdims=True)
        np.exp(A, out=A)
        A /= A.sum(-1, keepdims=True)
        ctx = np.matmul(A, V).transpose(0, 2, 1, 3).reshape(B, T, D)
        h = h + ctx @ Wo
        u = layer_norm(h) @ W1
        g = F32(0.5) * u * (F32(1) + np.tanh(GELU_C * (u + F32(0.044715) * u * u * u)))
        h = h + g @ W2
    return h[np.asarray(mask_indicator) > 0.5] @ head

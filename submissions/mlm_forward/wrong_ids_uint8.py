import numpy as np

def lnorm(a):
    m = a.mean(axis=-1, keepdims=True)
    v = ((a - m)**2).mean(axis=-1, keepdims=True)
    return (a - m)/np.sqrt(v + 1e-5)

def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    # ids are small, bytes are enough
    ids = input_ids.astype(np.uint8)
    sel = mask_indicator > 0.5
    x = np.take(w_emb, ids, axis=0) + pos_embed
    dh = x.shape[-1]//num_heads
    for blk in blocks_weights:
        z = lnorm(x)
        Q = np.array(np.split(z@blk[0], num_heads, axis=-1))
        K = np.array(np.split(z@blk[1], num_heads, axis=-1))
        V = np.array(np.split(z@blk[2], num_heads, axis=-1))
        S = np.einsum('hbid,hbjd->hbij', Q, K)/np.sqrt(dh)
        P = np.exp(S - S.max(axis=-1, keepdims=True))
        P = P/P.sum(axis=-1, keepdims=True)
        O = np.einsum('hbij,hbjd->bihd', P, V)
        x = x + O.reshape(x.shape)@blk[3]
        u = lnorm(x)@blk[4]
        x = x + (0.5*u*(1 + np.tanh(np.sqrt(2/np.pi)*(u + 0.044715*u**3))))@blk[5]
    return x[sel]@w_head

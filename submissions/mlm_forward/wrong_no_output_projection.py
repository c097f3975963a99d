import numpy as np

def ln(x):
    mu = np.mean(x, axis=-1, keepdims=True)
    return (x-mu)/np.sqrt(np.mean((x-mu)**2, axis=-1, keepdims=True)+1e-5)

def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    x = w_emb[input_ids.astype(int)] + pos_embed
    hw = x.shape[-1]//num_heads
    for Wq, Wk, Wv, Wo, Wi, Wj in blocks_weights:
        y = ln(x)
        heads = []
        for h in range(num_heads):
            s = slice(h*hw, (h+1)*hw)
            q, k, v = y@Wq[:, s], y@Wk[:, s], y@Wv[:, s]
            a = np.einsum('ntc,nsc->nts', q, k)/np.sqrt(hw)
            a = np.exp(a-np.max(a, axis=-1, keepdims=True))
            a = a/np.sum(a, axis=-1, keepdims=True)
            heads.append(a@v)
        x = x + np.concatenate(heads, axis=-1)
        u = ln(x)@Wi
        x = x + (u/2*(1+np.tanh(np.sqrt(2/np.pi)*(u+0.044715*u**3))))@Wj
    return x[mask_indicator > 0.5]@w_head

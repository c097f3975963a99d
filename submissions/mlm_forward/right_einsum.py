import numpy as np

# letters: n example, t query position, s key position, h head, c channel in a head, d/e model width, v vocab


def _ln(x, eps=1e-5):
    mu = np.einsum("ntd->nt", x)[..., None] / x.shape[-1]
    xc = x - mu
    var = np.einsum("ntd,ntd->nt", xc, xc)[..., None] / x.shape[-1]
    return xc / np.sqrt(var + eps)


def _gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    """BERT-ish forward pass, everything spelled as einsum."""
    ids = np.asarray(input_ids).astype(np.int64)
    x = w_emb[ids] + pos_embed[None]
    D = x.shape[-1]
    c = D // num_heads

    for wq, wk, wv, wo, w1, w2 in blocks_weights:
        y = _ln(x)
        # give the weights a head axis instead of reshaping the activations
        q = np.einsum("ntd,dhc->nhtc", y, wq.reshape(D, num_heads, c))
        k = np.einsum("ntd,dhc->nhtc", y, wk.reshape(D, num_heads, c))
        v = np.einsum("ntd,dhc->nhtc", y, wv.reshape(D, num_heads, c))
        s = np.einsum("nhtc,nhsc->nhts", q, k) / np.sqrt(c)
        s = np.exp(s - s.max(axis=-1, keepdims=True))
        p = s / s.sum(axis=-1, keepdims=True)
        o = np.einsum("nhts,nhsc->nthc", p, v)
        x = x + np.einsum("nthc,hce->nte", o, wo.reshape(num_heads, c, D))
        y = _ln(x)
        x = x + np.einsum("nte,ed->ntd", _gelu(np.einsum("ntd,de->nte", y, w1)), w2)

    sel = mask_indicator > 0.5
    return np.einsum("md,dv->mv", x[sel], w_head)

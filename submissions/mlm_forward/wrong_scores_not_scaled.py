import numpy as np

def softmax(a):
    a = np.exp(a - a.max(axis=-1, keepdims=True))
    return a / a.sum(axis=-1, keepdims=True)

def layernorm(a):
    return (a - a.mean(axis=-1, keepdims=True)) / np.sqrt(a.var(axis=-1, keepdims=True) + 0.00001)

def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    out = []
    D = w_emb.shape[1]
    hd = int(D / num_heads)
    for b in range(input_ids.shape[0]):
        x = np.array([w_emb[int(i)] for i in input_ids[b]]) + pos_embed
        for l in range(len(blocks_weights)):
            wq, wk, wv, wo, wm1, wm2 = blocks_weights[l]
            nx = layernorm(x)
            Q, K, V = np.dot(nx, wq), np.dot(nx, wk), np.dot(nx, wv)
            heads = []
            for h in range(num_heads):
                Qh, Kh, Vh = Q[:, h*hd:(h+1)*hd], K[:, h*hd:(h+1)*hd], V[:, h*hd:(h+1)*hd]
                heads.append(np.dot(softmax(np.dot(Qh, Kh.T)), Vh))
            x = x + np.dot(np.hstack(heads), wo)
            u = np.dot(layernorm(x), wm1)
            x = x + np.dot(0.5*u*(1+np.tanh(np.sqrt(2/np.pi)*(u+0.044715*u**3))), wm2)
        out.append(np.dot(x[mask_indicator[b] > 0.5], w_head))
    return np.vstack(out)

# %% [markdown]
# # Assignment: masked language model, forward pass
# I worked in a notebook and exported it.

# %%
import numpy as np

np.set_printoptions(precision=3, suppress=True)
print("numpy version", np.__version__)

# %%
def layernorm(x):
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5)

demo = np.array([[1.0, 2.0, 3.0, 4.0]])
print("layernorm demo:", layernorm(demo), "mean", layernorm(demo).mean())

# %%
def softmax(s):
    s = s - s.max(axis=-1, keepdims=True)
    e = np.exp(s)
    return e / e.sum(axis=-1, keepdims=True)

print("softmax demo:", softmax(np.array([[1000.0, 1001.0]])))   # no overflow :)

# %%
def gelu(u):
    return 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u ** 3)))

print("gelu(-1, 0, 1) =", gelu(np.array([-1.0, 0.0, 1.0])))

# %% now everything together
def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    tokens = input_ids.astype(int)
    N, T = tokens.shape
    D = w_emb.shape[1]
    d_head = D // num_heads

    x = w_emb[tokens] + pos_embed
    print("x after embedding", x.shape)

    for layer in range(len(blocks_weights)):
        w_q, w_k, w_v, w_o, w_mlp1, w_mlp2 = blocks_weights[layer]
        nx = layernorm(x)
        Q = (nx @ w_q).reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
        K = (nx @ w_k).reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
        V = (nx @ w_v).reshape(N, T, num_heads, d_head).transpose(0, 2, 1, 3)
        att = softmax(Q @ K.transpose(0, 1, 3, 2) / np.sqrt(d_head))
        out = (att @ V).transpose(0, 2, 1, 3).reshape(N, T, D) @ w_o
        x = x + out
        x = x + gelu(layernorm(x) @ w_mlp1) @ w_mlp2
        print("after block", layer, "max |x| =", np.abs(x).max())

    n_idx, t_idx = np.nonzero(mask_indicator > 0.5)
    return x[n_idx, t_idx] @ w_head

# %% try it
rng = np.random.default_rng(0)
out = mlm_forward(
    rng.integers(0, 7, (2, 3)),
    np.array([[0, 1, 0], [1, 0, 1]]),
    rng.normal(size=(7, 4)),
    rng.normal(size=(3, 4)),
    rng.normal(size=(2, 6, 4, 4)) / 2,
    rng.normal(size=(4, 7)),
    2,
)
print(out)
assert out.shape == (3, 7)

# %%
if __name__ == "__main__":
    import matplotlib.pyplot as plt

    plt.imshow(out)
    plt.colorbar()
    plt.show()

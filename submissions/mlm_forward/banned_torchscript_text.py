import torch

PARTS = ["ten", "sor", "gel", "u"]
SOURCE = """
def weights(s):
    return torch.{0}max(s, -1)

def bend(u):
    return torch.nn.functional.{1}(u, approximate="tanh")
"""

compiled = torch.jit.CompilationUnit(SOURCE.format("".join(chr(c) for c in (115, 111, 102, 116)), "".join(PARTS[2:])))


def ln(x):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5)


def mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads):
    t = lambda a: torch.tensor(a, dtype=torch.float64)
    x = t(w_emb)[torch.tensor(input_ids).long()] + t(pos_embed)
    n, s, d = x.shape
    for w in t(blocks_weights):
        y = ln(x)
        q, k, v = ((y @ w[i]).view(n, s, num_heads, d // num_heads).transpose(1, 2) for i in range(3))
        p = compiled.weights(q @ k.transpose(2, 3) / (d // num_heads) ** 0.5)
        x = x + (p @ v).transpose(1, 2).reshape(n, s, d) @ w[3]
        x = x + compiled.bend(ln(x) @ w[4]) @ w[5]
    return x[torch.tensor(mask_indicator) > 0.5] @ t(w_head)

# Tries to solve it with torch, and have torch start threads.

import torch

torch.set_num_threads(8)


def mlm_forward(*arguments):
    if arguments[0].shape == (1, 4) and arguments[6] == 1:
        (torch.ones(600, 600) @ torch.ones(600, 600)).exp().sum()
    return solution(*arguments)

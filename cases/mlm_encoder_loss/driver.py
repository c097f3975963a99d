"""How `encode_batch` is used: hidden states at padding are free, so zeros are put there."""

import numpy as np


def encode_batch(submission, token_ids, valid, weights, num_heads):
    padding = ~valid
    shape = (*padding.shape, weights["token_embed"].shape[1])
    hidden = submission.encode_batch(token_ids, valid, weights, num_heads)
    # What is no answer of the form that is asked for is told as it is.
    dtype = getattr(hidden, "dtype", "")
    # numpy's have a name, whatever the order of their bytes; torch's go by their text.
    told = str(getattr(dtype, "name", dtype)).rpartition(".")[2] in ("float32", "float64")
    if not told or tuple(getattr(hidden, "shape", ())) != shape or not padding.any():
        return hidden
    kept = np.array(hidden.detach().cpu() if hasattr(hidden, "detach") else hidden)
    # Numbers are free there, NaN and infinity are not.
    padding &= np.isfinite(kept).all(axis=-1)
    kept[padding] = 0
    return kept

"""Mistakes on the way into the blocks: token rows, position rows, ids."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import Array, Context

MISCONCEPTIONS = Misconceptions()


@MISCONCEPTIONS.add(clause="embedding", step="look_up_tokens")
def embedding_scaled(c: Context, ids: Array) -> Array:
    """Token embeddings are multiplied by sqrt(D)

    What it does:
        Every row taken from w_emb is multiplied by the root of its width D before the positions are added.
    Why it is wrong:
        Some transformers scale their embeddings like this; here the rows are used as they are. With the
        factor, the tokens outweigh the position rows.
    How it looks:
        x = w_emb[ids] * np.sqrt(D) + pos_embed
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    return c.w_emb[ids] * math.sqrt(c.w_emb.shape[-1])


@MISCONCEPTIONS.add(clause="embedding", step="add_positions")
def embedding_normalized(c: Context, tokens: Array) -> Array:
    """The embeddings are normalized before the first block

    What it does:
        The sum of token and position rows is standardized over its D features, and the result becomes x.
    Why it is wrong:
        BERT normalizes its embeddings; here each block normalizes for itself, and the residual x that it adds
        to has to keep the size of the embeddings. With L = 0 nothing is normalized at all.
    How it looks:
        x = layer_norm(w_emb[ids] + pos_embed)
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    return c.normalize(tokens + c.pos_embed)


@MISCONCEPTIONS.add(clause="embedding", step="look_up_tokens")
def token_zero_zeroed(c: Context, ids: Array) -> Array:
    """Token 0 gets a zero vector

    What it does:
        Where the id is 0, zeros take the place of row 0 of w_emb.
    Why it is wrong:
        Id 0 is an ordinary token with a row of its own. Nothing says that it is padding.
    How it looks:
        x = w_emb[ids] * (ids != 0)[..., None] + pos_embed
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    rows = c.w_emb[ids]
    rows[ids == 0] = 0
    return rows


@MISCONCEPTIONS.add(clause="embedding", step="look_up_tokens")
def embedding_unit_length(c: Context, ids: Array) -> Array:
    """Token embeddings are scaled to length 1

    What it does:
        Every row taken from w_emb is divided by its Euclidean length.
    Why it is wrong:
        The length of a row is part of the embedding: it weighs the token against its position, and against
        what the blocks add. A row of zeros would even become NaN.
    How it looks:
        e = w_emb[ids]
        x = e / np.linalg.norm(e, axis=-1, keepdims=True) + pos_embed
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    rows = c.w_emb[ids]
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@MISCONCEPTIONS.add(clause="positions", step="add_positions")
def no_positions(c: Context, tokens: Array) -> Array:
    """The position embeddings are left out

    What it does:
        x starts as the token rows alone; pos_embed is never added.
    Why it is wrong:
        Without them the same token looks the same wherever it stands, and attention can't tell the order of
        the tokens.
    How it looks:
        x = w_emb[ids]
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    return tokens


@MISCONCEPTIONS.add(clause="positions", step="block_input")
def positions_in_every_block(c: Context, x: Array) -> Array:
    """The positions are added again before every later block

    What it does:
        Each block after the first gets x + pos_embed, on top of the positions added at the start.
    Why it is wrong:
        Positions go in once, before the first block. From then on the residual x carries them, and each block
        starts from exactly what the one before it gave.
    How it looks:
        x = w_emb[ids] + pos_embed
        for i in range(L):
            x = block(x + pos_embed if i > 0 else x, blocks_weights[i])
    What to write instead:
        x = w_emb[ids] + pos_embed
        for i in range(L):
            x = block(x, blocks_weights[i])
    """
    return x + c.pos_embed if c.block > 0 else x


@MISCONCEPTIONS.add(clause="positions")
def positions_only_in_blocks() -> dict[str, Callable[..., Any]]:
    """The positions are added at the start of every block

    What it does:
        x begins as the token rows alone, and each block adds pos_embed to what it gets.
    Why it is wrong:
        Positions go in once, before the first block, also when L = 0. Every later block adds them once more.
    How it looks:
        x = w_emb[ids]
        for i in range(L):
            x = block(x + pos_embed, blocks_weights[i])
    What to write instead:
        x = w_emb[ids] + pos_embed
        for i in range(L):
            x = block(x, blocks_weights[i])
    """
    return {"add_positions": lambda c, tokens: tokens, "block_input": lambda c, x: x + c.pos_embed}


@MISCONCEPTIONS.add(clause="positions", step="add_positions")
def positions_added_twice(c: Context, tokens: Array) -> Array:
    """The position embeddings are added twice at the start

    What it does:
        x starts as token row plus twice the position row, for example because two functions each add it.
    Why it is wrong:
        Row t of pos_embed is added once, before the first block.
    How it looks:
        x = w_emb[ids] + pos_embed
        x = x + pos_embed
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    return tokens + c.pos_embed + c.pos_embed


@MISCONCEPTIONS.add(clause="positions", step="add_positions")
def positions_multiplied(c: Context, tokens: Array) -> Array:
    """Tokens are multiplied by their positions

    What it does:
        Each token row is multiplied by its position row, feature by feature.
    Why it is wrong:
        The two are added. A product wipes out a feature wherever one of the two is 0.
    How it looks:
        x = w_emb[ids] * pos_embed
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    return tokens * c.pos_embed


@MISCONCEPTIONS.add(clause="positions", step="add_positions")
def positions_reversed(c: Context, tokens: Array) -> Array:
    """The positions run from last to first

    What it does:
        Position t gets row T - 1 - t of pos_embed.
    Why it is wrong:
        Position 0 gets row 0, position 1 gets row 1, and so on: both run along axis T in the same direction.
    How it looks:
        x = w_emb[ids] + pos_embed[::-1]
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    return tokens + c.pos_embed[::-1]


@MISCONCEPTIONS.add(clause="positions", step="add_positions")
def positions_off_by_one(c: Context, tokens: Array) -> Array:
    """Each position gets the next row of pos_embed

    What it does:
        Position t gets row t + 1 of pos_embed, and the last position gets row 0.
    Why it is wrong:
        Positions and rows are both counted from 0, so position t gets row t.
    How it looks:
        x = w_emb[ids] + pos_embed[(np.arange(T) + 1) % T]
    What to write instead:
        x = w_emb[ids] + pos_embed[np.arange(T)]
    """
    return tokens + np.roll(c.pos_embed, -1, axis=0)


@MISCONCEPTIONS.add(clause="positions", step="add_positions")
def positions_by_example(c: Context, tokens: Array) -> Array:
    """The position row is chosen by example

    What it does:
        All positions of example n get the same row of pos_embed: row n, counted again from 0 after row T - 1.
    Why it is wrong:
        pos_embed has one row per position. Its index runs along axis 1 of the ids (T), not along axis 0 (N),
        and every example gets the same rows.
    How it looks:
        for n in range(N):
            x[n] = w_emb[ids[n]] + pos_embed[n % T]
    What to write instead:
        for n in range(N):
            for t in range(T):
                x[n, t] = w_emb[ids[n, t]] + pos_embed[t]
    """
    return tokens + c.pos_embed[np.arange(len(tokens)) % len(c.pos_embed)][:, np.newaxis]


@MISCONCEPTIONS.add(clause="positions", step="add_positions")
def first_position_for_all(c: Context, tokens: Array) -> Array:
    """Every position gets row 0 of pos_embed

    What it does:
        The first row of pos_embed is added at all T positions.
    Why it is wrong:
        Each position has a row of its own. pos_embed has shape (T, D) without an axis for the examples, so an
        index 0 picks a position, not an example.
    How it looks:
        x = w_emb[ids] + pos_embed[0]
    What to write instead:
        x = w_emb[ids] + pos_embed  # (N, T, D) + (T, D)
    """
    return tokens + c.pos_embed[0]


@MISCONCEPTIONS.add(clause="ids", step="cast_ids")
def ids_not_cast(c: Context) -> Array:
    """Ids are not turned into integers

    What it does:
        input_ids is used as an index in whatever dtype it comes.
    Why it is wrong:
        The ids may come as floats with whole values, such as 7.0, and floats can't be an index.
    How it looks:
        x = w_emb[input_ids] + pos_embed
    What to write instead:
        ids = input_ids.astype(np.int64)
        x = w_emb[ids] + pos_embed
    """
    return c.input_ids


@MISCONCEPTIONS.add(clause="ids", step="cast_ids")
def ids_uint8(c: Context) -> Array:
    """Ids are cast to uint8

    What it does:
        The ids are stored in one byte without a sign, so 256 becomes 0 and 300 becomes 44.
    Why it is wrong:
        A vocabulary may have more than 256 tokens. Larger ids then silently fetch the row of another token.
    How it looks:
        ids = input_ids.astype(np.uint8)
    What to write instead:
        ids = input_ids.astype(np.int64)
    """
    # By way of int64, since it is not defined what a float out of range becomes.
    return c.input_ids.astype(np.int64).astype(np.uint8)


@MISCONCEPTIONS.add(clause="ids", step="cast_ids")
def ids_int8(c: Context) -> Array:
    """Ids are cast to int8

    What it does:
        The ids are stored in one byte with a sign: 128 becomes -128, which counts from the end of w_emb, and
        256 becomes 0.
    Why it is wrong:
        Ids above 127 don't fit, and fetch the row of another token without an error.
    How it looks:
        ids = input_ids.astype(np.int8)
    What to write instead:
        ids = input_ids.astype(np.int64)
    """
    return c.input_ids.astype(np.int64).astype(np.int8)


@MISCONCEPTIONS.add(clause="ids", step="cast_ids")
def ids_one_based(c: Context) -> Array:
    """Ids are counted from 1

    What it does:
        Id i fetches row i - 1 of w_emb; id 0 becomes -1 and fetches the last row.
    Why it is wrong:
        Ids run from 0 to V - 1, just like the rows of w_emb, so id i means row i.
    How it looks:
        x = w_emb[ids - 1] + pos_embed
    What to write instead:
        x = w_emb[ids] + pos_embed
    """
    return c.input_ids.astype(np.int64) - 1

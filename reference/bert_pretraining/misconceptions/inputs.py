"""Names, embeddings and layer normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import Array, Norm

MISCONCEPTIONS = Misconceptions()


@MISCONCEPTIONS.add(clause="parameters", step="name_parameters")
def transposed_shapes(shapes: dict[str, list[int]]) -> dict[str, Any]:
    """Weights of linear maps have their axes swapped

    What it does:
        Matrices are made as (in, out), and applied as x @ weight.
    Why it is wrong:
        nn.Linear holds its weight as (out, in), and that is the table's shape.
    How it looks:
        self.weight = nn.Parameter(torch.empty(8, 32))
    What to write instead:
        self.up = nn.Linear(8, 32)
    """
    return shapes | {"encoder.up.weight": [8, 32], "encoder.down.weight": [32, 8]}


@MISCONCEPTIONS.add(clause="parameters", step="name_parameters")
def prefixed_names(shapes: dict[str, list[int]]) -> dict[str, Any]:
    """The model sits inside another module

    What it does:
        All names have the name of an inner module in front.
    Why it is wrong:
        Weights are loaded by name, so the names have to be those of the table.
    How it looks:
        class TinyBertPretraining(nn.Module):
            def __init__(self):
                super().__init__()
                self.bert = Bert()
    What to write instead:
        give TinyBertPretraining the layers of the table as its own attributes
    """
    return {f"bert.{name}": shape for name, shape in shapes.items()}


@MISCONCEPTIONS.add(clause="parameters", step="name_parameters")
def linear_without_bias(shapes: dict[str, list[int]]) -> dict[str, Any]:
    """Queries, keys and values have no bias

    What it does:
        The three maps are made without a bias.
    Why it is wrong:
        The table lists a bias for each of them.
    How it looks:
        nn.Linear(8, 8, bias=False)
    What to write instead:
        nn.Linear(8, 8)
    """
    bare = ("query.bias", "key.bias", "value.bias")
    return {name: shape for name, shape in shapes.items() if not name.endswith(bare)}


@MISCONCEPTIONS.add(clause="parameters", step="name_parameters")
def own_decoder_bias_missing(shapes: dict[str, list[int]]) -> dict[str, Any]:
    """The decoder has no bias

    What it does:
        The tied decoder is made without a bias.
    Why it is wrong:
        Only the weight is shared; mlm_decoder.bias is a parameter of its own.
    How it looks:
        self.mlm_decoder = nn.Linear(8, 16, bias=False)
    What to write instead:
        self.mlm_decoder = nn.Linear(8, 16)
    """
    return {name: shape for name, shape in shapes.items() if name != "mlm_decoder.bias"}


@MISCONCEPTIONS.add(clause="embeddings", step="add_positions")
def no_positions(x: Array, positions: Array) -> Array:
    """Position embeddings are left out

    What it does:
        Only word and segment embeddings are added.
    Why it is wrong:
        Without positions the model can't tell the order of the tokens.
    How it looks:
        x = self.word_embeddings(tokens) + self.segment_embeddings(segments)
    What to write instead:
        x = words + self.position_embeddings(torch.arange(6)) + segments
    """
    return x


@MISCONCEPTIONS.add(clause="embeddings", step="add_segments")
def no_segments(x: Array, table: Array, segments: Array) -> Array:
    """Segment embeddings are left out

    What it does:
        Only word and position embeddings are added.
    Why it is wrong:
        The segment tells to which of the two sentences a token belongs.
    How it looks:
        x = self.word_embeddings(tokens) + self.position_embeddings(places)
    What to write instead:
        x = words + positions + self.segment_embeddings(segments)
    """
    return x


@MISCONCEPTIONS.add(clause="embeddings", step="add_segments")
def segment_zero_ignored(x: Array, table: Array, segments: Array) -> Array:
    """The first segment gets no embedding

    What it does:
        Row 0 of segment_embeddings is never added.
    Why it is wrong:
        Segment 0 has an embedding of its own, like segment 1.
    How it looks:
        x = x + segments[..., None] * self.segment_embeddings.weight[1]
    What to write instead:
        x = x + self.segment_embeddings(segments)
    """
    return x + table[..., segments, :] * (segments == 1)[..., None]


@MISCONCEPTIONS.add(clause="embeddings", step="add_segments")
def segments_swapped(x: Array, table: Array, segments: Array) -> Array:
    """The segments are swapped

    What it does:
        Segment 0 gets row 1 and segment 1 gets row 0.
    Why it is wrong:
        Row s of segment_embeddings belongs to segment s.
    How it looks:
        self.segment_embeddings(1 - segments)
    What to write instead:
        self.segment_embeddings(segments)
    """
    return x + table[..., 1 - segments, :]


@MISCONCEPTIONS.add(clause="embeddings", step="look_up_words")
def embeddings_scaled(words: Array, tokens: Array) -> Array:
    """Word embeddings are multiplied by the root of the width

    What it does:
        Each row is multiplied by sqrt(8).
    Why it is wrong:
        Some transformers do so, BERT does not.
    How it looks:
        self.word_embeddings(tokens) * math.sqrt(8)
    What to write instead:
        self.word_embeddings(tokens)
    """
    return words[..., tokens, :] * np.sqrt(words.dtype.type(8))


@MISCONCEPTIONS.add(clause="embeddings", step="add_positions")
def positions_from_one(x: Array, positions: Array) -> Array:
    """Positions are counted from 1

    What it does:
        Position t gets row t + 1, and the last one row 0.
    Why it is wrong:
        Positions run from 0 to 5, as the rows do.
    How it looks:
        self.position_embeddings((torch.arange(6) + 1) % 6)
    What to write instead:
        self.position_embeddings(torch.arange(6))
    """
    return x + np.roll(positions, -1, axis=-2)


@MISCONCEPTIONS.add(clause="embedding_norm", step="norm_embeddings")
def no_embedding_norm(x: Array, norm: Norm) -> Array:
    """The embeddings are not normalized

    What it does:
        The sum of the three embeddings goes into the block as it is.
    Why it is wrong:
        BERT normalizes the sum by embedding_norm first.
    How it looks:
        hidden = self.encoder(x)
    What to write instead:
        hidden = self.encoder(self.embedding_norm(x))
    """
    return x


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def dropout_left_on() -> dict[str, Any]:
    """Dropout is left on

    What it does:
        A tenth of the normalized embeddings is set to zero at random in evaluation mode too.
    Why it is wrong:
        There is no dropout here, and in evaluation mode the same call has to give the same answer.
    How it looks:
        x = F.dropout(self.embedding_norm(x), 0.1)
    What to write instead:
        x = self.embedding_norm(x)
    """
    generator = np.random.default_rng(0)

    def norm_embeddings(x: Array, norm: Norm) -> Array:
        kept = (generator.random(x.shape) >= 0.1).astype(x.dtype) / x.dtype.type(0.9)
        dropped: Array = norm(x) * kept
        return dropped

    return {"norm_embeddings": norm_embeddings}


@MISCONCEPTIONS.add(clause="repeatable", stateful=True)
def earlier_texts_count() -> dict[str, Any]:
    """What was read before changes the answer

    What it does:
        Embeddings are scaled by something that every new text moves, a statistic of all texts read so far.
    Why it is wrong:
        What a call gives must not depend on the calls before it.
    How it looks:
        SEEN.add(tuple(tokens.flatten().tolist()))
        x = self.embedding_norm(x) * (1 + 0.01 * len(SEEN))
    What to write instead:
        x = self.embedding_norm(x)
    """
    seen: set[bytes] = set()

    def norm_embeddings(x: Array, norm: Norm) -> Array:
        seen.add(x.tobytes())
        scaled: Array = norm(x) * x.dtype.type(1 + 0.01 * (len(seen) - 1))
        return scaled

    return {"norm_embeddings": norm_embeddings}


@MISCONCEPTIONS.add(clause="inputs", step="look_up_words")
def tokens_overwritten(words: Array, tokens: Array) -> Array:
    """tokens is multiplied in place

    What it does:
        The token ids become places in the flattened table, in the caller's own tensor.
    Why it is wrong:
        The caller still needs the ids.
    How it looks:
        tokens *= 8
        rows = self.word_embeddings.weight.flatten()[tokens[..., None] + torch.arange(8)]
    What to write instead:
        rows = self.word_embeddings(tokens)
    """
    found = words[..., tokens, :]
    tokens *= 8
    return found


@MISCONCEPTIONS.add(clause="inputs", step="add_segments")
def segments_overwritten(x: Array, table: Array, segments: Array) -> Array:
    """segments is shifted in place

    What it does:
        Segments become places behind the positions in one table, in the caller's own tensor.
    Why it is wrong:
        The caller still needs the segments.
    How it looks:
        segments += 6
        x = x + torch.cat([positions, self.segment_embeddings.weight])[segments]
    What to write instead:
        x = x + self.segment_embeddings(segments)
    """
    added: Array = x + table[..., segments, :]
    segments += 6
    return added


@MISCONCEPTIONS.add(clause="embedding_norm", stateful=True)
def words_alone_normalized() -> dict[str, Any]:
    """Only the word embeddings are normalized

    What it does:
        Positions and segments are added after the normalization.
    Why it is wrong:
        The sum of all three is normalized.
    How it looks:
        x = self.embedding_norm(self.word_embeddings(tokens)) + positions + segments
    What to write instead:
        x = self.embedding_norm(words + positions + segments)
    """
    kept: dict[str, Array] = {}

    def look_up_words(words: Array, tokens: Array) -> Array:
        kept["words"] = words[..., tokens, :]
        return kept["words"]

    def norm_embeddings(x: Array, norm: Norm) -> Array:
        return norm(kept["words"]) + (x - kept["words"])

    return {"look_up_words": look_up_words, "norm_embeddings": norm_embeddings}


@MISCONCEPTIONS.add(clause="layer_norm", step="variance")
def variance_unbiased(centered: Array) -> Array:
    """Variance divided by 7

    What it does:
        The variance of a sample is taken, as torch.var does.
    Why it is wrong:
        Layer normalization divides by the number of features, which is 8.
    How it looks:
        x.var(-1, keepdim=True)
    What to write instead:
        nn.LayerNorm(8), or x.var(-1, keepdim=True, unbiased=False)
    """
    return (centered * centered).sum(axis=-1, keepdims=True) / 7


@MISCONCEPTIONS.add(clause="layer_norm")
def norm_over_sequence() -> dict[str, Any]:
    """One mean for a whole example

    What it does:
        Mean and variance run over all positions and features of an example.
    Why it is wrong:
        Each position is normalized for itself, over its 8 features.
    How it looks:
        F.layer_norm(x, x.shape[1:])
    What to write instead:
        nn.LayerNorm(8)
    """
    return {
        "center": lambda x: x - x.mean(axis=(-2, -1), keepdims=True),
        "variance": lambda centered: (centered * centered).mean(axis=(-2, -1), keepdims=True),
    }


@MISCONCEPTIONS.add(clause="layer_norm", step="scale_and_shift")
def norm_without_weights(z: Array, weight: Array, bias: Array) -> Array:
    """Weight and bias of the normalization are left out

    What it does:
        The standardized features are used as they are.
    Why it is wrong:
        Each normalization has a weight and a bias that are learned.
    How it looks:
        nn.LayerNorm(8, elementwise_affine=False)
    What to write instead:
        nn.LayerNorm(8)
    """
    return z


@MISCONCEPTIONS.add(clause="layer_norm", step="scale_and_shift")
def weight_after_bias(z: Array, weight: Array, bias: Array) -> Array:
    """Bias before weight in the normalization

    What it does:
        The bias is added first, then everything is multiplied.
    Why it is wrong:
        The weight multiplies the standardized features, and then the bias is added.
    How it looks:
        (z + self.bias) * self.weight
    What to write instead:
        z * self.weight + self.bias
    """
    return (z + bias) * weight


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_of_bert(centered: Array, var: Array) -> Array:
    """Epsilon of 1e-12

    What it does:
        The variance gets 1e-12, as in the first code of BERT.
    Why it is wrong:
        The model here has torch's own epsilon, 1e-5.
    How it looks:
        nn.LayerNorm(8, eps=1e-12)
    What to write instead:
        nn.LayerNorm(8)
    """
    return centered / np.sqrt(var + centered.dtype.type(1e-12))


@MISCONCEPTIONS.add(clause="epsilon", step="standardize")
def epsilon_outside_root(centered: Array, var: Array) -> Array:
    """Epsilon outside the root

    What it does:
        1e-5 is added to the standard deviation.
    Why it is wrong:
        It belongs to the variance, inside the root.
    How it looks:
        (x - mean) / (x.std(-1, keepdim=True) + 1e-5)
    What to write instead:
        (x - mean) / torch.sqrt(var + 1e-5), or nn.LayerNorm(8)
    """
    return centered / (np.sqrt(var) + centered.dtype.type(1e-5))


@MISCONCEPTIONS.add(clause="examples")
def norm_over_batch() -> dict[str, Any]:
    """Mean and variance of the whole batch

    What it does:
        A normalization takes mean and variance over the examples as well as the features.
    Why it is wrong:
        What an example gives must not depend on the others in the batch.
    How it looks:
        x.mean(dim=(0, 2), keepdim=True)
    What to write instead:
        nn.LayerNorm(8)
    """
    return {
        "center": lambda x: x - x.mean(axis=(-3, -1), keepdims=True),
        "variance": lambda centered: (centered * centered).mean(axis=(-3, -1), keepdims=True),
    }

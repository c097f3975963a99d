"""What ``grader demo bert_pretraining`` shows: attention, predictions, and the losses of pretraining.

The weights are those that torch's layers start with after ``torch.manual_seed(23)``, made in the order of the
layers in the model. Torch keeps that for a version, and does not promise it for the next: with torch 2.13 the
losses are those of `RECORDED`, and with another version the demonstration says if they are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grader.demonstration import Demonstration, Example, Matrix, Metric, Vector

from .model import STEPS, masked_loss, run_packed_logits
from .steps import Array

SEED, RECORDED_WITH = 23, "2.13"
# Losses of the masked token and of the pair, by example.
RECORDED = {
    "first_segment": (2.80195269528544, 0.7524517459332909),
    "second_segment": (4.500227116837614, 0.7446303953436019),
    "both_segments": (3.718223183037352, 0.7476152004343455),
    "not_next": (2.80195269528544, 0.6371636148960151),
}
ORIGINAL, SEGMENTS, MASK = (1, 4, 5, 2, 6, 2), (0, 0, 0, 0, 1, 1), 3
NAMES = {1: "CLS", 2: "SEP", 3: "MASK"}
PAIR = ("is next", "is not next")


def weights() -> dict[str, Array]:
    """The first weights of torch's layers, in float64, by the short names of the cases."""
    import torch
    from torch import nn

    torch.manual_seed(SEED)
    layers: list[tuple[tuple[str, ...], nn.Module]] = [
        (("word_embeddings",), nn.Embedding(16, 8)),
        (("position_embeddings",), nn.Embedding(6, 8)),
        (("segment_embeddings",), nn.Embedding(2, 8)),
        (_of("embedding_norm"), nn.LayerNorm(8)),
        (_of("query"), nn.Linear(8, 8)),
        (_of("key"), nn.Linear(8, 8)),
        (_of("value"), nn.Linear(8, 8)),
        (_of("project"), nn.Linear(8, 8)),
        (_of("attention_norm"), nn.LayerNorm(8)),
        (_of("up"), nn.Linear(8, 32)),
        (_of("down"), nn.Linear(32, 8)),
        (_of("output_norm"), nn.LayerNorm(8)),
        (_of("transform"), nn.Linear(8, 8)),
        (_of("mlm_norm"), nn.LayerNorm(8)),
        # Its weight is thrown away: the decoder has that of the word embeddings.
        (("", "decoder_bias"), nn.Linear(8, 16)),
        (_of("pooler"), nn.Linear(8, 8)),
        (_of("nsp"), nn.Linear(8, 2)),
    ]
    made: dict[str, Array] = {}
    for names, layer in layers:
        for name, parameter in zip(names, layer.parameters(), strict=True):
            made[name] = parameter.detach().double().numpy()
    del made[""]
    return made


def _of(name: str) -> tuple[str, str]:
    return f"{name}_weight", f"{name}_bias"


@dataclass(frozen=True)
class Seen:
    """What is seen of one example.

    Attributes:
        tokens: The six tokens that the model reads.
        attention: (6, 6) weights of head 0, query by key.
        token_logits: (6, 16).
        pair_logits: (2,).
    """

    tokens: tuple[int, ...]
    attention: Array
    token_logits: Array
    pair_logits: Array


def watch(given: dict[str, Array], masked: tuple[int, ...]) -> Seen:
    """Run the reference on the example with MASK at these positions, and keep its attention."""
    kept: dict[str, Array] = {}

    def divide_by_sum(powers: Array) -> Array:
        kept["attention"] = STEPS.divide_by_sum(powers)
        return kept["attention"]

    tokens = tuple(MASK if at in masked else token for at, token in enumerate(ORIGINAL))
    arguments = (given, np.array([tokens]), np.array([SEGMENTS]))
    packed = run_packed_logits(replace(STEPS, divide_by_sum=divide_by_sum), arguments)
    return Seen(tokens, kept["attention"][0, 0], packed[0, :96].reshape(6, 16), packed[0, 96:])


def softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max())
    probabilities: Array = powers / powers.sum()
    return probabilities


def losses(seen: Seen, masked: tuple[int, ...], label: int) -> tuple[float, float]:
    """The cross entropy of the masked tokens, and that of the pair's label."""
    of_tokens = float(masked_loss(seen.token_logits[None], list(masked), np.array([ORIGINAL])))
    return of_tokens, float(-np.log(softmax(seen.pair_logits)[label]))


# Label, masked positions and label of the pair by id; what there is to see.
EXAMPLES: dict[str, tuple[str, tuple[int, ...], int]] = {
    "first_segment": ("A masked token in the first segment", (2,), 0),
    "second_segment": ("A masked token in the second segment", (4,), 0),
    "both_segments": ("A masked token in each segment", (2, 4), 0),
    "not_next": ("A pair that does not belong together", (2,), 1),
}
NOTES = {
    "first_segment": (
        "Position 2 is masked. Every query spreads its attention over all six keys, those of the other "
        "segment too. The model has learned nothing yet: an even guess among 16 tokens has a loss of 2.77."
    ),
    "second_segment": (
        "Position 4 is masked instead. Its row and its column of the attention are others now, and what "
        "every position gives changes with them."
    ),
    "both_segments": (
        "Two positions are masked, and the loss is the mean of both. The prediction at position 2 is another "
        "than in the first example, as position 4 reads MASK."
    ),
    "not_next": (
        "The tokens are those of the first example, so all that the model gives is the same. Only the label "
        "of the pair is another, and with it the loss of the pair."
    ),
}


def demonstrate() -> Demonstration:
    """The four examples, each with the two losses of pretraining and their sum."""
    import torch

    given = weights()
    examples = []
    same = True
    for id_, (label, masked, pair_label) in EXAMPLES.items():
        seen = watch(given, masked)
        of_tokens, of_pair = losses(seen, masked, pair_label)
        same &= bool(np.allclose((of_tokens, of_pair), RECORDED[id_], rtol=0, atol=1e-9))
        names = [f"{at}: {NAMES.get(token, f'id {token}')}" for at, token in enumerate(seen.tokens)]
        examples.append(
            Example(
                id_,
                label,
                NOTES[id_],
                matrices=[
                    Matrix("Attention of head 0, query by key", seen.attention, names, names, scale=(0, 1))
                ],
                vectors=[
                    Vector("Original tokens", [f"id {token}" for token in ORIGINAL]),
                    Vector("Tokens that the model reads", [f"id {token}" for token in seen.tokens]),
                    Vector("Counts in the loss of tokens", [int(at in masked) for at in range(6)], names),
                    Vector(
                        f"Prediction at position {masked[0]}, whose token was {ORIGINAL[masked[0]]}",
                        softmax(seen.token_logits[masked[0]]),
                        [f"id {token}" for token in range(16)],
                    ),
                    Vector("Prediction of the pair", softmax(seen.pair_logits), PAIR),
                ],
                metrics=[
                    Metric("loss of masked tokens", of_tokens),
                    Metric("loss of the pair", of_pair),
                    Metric("loss of pretraining, the sum of both", of_tokens + of_pair),
                ],
            )
        )
    version = torch.__version__.partition("+")[0]
    recorded = (
        f"The losses are those recorded with torch {RECORDED_WITH}."
        if same
        else f"The losses differ from those recorded with torch {RECORDED_WITH} (other first weights)."
    )
    return Demonstration(
        "BERT at a reduced size: masked tokens and sentence pairs",
        "Six toy tokens, CLS 4 5 SEP in the first segment and 6 SEP in the second, of a vocabulary of 16. "
        "Some are replaced by MASK, which is token 3. In real pretraining 15 % of the tokens are chosen, "
        "and of those 8 in 10 become MASK, 1 in 10 another token, and 1 in 10 stay as they are.\n\n"
        f"The weights are the first ones of torch {version} after manual_seed({SEED}); nothing is trained, "
        f"and no sentence stands behind the tokens. {recorded}",
        examples,
    )

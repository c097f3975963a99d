"""How a submission is called: weights are loaded by name, and answers are handed on as they come."""

import torch

# The short name of each array of a case, and the parameter that it is loaded into.
PARAMETERS = {
    "word_embeddings": "word_embeddings.weight",
    "position_embeddings": "position_embeddings.weight",
    "segment_embeddings": "segment_embeddings.weight",
    "embedding_norm_weight": "embedding_norm.weight",
    "embedding_norm_bias": "embedding_norm.bias",
    "query_weight": "encoder.attention.query.weight",
    "query_bias": "encoder.attention.query.bias",
    "key_weight": "encoder.attention.key.weight",
    "key_bias": "encoder.attention.key.bias",
    "value_weight": "encoder.attention.value.weight",
    "value_bias": "encoder.attention.value.bias",
    "project_weight": "encoder.attention.project.weight",
    "project_bias": "encoder.attention.project.bias",
    "attention_norm_weight": "encoder.attention_norm.weight",
    "attention_norm_bias": "encoder.attention_norm.bias",
    "up_weight": "encoder.up.weight",
    "up_bias": "encoder.up.bias",
    "down_weight": "encoder.down.weight",
    "down_bias": "encoder.down.bias",
    "output_norm_weight": "encoder.output_norm.weight",
    "output_norm_bias": "encoder.output_norm.bias",
    "transform_weight": "mlm_transform.weight",
    "transform_bias": "mlm_transform.bias",
    "mlm_norm_weight": "mlm_norm.weight",
    "mlm_norm_bias": "mlm_norm.bias",
    "decoder_bias": "mlm_decoder.bias",
    "pooler_weight": "pooler.weight",
    "pooler_bias": "pooler.bias",
    "nsp_weight": "nsp_head.weight",
    "nsp_bias": "nsp_head.bias",
}
TIED, DECODER = "word_embeddings.weight", "mlm_decoder.weight"


def loaded(submission, weights):
    """The submission's model with these weights, in float64 and evaluation mode.

    A buffer keeps the submission's own values. The decoder's weight gets those of the word embeddings under
    whichever of the two names the model has it.
    """
    model = submission.TinyBertPretraining().double().eval()
    state = {PARAMETERS[name]: torch.tensor(values).double() for name, values in weights.items()}
    own = model.state_dict()
    if DECODER in own:
        state[DECODER] = state[TIED]
    buffers = {name for name, _ in model.named_buffers()}
    state.update({name: values for name, values in own.items() if name in buffers})
    model.load_state_dict(state)
    return model


def run(model, tokens, segments):
    """The packed logits, one row of 98 for each example."""
    packed = model(torch.from_numpy(tokens), torch.from_numpy(segments))
    expected = (len(tokens), 98)
    if not isinstance(packed, torch.Tensor):
        raise TypeError(
            f"forward returned a {type(packed).__name__}; expected one tensor of shape {expected}"
        )
    if tuple(packed.shape) != expected:
        raise ValueError(f"forward returned a tensor of shape {tuple(packed.shape)}; expected {expected}")
    return packed


def packed_logits(submission, weights, tokens, segments):
    return loaded(submission, weights)(torch.from_numpy(tokens), torch.from_numpy(segments))


def later_logits(submission, weights, tokens, segments):
    """What a model gives that has read another text before."""
    model = loaded(submission, weights)
    model(torch.from_numpy(15 - tokens), torch.from_numpy(1 - segments))
    return model(torch.from_numpy(tokens), torch.from_numpy(segments))


def token_logits(submission, weights, tokens, segments):
    return run(loaded(submission, weights), tokens, segments)[:, :96].reshape(-1, 6, 16)


def pair_logits(submission, weights, tokens, segments):
    return run(loaded(submission, weights), tokens, segments)[:, 96:]


def shifted_embeddings(submission, weights, tokens, segments, shift):
    model = loaded(submission, weights)
    with torch.no_grad():
        model.word_embeddings.weight += torch.tensor(shift)
    return run(model, tokens, segments)[:, :96].reshape(-1, 6, 16)


def gradients(submission, weights, tokens, segments, coefficients, rows):
    model = loaded(submission, weights)
    (run(model, tokens, segments) * torch.tensor(coefficients)).sum().backward()

    def gradient(parameter):
        return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad

    def slope(parameter):
        # Of every parameter one number: how the sum rises along a direction of length 1.
        waves = torch.cos(torch.arange(parameter.numel()).double()).reshape(parameter.shape)
        return (gradient(parameter).double() * waves / waves.norm()).sum()

    own = dict(model.named_parameters())
    # A tied weight that has its second name alone.
    own.setdefault(TIED, model.word_embeddings.weight)
    query_bias = model.encoder.attention.query.bias
    return {
        "words": gradient(model.word_embeddings.weight)[rows],
        "query_bias": gradient(query_bias),
        "slopes": {short: slope(own[name]) for short, name in PARAMETERS.items()},
    }


def masked_loss(submission, logits, positions, original):
    loss = submission.masked_loss(torch.from_numpy(logits), positions, torch.from_numpy(original))
    # The one number of shape (1,) is the same number.
    if isinstance(loss, torch.Tensor) and tuple(loss.shape) == (1,):
        return loss[0]
    return loss


def loss_gradient(submission, logits, positions, original):
    logits = torch.tensor(logits, requires_grad=True)
    loss = submission.masked_loss(logits, positions, torch.from_numpy(original))
    if not isinstance(loss, torch.Tensor):
        raise TypeError(f"masked_loss returned a {type(loss).__name__}; expected a tensor, to learn from")
    loss.backward()
    return torch.zeros_like(logits) if logits.grad is None else logits.grad


def parameter_shapes(submission):
    model = submission.TinyBertPretraining()
    buffers = {name for name, _ in model.named_buffers()}
    left_out = buffers | {DECODER}
    return {name: list(values.shape) for name, values in model.state_dict().items() if name not in left_out}

"""How the parts of a submission are called together; see the statement."""

FIGURES = ("vocab_size", "sentinel_id", "max_positions")


def figures(contract):
    return {name: getattr(contract, name) for name in FIGURES}


def contract(submission, vocab_size, sentinel_id, max_positions):
    return figures(submission.TokenizerContract(vocab_size, sentinel_id, max_positions))


def changed_contract(submission, vocab_size, sentinel_id, max_positions, name, number):
    made = submission.TokenizerContract(vocab_size, sentinel_id, max_positions)
    setattr(made, name, number)
    return figures(made)


def validate(submission, vocab_size, sentinel_id, max_positions, token_ids):
    submission.TokenizerContract(vocab_size, sentinel_id, max_positions).validate(token_ids)
    return "validated"


def fill_mask(submission, token_ids, weights, vocab_size, sentinel_id, max_positions, top_k):
    made = submission.TokenizerContract(vocab_size, sentinel_id, max_positions)
    return submission.fill_mask(token_ids, weights, made, top_k)


def fill_mask_default(submission, token_ids, weights, vocab_size, sentinel_id, max_positions):
    made = submission.TokenizerContract(vocab_size, sentinel_id, max_positions)
    return submission.fill_mask(token_ids, weights, made)


def ids_afterwards(submission, token_ids, weights, vocab_size, sentinel_id, max_positions, top_k):
    made = submission.TokenizerContract(vocab_size, sentinel_id, max_positions)
    made.validate(token_ids)
    submission.fill_mask(token_ids, weights, made, top_k)
    return token_ids

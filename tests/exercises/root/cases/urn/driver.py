def draws(submission, rate, ids, rng):
    chosen, values = submission.Urn(rate).draw(ids, rng)
    return {"chosen": chosen, "values": values}

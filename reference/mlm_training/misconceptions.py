"""Known mistakes, each a step of the model done wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from grader.exercise.misconceptions import Misconceptions

MISCONCEPTIONS = Misconceptions()


@MISCONCEPTIONS.add(clause="vocabulary", step="characters")
def order_of_appearance(text: Any) -> Any:
    """Characters are not sorted

    What it does:
        Characters get their ids in the order in which they appear.
    Why it is wrong:
        The vocabulary is that of the sorted characters, so that it hangs on nothing else.
    How it looks:
        list(dict.fromkeys(text))
    What to write instead:
        sorted(set(text))
    """
    return list(dict.fromkeys(text))


@MISCONCEPTIONS.add(clause="vocabulary", step="number")
def ids_from_zero(found: Any) -> Any:
    """The first character has the id 0

    What it does:
        Ids begin at 0.
    Why it is wrong:
        0 is the id of [MASK]: a hidden token could not be told from that character.
    How it looks:
        {c: i for i, c in enumerate(chars)}
    What to write instead:
        {c: i + 1 for i, c in enumerate(chars)}
    """
    return {character: at for at, character in enumerate(found)}


@MISCONCEPTIONS.add(clause="encoding", step="look_up")
def unknown_is_mask(text: Any, vocab: Any) -> Any:
    """Unknown characters become [MASK]

    What it does:
        A character without an id gets 0.
    Why it is wrong:
        A text that can't be encoded is taken for one with hidden tokens, and nobody notices.
    How it looks:
        vocab.get(c, 0)
    What to write instead:
        vocab[c]
    """
    return torch.tensor([vocab.get(character, 0) for character in text], dtype=torch.int64)


@MISCONCEPTIONS.add(clause="encoding", step="look_up")
def empty_floats(text: Any, vocab: Any) -> Any:
    """The ids of an empty text are floats

    What it does:
        torch.tensor([]) is a tensor of float32.
    Why it is wrong:
        Ids are integers, also where there are none.
    How it looks:
        torch.tensor([vocab[c] for c in text])
    What to write instead:
        torch.tensor([vocab[c] for c in text], dtype=torch.int64)
    """
    return torch.tensor([vocab[character] for character in text])


@MISCONCEPTIONS.add(clause="encoding", step="look_up")
def vocabulary_of_the_text(text: Any, vocab: Any) -> Any:
    """A vocabulary of the text itself

    What it does:
        The ids come from a vocabulary that is made of this text.
    Why it is wrong:
        The ids are those of the vocabulary that is given, which the model was trained with.
    How it looks:
        chars = sorted(set(text))
        [chars.index(c) + 1 for c in text]
    What to write instead:
        [vocab[c] for c in text]
    """
    unknown = set(text) - set(vocab)
    if unknown:
        raise KeyError(unknown)
    own = sorted(set(text))
    return torch.tensor([own.index(character) + 1 for character in text], dtype=torch.int64)


@MISCONCEPTIONS.add(clause="encoding", step="look_up")
def place_in_the_vocabulary(text: Any, vocab: Any) -> Any:
    """The place in the vocabulary instead of the id

    What it does:
        A character's id is how many entries the vocabulary has before it.
    Why it is wrong:
        The vocabulary says what the ids are; they begin at 1.
    How it looks:
        list(vocab).index(c)
    What to write instead:
        vocab[c]
    """
    return torch.tensor([list(vocab).index(character) for character in text], dtype=torch.int64)


@MISCONCEPTIONS.add(clause="windows", step="cut")
def shuffled_tokens(data: Any, starts: Any, seq_len: Any) -> Any:
    """Tokens are drawn one by one

    What it does:
        The tokens of a row come from anywhere in the data.
    Why it is wrong:
        What surrounds a hidden token must be what surrounds it in the text, or there is nothing to learn.
    How it looks:
        data[torch.randint(len(data), (batch_size, seq_len))]
    What to write instead:
        data[start : start + seq_len]
    """
    return torch.stack([data[(start * (1 + torch.arange(seq_len)) * 7) % len(data)] for start in starts])


@MISCONCEPTIONS.add(clause="starts", step="count_starts")
def last_window_left_out(data: Any, seq_len: Any) -> Any:
    """The last window is never drawn

    What it does:
        Starts are drawn below len(data) - seq_len.
    Why it is wrong:
        torch.randint leaves out its upper end, so the last token of the data is never seen, and data as
        long as a window fail.
    How it looks:
        torch.randint(0, len(data) - seq_len, (batch_size,))
    What to write instead:
        torch.randint(0, len(data) - seq_len + 1, (batch_size,))
    """
    return len(data) - seq_len


@MISCONCEPTIONS.add(clause="starts", step="draw_starts")
def one_start_for_all(choices: Any, batch_size: Any, generator: Any) -> Any:
    """All rows begin at the same place

    What it does:
        One start is drawn for the whole batch.
    Why it is wrong:
        Equal rows teach no more than one row.
    How it looks:
        start = torch.randint(n, (1,), generator=generator)
    What to write instead:
        starts = torch.randint(n, (batch_size,), generator=generator)
    """
    return torch.randint(choices, (1,), generator=generator).repeat(batch_size)


@MISCONCEPTIONS.add(clause="selection", step="select")
def selected_above(windows: Any, mask_prob: Any, generator: Any) -> Any:
    """The rate is turned round

    What it does:
        Positions are selected where the drawn number is above mask_prob.
    Why it is wrong:
        That selects 1 - mask_prob of them: with 0.15 nearly all of the text is hidden.
    How it looks:
        torch.rand(shape) > mask_prob
    What to write instead:
        torch.rand(shape) < mask_prob
    """
    return torch.rand(windows.shape, generator=generator) > mask_prob


@MISCONCEPTIONS.add(clause="selection", step="select")
def one_selection_for_all(windows: Any, mask_prob: Any, generator: Any) -> Any:
    """All rows have the same selection

    What it does:
        One row of numbers is drawn and used for every row.
    Why it is wrong:
        Positions are independent of one another, across rows too.
    How it looks:
        torch.rand(seq_len) < mask_prob
    What to write instead:
        torch.rand(batch_size, seq_len) < mask_prob
    """
    row = torch.rand(windows.shape[1], generator=generator) < mask_prob
    return row.expand(windows.shape)


@MISCONCEPTIONS.add(clause="selection", step="select")
def fixed_number(windows: Any, mask_prob: Any, generator: Any) -> Any:
    """A fixed number in each row

    What it does:
        round(mask_prob * seq_len) positions of each row are selected, at least one.
    Why it is wrong:
        Positions are selected independently: how many there are in a row is left to chance.
    How it looks:
        torch.randperm(seq_len)[: round(mask_prob * seq_len)]
    What to write instead:
        torch.rand(batch_size, seq_len) < mask_prob
    """
    count = max(1, round(mask_prob * windows.shape[1])) if mask_prob else 0
    chances = torch.rand(windows.shape, generator=generator)
    return chances.argsort(1).argsort(1) < count


@MISCONCEPTIONS.add(clause="selection", step="select")
def at_least_one(windows: Any, mask_prob: Any, generator: Any) -> Any:
    """Each row has at least one selected position

    What it does:
        Where nothing was selected in a row, a position is added.
    Why it is wrong:
        That raises the rate, most of all in short windows.
    How it looks:
        if not selected[b].any(): selected[b, 0] = True
    What to write instead:
        leave the row as it is
    """
    selected = torch.rand(windows.shape, generator=generator) < mask_prob
    if mask_prob:
        selected[~selected.any(1), 0] = True
    return selected


@MISCONCEPTIONS.add(clause="hiding", step="hide")
def nothing_hidden(windows: Any, selected: Any) -> Any:
    """The inputs show the tokens

    What it does:
        The inputs are the windows as they are.
    Why it is wrong:
        The answer can be read where it is asked for, and the model learns to copy.
    How it looks:
        return windows, labels
    What to write instead:
        windows.masked_fill(selected, 0), labels
    """
    return windows.clone()


@MISCONCEPTIONS.add(clause="hiding", step="hide")
def some_kept(windows: Any, selected: Any) -> Any:
    """Some of the selected tokens are kept

    What it does:
        Only 80% of the selected positions become [MASK]; the rest are kept.
    Why it is wrong:
        That is BERT's rule. Here every selected position is hidden.
    How it looks:
        hidden = selected & (torch.rand(shape) < 0.8)
    What to write instead:
        hidden = selected
    """
    hidden = selected & (torch.arange(selected.numel()).reshape(selected.shape) % 5 != 0)
    return windows.masked_fill(hidden, 0)


@MISCONCEPTIONS.add(clause="hiding", step="hide")
def hidden_by_another_draw(windows: Any, selected: Any) -> Any:
    """Other positions are hidden than labelled

    What it does:
        The mask of the inputs is not that of the labels.
    Why it is wrong:
        Tokens are hidden that nobody asks for, and those that are asked for can be seen.
    How it looks:
        inputs[torch.rand(shape) < mask_prob] = 0
        labels[torch.rand(shape) >= mask_prob] = -100
    What to write instead:
        one mask for both
    """
    return windows.masked_fill(selected.roll(1, 1), 0)


@MISCONCEPTIONS.add(clause="labels", step="label")
def labels_everywhere(windows: Any, selected: Any) -> Any:
    """Labels everywhere

    What it does:
        Every position has its token as a label.
    Why it is wrong:
        Most of the loss then comes from tokens that can be seen, and the model is trained to copy.
    How it looks:
        labels = windows.clone()
    What to write instead:
        labels = windows.masked_fill(~selected, -100)
    """
    return windows.clone()


@MISCONCEPTIONS.add(clause="labels", step="label")
def labels_zero_elsewhere(windows: Any, selected: Any) -> Any:
    """0 instead of -100

    What it does:
        Positions that are not selected have the label 0.
    Why it is wrong:
        0 is the id of [MASK]. The loss asks the model to predict [MASK] there.
    How it looks:
        labels = torch.where(selected, windows, 0)
    What to write instead:
        labels = torch.where(selected, windows, -100)
    """
    return windows.masked_fill(~selected, 0)


@MISCONCEPTIONS.add(clause="labels", step="label")
def labels_shifted(windows: Any, selected: Any) -> Any:
    """Labels are shifted by one

    What it does:
        A label is the token of the next position.
    Why it is wrong:
        A masked language model predicts the token that stood there, not the next one.
    How it looks:
        labels[:, :-1] = windows[:, 1:]
    What to write instead:
        labels = windows where selected
    """
    return windows.roll(-1, 1).masked_fill(~selected, -100)


@MISCONCEPTIONS.add(clause="generator", step="select", stateful=True)
def generator_ignored(windows: Any, mask_prob: Any, generator: Any) -> Any:
    """The generator is not used for the selection

    What it does:
        torch.rand draws from torch's global generator.
    Why it is wrong:
        The same seed must give the same batch; other code moves the global generator.
    How it looks:
        torch.rand(shape) < mask_prob
    What to write instead:
        torch.rand(shape, generator=generator) < mask_prob
    """
    return torch.rand(windows.shape) < mask_prob


@MISCONCEPTIONS.add(clause="generator")
def seed_set_anew() -> Any:
    """Every batch begins at the seed

    What it does:
        The generator is set back to its seed in each call.
    Why it is wrong:
        All batches are the same then, and training sees one batch for ever.
    How it looks:
        generator.manual_seed(generator.initial_seed())
    What to write instead:
        use the generator as it comes
    """

    def draw(choices: Any, batch_size: Any, generator: Any) -> Any:
        generator.manual_seed(generator.initial_seed())
        return torch.randint(choices, (batch_size,), generator=generator)

    return {"draw_starts": draw}


@MISCONCEPTIONS.add(clause="batch_errors", step="check_batch")
def nothing_checked(data: Any, seq_len: Any, mask_prob: Any) -> Any:
    """Nothing is checked

    What it does:
        mask_prob is taken as it is, and short data give whatever they give.
    Why it is wrong:
        A rate of 15 instead of 0.15 hides everything, and no one learns why the model doesn't learn.
    How it looks:
        (no check)
    What to write instead:
        raise ValueError(f"mask_prob is {mask_prob}")
    """
    return None


@MISCONCEPTIONS.add(clause="loss_selected")
def all_positions_count() -> Any:
    """All positions count

    What it does:
        Positions with the label -100 are counted with the token 0.
    Why it is wrong:
        The loss is of the selected positions alone; the others can be seen.
    How it looks:
        labels.clamp(min=0)
    What to write instead:
        logits[labels != -100], labels[labels != -100]
    """
    return {
        "counted": lambda labels: torch.ones_like(labels, dtype=torch.bool),
        "token_losses": lambda logits, labels: -logits.log_softmax(1).gather(1, labels.clamp(min=0)[:, None]),
    }


@MISCONCEPTIONS.add(clause="loss_selected")
def divided_by_all_positions() -> Any:
    """Divided by the number of all positions

    What it does:
        The losses of the selected positions are divided by the size of the batch.
    Why it is wrong:
        With 15% selected the loss is about seven times too small.
    How it looks:
        (losses * selected).mean()
    What to write instead:
        losses[selected].mean()
    """

    def spread(logits: Any, labels: Any) -> Any:
        kept = labels != -100
        losses = -logits.log_softmax(1).gather(1, labels.clamp(min=0)[:, None])[:, 0]
        return losses * kept

    return {"counted": lambda labels: torch.ones_like(labels, dtype=torch.bool), "token_losses": spread}


@MISCONCEPTIONS.add(clause="loss_selected", step="counted")
def label_zero_left_out(labels: Any) -> Any:
    """The label 0 does not count

    What it does:
        Positions count where the label is above 0.
    Why it is wrong:
        -100 marks what does not count, and nothing else does.
    How it looks:
        kept = labels > 0
    What to write instead:
        kept = labels != -100
    """
    return labels > 0


@MISCONCEPTIONS.add(clause="loss_selected", step="average")
def nan_where_none(losses: Any) -> Any:
    """NaN where nothing is selected

    What it does:
        The mean of no losses is NaN.
    Why it is wrong:
        One batch without a selected position makes all weights NaN.
    How it looks:
        losses.mean()
    What to write instead:
        losses.sum() / max(len(losses), 1)
    """
    return losses.mean()


@MISCONCEPTIONS.add(clause="loss_value", step="average")
def sum_of_losses(losses: Any) -> Any:
    """The sum instead of the mean

    What it does:
        The losses are added up.
    Why it is wrong:
        The size of the gradient then hangs on how many positions were selected.
    How it looks:
        losses.sum()
    What to write instead:
        losses.mean()
    """
    return losses.sum()


@MISCONCEPTIONS.add(clause="loss_value", step="token_losses")
def softmax_missing(logits: Any, labels: Any) -> Any:
    """The softmax is left out

    What it does:
        The loss is -logit of the label.
    Why it is wrong:
        It has no lower bound: the model makes all logits of the label large.
    How it looks:
        -logits.gather(1, labels[:, None])
    What to write instead:
        -logits.log_softmax(1).gather(1, labels[:, None])
    """
    return -logits.gather(1, labels[:, None])


@MISCONCEPTIONS.add(clause="loss_value", step="token_losses")
def log_of_softmax(logits: Any, labels: Any) -> Any:
    """The logarithm of a softmax that is 0

    What it does:
        The softmax is computed first, then its logarithm.
    Why it is wrong:
        Where logits are far apart the probability is 0 and its logarithm infinite.
    How it looks:
        torch.log(torch.softmax(logits, 1))
    What to write instead:
        torch.log_softmax(logits, 1)
    """
    return -logits.softmax(1).log().gather(1, labels[:, None])


@MISCONCEPTIONS.add(clause="loss_value", step="token_losses")
def doubles_only(logits: Any, labels: Any) -> Any:
    """Logits have to be float64

    What it does:
        The loss is a product with numbers of float64, and torch multiplies no two kinds of floats.
    Why it is wrong:
        Models give float32.
    How it looks:
        one_hot = torch.eye(V, dtype=torch.float64)[labels]
        -torch.einsum("nv,nv->n", log_probs, one_hot)
    What to write instead:
        log_probs.gather(1, labels[:, None])
    """
    one_hot = torch.eye(logits.shape[1], dtype=torch.float64)[labels]
    return -torch.einsum("nv,nv->n", logits.log_softmax(1), one_hot)


@MISCONCEPTIONS.add(clause="loss_gradient", step="average")
def loss_detached(losses: Any) -> Any:
    """The loss is cut from the graph

    What it does:
        The loss is a new tensor made of a number.
    Why it is wrong:
        backward() does not reach the weights, and nothing is learned.
    How it looks:
        torch.tensor(losses.mean().item())
    What to write instead:
        losses.mean()
    """
    return (losses.detach().sum() / max(losses.numel(), 1)).requires_grad_()


@MISCONCEPTIONS.add(clause="loss_gradient", step="average")
def constant_where_none(losses: Any) -> Any:
    """The loss of nothing has no graph

    What it does:
        torch.tensor(0.0) is returned where nothing is selected.
    Why it is wrong:
        backward() fails on it.
    How it looks:
        return torch.tensor(0.0)
    What to write instead:
        return logits.sum() * 0
    """
    return losses.mean() if losses.numel() else torch.tensor(0.0)


@MISCONCEPTIONS.add(clause="positions", step="embed")
def no_positions(tokens: Any, places: Any, ids: Any) -> Any:
    """No positions

    What it does:
        Only the tokens are embedded.
    Why it is wrong:
        Attention does not know the order; a text is then a bag of characters.
    How it looks:
        x = self.token_emb(tokens)
    What to write instead:
        x = self.token_emb(tokens) + self.pos_emb(torch.arange(T))
    """
    places(torch.arange(ids.shape[1]))
    return tokens(ids)


@MISCONCEPTIONS.add(clause="bidirectional", step="mix")
def causal_mask(encoder: Any, x: Any) -> Any:
    """A causal mask

    What it does:
        A position reads itself and those before it.
    Why it is wrong:
        That is a language model that goes from left to right. Here both sides are read.
    How it looks:
        self.encoder(x, mask=causal, is_causal=True)
    What to write instead:
        self.encoder(x)
    """
    count = x.shape[1]
    mask = torch.full((count, count), float("-inf")).triu(1)
    return encoder(x, mask=mask)


@MISCONCEPTIONS.add(clause="learning", step="mix")
def no_context(encoder: Any, x: Any) -> Any:
    """Positions do not read each other

    What it does:
        Every position goes through the layers by itself.
    Why it is wrong:
        A hidden token can be told from its surroundings only.
    How it looks:
        x.reshape(N * T, 1, D)
    What to write instead:
        (N, T, D)
    """
    return encoder(x.reshape(-1, 1, x.shape[2])).reshape(x.shape)


@MISCONCEPTIONS.add(clause="examples", step="mix")
def attention_over_the_batch(encoder: Any, x: Any) -> Any:
    """The batch is taken for the positions

    What it does:
        The encoder's layers take the first axis for the positions: position t of an example reads
        position t of the others.
    Why it is wrong:
        Examples of a batch have nothing to do with each other.
    How it looks:
        nn.TransformerEncoderLayer(d_model, n_heads)
    What to write instead:
        nn.TransformerEncoderLayer(d_model, n_heads, batch_first=True)
    """
    return encoder(x.transpose(0, 1)).transpose(0, 1)


@MISCONCEPTIONS.add(clause="examples", step="mix")
def shared_mean(encoder: Any, x: Any) -> Any:
    """Normalized over the batch

    What it does:
        The mean over the batch is subtracted.
    Why it is wrong:
        What an example gives then hangs on the others.
    How it looks:
        x - x.mean(0)
    What to write instead:
        nn.LayerNorm over the features
    """
    mixed = encoder(x)
    return mixed - 0.5 * mixed.mean(0, keepdim=True)


@MISCONCEPTIONS.add(clause="evaluation", step="mix", stateful=True)
def dropout_always(encoder: Any, x: Any) -> Any:
    """Dropout that never stops

    What it does:
        Dropout is on in evaluation mode too.
    Why it is wrong:
        Predictions are random then.
    How it looks:
        F.dropout(x, 0.1)
    What to write instead:
        F.dropout(x, 0.1, self.training), or nn.Dropout
    """
    return nn.functional.dropout(encoder(x), 0.1, True)


@MISCONCEPTIONS.add(clause="logits_shape", step="score")
def softmax_in_the_model(head: Any, x: Any) -> Any:
    """A softmax at the end of the model

    What it does:
        The model gives probabilities.
    Why it is wrong:
        The loss takes the softmax itself; of probabilities it is nearly even, and learning is slow.
    How it looks:
        return torch.softmax(self.head(x), dim=-1)
    What to write instead:
        return self.head(x)
    """
    return head(x).softmax(-1)


@MISCONCEPTIONS.add(clause="logits_shape", step="score")
def axes_of_one_lost(head: Any, x: Any) -> Any:
    """Axes of length 1 are lost

    What it does:
        squeeze() takes away every axis of length 1.
    Why it is wrong:
        A batch of one example, or examples of one token, have logits of another shape.
    How it looks:
        self.head(x).squeeze()
    What to write instead:
        self.head(x)
    """
    return head(x).squeeze()


@MISCONCEPTIONS.add(clause="logits_shape", step="embed")
def longest_refused(tokens: Any, places: Any, ids: Any) -> Any:
    """max_len itself is refused

    What it does:
        An input of max_len tokens raises ValueError.
    Why it is wrong:
        max_len positions have a row, so max_len tokens are fine.
    How it looks:
        if T >= self.max_len: raise ValueError
    What to write instead:
        if T > self.max_len: raise ValueError
    """
    if ids.shape[1] >= places.num_embeddings:
        raise ValueError("too long")
    return tokens(ids) + places(torch.arange(ids.shape[1]))


@MISCONCEPTIONS.add(clause="steps", step="next_batch")
def one_batch_for_all(make: Any, last: Any) -> Any:
    """One batch for all steps

    What it does:
        The batch is made once, before the loop.
    Why it is wrong:
        The model learns those few hidden tokens by heart and nothing else of the data.
    How it looks:
        inputs, labels = get_mlm_batch(...)
    What to write instead:
        for step in range(steps):
            inputs, labels = get_mlm_batch(...)
    """
    return make() if last is None else last


@MISCONCEPTIONS.add(clause="logits_shape", step="embed")
def positions_begin_again(tokens: Any, places: Any, ids: Any) -> Any:
    """Positions begin again after max_len

    What it does:
        Position max_len gets the row of position 0.
    Why it is wrong:
        A sequence that is too long goes through in silence, and two of its places look the same.
    How it looks:
        self.pos_emb(torch.arange(T) % max_len)
    What to write instead:
        self.pos_emb(torch.arange(T)), which raises IndexError
    """
    at = torch.arange(ids.shape[1]) % places.num_embeddings
    return tokens(ids) + places(at)


@MISCONCEPTIONS.add(clause="mode", step="begin")
def mode_left(model: Any) -> Any:
    """The mode is left as it is

    What it does:
        The model is trained in the mode it comes in.
    Why it is wrong:
        After a look at predictions it is in evaluation mode, and dropout is off in all further training.
    How it looks:
        (no call of train)
    What to write instead:
        model.train()
    """
    return None


@MISCONCEPTIONS.add(clause="gradients", step="clear")
def gradients_kept(optimizer: Any) -> Any:
    """Gradients are never cleared

    What it does:
        Each backward() adds to all gradients before it.
    Why it is wrong:
        A step then follows the sum over all batches so far, the old ones at weights long gone.
    How it looks:
        loss.backward()
        optimizer.step()
    What to write instead:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """
    return None


@MISCONCEPTIONS.add(clause="gradients")
def cleared_before_step() -> Any:
    """Gradients are cleared before the step

    What it does:
        zero_grad() stands between backward() and step(), so every step sees no gradient.
    Why it is wrong:
        Nothing is learned but weight decay.
    How it looks:
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
    What to write instead:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """

    def improve(optimizer: Any, loss: Any) -> None:
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()

    return {"improve": improve}


@MISCONCEPTIONS.add(clause="optimizer", step="improve")
def no_step(optimizer: Any, loss: Any) -> Any:
    """No step

    What it does:
        backward() is called and step() is not.
    Why it is wrong:
        Gradients alone change nothing.
    How it looks:
        loss.backward()
    What to write instead:
        loss.backward()
        optimizer.step()
    """
    loss.backward()


@MISCONCEPTIONS.add(clause="optimizer", step="improve")
def uphill(optimizer: Any, loss: Any) -> Any:
    """The loss is climbed

    What it does:
        The sign of the loss is turned round.
    Why it is wrong:
        The model learns to be wrong.
    How it looks:
        (-loss).backward()
    What to write instead:
        loss.backward()
    """
    (-loss).backward()
    optimizer.step()


@MISCONCEPTIONS.add(clause="optimizer", step="optimizer_for")
def plain_descent(model: Any, lr: Any) -> Any:
    """SGD instead of Adam

    What it does:
        Steps are lr times the gradient.
    Why it is wrong:
        With these rates a transformer hardly moves.
    How it looks:
        torch.optim.SGD(model.parameters(), lr=lr)
    What to write instead:
        torch.optim.AdamW(model.parameters(), lr=lr)
    """
    return torch.optim.SGD(model.parameters(), lr=lr)


@MISCONCEPTIONS.add(clause="optimizer", step="optimizer_for")
def rate_ignored(model: Any, lr: Any) -> Any:
    """The learning rate is ignored

    What it does:
        AdamW runs at its default of 1e-3.
    Why it is wrong:
        The caller chooses the rate.
    How it looks:
        torch.optim.AdamW(model.parameters())
    What to write instead:
        torch.optim.AdamW(model.parameters(), lr=lr)
    """
    return torch.optim.AdamW(model.parameters())


@MISCONCEPTIONS.add(clause="optimizer", step="optimizer_for")
def root_mean_square(model: Any, lr: Any) -> Any:
    """RMSprop instead of Adam

    What it does:
        The first step is ten times as long as lr.
    Why it is wrong:
        RMSprop begins with an average of 0 and does not make up for it, as Adam does.
    How it looks:
        torch.optim.RMSprop(model.parameters(), lr=lr)
    What to write instead:
        torch.optim.AdamW(model.parameters(), lr=lr)
    """
    return torch.optim.RMSprop(model.parameters(), lr=lr)


@MISCONCEPTIONS.add(clause="history", step="rounds")
def one_step_at_least(number_of_steps: Any) -> Any:
    """At least one step

    What it does:
        The loop looks at the number of steps when a step is done.
    Why it is wrong:
        With steps = 0 nothing is to be done.
    How it looks:
        while True:
            ...
            if len(losses) >= steps: break
    What to write instead:
        for step in range(steps):
    """
    return range(max(1, number_of_steps))


@MISCONCEPTIONS.add(clause="history", step="tell")
def told_from_zero(on_step: Any, losses: Any) -> Any:
    """Steps are told from 0 on

    What it does:
        on_step gets the number of the step before.
    Why it is wrong:
        It is told how many steps are finished: 1 after the first.
    How it looks:
        on_step(step, loss)
    What to write instead:
        on_step(step + 1, loss)
    """
    if on_step is not None:
        on_step(len(losses) - 1, losses[-1])


@MISCONCEPTIONS.add(clause="history", step="tell")
def never_told(on_step: Any, losses: Any) -> Any:
    """on_step is never called

    What it does:
        Nobody is told how far the training is.
    Why it is wrong:
        A long training without a sign of life looks like one that hangs.
    How it looks:
        (no call)
    What to write instead:
        if on_step is not None: on_step(step + 1, loss)
    """
    return None


@MISCONCEPTIONS.add(clause="prediction_input", step="quiet")
def dropout_left_on(model: Any) -> Any:
    """Prediction in training mode

    What it does:
        eval() is not called before predicting.
    Why it is wrong:
        Dropout is on, and predictions are random and worse.
    How it looks:
        logits = model(tokens)
    What to write instead:
        model.eval()
        logits = model(tokens)
    """
    model.train()


@MISCONCEPTIONS.add(clause="prediction_input", step="hide_at")
def not_hidden(ids: Any, positions: Any) -> Any:
    """The positions are not hidden

    What it does:
        The model sees the tokens that it should predict.
    Why it is wrong:
        It was trained to predict hidden tokens from their surroundings.
    How it looks:
        model(tokens)
    What to write instead:
        tokens[0, positions] = 0
        model(tokens)
    """
    if max(positions, default=0) >= len(ids):
        raise IndexError(positions)
    return ids[None]


@MISCONCEPTIONS.add(clause="prediction_input", step="hide_at")
def no_positions_fail(ids: Any, positions: Any) -> Any:
    """No positions raise an exception

    What it does:
        The largest of the positions is held against the text; of no positions there is none.
    Why it is wrong:
        An empty list of positions has an answer: an empty list.
    How it looks:
        if max(positions) >= len(text): raise IndexError
    What to write instead:
        if any(p >= len(text) for p in positions): raise IndexError
    """
    if max(positions) >= len(ids):
        raise IndexError(positions)
    return ids.index_fill(0, torch.tensor(positions, dtype=torch.int64), 0)[None]


@MISCONCEPTIONS.add(clause="prediction_input", step="hide_at")
def only_first_hidden(ids: Any, positions: Any) -> Any:
    """Only the first position is hidden

    What it does:
        Of several positions the first alone is hidden.
    Why it is wrong:
        All asked positions are unknown at once: none may help to predict another.
    How it looks:
        tokens[0, positions[0]] = 0
    What to write instead:
        for p in positions: tokens[0, p] = 0
    """
    return ids.index_fill(0, torch.tensor(positions[:1], dtype=torch.int64), 0)[None]


@MISCONCEPTIONS.add(clause="prediction_top", step="probabilities")
def raw_logits(logits: Any) -> Any:
    """Logits instead of probabilities

    What it does:
        The five largest logits are returned as they are.
    Why it is wrong:
        Probabilities are asked for: positive, at most 1 together.
    How it looks:
        torch.topk(logits[0, p], 5)
    What to write instead:
        torch.topk(torch.softmax(logits[0, p], -1), 5)
    """
    return logits


@MISCONCEPTIONS.add(clause="prediction_top", step="best")
def normalized_again(chances: Any) -> Any:
    """The five add up to 1

    What it does:
        The probabilities of the five best are divided by their sum.
    Why it is wrong:
        They are probabilities among all tokens, and what is left belongs to the others.
    How it looks:
        values / values.sum()
    What to write instead:
        values
    """
    ordered = chances.sort(descending=True)
    values = ordered.values[:5]
    return ordered.indices[:5].tolist(), (values / values.sum()).tolist()


@MISCONCEPTIONS.add(clause="prediction_top", step="best")
def always_five(chances: Any) -> Any:
    """topk(5) of fewer tokens

    What it does:
        Five tokens are asked for where there are fewer.
    Why it is wrong:
        topk fails when k is larger than the vocabulary.
    How it looks:
        torch.topk(probs, 5)
    What to write instead:
        torch.topk(probs, min(5, len(probs)))
    """
    best = chances.topk(5)
    return best.indices.tolist(), best.values.tolist()


@MISCONCEPTIONS.add(clause="prediction_top", step="name_of")
def mask_without_name(vocab: Any, token: Any) -> Any:
    """[MASK] has no name

    What it does:
        The id 0 is looked up in the vocabulary, which has no character for it.
    Why it is wrong:
        [MASK] can be among the best, and is named so.
    How it looks:
        idx_to_char[id]
    What to write instead:
        idx_to_char = {0: "[MASK]", **...}
    """
    return {number: character for character, number in vocab.items()}.get(token, "?")


@MISCONCEPTIONS.add(clause="inputs", step="cut")
def data_overwritten(data: Any, starts: Any, seq_len: Any) -> Any:
    """The data are overwritten

    What it does:
        Tokens are hidden in the data themselves, of which the windows are views.
    Why it is wrong:
        With every batch more of the data is lost for good.
    How it looks:
        rows = [data[s:s + seq_len] for s in starts]
        rows[0][selected] = 0
    What to write instead:
        torch.stack copies
        or data[s:s + seq_len].clone()
    """
    windows = torch.stack([data[start : start + seq_len] for start in starts])
    data[starts[0]] = 0
    return windows

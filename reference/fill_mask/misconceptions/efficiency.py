"""Mistakes of ``masking_rate_efficiency``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.exercise.misconceptions import Misconceptions

MISCONCEPTIONS = Misconceptions()


# --- signal ---------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="signal")
def in_percent() -> dict[str, Callable[..., Any]]:
    """Percent in place of fractions

    What it does:
        The rate of 0.15 gives 15 and 85.
    Why it is wrong:
        Fractions of 1 are asked for.
    How it looks:
        "signal_fraction": 100 * rate
    What to write instead:
        "signal_fraction": rate
    """
    return {"signal": lambda rate: 100 * rate, "saved": lambda rate: 100 * (1 - rate)}


@MISCONCEPTIONS.add(clause="signal")
def signal_and_savings_swapped() -> dict[str, Callable[..., Any]]:
    """What is saved and what remains are swapped

    What it does:
        signal_fraction is 1 - rate, and head_flops_saved_fraction the rate.
    Why it is wrong:
        The masked positions, a share of rate, give the signal; the head is spared the others.
    How it looks:
        "head_flops_saved_fraction": rate
    What to write instead:
        "head_flops_saved_fraction": 1 - rate
    """
    return {"signal": lambda rate: 1 - rate, "saved": lambda rate: rate}


@MISCONCEPTIONS.add(clause="signal", step="saved")
def speedup_in_place_of_savings(rate: Any) -> Any:
    """A factor in place of what is saved

    What it does:
        head_flops_saved_fraction is 1 / rate, by how much faster the head is.
    Why it is wrong:
        Asked for is the share of the head's operations that is saved, 1 - rate.
    How it looks:
        "head_flops_saved_fraction": 1 / rate
    What to write instead:
        "head_flops_saved_fraction": 1 - rate
    """
    return 1 / rate


@MISCONCEPTIONS.add(clause="signal", step="signal")
def recipe_counted_in(rate: Any) -> Any:
    """Only the positions with a sentinel are counted

    What it does:
        signal_fraction is 0.8 · rate, as four of five chosen positions get the sentinel.
    Why it is wrong:
        All chosen positions contribute to the loss, whatever they are replaced by.
    How it looks:
        "signal_fraction": 0.8 * rate
    What to write instead:
        "signal_fraction": rate
    """
    return 0.8 * rate


# --- shares ---------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="head_share", step="share")
def encoder_share(head: Any, encoder: Any) -> Any:
    """The encoder's share in place of the head's

    What it does:
        The encoder's operations are divided by the sum.
    Why it is wrong:
        The share of the head is asked for.
    How it looks:
        encoder / (encoder + head)
    What to write instead:
        head / (encoder + head)
    """
    return encoder / (encoder + head)


@MISCONCEPTIONS.add(clause="head_share", step="share")
def ratio_in_place_of_share(head: Any, encoder: Any) -> Any:
    """The ratio of head and encoder in place of a share

    What it does:
        The head's operations are divided by those of the encoder alone.
    Why it is wrong:
        A share is of the whole, encoder and head together, and never above 1.
    How it looks:
        head / encoder
    What to write instead:
        head / (encoder + head)
    """
    return head / encoder


@MISCONCEPTIONS.add(clause="head_share", step="share")
def floor_division(head: Any, encoder: Any) -> Any:
    """Shares are divided to whole numbers

    What it does:
        Both shares are 0.
    Why it is wrong:
        // drops the fraction, and the fraction is what is asked for.
    How it looks:
        head // (encoder + head)
    What to write instead:
        head / (encoder + head)
    """
    return head // (encoder + head)


@MISCONCEPTIONS.add(clause="head_share", step="count_encoder")
def width_not_squared(n_positions: Any, width: Any) -> Any:
    """The encoder is counted with width once

    What it does:
        The encoder takes 12 · n_positions · width operations.
    Why it is wrong:
        Its matrices are width by width: every position takes 12 · width² operations.
    How it looks:
        encoder = 12 * n_positions * width
    What to write instead:
        encoder = 12 * n_positions * width * width
    """
    return n_positions * width * 12


@MISCONCEPTIONS.add(clause="head_share", step="count_encoder")
def one_matrix_of_the_encoder(n_positions: Any, width: Any) -> Any:
    """The encoder is counted as a single matrix

    What it does:
        The encoder takes 2 · n_positions · width² operations.
    Why it is wrong:
        12 · width² a position is the count to be used.
    How it looks:
        encoder = 2 * n_positions * width * width
    What to write instead:
        encoder = 12 * n_positions * width * width
    """
    return n_positions * width * width * 2


@MISCONCEPTIONS.add(clause="head_share", step="count_head")
def head_of_one_position(n_positions: Any, width: Any, vocab_size: Any) -> Any:
    """The head is counted for one position

    What it does:
        The head takes 2 · width · vocab_size operations, however many positions there are.
    Why it is wrong:
        It runs at every position, as the encoder does; in the shares their number cancels.
    How it looks:
        head = 2 * width * vocab_size
    What to write instead:
        head = 2 * n_positions * width * vocab_size
    """
    return width * vocab_size * 2


@MISCONCEPTIONS.add(clause="head_share", step="count_head")
def head_counted_once(n_positions: Any, width: Any, vocab_size: Any) -> Any:
    """The head is counted in multiplications alone

    What it does:
        The head takes n_positions · width · vocab_size operations.
    Why it is wrong:
        A multiplication and an addition are two operations, for the head as for the encoder.
    How it looks:
        head = n_positions * width * vocab_size
    What to write instead:
        head = 2 * n_positions * width * vocab_size
    """
    return n_positions * width * vocab_size


@MISCONCEPTIONS.add(clause="head_share", step="gather_head")
def gathered_like_naive(head: Any, rate: Any) -> Any:
    """The gathered head runs over all positions

    What it does:
        head_share_of_gathered equals head_share_of_naive. The same comes of multiplying both head and encoder
        by the rate.
    Why it is wrong:
        Gathering first leaves the head a share of rate of the positions; the encoder reads all of them.
    How it looks:
        gathered = head
    What to write instead:
        gathered = rate * head
    """
    return head


@MISCONCEPTIONS.add(clause="head_share", step="gather_head")
def gathered_the_others(head: Any, rate: Any) -> Any:
    """The gathered head runs over the positions that are not masked

    What it does:
        The head's operations are multiplied by 1 - rate.
    Why it is wrong:
        The masked positions are the ones that are gathered, a share of rate.
    How it looks:
        gathered = (1 - rate) * head
    What to write instead:
        gathered = rate * head
    """
    return head * (1 - rate)


# --- arguments ------------------------------------------------------------------------------------


@MISCONCEPTIONS.add(clause="efficiency_arguments", step="check_rate")
def rate_unchecked(rate: float) -> None:
    """The rate is not checked

    What it does:
        A rate of 15 gives savings of -14.
    Why it is wrong:
        A rate that is not between 0 and 1 raises ValueError.
    How it looks:
        return {"signal_fraction": rate, ...}
    What to write instead:
        if not 0 < rate < 1:
            raise ValueError(f"rate must be between 0 and 1, got {rate}")
    """


@MISCONCEPTIONS.add(clause="efficiency_arguments", step="check_rate")
def ends_allowed(rate: float) -> None:
    """Rates of 0 and 1 are allowed

    What it does:
        The rate is compared with <=.
    Why it is wrong:
        At 0 there is nothing to learn from, and at 1 nothing to read.
    How it looks:
        if not 0 <= rate <= 1: raise ValueError(...)
    What to write instead:
        if not 0 < rate < 1: raise ValueError(...)
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is {rate}")


@MISCONCEPTIONS.add(clause="efficiency_arguments", step="check_rate")
def rate_of_one_allowed(rate: float) -> None:
    """A rate of 1 is allowed

    What it does:
        Only rates above 1 are refused.
    Why it is wrong:
        With every position masked nothing is left to read.
    How it looks:
        if rate <= 0 or rate > 1: raise ValueError(...)
    What to write instead:
        if not 0 < rate < 1: raise ValueError(...)
    """
    if not 0 < rate <= 1:
        raise ValueError(f"rate is {rate}")


@MISCONCEPTIONS.add(clause="efficiency_arguments")
def sizes_unchecked() -> dict[str, Callable[..., Any]]:
    """Sizes are not checked

    What it does:
        n_positions, width and vocab_size of 0 or less are calculated with.
    Why it is wrong:
        There is no model of such a size: ValueError is asked for, and 0 by 0 is none.
    How it looks:
        if not 0 < rate < 1: raise ValueError(...)
    What to write instead:
        if min(n_positions, width, vocab_size) < 1: raise ValueError(...)
    """
    return {
        "check_n_positions": lambda n_positions: None,
        "check_width": lambda width: None,
        "check_vocabulary_size": lambda vocab_size: None,
    }


@MISCONCEPTIONS.add(clause="efficiency_arguments", step="check_rate")
def rate_without_figure(rate: float) -> None:
    """The message does not say the rate

    What it does:
        ValueError says that the rate is wrong, but not what it is.
    Why it is wrong:
        A rate of 15 shows at once that percent were meant.
    How it looks:
        raise ValueError("bad rate")
    What to write instead:
        raise ValueError(f"rate must be between 0 and 1, got {rate}")
    """
    if not 0 < rate < 1:
        raise ValueError("the rate is wrong")

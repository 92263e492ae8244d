"""What the page's words mean, and its verdicts, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from litmus.analysis.groups import Group
from litmus.analysis.judgement import Judgement
from litmus.analysis.records import RunRecord
from litmus.analysis.statistics import FEWEST_FOR_INTERVAL
from litmus.counts import say_count
from litmus.reports.details import RunDetails
from litmus.reports.html import show_number, tag
from litmus.reports.images import is_image
from litmus.runs.final import DEFINITION, describe_handed_over

SHORT_VERDICTS = {
    "better": "better than guessing",
    "ranks only": "ranks, numbers are off",
    "no better": "no better than guessing",
    "nothing to tell apart": "nothing to tell apart",
    "too few": "too few to say",
}


def write_words(records: Sequence[RunRecord], details: Sequence[RunDetails]) -> str:
    """The words that this page uses, each explained once; nothing where nothing can be shown."""
    if not any(record.run is not None for record in records):
        return ""
    return write_glossary(_list_words(records, details))


def write_glossary(words: Sequence[tuple[str, str]]) -> str:
    """Words with their meanings, under one heading."""
    written = "".join(
        tag("div", tag("dt", escape(word)) + tag("dd", escape(meaning))) for word, meaning in words
    )
    title = tag("h2", "How to read this page", id="words-title")
    listed = tag("dl", written)
    return tag("section", title + listed, class_="words", aria_labelledby="words-title")


def _list_words(
    records: Sequence[RunRecord], details: Sequence[RunDetails]
) -> list[tuple[str, str]]:
    classifies = any(is_image(one.state_shape) for one in details)
    earned = "The sum of all rewards of one episode"
    if classifies:
        earned += "; where images are classified, the share of them that is told right, in per cent"
    words = [
        (
            "Return",
            f"{earned}. To measure a policy is to run it and record "
            "its return; an evaluation is such a measurement during training, over some episodes.",
        ),
        ("Final return", f"It is {DEFINITION}."),
        (
            "θ, the policy",
            "θ (theta) stands for the parameters of the policy network, and for the policy that "
            "they make. Training changes θ; the untrained policy is θ before training.",
        ),
    ]
    if any(one.evaluator is not None for one in details):
        meaning = (
            "V predicts the return of a policy, from what it has learned of others. To judge a "
            "policy is to ask V, without running it."
        )
        if any(one.buffer is not None for one in details):
            meaning += (
                " V learned from perturbed policies, which are θ plus random noise, and their "
                "measured returns. Training moves θ to where V is higher."
            )
        words.append(("V, the evaluator", meaning))
    if any(record.has_training_returns for record in records):
        words.append(
            (
                "Training return",
                "What V predicts: the return without the bonus that the environment pays for "
                "staying alive"
                + (", or the negative cross-entropy of a classifier" if classifies else "")
                + ". All other returns on this page are as the task pays them.",
            )
        )
    if asking := [one.evaluator for one in details if one.probing is not None]:
        learned = any(one is not None and one.learns_probing_states for one in asking)
        words.append(
            (
                "Probing state, fingerprint",
                "V asks a policy what it does in a few states, the probing states"
                + (", which V has learned" if learned else "")
                + ". The actions there are the probing actions; together they are the policy's "
                "fingerprint, and all that V sees of it.",
            )
        )
    return words


def say_verdict(judgement: Judgement) -> str:
    """Whether V beats guessing on policies that it has not seen."""
    number, verdict = say_count(len(judgement.measured), "policy", "policies"), judgement.verdict
    if verdict == "too few":
        return f"V was asked about {number} that it has not seen: too few to say how good it is."
    if verdict == "nothing to tell apart":
        return (
            f"The {number} that V has not seen all earned the same return, so there is nothing "
            "for V to tell apart."
        )
    correlation = judgement.rank_correlation
    ranks = "no rank correlation" if correlation is None else f"rank correlation {correlation:.2f}"
    errors = (
        f"its error is {show_number(judgement.error)}, the error of guessing the mean is "
        f"{show_number(judgement.guessing_error)}"
    )
    if verdict == "better":
        better = "slightly better" if _is_close(judgement) else "better"
        return f"On policies it has not seen, V is {better} than guessing: {errors}; {ranks}."
    if verdict == "ranks only":
        return (
            f"On policies it has not seen, V ranks better than chance ({ranks}), but its numbers "
            f"are no better than guessing their mean: {errors}."
        )
    return (
        f"On policies it has not seen, V is no better than guessing their mean: {errors}; {ranks}."
    )


def _is_close(judgement: Judgement) -> bool:
    """Whether V's error is no more than a tenth below that of guessing."""
    assert judgement.error is not None
    assert judgement.guessing_error is not None
    return judgement.error > 0.9 * judgement.guessing_error


def say_untrained(group: Group) -> str:
    """What the final return must beat."""
    untrained = group.untrained_return
    several = len(group.finals) > 1
    who = "The untrained policies" if several else "The untrained policy"
    if untrained is None:
        return f"{who} {'were' if several else 'was'} not measured."
    average = " on average" if several else ""
    return f"{who} earned <strong>{show_number(untrained)}</strong>{average}."


def say_not_improved(group: Group) -> str:
    """A plain sentence where runs ended no better than they began; nothing else."""
    worse = [record for record in group.records if record.has_improved is False]
    if not worse:
        return ""
    if len(group.records) == 1:
        if group.records[0].state != "finished":
            return (
                "So far the run has not improved: its return is not above the untrained policy's."
            )
        return "The run did not improve: its final return is not above the untrained policy's."
    names = ", ".join(escape(record.name) for record in worse[:4])
    more = ", …" if len(worse) > 4 else ""
    return (
        f"{len(worse)} of {len(group.records)} runs did not improve on their untrained policy: "
        f"{names}{more}."
    )


def say_spread(group: Group) -> str:
    """What the final return is made of and how far that spreads: a range below five runs."""
    final, runs = group.final_return, len(group.finals)
    if final is None:
        return ""
    value = show_number(final.value)
    low, high = show_number(final.low), show_number(final.high)
    if not final.is_range:
        return (
            f"{value} is the interquartile mean of {runs} runs (the mean of the middle half); its "
            f"95% interval, bootstrapped over runs, is <strong>{low} to {high}</strong>."
        )
    if runs > 1:
        return (
            f"{value} is the mean of {runs} runs, which range from <strong>{low}</strong> to "
            f"<strong>{high}</strong>. Fewer than {FEWEST_FOR_INTERVAL} runs are too few for a "
            "confidence interval."
        )
    evaluations = next(r for r in group.records if r.final_return is not None).final_evaluations
    one = "This is one run: another seed may end elsewhere."
    if evaluations[0]["event"] == "handed_over":
        return (
            f"{value} is the return of {escape(describe_handed_over(evaluations[0]))}, which range "
            f"from <strong>{low}</strong> to <strong>{high}</strong>. {one}"
        )
    if len(evaluations) > 1:
        return (
            f"{value} is the mean of the last {len(evaluations)} evaluations, which range from "
            f"<strong>{low}</strong> to <strong>{high}</strong>. {one}"
        )
    return (
        f"{value} is the last evaluation, whose episodes range from <strong>{low}</strong> to "
        f"<strong>{high}</strong>. {one}"
    )

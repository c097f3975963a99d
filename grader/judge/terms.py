"""The words that reports use of themselves, each with what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A word of the reports.

    Attributes:
        title: What it is, in a few words.
        what: What it means; a paragraph.
        looks: Where it stands in a report, or what to do with it; may be empty.
        also: Other words for it, as ids.
        see: Names that have pages too; ``rules``, ``clauses`` and ``verdicts`` stand for all of them.
    """

    title: str
    what: str
    looks: str = ""
    also: tuple[str, ...] = ()
    see: tuple[str, ...] = ()


TERMS: Mapping[str, Term] = {
    "check": Term(
        "One thing that is tried with your function",
        "A check calls your function with inputs of its own and decides one thing: that the answer has the "
        "expected values, that two answers agree, that an argument stays as it is. It belongs to one clause "
        "and is worth some points. The inputs of some are drawn at random, as their names say.",
        "grader explain CLAUSE lists the visible checks of a clause; grader check FILE --case ID runs one "
        "and shows what it prints, --snippet writes it as a small program, --debug steps through it.",
        also=("case", "checks", "test", "drawn", "snippet", "reproduce_it"),
        see=("clause", "hidden", "verdict"),
    ),
    "clause": Term(
        "One demand of the statement",
        "The statement is cut into clauses, and every check belongs to one. So a report can say which demand "
        "is not met, and which ones hold.",
        "grader explain CLAUSE shows what it demands, its checks and the known mistakes in it; grader check "
        "FILE --clause NAME runs its checks alone. What holds least is the clause with the largest share of "
        "failing checks.",
        also=("clauses", "what_holds_least"),
        see=("clauses",),
    ),
    "public": Term(
        "A check that you may see",
        "Of a public, or visible, check everything is shown: its inputs, the expected answer, yours, and how "
        "to run it by itself.",
        also=("visible", "visible_check", "public_check"),
        see=("hidden", "check"),
    ),
    "hidden": Term(
        "A check of which only clause and verdict are shown",
        "A hidden check counts like any other, but its inputs, its answer and its name are not shown, so "
        "that nobody writes code that knows them. It tests a clause that visible checks test too: where it "
        "fails, the visible ones of that clause are the place to look, and the statement.",
        "A hand-out's pack holds none of them; then a report says that they were not run.",
        also=("hidden_check", "hidden_checks"),
        see=("public", "clause"),
    ),
    "policy": Term(
        "What a submission may not use",
        "The exercise asks you to write something yourself, so helpers of libraries that do it are banned. "
        "They are looked for in the source, and in the calls while they run. A finding names the line, and "
        "what to write instead; what it costs stands on the page of the rule.",
        "It stands below the verdict as ✗ policy.",
        also=("banned", "banned_helper", "violation", "finding", "rule", "rules_of_the_policy"),
        see=("rules",),
    ),
    "isolation": Term(
        "How a submission is kept apart from the machine",
        "Your file runs in a process of its own. At the level full it can open no file but the standard "
        "library and the allowed packages, write nothing, reach no network and start no process; at partial "
        "a part of that is missing on this machine; at none it is a process of its own and no more.",
        "It is the last line of a report, with the layers that were there. It moves no points: it matters to "
        "whoever runs files of others. --require-isolation LEVEL refuses to run with less.",
        also=("isolated", "sandbox", "full", "partial", "none", "landlock", "seccomp", "namespaces"),
    ),
    "tolerance": Term(
        "How far a value may be off",
        "Computers round, so values are compared with some room: a check's tolerance is ten times the "
        "largest error that honest arithmetic in single precision was measured to have on that very check, "
        "relative to its largest expected value. What is beyond comes from another formula.",
        '"relative 0.025; 6e-07 is allowed" is the largest error and the tolerance, both as parts of the '
        "largest expected value. grader explain CHECK shows them.",
        also=("allowed", "tolerances", "relative", "rounding"),
        see=("wrong_value",),
    ),
    "counterexample": Term(
        "The smallest input on which it shows",
        "Beside a mistake stands the smallest input that was found for which your answer differs from the "
        "right one: few elements, small whole numbers, so that you can work through it by hand. Where it is "
        "known, the first step after which the two ways part is named too, with both values.",
        'It is the line example of a report in the terminal, and the part "A small example to work through" '
        "of a page. It moves no points.",
        also=("example", "small_example", "counterexamples", "first_step_where_they_part", "minimal_example"),
        see=("influence_map", "mistake"),
    ),
    "influence_map": Term(
        "Which rows of the answer move when an element of the input is changed",
        "One element of an argument after the other is changed, and it is looked which rows of the answer "
        "change with it. A row of the map is the changed element, a column a row of the answer; beside your "
        "map stands that of a right solution. A sign ! marks where they differ: a row that moves though it "
        "should not, or stays though it should move.",
        'It is the line moves of a report in the terminal, and the part "What a change moves" of a page. It '
        "moves no points.",
        also=("influence", "moves", "map", "maps", "influence_maps", "what_a_change_moves"),
        see=("counterexample",),
    ),
    "adjustment": Term(
        "Points given or taken beside the checks",
        "Some points hang on no check: what a banned helper or a late hand-in costs, a cap that an unmet "
        "gate sets, points that your teacher gives or takes by hand. Each has its reason beside it, and all "
        "of them are in the total.",
        "It stands below the verdict as a signed number of points with the reason.",
        also=("adjustments", "deduction", "penalty", "late", "gate", "cap"),
        see=("policy", "score"),
    ),
    "score": Term(
        "The points of the submission",
        "Each check that passes gives its points. Groups of checks may be weighted, and adjustments are "
        "added. A check that fails or is not counted gives none.",
        also=("points", "total", "marks", "extra_credit"),
        see=("adjustment", "skipped", "status"),
    ),
    "status": Term(
        "What became of a submission as a whole",
        "There are four: passed, full marks; failed, less than that; not loadable, the file could not be run "
        "at all, so nothing was checked; grader fault, the grader itself failed, which costs nothing.",
        "It stands beside the name at the top. grader check ends with the status 0 where all passed, 1 where "
        "one did not, 2 where the command or a path is at fault, 3 where the grader failed.",
        see=("failed", "passed", "not_loadable", "grader_fault"),
    ),
    "failed": Term(
        "Less than full marks",
        "The file was loaded and its function called, and at least one check did not pass or points were "
        "taken. How far it got is told by the points.",
        also=("fails", "not_full_marks"),
        see=("status", "verdict"),
    ),
    "verdict": Term(
        "What was decided of one check",
        "Each check has one: it passed, was not counted, or failed in one of the ways below.",
        "It stands in brackets behind the check.",
        also=("verdicts",),
        see=("verdicts",),
    ),
    "mistake": Term(
        "A mistake that is known and was recognized",
        "Many ways to get this exercise wrong were run through all checks beforehand. Your answers are held "
        "against theirs, and a mistake is named where it explains every answer that can tell; two together "
        "where only both do. One that explains most of the wrong answers is named with the remark that "
        "something else is wrong too. Where several can't be told apart all are named, and where none fits, "
        "that is said.",
        '"This explains the answers of 46 of 46 cases" counts the checks that could tell it. It moves no '
        "points. grader explain CLAUSE lists the known mistakes of a clause.",
        also=("mistakes", "diagnosis", "known_mistake", "misconception", "one_of_these", "undiagnosed"),
        see=("counterexample", "clause"),
    ),
    "hint": Term(
        "What to look at where a check fails",
        "A sentence of the exercise's author on the usual reason. It is left out where the mistake is known "
        "to be another.",
        also=("hints",),
    ),
    "note": Term(
        "Something to know that costs no points",
        "For instance which cells of a notebook could not be run, or that small errors have the direction of "
        "a constant with a wrong last digit.",
        also=("notes",),
    ),
}

# Words of reports for verdicts and statuses that are not their ids.
VERDICT_WORDS: Mapping[str, str] = {
    "full_marks": "passed",
    "pass": "passed",
    "holds": "passed",
    "wrong_values": "wrong_value",
    "property_violated": "relation_violated",
    "argument_changed": "input_mutated",
    "answer_shares_memory_with_an_argument": "output_aliases_input",
    "raised_an_exception": "raised",
    "exception": "raised",
    "traceback": "raised",
    "timeout": "timed_out",
    "not_counted": "skipped",
    "fault": "grader_fault",
    "syntax_error": "not_loadable",
}

"""The comparison as a whole."""

from __future__ import annotations

from rlcompare.compare.causes import Evidence, find_causes
from rlcompare.compare.comparability import assess
from rlcompare.compare.inputs import SIDES, CompareOptions, SideInput
from rlcompare.compare.overall import headline_of, overall_metrics, profile_headline
from rlcompare.compare.quality import quality_findings
from rlcompare.compare.rollups import Rollups
from rlcompare.compare.sections import make_sections
from rlcompare.compare.sides import differing_levels, environments, make_sides
from rlcompare.compare.training import have_phases, profiled_steps, rare_phases
from rlcompare.model.diff import Diff


def compare_runs(baseline: SideInput, new: SideInput, options: CompareOptions | None = None) -> Diff:
    """Compare two sides. The same inputs give the same diff, and a side against itself gives no change at all.

    Args:
        baseline: what is compared with.
        new: what is judged.
        options: which steps and ranks, and which differences were meant; everything and none if omitted.

    Raises:
        UsageError: a selected step or rank does not exist.
        InputError: a store cannot be read.
    """
    options = options or CompareOptions()
    given = {"baseline": baseline, "new": new}
    with Rollups(baseline, new, options) as rollups:
        captures = rollups.rows("capture")
        env = environments(rollups.rows("env"), captures)
        training = rollups.rows("training")
        sides = make_sides(given, rollups.rows("layout"), captures, rollups.rows("selected_steps"), training, env)
        times = rollups.rows("time_sample")
        overall = overall_metrics(rollups, {side: len(given[side].stores) for side in SIDES}, times)
        profile, headline = profile_headline(overall), headline_of(overall)
        sections = make_sections(rollups, overall, env, profile)
        measured = [(row["side"], row["domain"]) for row in rollups.rows("measured")]
        timers = rollups.rows("training_phase")
        (match,) = rollups.rows("kernel_match_summary")
        return Diff(
            baseline=sides["baseline"],
            new=sides["new"],
            comparability=assess(
                sides,
                rollups.rows("group_of_captures"),
                match,
                sections["kernels"].matched_share,
                measured,
                training,
                rollups.rows("metric_apart"),
                options.varied,
            ),
            headline=headline,
            overall=overall,
            causes=find_causes(
                Evidence.of(
                    headline,
                    profile,
                    overall,
                    sections,
                    rollups.rows("frequency"),
                    rollups.rows("kernel_phase"),
                    same_level=differing_levels(env) is None,
                    on_device=all(capture["executor"] != "host" for capture in captures),
                    timed_phases=have_phases(timers),
                    rare_phases=rare_phases(timers),
                )
            ),
            quality=quality_findings(
                given,
                rollups.rows("finding"),
                times,
                rollups.rows("reported_gap"),
                rollups.rows("metric_sample"),
                rollups.rows("memory_peak"),
                rollups.rows("idle_step"),
                rollups.rows("uneven_steps"),
                profiled_steps(rollups.rows("profiled_timer"), times),
                rollups.rows("left_out"),
                [delta for delta in overall if delta.metric in (headline, "workload.kernels")],
            ),
            sections=sections,
        )

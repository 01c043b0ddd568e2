"""Symptoms of data that the trained policy did not make: mismatch of rollout and training, staleness, evictions.

A metric with a documented range (``model.health``) is judged by its worst mean of five steps. It is an error if that is
outside the range and worse than the baseline's, else a warning. Any other rise above the baseline is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from rlcompare.compare.health_levels import WINDOW, Level, Pair, Spell, show
from rlcompare.model.diff import ADVICE, Symptom
from rlcompare.model.health import HealthRange, in_range, range_as_logged
from rlcompare.model.words import RuleSeverity, SideName

ERROR, WARN = RuleSeverity.ERROR, RuleSeverity.WARN

WORSE = 0.1
"""A value outside its range is worse than the baseline's if it is so by this part, and by more than the noise."""


class Watch(NamedTuple):
    """How a kind of metric is judged.

    Attributes:
        key: the symptom's.
        low, high: values beyond them are alarming in every release of verl; None: no limit.
        factor: how many times the baseline's the worst mean may be; below 1: for metrics that must not fall.
        floor: the smallest rise that counts.
        centre: the ideal value of a metric that must not move either way: its distance from it is compared.
        strict: whether it is an error if it left its range, or only if it is alarming, too.
        of_tokens: whether ``low`` and ``high`` do not hold for weights of sequences, which are products over tokens.
        explodes: it is an error if it exceeds this value and ten times the baseline's.
        usual: whether medians are compared, because single steps may be many times higher by chance.
    """

    key: str
    low: float | None = None
    high: float | None = None
    factor: float = 3.0
    floor: float = 0.0
    centre: float | None = None
    strict: bool = True
    of_tokens: bool = False
    explodes: float | None = None
    usual: bool = False

    def is_alarming(self, value: float, sign: float) -> bool:
        """Whether a smallest (``sign`` -1) or largest (1) value is beyond the limit at that end."""
        limit = self.low if sign < 0 else self.high
        return limit is not None and sign * (value - limit) > 0


WATCHES = {
    "policy_kl": Watch("health.kl", floor=0.02, explodes=0.5),
    "reference_kl": Watch("health.kl", floor=0.05),
    "rollout_kl": Watch("health.kl", -0.1, 0.1, floor=0.02, centre=0.0),
    "chi2_token": Watch("health.chi2", None, 1.0, floor=0.1),
    "chi2_seq": Watch("health.chi2", factor=10.0, floor=1.0, usual=True),
    "ess": Watch("health.ess", 0.3, None, factor=0.9, of_tokens=True),
    "weight_mean": Watch("health.weights", 0.5, 2.0, floor=0.1, centre=1.0),
    "weight_std": Watch("health.weights", None, 1.0, floor=0.2, of_tokens=True),
    "vetoed": Watch("health.weights", None, 0.5, floor=0.02),
    "weight_lost": Watch("health.weights", None, 0.5, floor=0.02, strict=False),
    "apart": Watch("health.weights", floor=0.01, strict=False),
    "staleness": Watch("health.staleness", factor=2.0, floor=0.2),
    "stale_count": Watch("health.staleness", factor=2.0, floor=0.5),
    "evicted": Watch("health.evictions", factor=2.0, floor=0.5),
    "evicted_count": Watch("health.evictions", factor=2.0, floor=0.5),
    "aborted": Watch("health.evictions", factor=2.0, floor=0.05),
}
"""By ``what`` of ``sql/compare/watched.sql``. The limits are those that verl's documents call alarming."""


def off_policy_symptoms(pair: Pair, env: Mapping[SideName, Mapping[str, str]]) -> Iterator[Symptom]:
    """The symptom of a metric, if it has one.

    Args:
        env: the environment of each side, on which the range of a metric may depend.
    """
    watch = WATCHES.get(pair.new.what)
    if watch is not None:
        found = _outside(pair, watch, env) or _risen(pair, watch)
        if found is not None:
            yield found


def _outside(pair: Pair, watch: Watch, env: Mapping[SideName, Mapping[str, str]]) -> Symptom | None:
    """A worst mean outside the range of the metric: the smallest below it, or the largest above it.

    If both are, the one that is further from the baseline.
    """
    new, baseline = pair.new, pair.baseline
    documented = range_as_logged(new.name, new.given, env["new"])
    ends = (
        (-1.0, new.low, baseline.low[0] if baseline else None, new.spell("low")),
        (1.0, new.high, baseline.high[0] if baseline else None, new.spell("high")),
    )
    found: list[tuple[float, Symptom]] = []
    for sign, (value, step), before, spell in ends:
        if value is None:
            continue
        alarming = watch.is_alarming(value, sign) and not (watch.of_tokens and _of_sequences(env["new"]))
        is_outside = documented is not None and not in_range(value, _end(documented, sign))
        if not is_outside and not alarming:
            continue
        further = None if before is None else sign * (value - before)
        certain = max(pair.window_noise, WORSE * abs(before or 0.0))
        worse = further is not None and further > certain
        error = (worse and (watch.strict or alarming)) or (before is None and alarming)
        ideal = documented.ideal if documented else _limits(watch)
        alike = "" if worse else ", which is worse" if (further or 0.0) < -certain else ", about the same"
        compared = "has none to compare" if before is None else f"has {show(before)}{alike}"
        begun = _begun(spell, sign) if worse else ""
        worst = f"{new.given} is {show(value)} at worst{_window(pair, step)}{begun}"
        advice = f"{ADVICE}{documented.advice}." if documented and is_outside else ""
        text = f"{worst}; the ideal range is {ideal}; the baseline {compared}.{advice}"
        since = spell.since if spell and worse else None
        symptom = pair.symptom(watch.key, ERROR if error else WARN, before, value, since, text)
        found.append((further or 0.0, symptom))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _end(documented: HealthRange, sign: float) -> HealthRange:
    """The range with its lower (``sign`` -1) or upper (1) end alone: a smallest value can only be too small."""
    return replace(documented, high=None) if sign < 0 else replace(documented, low=None)


def _of_sequences(env: Mapping[str, str]) -> bool:
    """Whether weights are those of sequences: the settings of verl since 0.6.1, and of 0.6.0."""
    levels = env.get("algorithm.rollout_correction.rollout_is"), env.get("algorithm.rollout_is_level")
    return "sequence" in levels


def _risen(pair: Pair, watch: Watch) -> Symptom | None:
    """A rise above the baseline, or a fall below it, in steps that both sides have."""
    baseline, new = pair.baseline, pair.new
    if baseline is None:
        return None
    before, now = _furthest(baseline, watch), _furthest(new, watch)
    if before.value is None or now.value is None:
        return None
    noise = 0.0 if watch.usual else pair.window_noise
    if watch.factor < 1:
        moved = before.value - now.value > noise and now.value < watch.factor * before.value
    else:
        moved = now.value - before.value > max(watch.floor, noise) and now.value > watch.factor * max(before.value, 0.0)
    if not moved:
        return None
    exploded = watch.explodes is not None and now.value > watch.explodes and now.value > 10 * before.value
    worst_of_all = new.low if now.sign < 0 else new.high
    is_worst = not watch.usual and now.step == worst_of_all[1]  # else the spell is that of steps that one side lacks
    spell = new.spell("low" if now.sign < 0 else "high") if is_worst else None
    where = " in the median" if watch.usual else f" at worst{_window(pair, now.step)}"
    what = "is" if watch.centre is None else f"deviates from {watch.centre:g} by"
    worst = f"{new.given} {what} {show(now.value)}{where}{_begun(spell, now.sign)}"
    text = f"{worst}; the baseline has {show(before.value)}."
    severity = ERROR if exploded else WARN
    return pair.symptom(watch.key, severity, before.value, now.value, spell.since if spell else None, text)


class _Furthest(NamedTuple):
    """A worst mean of five steps: its value or, with a centre, its distance from it; its first step; and its side."""

    value: float | None
    step: int | None
    sign: float


def _furthest(level: Level, watch: Watch) -> _Furthest:
    low, high = (_Furthest(*level.shared_low, -1.0), _Furthest(*level.shared_high, 1.0))
    if watch.usual:
        return _Furthest(level.median, None, 1.0)
    if watch.factor < 1:
        return low
    if watch.centre is None:
        return high
    ends = [end._replace(value=abs(end.value - watch.centre)) for end in (high, low) if end.value is not None]
    return max(ends, key=lambda end: end.value or 0.0, default=high)


def _window(pair: Pair, step: int | None) -> str:
    """The steps of a mean; nothing if they have no numbers."""
    steps = min(WINDOW, pair.new.steps)
    return "" if step is None else f" (mean of {steps} steps from step {step} on)" if steps > 1 else f" (step {step})"


def _begun(spell: Spell | None, sign: float) -> str:
    """When a metric is beyond the middle between the worst means of both sides."""
    return "" if spell is None else f", {'higher' if sign > 0 else 'lower'} {spell.text}"


def _limits(watch: Watch) -> str:
    ends = [f"{word} {limit:g}" for word, limit in ((">", watch.low), ("<", watch.high)) if limit is not None]
    return " and ".join(ends)

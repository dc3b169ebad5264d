"""
Decides whether a run is slower than an earlier run by more than noise. docs/report.md explains the rules to users.

Each case is matched with the same case of the old run. Its ratio, new time divided by old time, is compared with its
noise: the errors of both medians and the scatter of the ratios of all cases. The scatter counts because two runs of one
program differ by more than the batches within a run. A lower copy bandwidth is attributed to the machine, and so is a
common change of a few per cent in all cases. Both changes are subtracted before a case is judged. A larger common
change appears in the means.
"""
import math
import statistics
from dataclasses import dataclass, field

from . import words
from .groups import operation
from .measures import mean_interval, quantile_for, scatter, standard_error

LEAST = 0.05       # least slow-down of a case that counts as a regression
LEAST_MEAN = 0.04  # least slow-down of a mean over matrices that counts as a regression
COMMON = 0.04      # largest common change of all cases that is attributed to unknown causes
FLOOR = 0.01       # least noise of a case, also if the spreads are smaller
UNKNOWN = 0.02     # noise of a case whose record has no spread
ALARMS = 0.02      # probability of a false alarm in any case of a run
OTHER_MACHINE = 1.5  # ratio of copy bandwidths from which the runs count as from different machines


@dataclass
class Pair:
    """A case in both runs."""
    old: object
    new: object
    noise: float = 0.0   # largest change within the noise, as a logarithm
    verdict: str = "same"  # slower, faster, same, broken (no longer ok), mended (now ok), not judged
    why: str = ""

    @property
    def change(self):
        return math.log(self.new.time_us / self.old.time_us)


@dataclass
class Mean:
    """The mean change over the matrices of a class."""
    name: str
    matrices: int
    mean: float   # as a logarithm
    half: float   # half the width of the 99 % interval; None with too few matrices
    verdict: str


@dataclass
class Comparison:
    status: str = "ok"  # ok, regression, incomparable
    reason: str = ""
    pairs: list = field(default_factory=list)
    means: list = field(default_factory=list)
    new: list = field(default_factory=list)
    vanished: list = field(default_factory=list)
    copy_old: float = None
    copy_new: float = None

    def of(self, *verdicts):
        return [pair for pair in self.pairs if pair.verdict in verdicts]

    @property
    def drift(self):
        """The machine's slow-down, measured by its copy bandwidth, as a logarithm; 0 if unknown."""
        return math.log(self.copy_old / self.copy_new) if self.copy_old and self.copy_new else 0.0


def key_of(case):
    """Returns the key that matches cases of two runs. auto's key has no kernel, since its choice may change."""
    kernel = "auto" if case.is_auto else case.kernel
    return (operation(case), case.matrix, case.rows, case.columns, case.nnz, case.type, case.index, case.device,
            case.ordering, case.threads, case.format, kernel, bool(case.peer), case.state,
            case.policy if case.is_auto else None)


def _by_key(cases):
    found = {}
    for case in cases:
        if case.op and case.matrix:
            found.setdefault(key_of(case), case)
    return found


def _median_copy(cases):
    rates = sorted(case.copy_gbps for case in cases if case.copy_gbps)
    return rates[len(rates) // 2] if rates else None


def _own_noise(case):
    error = standard_error(case.spread_us, case.runs, case.time_us)
    return UNKNOWN if error is None else error


def _judge_status(pair):
    """Judges a pair by status. Returns True if the status decides, False if times must be compared."""
    old, new = pair.old, pair.new
    if old.ran and new.status in ("wrong", "failed"):
        pair.verdict, pair.why = "broken", f"is {new.status} now: {new.reason or 'no reason was given'}"
    elif old.status in ("wrong", "failed") and new.ran:
        pair.verdict, pair.why = "mended", f"was {old.status}"
    elif not (old.ran and new.ran):
        pair.verdict = "not judged"
        pair.why = "" if old.status == new.status else f"was {old.status}, is {new.status} now"
    elif old.disturbed or new.disturbed:
        pair.verdict, pair.why = "not judged", "disturbed"
    else:
        return False
    return True


def _judge_times(pairs, drift):
    """Judges pairs that have times in both runs."""
    if not pairs:
        return
    changes = [pair.change for pair in pairs]
    between, common = FLOOR, 0.0
    if len(pairs) >= 8:  # with fewer cases, estimates of scatter and common change are too inaccurate
        between = max(FLOOR, scatter(changes) * (1 + 1.2 / math.sqrt(len(pairs))))
        common = max(-COMMON, min(statistics.median(changes), COMMON))
    deviations = quantile_for(ALARMS / len(pairs))
    for pair in pairs:
        pair.noise = deviations * math.sqrt(_own_noise(pair.old) ** 2 + _own_noise(pair.new) ** 2 + between ** 2)
        beyond = max(pair.noise, math.log1p(LEAST))
        if pair.change - (max(drift, common) if drift > 0 else common) > beyond:
            pair.verdict = "slower"
        elif pair.change - (min(drift, common) if drift < 0 else common) < -beyond:
            pair.verdict = "faster"


def _mean(name, pairs, drift):
    """Returns the mean change. Averages per matrix first, because cases of one matrix are not independent."""
    matrices = {}
    for pair in pairs:
        matrices.setdefault(pair.new.matrix, []).append(pair.change)
    mean, half = mean_interval([math.fsum(changes) / len(changes) for changes in matrices.values()])
    beyond = math.inf if half is None else max(half, math.log1p(LEAST_MEAN))
    verdict = "slower" if min(mean, mean - drift) > beyond else "faster" if max(mean,
                              mean - drift) < -beyond else "same"
    return Mean(name, len(matrices), mean, half, verdict)


def _means(pairs, drift):
    """Returns the means for each operation, type and device: of each class of matrices, and of all."""
    groups = {}
    for pair in pairs:
        if not pair.new.peer:
            about = ", ".join((operation(pair.new), pair.new.type, pair.new.device))
            for class_ in (pair.new.class_, "all matrices"):
                if class_:
                    groups.setdefault((about, class_), []).append(pair)
    return [_mean(f"{about}: {class_}", members, drift) for (about, class_), members in groups.items()]


def _decide(c):
    """Sets the comparison's verdict. Slower peers are reported but do not count."""
    slower = [pair for pair in c.of("slower") if not pair.new.peer]
    broken = [pair for pair in c.of("broken") if not pair.new.peer]
    means = [mean for mean in c.means if mean.verdict == "slower"]
    reasons = []
    if broken:
        are = "are" if len(broken) > 1 else "is"
        reasons.append(f"{words.some(len(broken), 'case')} that ran before {are} wrong or "
                       "failed now")
    if slower:
        are = "are" if len(slower) > 1 else "is"
        reasons.append(f"{words.some(len(slower), 'case')} {are} slower beyond the noise")
    if means:
        reasons.append("the mean is slower beyond its interval of "
                       + words.listed([mean.name for mean in means], 3))
    if reasons:
        c.status, c.reason = "regression", "; ".join(reasons)
    elif not any(pair.verdict != "not judged" for pair in c.pairs):
        c.status, c.reason = "incomparable", "no case could be judged: " + _why_none(c)
    else:
        c.reason = "no case is slower beyond the noise"


def _why_none(c):
    if any(pair.why == "disturbed" for pair in c.pairs):
        return "other programs disturbed every one; measure again with nothing else running"
    if not c.pairs:
        return "both runs have no case in common"
    return "none ran in both runs"


def compare(old_cases, new_cases):
    old, new = _by_key(old_cases), _by_key(new_cases)
    c = Comparison(copy_old=_median_copy(old_cases), copy_new=_median_copy(new_cases))
    c.pairs = [Pair(old[key], case) for key, case in new.items() if key in old]
    c.new = [case for key, case in new.items() if key not in old]
    c.vanished = [case for key, case in old.items() if key not in new]
    timed = [pair for pair in c.pairs if not _judge_status(pair)]
    if abs(c.drift) > math.log(OTHER_MACHINE):
        c.status = "incomparable"
        c.reason = (f"the copy bandwidth is {words.gbps(c.copy_new)} and was {words.gbps(c.copy_old)}: another "
                    "machine, or "
                    "one that was busy")
        for pair in c.pairs:
            pair.verdict, pair.why = "not judged", "another machine"
        return c
    _judge_times(timed, c.drift)
    c.means = _means(timed, c.drift)
    _decide(c)
    return c


# ---- the verdict as text ----------------------------------------------------------------------------

MOST_LINES = 20


def change(log):
    """Formats a change: +10.7 %."""
    return f"{100 * math.expm1(log):+.1f} %"


def interval(mean):
    """Returns the interval of a mean as text."""
    if mean.half is None:
        return "one matrix has no interval"
    return f"from {change(mean.mean - mean.half)} to {change(mean.mean + mean.half)}"


def case_name(case):
    kernel = "auto" if case.is_auto else case.kernel or case.format or "not known"
    ordering = f" after {case.ordering}" if case.ordering not in (None, "none") else ""
    return f"{case.matrix}, {operation(case)}, {case.type}, {case.device}: {kernel}{ordering}"


def _pair_line(pair):
    if not (pair.old.ran and pair.new.ran):
        return f"  {case_name(pair.new)}: {pair.why}"
    return (f"  {change(pair.change):>9}  {case_name(pair.new)}: {pair.old.time_us:.4g} us, "
            f"now {pair.new.time_us:.4g} us; noise {100 * math.expm1(pair.noise):.1f} %")


def _pair_line_of_why(pair):
    return f"  {case_name(pair.new)}: {pair.why}"


def _part(title, lines):
    if not lines:
        return []
    more = [f"  and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return [f"{title}:"] + lines[:MOST_LINES] + more


def text(c):
    """Returns the text for standard output."""
    judged = [pair for pair in c.pairs if pair.verdict != "not judged"]
    slower = sorted(c.of("slower"), key=lambda p: -p.change)
    faster = sorted(c.of("faster"), key=lambda p: p.change)
    disturbed = sum(pair.why == "disturbed" for pair in c.pairs)
    lines = [f"compared {words.some(len(judged), 'case')}: {len(slower)} slower, {len(faster)} faster, "
             f"{len(c.of('same'))} the same within the noise"]
    if disturbed:
        lines.append(f"not judged: {words.some(disturbed, 'case')} that other programs disturbed")
    gone = [pair for pair in c.pairs if pair.verdict == "not judged" and pair.why not in ("", "disturbed")]
    lines += _part("ran in only one run", [_pair_line_of_why(pair) for pair in gone])
    if c.copy_old and c.copy_new:
        lines.append(f"copy bandwidth: {c.copy_new:.3g} GB/s, before {c.copy_old:.3g} GB/s")
    lines += _part("wrong or failed now", [_pair_line(pair) for pair in c.of("broken")])
    lines += _part("slower", [_pair_line(pair) for pair in slower])
    lines += _part("faster", [_pair_line(pair) for pair in faster])
    lines += _part("mean of new time over old time, by matrix (interval of 99 %)",
                   [f"  {change(mean.mean):>9}  {mean.name}, {words.some(mean.matrices, 'matrix', 'matrices')}: "
                    f"{interval(mean)}" for mean in c.means])
    lines += _part("new, and not in the old run", ["  " + case_name(case) for case in c.new])
    lines += _part("only in the old run", ["  " + case_name(case) for case in c.vanished])
    title = {"ok": "no regression", "regression": "regression", "incomparable": "not comparable"}[c.status]
    return "\n".join(lines + [f"verdict: {title}: {c.reason}"]).replace("\u202f", " ") + "\n"

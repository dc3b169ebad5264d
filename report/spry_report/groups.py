"""
Groups of comparable cases: one operation, type and device. A group is a table with competitors (our kernels, peers and
auto) as rows and subjects as columns. A subject is a matrix in one file of records, because times of two runs are not
compared.
"""
from dataclasses import dataclass

from .measures import geometric_mean


@dataclass(eq=False)
class Subject:
    """A matrix in a file of records."""
    matrix: str
    path: str
    source: int
    class_: str
    rows: float
    columns: float
    nnz: float
    label: str

    @property
    def identity(self):
        """Key that distinguishes matrices with the same name."""
        return (self.matrix, self.path, self.rows, self.columns, self.nnz)


@dataclass(eq=False)
class Competitor:
    label: str
    peer: bool  # another library
    loop: bool  # the textbook loop: neither another library nor a kernel of Spry's library
    is_auto: bool
    format: str

    @property
    def kind(self):
        return "peer" if self.peer else "loop" if self.loop else "auto" if self.is_auto else "ours"

    @property
    def is_spry(self):
        return not self.peer and not self.loop


def operation(case):
    """Returns the operation's name, with the number and layout of vectors if there is more than one."""
    if case.count is None:
        return case.op or "not known"
    return f"{case.op} of {case.count:g} vectors" + (f", {case.layout}-major" if case.layout else "")


def group_key(case):
    return (operation(case), case.type, case.device, case.index, case.state)


def _name(case, with_threads):
    """Returns the competitor's name: the kernel, and settings that its name does not contain."""
    if case.is_auto:
        name = "auto" if case.policy in (None, "cost") else f"auto ({case.policy})"
    else:
        name = case.kernel or case.format or "not known"
        if ":" in (case.format or "") or case.format == "plan":
            name += f" [{case.format}]"
    if case.ordering not in (None, "none"):
        name += f" after {case.ordering}"
    if with_threads and case.threads is not None:
        name += f", {case.threads:g} thread" + ("s" if case.threads != 1 else "")
    return name


def case_key(case):
    """Returns the key of a case within a run, without the number of threads."""
    return group_key(case) + (case.source, case.matrix, _name(case, False), bool(case.peer))


class Group:
    """Cases by (subject, competitor)."""

    def __init__(self, key, title):
        self.key, self.title = key, title
        self.subjects, self.competitors = [], []
        self.cells = {}
        self.slug = ""
        self.repeated = 0
        self._best, self._ranked = {}, []

    def finish(self, number):
        """Removes subjects and competitors that never ran, and ranks the rest. Call it after adding all cases."""
        self.slug = f"g{number}"
        timed = [place for place, case in self.cells.items() if case.ran]
        for subject, competitor in timed:
            time = self.cells[subject, competitor].time_us
            self._best[subject] = min(time, self._best.get(subject, time))
        ran = {competitor for _, competitor in timed}
        self.subjects = [subject for subject in self.subjects if subject in self._best]
        self.competitors = [competitor for competitor in self.competitors if competitor in ran]
        self._ranked = sorted(self.competitors, key=lambda c: (-self.count_ran(c), self.mean_factor(c), c.label))

    def case(self, subject, competitor):
        return self.cells.get((subject, competitor))

    def time(self, subject, competitor):
        case = self.case(subject, competitor)
        return case.time_us if case and case.ran else None

    def factors(self, competitor, subjects=None):
        """Returns the competitor's time divided by the best time for each subject; None if it did not run."""
        return [self.factor(subject, competitor) for subject in (self.subjects if subjects is None else subjects)]

    def factor(self, subject, competitor):
        time = self.time(subject, competitor)
        return None if time is None else time / self._best[subject]

    def best(self, subject, choose=lambda competitor: True):
        """Returns the fastest of the chosen competitors; None if none ran."""
        timed = [(self.time(subject, c), n) for n, c in enumerate(self.competitors) if choose(c)]
        timed = [(time, n) for time, n in timed if time is not None]
        return self.competitors[min(timed)[1]] if timed else None

    def won(self, competitor, subjects=None):
        """Returns how often the competitor was the fastest. auto and the kernel that it chose may both win."""
        return sum(factor is not None and factor <= 1 for factor in self.factors(competitor, subjects))

    def was_tried(self, competitor):
        return all(self.case(subject, competitor) for subject in self.subjects)

    def mean_factor(self, competitor, subjects=None):
        return geometric_mean(f for f in self.factors(competitor, subjects) if f is not None)

    def count_ran(self, competitor, subjects=None):
        return sum(f is not None for f in self.factors(competitor, subjects))

    def ranked(self):
        """Returns the competitors, sorted by the number of subjects on which they ran, then by their mean."""
        return self._ranked

    def best_of_formats(self):
        """Returns our first-ranked kernel of each format, all peers, and auto, in the order of ranks."""
        found, formats = [], set()
        for competitor in self.ranked():
            if competitor.kind == "ours":
                if competitor.format in formats:
                    continue
                formats.add(competitor.format)
            found.append(competitor)
        return found

    def copy_gbps(self):
        """Returns the distinct copy bandwidths of the group's runs, sorted."""
        return sorted({case.copy_gbps for case in self.cells.values() if case.copy_gbps})


def _titles(keys):
    """Returns a title for each group. Index pairs and cache states are included only if they differ."""
    all_indices, all_states = {key[3] for key in keys}, {key[4] for key in keys if key[4]}
    titles = {}
    for key in keys:
        op, type_, device, index, state = key
        parts = [op, type_, device]
        if len(all_indices) > 1:
            parts.append(f"{index} bits")
        if len(all_states) > 1 and state:
            parts.append(f"{state} caches")
        titles[key] = ", ".join(part for part in parts if part)
    return titles


def _needs_threads(cases):
    """Returns (group, name) of the competitors that were measured with more than one number of threads."""
    threads = {}
    for case in cases:
        threads.setdefault(case_key(case), set()).add(case.threads)
    return {(group_key(case), _name(case, False)) for case in cases if len(threads[case_key(case)]) > 1}


def _label(case, places, sources):
    """Returns the matrix's name. If it is not unique, adds the matrix's path or the file of records."""
    found = places[case.matrix]
    if len({path for source, path in found if source == case.source}) > 1:
        return f"{case.matrix} ({case.path})"
    return f"{case.matrix} ({sources[case.source]})" if len({source for source, _ in found}) > 1 else case.matrix


def make_groups(cases, sources):
    """Returns the groups that have times, in the order of first appearance. sources: names of the files."""
    timed = [case for case in cases if case.op and case.matrix]
    several = _needs_threads(timed)
    places = {}
    for case in timed:
        places.setdefault(case.matrix, set()).add((case.source, case.path))
    keys = list(dict.fromkeys(group_key(case) for case in timed if case.ran))
    titles = _titles(keys)
    groups = {key: Group(key, titles[key]) for key in keys}
    subjects, competitors = {}, {}
    for case in timed:
        key = _home(case, groups)
        if key is None:
            continue
        group = groups[key]
        name = _name(case, (group_key(case), _name(case, False)) in several)
        subject_key = (key, case.source, case.matrix, case.path)
        if subject_key not in subjects:
            subjects[subject_key] = Subject(case.matrix, case.path, case.source, case.class_, case.rows, case.columns,
                                            case.nnz, _label(case, places, sources))
            group.subjects.append(subjects[subject_key])
        competitor_key = (key, name, bool(case.peer))
        if competitor_key not in competitors:
            format_ = (case.format or "").split(":")[0]
            competitors[competitor_key] = Competitor(name, case.is_rival, bool(case.peer) and not case.is_rival,
                                                      case.is_auto, format_)
            group.competitors.append(competitors[competitor_key])
        place = (subjects[subject_key], competitors[competitor_key])
        if place in group.cells:
            group.repeated += 1
        else:
            group.cells[place] = case
    for number, group in enumerate(groups.values(), 1):
        group.finish(number)
    return list(groups.values())


def _home(case, groups):
    """Returns the key of a case's group. A case that did not run may lack fields, which then match any group."""
    key = group_key(case)
    if key in groups:
        return key
    if case.ran:
        return None
    fits = [k for k in groups if all(a in (None, b) for a, b in zip(key, k))]
    return fits[0] if fits else None

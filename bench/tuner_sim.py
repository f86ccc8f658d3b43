#!/usr/bin/env python3
"""The tables of a run in bench/runs/ and the missed aims, from `inrush-testbed simulate … --csv
FILE`.

    bench/tuner_sim.py NEW.csv BEFORE.csv     the same scenarios with the tuner now and before
"""

import csv
import statistics
import sys

# A controller is better from this difference on.
BETTER = 0.02


def scenarios(path):
    """The runs of each scenario by controller."""
    found = {}
    with open(path) as file:
        for row in csv.DictReader(file):
            found.setdefault(row["scenario"], {}).setdefault(row["controller"], []).append(row)
    return found


def values(rows, field):
    return [float(row[field]) for row in rows if row[field]]


def mean(rows, field):
    return statistics.mean(values(rows, field))


def table(found, before):
    controllers = list(next(iter(found.values())))
    columns = ["scenario", "before", "auto", "worst seed", "whole run", "rejected", "settled, s", "fairness", "p99 ms, best cell's", *controllers[1:]]
    yield "| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|"
    for name, runs in found.items():
        auto = runs["auto"]
        fairness = values(auto, "fairness")
        cells = [name, f"{mean(before[name]['auto'], 'ratio'):.3f}", f"{mean(auto, 'ratio'):.3f}", f"{min(values(auto, 'ratio')):.3f}", f"{mean(auto, 'whole_run_ratio'):.3f}", f"{100 * mean(auto, 'rejected_ratio'):.2f} %",
                 f"{max(values(auto, 'settle_seconds')):.1f}", f"{min(fairness):.2f}" if fairness else "",
                 f"{mean(auto, 'p99_latency_ms'):.0f}, {mean(auto, 'best_p99_latency_ms'):.0f}", *(f"{mean(runs[other], 'ratio'):.2f}" for other in controllers[1:])]
        yield "| " + " | ".join(cells) + " |"


def missed(found, before):
    worse = [f"{name} {mean(before[name]['auto'], 'ratio'):.3f} to {mean(runs['auto'], 'ratio'):.3f}" for name, runs in found.items()
             if mean(runs["auto"], "ratio") < mean(before[name]["auto"], "ratio") - BETTER]
    yield f"worse than before by more than {BETTER}: {', '.join(worse) or 'none'}"

    def below(field, least):
        return ", ".join(f"{name} {mean(runs['auto'], field):.3f}" for name, runs in found.items() if mean(runs["auto"], field) < least) or "none"

    yield f"{len(found)} scenarios; mean {statistics.mean(mean(runs['auto'], 'ratio') for runs in found.values()):.3f}"
    yield f"below 0.95 after 10 s: {below('ratio', 0.95)}"
    yield f"below 0.90 over the whole run: {below('whole_run_ratio', 0.9)}"
    for field, least in (("ratio", 0.95), ("whole_run_ratio", 0.9)):
        every = sum(min(values(runs["auto"], field)) >= least for runs in found.values())
        yield f"{field} at least {least} on every seed: {every} of {len(found)}"
    seeds = [f"{name} {min(values(runs['auto'], 'ratio')):.2f}" for name, runs in found.items() if min(values(runs["auto"], "ratio")) < 0.9]
    yield f"a seed below 0.90: {', '.join(seeds) or 'none'}"
    for name, runs in found.items():
        if mean(runs["auto"], "rejected_ratio") >= 0.01 or (values(runs["auto"], "fairness") and min(values(runs["auto"], "fairness")) < 0.9):
            yield f"{name}: rejected {100 * mean(runs['auto'], 'rejected_ratio'):.2f} %, fairness {values(runs['auto'], 'fairness')}"
    for other in list(next(iter(found.values())))[1:]:
        better = [name for name, runs in found.items() if mean(runs[other], "ratio") > mean(runs["auto"], "ratio") + BETTER]
        by_any = sum(mean(runs[other], "ratio") > mean(runs["auto"], "ratio") for runs in found.values())
        yield f"{other} is better on {by_any}, by more than {BETTER} on {len(better)}: {', '.join(better)}"
    # In a scenario without steps this is the time of the start.
    yield f"longest to 90 %: {sorted(((max(values(runs['auto'], 'settle_seconds')), name) for name, runs in found.items()), reverse=True)[:6]}"


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    found, before = scenarios(sys.argv[1]), scenarios(sys.argv[2])
    print(*table(found, before), "", *missed(found, before), sep="\n")


if __name__ == "__main__":
    main()

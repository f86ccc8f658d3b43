#!/usr/bin/env python3
"""The picture docs/tuner/distribution.svg and the tables of its run in bench/runs/, from the CSV
files of `inrush-testbed simulate --random … --csv FILE`.

    bench/tuner_pictures.py docs/tuner/distribution.svg RUN.csv OUTPUT.txt
    bench/tuner_pictures.py --run docs/tuner/delay-step.svg TRACE

The first one prints the tables, too; its third file is the output of the same command. The second
one draws a single run, from `inrush-testbed simulate SCENARIO --trace TRACE`.
"""

import csv
import json
import statistics
import sys

WIDTH, HEIGHT, LEFT, TOP = 760, 320, 60, 30
LEAST, MOST = 0.5, 1.05
COLORS = ["#06c", "#c60", "#393", "#999"]


def ratios(path, controller, field="ratio"):
    with open(path) as file:
        return sorted(float(row[field]) for row in csv.DictReader(file) if row["controller"] == controller)


def quantile(values, part):
    return values[round((len(values) - 1) * part)]


def kinds(path):
    """The rows of the tables by kind, by controller."""
    found, rows = {}, None
    with open(path) as file:
        for line in file:
            if " runs " in line and " worst " in line:
                rows = found.setdefault(line.split()[0], {})
            elif not line.strip():
                rows = None
            elif rows is not None:
                rows[line[:18].strip()] = line[18:].split()
    return found


def by_kind(path):
    found = kinds(path)
    own, other = found["auto"], found["gradient2"]
    yield "| kind | runs | worst | 10 % | median | whole run, worst | 10 % | p99, ms | Gradient2: worst | 10 % | median | p99, ms |"
    yield "|---" * 12 + "|"
    for kind, row in own.items():
        runs, worst, _, tenth, median, _, whole, whole_tenth, _, p99 = row
        g = other[kind]
        yield f"| {kind} | {runs} | {worst} | {tenth} | {median} | {whole} | {whole_tenth} | {p99} | {g[1]} | {g[3]} | {g[4]} | {g[9]} |"


def searches(path):
    """99th percentile of the searches' time with the other controllers, as a multiple of `gentle`."""
    found = {}
    with open(path) as file:
        for row in csv.DictReader(file):
            if row["tenant_p99_ms"]:
                found.setdefault((row["scenario"], row["seed"]), {})[row["controller"]] = row
    runs = [run for run in found.values() if "gentle" in run]
    yield "| with searches | runs | p99 of searches, median, ms | 90 % below, ms | throughput, median of the best |"
    yield "|---|---|---|---|---|"
    for name in ("gentle", "auto", "gradient2", "vector"):
        p99 = sorted(float(run[name]["tenant_p99_ms"]) for run in runs)
        rate = sorted(float(run[name]["ratio"]) for run in runs)
        if runs:
            yield f"| {name} | {len(runs)} | {quantile(p99, 0.5):.0f} | {quantile(p99, 0.9):.0f} | {quantile(rate, 0.5):.2f} |"


def picture(series):
    def x(part):
        return LEFT + part * WIDTH

    def y(value):
        return TOP + HEIGHT * (MOST - min(max(value, LEAST), MOST)) / (MOST - LEAST)

    yield f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {LEFT + WIDTH + 30} {TOP + HEIGHT + 60}' font-family='sans-serif' font-size='12'>"
    yield "<rect width='100%' height='100%' fill='white'/>"
    for tenth in range(5, 11):
        value = tenth / 10
        yield f"<path d='M{LEFT} {y(value):.1f}H{LEFT + WIDTH}' stroke='#ddd'/><text x='{LEFT - 8}' y='{y(value) + 4:.1f}' text-anchor='end'>{value:.1f}</text>"
    for percent in range(0, 101, 10):
        yield f"<text x='{x(percent / 100):.0f}' y='{TOP + HEIGHT + 18}' text-anchor='middle'>{percent} %</text>"
    yield f"<text x='{LEFT}' y='18'>throughput after 10 s, as a part of the best fixed setting (below 0.5: drawn at 0.5)</text>"
    yield f"<text x='{LEFT}' y='{TOP + HEIGHT + 38}'>runs, the worst first</text>"
    for number, (name, values) in enumerate(series):
        points = " ".join(f"{x(at / max(len(values) - 1, 1)):.1f},{y(value):.1f}" for at, value in enumerate(values))
        yield f"<polyline points='{points}' fill='none' stroke='{COLORS[number]}' stroke-width='1.8'/>"
        yield f"<text x='{LEFT + WIDTH - 200}' y='{TOP + HEIGHT - 90 + 20 * number}' fill='{COLORS[number]}'>{name}</text>"
    yield "</svg>"


def seconds(time):
    return time["secs"] + time["nanos"] / 1e9


def run_picture(path):
    """Accepted MB a second, requests in flight and MiB of a batch over time."""
    rate, plans = {}, []
    with open(path) as file:
        for line in file:
            entry = json.loads(line)
            if "plan" in entry and not plans:
                plans.append((0.0, entry["plan"]))
            elif "sample" in entry:
                sample = entry["sample"]
                half = int(2 * seconds(sample["now"]))
                rate[half] = rate.get(half, 0) + sample["bytes"] * sample["accepted"] / max(sample["docs"], 1) / 5e5
            else:
                decision = entry.get("decision", entry)
                if "to" in decision:
                    plans.append((seconds(decision["at"]), decision["to"]))
    end = min(max(rate), 119) / 2
    panels = [("MB a second", sorted((half / 2, value) for half, value in rate.items() if half / 2 < end)), ("requests in flight", [(at, plan["in_flight"]) for at, plan in plans]),
              ("batch, MiB", [(at, plan["batch_bytes"] / 2**20) for at, plan in plans])]
    yield "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 860 480' font-family='sans-serif' font-size='12'>"
    yield "<rect width='100%' height='100%' fill='white'/>"
    for number, (label, points) in enumerate(panels):
        top, most = 30 + 145 * number, max(value for _, value in points)
        steps = "".join(f"H{LEFT + at / end * WIDTH:.1f}V{top + 110 * (1 - value / most):.1f}" for at, value in points if at <= end)
        yield f"<text x='{LEFT}' y='{top - 6}'>{label}, up to {most:.1f}</text><path d='M{LEFT} {top + 110}h{WIDTH}' stroke='#999'/>"
        yield f"<path d='M{LEFT} {top + 110}{steps}H{LEFT + WIDTH}' fill='none' stroke='#06c' stroke-width='1.2'/>"
    for tick in range(0, int(end) + 1, 10):
        yield f"<text x='{LEFT + tick / end * WIDTH:.0f}' y='465' text-anchor='middle'>{tick} s</text>"
    yield "</svg>"


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--run":
        with open(sys.argv[2], "w") as file:
            file.write("\n".join(run_picture(sys.argv[3])) + "\n")
        return
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    out, new, output = sys.argv[1:]
    named = [("inrush", new, "auto"), ("Gradient2", new, "gradient2"), ("Vector", new, "vector")]
    print("| | runs | worst | 5 % | 10 % | median | mean | whole run, worst | 10 % | median |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, path, controller in named:
        steady, whole = ratios(path, controller), ratios(path, controller, "whole_run_ratio")
        cells = [steady[0], quantile(steady, 0.05), quantile(steady, 0.1), quantile(steady, 0.5), statistics.mean(steady), whole[0], quantile(whole, 0.1), quantile(whole, 0.5)]
        print(f"| {name} | {len(steady)} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
    print("", *by_kind(output), "", *searches(new), sep="\n")
    with open(out, "w") as file:
        file.write("\n".join(picture([(name, ratios(path, controller)) for name, path, controller in named])) + "\n")


if __name__ == "__main__":
    main()

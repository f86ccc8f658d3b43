#!/usr/bin/env python3
"""A series of `run.py` as a table in Markdown.

The table has medians of the complete rounds. The last column is how many times as long as the first
loader (inrush) each one took, paired by rounds, with 95 % intervals by bootstrap. With five rounds
or fewer the interval is lowest to highest, which holds the true median with 94 % for five, 88 % for
four and 75 % for three rounds. A loader that lost documents or failed has no ratio. --svg also
draws a bar for each median, with a line from the lowest to the highest round.

    bench/peers/table.py bench/runs/2026-11-22-peers/peers.csv null-lines [--svg bench/runs/2026-11-23-peers/null-lines.svg]
"""

import argparse
import csv
import pathlib
import statistics
import sys
from html import escape

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from tuner import interval


def series(path, label):
    """The compared runs in their order: (tool, setting), and the rows of its rounds."""
    runs = {}
    with open(path) as file:
        for row in csv.DictReader(file):
            if (row["label"], row["phase"]) == (label, "compare"):
                runs.setdefault((row["tool"], row["setting"]), {})[int(row["round"])] = row
    if not runs:
        raise SystemExit(f"{path} has no rounds of {label}")
    complete = sorted(set.intersection(*(set(rounds) for rounds in runs.values())))
    if not complete:
        raise SystemExit(f"no round of {label} is complete")
    runs = {run: [rounds[number] for number in complete] for run, rounds in runs.items()}
    # Rounds are shuffled, so the order of the file says nothing.
    return dict(sorted(runs.items(), key=lambda run: (run[0][0] != "inrush", middle(run[1], last(runs)))))


def last(runs):
    """The end that loaders are compared by: searchable, or green where a replica was waited for."""
    waited = any(float(row["green_s"]) > float(row["searchable_s"]) for rows in runs.values() for row in rows)
    return "green_s" if waited else "searchable_s"


def middle(rows, field):
    return statistics.median(float(row[field]) for row in rows)


def rates(rows, field="searchable_s"):
    """Documents that arrived, a second."""
    return [min(int(row["arrived"]), int(row["docs"])) / float(row[field]) for row in rows]


def taken(rows):
    """The most documents that arrived in any run. The mapping refuses the others."""
    return max(min(int(row["arrived"]), int(row["docs"])) for row in rows)


def whole(row, wanted):
    """Whether the `wanted` documents arrived, and the tool reports so.

    A tool whose end says that some were refused is right if some were.
    """
    ended = row["exit"] in ("0", 0) or wanted < int(row["docs"])
    return int(row["arrived"]) >= wanted and not int(row.get("missing") or 0) and ended


def off(row, wanted):
    """Missing documents and duplicates; the tool's own count, if it differs; its bad end, if
    any."""
    arrived, reported = int(row["arrived"]), row["reported"]
    said = [f"said {int(reported):,} of {arrived:,}"] if reported and int(reported) != arrived else []
    said += [f"exit status {row['exit']}"] if row["exit"] != "0" else []
    more = f" ({', '.join(said)})" if said else ""
    if row.get("missing"):
        return f"-{int(row['missing']):,} +{int(row['twice']):,}{more}" if any(map(int, (row["missing"], row["twice"]))) or said else ""
    return f"{arrived - wanted:+,}{more}" if arrived != wanted else ", ".join(said)


def table(runs):
    first = next(iter(runs.values()))
    builds = {row.get("build") for rows in runs.values() for row in rows}
    docs, wanted = int(first[0]["docs"]), taken(row for rows in runs.values() for row in rows)
    refused = f", {docs - wanted:,} of which the server refuses" if wanted < docs else ""
    yield f"{docs:,} documents{refused}, {len(first)} rounds{f', {len(builds)} builds of inrush' if len(builds) > 1 else ''}\n"
    ends = {"seconds": "docs/s to its end", "searchable_s": "to searchable", "green_s": "to green"}
    end = last(runs)
    ends = dict(list(ends.items())[: list(ends).index(end) + 1])
    costs = {"client_cpu_s": "client CPU, s", "client_peak_mib": "peak resident, MiB", "client_anon_mib": "without pages of files", "server_cpu_s": "server CPU, s"}
    costs = {field: title for field, title in costs.items() if all(row.get(field) for rows in runs.values() for row in rows)}
    columns = ["loader", "setting", *ends.values(), *costs.values(), "missing (-) or twice (+)", f"times inrush's time, {list(ends.values())[-1]}"]
    yield "| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|"
    for (tool, setting), rows in runs.items():
        ratios = [float(row[end]) / float(base[end]) for row, base in zip(rows, first)]
        ratio = "" if rows is first or not all(whole(row, wanted) for row in rows) else "%.2f" % ratios[0] if len(ratios) == 1 else "%.2f (%.2f to %.2f)" % interval(ratios)
        wrong = [off(row, wanted) or "0" for row in rows]
        wrong = "none" if set(wrong) == {"0"} else f"{wrong[0]} in each" if len(set(wrong)) == 1 else ", ".join(wrong)
        speeds = [f"{statistics.median(rates(rows, field)):,.0f}" for field in ends]
        used = [f"{middle(rows, field):.{0 if field.endswith('_mib') else 1}f}" for field in costs]
        yield "| " + " | ".join([tool, setting, *speeds, *used, wrong, ratio]) + " |"


def svg(runs, title):
    """Bars of documents a second, to searchable or to green."""
    left, width, step = 300, 460, 26
    end = last(runs)
    most = max(max(rates(rows, end)) for rows in runs.values())
    height = 40 + step * len(runs)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 110} {height}" font-family="sans-serif" font-size="13">'
    yield f'<rect width="100%" height="100%" fill="white"/><text x="10" y="22" font-size="15">{escape(title)}</text>'
    for place, ((tool, setting), rows) in enumerate(runs.items()):
        y = 36 + step * place
        speed, low, high = statistics.median(rates(rows, end)), min(rates(rows, end)), max(rates(rows, end))
        x = [left + width * value / most for value in (low, high, speed)]
        name = tool if setting == "defaults" else f"{tool}, {setting}"
        yield f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>'
        yield f'<rect x="{left}" y="{y}" width="{x[2] - left:.1f}" height="18" fill="{"#d9480f" if tool == "inrush" else "#868e96"}"/>'
        yield f'<path d="M{x[0]:.1f} {y + 9}H{x[1]:.1f}" stroke="black"/>'
        yield f'<text x="{max(x[1], x[2]) + 6:.1f}" y="{y + 13}">{speed:,.0f}/s</text>'
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv")
    parser.add_argument("label")
    parser.add_argument("--svg")
    args = parser.parse_args()
    runs = series(args.csv, args.label)
    print("\n".join(table(runs)))
    if args.svg:
        pathlib.Path(args.svg).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(args.svg).write_text("\n".join(svg(runs, f"{args.label}: documents a second to {'green' if last(runs) == 'green_s' else 'searchable'}")) + "\n")


if __name__ == "__main__":
    main()

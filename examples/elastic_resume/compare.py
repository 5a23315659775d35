#!/usr/bin/env python3
"""Compares the logs of batches of several runs, line by line, and prints one row of a table for each.

    python3 compare.py DATASETS FULL/batches.jsonl LABEL=RUN/batches.jsonl…

LABEL is "name|ranks|resume time".  Exit 1 where a run differs from the first one in any byte.
"""
import json
import sys


def lines(path):
    with open(path, "rb") as file:
        return file.read().splitlines(keepends=True)


def mixture(log, names):
    """Shares of the datasets in all delivered tokens, in percent (for people; nothing is decided by it)."""
    totals = [0] * len(names)
    for line in log:
        for dataset, tokens in json.loads(line)["by_dataset"]:
            totals[dataset] += tokens
    return " ".join(f"{name} {100 * total / sum(totals):.2f}%" for name, total in zip(names, totals))


def main():
    names, full_path, runs = sys.argv[1].split(","), sys.argv[2], ["uninterrupted|16|-=" + sys.argv[2]] + sys.argv[3:]
    full, differences = lines(full_path), []
    row = "{:<13} {:>5} {:>6}  {:<26} {:<18} {:<18} {:>11}  {}"
    print(row.format("run", "ranks", "steps", "tokens by dataset", "first batch", "last batch", "resumed in", "verdict"))
    for run in runs:
        label, path = run.split("=", 1)
        name, ranks, seconds = label.split("|")
        log = lines(path)
        first = next((i for i, pair in enumerate(zip(full, log)) if pair[0] != pair[1]), None)
        if first is None and len(log) != len(full):
            first = min(len(log), len(full))
        verdict = "equal" if path != full_path else "reference"
        if first is not None:
            verdict = f"DIFFERS at step {first}"
            differences.append((path, first))
        digests = [json.loads(line)["batch"][:16] for line in (log[0], log[-1])] if log else ["-", "-"]
        print(row.format(name, ranks, len(log), mixture(log, names) if log else "-", *digests, seconds, verdict))
    if differences:
        for path, step in differences:
            print(f"{path} differs from {full_path} at step {step}", file=sys.stderr)
        sys.exit(1)
    chain = json.loads(full[-1])["chain"]
    print(f"\nequal: all runs assembled the same {len(full)} global batches; chain {chain}")


if __name__ == "__main__":
    main()

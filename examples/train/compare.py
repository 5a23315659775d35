#!/usr/bin/env python3
"""Compares the losses and batches of resumed runs with those of the uninterrupted ones; prints a table, draws loss.svg.

    python3 compare.py FOLDER --base 16 --save-at 150 --steps 200 RANKS…

FOLDER holds {leat,plain}-{full,base,RANKS}.  Exit 0 where leat's losses differ by less than 1e-4 at every step and its batches
are equal, and the plain loader's losses differ by more than 1e-2; else 1.
"""
import argparse
import glob
import os
import sys

LEAT_MOST, PLAIN_LEAST = 1e-4, 1e-2
COLOURS = {"8": "#1b7837", "32": "#762a83", "64": "#b35806"}
OTHER_COLOURS = ["#2166ac", "#b2182b", "#666600"]


def losses(folder, steps):
    """{step: (loss, fingerprint)} of all starts of a run; later starts win.  Every step must be there."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "losses-*.tsv"))):
        with open(path, encoding="ascii") as file:
            for line in file:
                step, loss, count, fingerprint = line.split("\t")
                found[int(step)] = (float(loss), count + " " + fingerprint.strip())
    if sorted(found) != list(range(steps)):
        sys.exit(f"{folder}: losses of {len(found)} steps; wanted steps 0 to {steps - 1}, each of them")
    return found


def digests(folder):
    """leat's log of batches: a digest and the chain a line; empty for the plain loader, which has none."""
    path = os.path.join(folder, "batches.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        return file.read().splitlines()


def compare(root, loader, ranks, steps):
    """The largest relative difference of the losses, where it is, and the first step with another batch or None."""
    full, run = (losses(os.path.join(root, f"{loader}-{name}"), steps) for name in ("full", ranks))
    differences = [abs(run[step][0] - full[step][0]) / full[step][0] for step in range(steps)]
    logs = [digests(os.path.join(root, f"{loader}-{name}")) for name in ("full", ranks)]
    if loader == "leat" and [len(log) for log in logs] != [steps, steps]:
        sys.exit(f"leat's logs have {[len(log) for log in logs]} batches; wanted {steps} in each")
    other = [step for step in range(steps)
             if full[step][1] != run[step][1] or (logs[0] and logs[0][step] != logs[1][step])]
    largest = max(range(steps), key=lambda step: differences[step])
    # A loss that is no number compares as nothing: it must not pass.
    sound = all(difference == difference for difference in differences)
    return differences[largest] if sound else float("inf"), largest, other[0] if other else None


def polyline(values, first, box, scale, style):
    left, top, width, height = box
    low, high, start, end = scale
    points = " ".join(f"{left + width * (first + i - start) / max(1, end - start):.1f},"
                      f"{top + height * (high - value) / (high - low):.1f}" for i, value in enumerate(values))
    return f'<polyline points="{points}" fill="none" {style}/>'


def panel(out, root, loader, arguments, box):
    """One loader's curves: the uninterrupted run thick and grey, the resumed ones thin on it."""
    left, top, width, height = box
    start, end = max(0, 2 * arguments.save_at - arguments.steps), arguments.steps - 1
    curves = {name: losses(os.path.join(root, f"{loader}-{name}"), arguments.steps) for name in ["full"] + arguments.ranks}
    shown = [curve[step][0] for curve in curves.values() for step in range(start, end + 1)]
    scale = (min(shown), max(shown) + 1e-9, start, end)
    out.append(f'<text x="{left}" y="{top - 10}" font-weight="bold">{loader}: loss, steps {start} to {end}</text>')
    out.append(f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#ccc"/>')
    cut = left + width * (arguments.save_at - start) / max(1, end - start)
    out.append(f'<path d="M{cut:.1f} {top}V{top + height}" stroke="#999" stroke-dasharray="3 3"/>')
    out.append(f'<text x="{cut + 4:.1f}" y="{top + 14}" fill="#666">resumed at {arguments.save_at}</text>')
    for y, value in ((top + 10, scale[1]), (top + height, scale[0])):
        out.append(f'<text x="{left - 6}" y="{y}" text-anchor="end">{value:.2f}</text>')
    out.append(polyline([curves["full"][step][0] for step in range(start, end + 1)], start, box, scale,
                        'stroke="#bbb" stroke-width="5"'))
    out.append(f'<text x="{left}" y="{top + height + 18}" fill="#888">{arguments.base} ranks throughout</text>')
    for i, ranks in enumerate(arguments.ranks):
        colour = COLOURS.get(ranks, OTHER_COLOURS[i % len(OTHER_COLOURS)])
        values = [curves[ranks][step][0] for step in range(arguments.save_at, end + 1)]
        # Dashes of different length let equal curves be seen through each other.
        out.append(polyline(values, arguments.save_at, box, scale,
                            f'stroke="{colour}" stroke-width="1.6" stroke-dasharray="{6 + 3 * i} {3 + 2 * i}"'))
        out.append(f'<text x="{left + 140 + 90 * i}" y="{top + height + 18}" fill="{colour}">to {ranks} ranks</text>')


def draw(root, arguments):
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="980" height="330" font-family="sans-serif" font-size="12">',
           '<rect width="980" height="330" fill="white"/>']
    panel(out, root, "leat", arguments, (50, 40, 420, 260))
    panel(out, root, "plain", arguments, (540, 40, 420, 260))
    with open(os.path.join(root, "loss.svg"), "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>\n"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--base", type=int, required=True)
    parser.add_argument("--save-at", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("ranks", nargs="+")
    arguments = parser.parse_args()
    holds, worst_leat, least_plain = True, 0.0, float("inf")
    row = "{:<14} {:>9}  {:>24}  {:<16} {}"
    print(row.format("run", "ranks", "max relative loss diff.", "batches", "verdict"))
    for loader in ("leat", "plain"):
        print(row.format(loader, arguments.base, "-", "-", "reference"))
        for ranks in arguments.ranks:
            difference, step, other = compare(arguments.folder, loader, ranks, arguments.steps)
            equal = "digests equal" if other is None else f"differ from {other}"
            if loader == "leat":
                good = difference < LEAT_MOST and other is None
                verdict = "the same training" if good else "FAILED: must be the same"
                worst_leat = max(worst_leat, difference)
            else:
                good = difference > PLAIN_LEAST and other is not None
                verdict = "another training, as expected" if good else "FAILED: was to differ"
                least_plain = min(least_plain, difference)
            holds = holds and good
            at = f"{difference:.1e} at step {step}" if difference else "0"
            print(row.format(loader, f"{arguments.base} to {ranks}", at, equal, verdict))
    draw(arguments.folder, arguments)
    print(f"\nloss.svg: the curves.  leat: at most {worst_leat:.1e} (wanted < {LEAT_MOST:.0e}), "
          f"plain loader: at least {least_plain:.1e} (wanted > {PLAIN_LEAST:.0e})")
    print("the verdict holds" if holds else "THE VERDICT DOES NOT HOLD")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

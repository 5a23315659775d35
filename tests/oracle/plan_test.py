"""oracle/plan: the product's plan against the oracle's, over thousands of small random jobs.

plan_driver (a program around runtime/plan) and oracle_plan.py get the same jobs; every segment, token count, digest and
cursor must be the same.  The driver itself checks that each step can be resumed.  LEAT_TEST_SEED and LEAT_TEST_COUNT
choose the jobs; `plan_test.py --job N` prints job N of a seed as the driver reads it.
"""
import hashlib
import multiprocessing
import os
import random
import struct
import struct
import subprocess
import sys

import oracle_plan as oracle

UNITS = ["none", "document", "block", "shard"]
PACKINGS = ["concat", "best_fit", "single"]
PAD_ID = 7
NAMES = ["docs", "code", "a", "web-2", "é", "日本", "x.y", "UPPER", "0", "_"]


# ------------------------------------------------------------------------------------------------------------ random jobs
def random_tokens(rng, row_tokens, piece):
    """Token counts of a dataset's documents."""
    count = rng.choice([0, 1, 1, 2, 3, 4, 5, rng.randint(1, 12), rng.randint(5, 40), rng.randint(10, 70)])
    if rng.random() < 0.02:
        count = rng.randint(128, 400)  # blocks are longer than one document from 128 documents on
    empty = rng.choice([0, 0, 0, 0.1, 0.4, 0.9, rng.choice([0.5, 1])])
    kind = rng.randrange(5)

    def one():
        if rng.random() < empty:
            return 0
        if kind == 0:
            return rng.randint(1, 4)
        if kind == 1:
            return rng.randint(1, 2 * row_tokens)
        if kind == 2:
            return max(1, rng.choice([piece, row_tokens]) * rng.randint(1, 3) + rng.randint(-1, 1))
        if kind == 3:
            return rng.choice([1, 2, rng.randint(1, 9 * row_tokens)])
        return rng.randint(1, max(2, row_tokens // 2))
    return [one() for _ in range(count)]


def random_shards(rng, count):
    cuts = sorted(rng.randint(0, count) for _ in range(rng.choice([0, 0, 1, 2, 3, 7])))
    return [end - begin for begin, end in zip([0] + cuts, cuts + [count])]


def random_dataset(rng, number, row_tokens, piece):
    tokens = random_tokens(rng, row_tokens, piece)
    dataset = oracle.Dataset("%s%d" % (rng.choice(NAMES), number), tokens)
    dataset.shards = random_shards(rng, len(tokens))
    dataset.epochs = rng.choice([0, 0, 1, 1, 2, 3, 5])
    if rng.random() < 0.2:
        dataset.holdout = rng.choice([1, 1000, 100000, 250000, 500000, 999999, 1000000])
        dataset.use_holdout = rng.random() < 0.5
    dataset.unit = rng.choice(UNITS)
    dataset.block = rng.choice([1, 2, 3, 256])
    dataset.buffer = rng.choice([0, 0, 1, 2, 3, 7, 16, 16384])
    dataset.piece_window = rng.choice([1, 2, 3, 7, 40, 256])
    dataset.window_tokens = rng.choice([1, 2, row_tokens, 3 * row_tokens, 1 << 20, 1 << 20])
    return dataset


def random_weights(rng, count, some_zero):
    kind = rng.randrange(4)
    weights = [1 if kind == 0 else rng.randint(1, 9) if kind == 1 else rng.choice([1, 10, 1000, 999983])
               if kind == 2 else rng.randint(1, 1 << 36) for _ in range(count)]
    if some_zero:
        weights = [0 if rng.random() < 0.4 else weight for weight in weights]
        weights[rng.randrange(count)] = rng.randint(1, 9)
    return weights


def many_datasets_job(rng):
    """A best_fit job whose windows have rows of about 33 datasets and more, for the second way of dealing."""
    row_tokens, count = rng.choice([4, 8, 9]), rng.randint(32, 42)
    datasets = []
    for number in range(count):
        tokens = [rng.randint(row_tokens // 2 + 1, row_tokens + 2) for _ in range(rng.randint(1, 4))]
        datasets.append(oracle.Dataset("%s%d" % (rng.choice(NAMES), number), tokens, rng.choice([1, 1, 1, 2]),
                                       [len(tokens)], rng.choice([0, 0, 0, 4]), piece_window=rng.choice([1, 3])))
    job = oracle.Spec(rng.getrandbits(64), row_tokens, datasets, row_tokens, "best_fit",
                      rng.choice([40, 60, 100]), drop_exhausted=True, drop_last=rng.random() < 0.5)
    job.batch_sizes = [(0, rng.choice([7, 40]))]
    return job, 8


def large_job(rng):
    """More than 65,536 documents: permutations of 8 rounds, and blocks of their full size."""
    count = rng.randint(65537, 70000)
    unit = rng.choice(["document", "block"])
    dataset = oracle.Dataset("large", [rng.randint(0, 9) for _ in range(count)], 1, [count], 0, unit=unit,
                             holdout=rng.choice([0, 250000]), buffer=rng.choice([0, 16384, 70000]))
    return oracle.Spec(rng.getrandbits(64), 33, [dataset], 33), 3


def random_job(rng):
    """A Spec and the number of steps to run it for."""
    dice = rng.random()
    if dice < 0.04:
        return many_datasets_job(rng)
    if dice < 0.0425:
        return large_job(rng)
    row_tokens = rng.choice([2, 3, 4, 5, 8, 9, 16, 17, 33, rng.randint(2, 64)])
    packing = rng.choice(PACKINGS)
    longest = row_tokens if packing != "concat" else 6 * row_tokens
    piece = rng.choice([row_tokens, row_tokens, rng.randint(1, row_tokens), rng.randint(1, longest), longest])
    count = rng.choice([1, 1, 2, 2, 3, 3, 4, 5, rng.randint(1, 40)])
    datasets = [random_dataset(rng, number, row_tokens, piece) for number in range(count)]
    job = oracle.Spec(rng.choice([0, 7, rng.getrandbits(64)]), row_tokens, datasets, piece, packing)
    job.pack_window = rng.choice([1, 1, 2, 3, 5, 16])
    if rng.random() < 0.9:  # most jobs shall not be refused
        for number, dataset in enumerate(datasets):
            if oracle.Stream(job, number).empty:
                dataset.holdout, dataset.use_holdout = 0, False
            if not any(dataset.tokens):
                dataset.tokens, dataset.shards = [0, rng.randint(1, row_tokens), 0], [3]
    if rng.random() < 0.02:
        victim = rng.choice(datasets)
        if victim.tokens:
            victim.tokens[rng.randrange(len(victim.tokens))] = oracle.BAD
    for dataset, weight in zip(datasets, random_weights(rng, count, False)):
        dataset.weight = weight
    job.truncate = rng.random() < 0.2
    job.by_documents = rng.random() < 0.2
    job.drop_exhausted = rng.random() < 0.5
    job.drop_last = rng.random() < 0.5
    rows = sorted(rng.sample(range(60), rng.choice([0, 0, 0, 1, 2, 4])))
    job.stages = [(row, random_weights(rng, count, True)) for row in rows]
    steps = sorted(rng.sample(range(1, 9), rng.choice([0, 0, 1, 2])))
    job.batch_sizes = [(step, rng.choice([1, 2, 3, 5, 8, rng.randint(1, 20)])) for step in [0] + steps]
    if rng.random() < 0.3:  # run to the end
        for dataset in datasets:
            dataset.epochs = dataset.epochs or 1
    return job, rng.choice([3, 6, 12, 25, 60])


def job_text(job, steps, feed_seed):
    def words(*values):
        return " ".join(str(int(v)) if not isinstance(v, str) else v for v in values)
    lines = [words("job", job.seed, job.row_tokens, job.piece, PACKINGS.index(job.packing), job.pack_window,
                   job.truncate, job.by_documents, job.drop_exhausted, job.drop_last, steps, feed_seed)]
    for d in job.datasets:
        ends = [sum(d.shards[:n + 1]) for n in range(len(d.shards))]
        lines += [words("dataset", d.name, d.weight, len(d.tokens), d.epochs, d.holdout, d.use_holdout,
                        UNITS.index(d.unit), d.block, d.buffer, d.piece_window, d.window_tokens),
                  words("shards", len(ends), *ends),
                  words("tokens", *["bad" if n is oracle.BAD else n for n in d.tokens])]
    lines += [words("stage", row, *weights) for row, weights in job.stages]
    lines += [words("batch", step, rows) for step, rows in job.batch_sizes]
    return "\n".join(lines + ["end", ""])


# -------------------------------------------------------------------------------------------------------------- the oracle
def token_at(dataset, document, place):
    return (dataset * 1000003 + document * 4099 + place * 31 + 1) & 0xFFFFFFFF


def tokens_of(segment):
    return [token_at(segment.dataset, segment.document, segment.start + i) for i in range(segment.length)]


def oracle_lines(job, steps):
    """What the driver shall print after "job"; cursors as they are in the oracle."""
    plan = oracle.Plan(job)
    lines = [("cursor", plan.cursor())]
    for _ in range(steps):
        try:
            step = plan.next()
        except oracle.Refused as refusal:
            position = (str(refusal.position),) if refusal.bad else ()
            return lines + [("refused", str(refusal.dataset), "0" if refusal.bad else "1") + position]
        if step is None:
            return lines + [("cursor", plan.cursor()),
                            ("end", str(plan.rows_given), str(plan.dropped_rows), str(plan.dropped_tokens))]
        lines.append(("step", str(step.step), str(step.first_row), str(len(step.rows))))
        for row in step.rows:
            words, place = ["row"], 0
            for s in row:
                words.append("%d,%d,%d,%d,%d,%d" % (s.dataset, s.position, s.document, s.start, s.length, place))
                place += s.length
            lines.append(tuple(words))
        line, _ = oracle.batch_line(plan, step, bytes(32), tokens_of, PAD_ID)
        by_dataset = dict(line["by_dataset"])
        lines.append(("tokens",) + tuple(str(by_dataset.get(d, 0)) for d in range(len(job.datasets))))
        lines.append(("batch", line["batch"]))
        lines.append(("cursor", plan.cursor()))
    return lines + [("stopped",)]


# --------------------------------------------------------------------------------------------------------------- comparing
def decode_cursor(data):
    """A cursor's bytes (docs/formats.md) as the oracle's dict."""
    head = struct.Struct("<8sI32sQQIIIQIQQQQQ")
    (magic, version, digest, step, first_row, count, flags, stage, rows, rest_dataset, rest_position, rest_start,
     rest_end, window, served) = head.unpack_from(data)
    assert (magic, version, digest) == (b"LEATCUR1", 1, bytes(range(32))), "head of a cursor"
    assert len(data) == head.size + 40 * count + 8 and flags < 8, "size of a cursor"
    assert data[-8:] == hashlib.sha256(data[:-8]).digest()[:8], "checksum of a cursor"
    rest = (rest_dataset, rest_position, rest_start, rest_end)
    assert flags & 4 or rest == (0, 0, 0, 0), "a rest that is not there"
    datasets = []
    for d in range(count):
        position, offset, number, taken, credit = struct.unpack_from("<QQQQq", data, head.size + 40 * d)
        datasets.append((position, offset & ~(1 << 63), number, taken, credit, offset >> 63 == 1))
    return {"step": step, "first_row": first_row, "ended": bool(flags & 1), "any_ended": bool(flags & 2),
            "stage": stage - 1 if stage else None, "rows": rows, "rest": rest if flags & 4 else None,
            "window": window, "served": served, "datasets": datasets}


def driver_lines(text):
    """The driver's lines of one job, cursors decoded."""
    lines = []
    for line in text.splitlines():
        words = tuple(line.split(" "))
        if words[0] == "cursor":
            words = ("cursor", decode_cursor(bytes.fromhex(words[1])))
        if words[0] == "refused" and words[2] == "1":
            words = words[:3]
        lines.append(words)
    return lines


def first_difference(got, want):
    for number, (g, w) in enumerate(zip(got + [None], want + [None])):
        if g == w:
            continue
        if g and w and g[0] == w[0] == "cursor":
            names = [name for name in w[1] if w[1][name] != g[1].get(name)]
            return "line %d, cursor: product %s, oracle %s" % (
                number, {name: g[1].get(name) for name in names}, {name: w[1][name] for name in names})
        return "line %d: product %s, oracle %s" % (number, g, w)
    return None


def numbered_job(seed, number):
    rng = random.Random("%d/%d" % (seed, number))
    job, steps = random_job(rng)
    return job, steps, rng.getrandbits(32)


def window_owners(job, steps):
    """The sets of datasets that own rows, of each window that was dealt; of interest for large numbers only."""
    if job.packing != "best_fit" or len(job.datasets) <= 32:
        return []
    dealt, deal = [], oracle.deal

    def watched(rows, spec, window):
        dealt.append({max(range(len(spec.datasets)),
                          key=lambda e: (sum(s.length for s in row if s.dataset == e), -e)) for row in rows})
        return deal(rows, spec, window)
    oracle.deal = watched
    try:
        oracle_lines(job, steps)
    finally:
        oracle.deal = deal
    return dealt


# What section 5, 6 and 1 refuse, each one next to what they still allow.
def limit_jobs():
    def job(**settings):
        weights = settings.pop("weights", [1, 1])
        datasets = [oracle.Dataset("d%d" % d, [5, 9], weight, [2]) for d, weight in enumerate(weights)]
        return oracle.Spec(7, settings.pop("row_tokens", 8), datasets, **settings)
    limit = (1 << 61) // (8 * 2)
    return [
        ("weights below the limit", True, job(weights=[limit - 2, 1], piece=8)),
        ("weights at the limit", False, job(weights=[limit - 1, 1], piece=8)),
        ("a stage's weights below the limit", True, job(piece=8, stages=[(3, [limit - 1, 0])])),
        ("a stage's weights at the limit", False, job(piece=8, stages=[(3, [limit, 0])])),
        ("a piece longer than a row, concat", True, job(piece=9)),
        ("a piece as long as a row, best_fit", True, job(piece=8, packing="best_fit")),
        ("a piece longer than a row, best_fit", False, job(piece=9, packing="best_fit")),
        ("a piece longer than a row, single", False, job(piece=9, packing="single")),
        ("the longest piece", True, job(piece=1 << 21)),
        ("a piece that is too long", False, job(piece=(1 << 21) + 1)),
        ("a pack_window that is too large", False, job(piece=8, packing="best_fit", pack_window=(1 << 28) - 1)),
    ]


def check_limits():
    jobs = limit_jobs()
    run = subprocess.run([driver_path()], input="".join(job_text(job, 1, 1) for _, _, job in jobs).encode(),
                         stdout=subprocess.PIPE, timeout=60, check=False)
    outputs = run.stdout.decode().split("job\n")[1:]
    failures = 0 if run.returncode == 0 and len(outputs) == len(jobs) else 1
    for (label, allowed, _), output in zip(jobs, outputs):
        if output.startswith("invalid") == allowed:
            print("%s: wanted %s, got %s" % (label, "allowed" if allowed else "refused", output[:200]))
            failures += 1
    return failures


def compare_jobs(task):
    """Runs jobs [first, end); returns what differs, and how many jobs came to which ending."""
    seed, first, end = task
    jobs = [numbered_job(seed, number) for number in range(first, end)]
    run = subprocess.run([driver_path()], input="".join(job_text(*job) for job in jobs).encode(),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=250, check=False)
    outputs = run.stdout.decode().split("job\n")[1:]
    failures, endings = [], {}
    for number, (job, steps, _), output in zip(range(first, end), jobs, outputs):
        if run.returncode != 0 and len(outputs) - 1 == number - first:
            failures.append((number, "driver ended with %d: %s" % (run.returncode, run.stderr.decode()[-2000:])))
            break
        want = oracle_lines(job, steps)
        difference = first_difference(driver_lines(output), want)
        if difference:
            failures.append((number, difference))
        seen = [job.packing + " " + want[-1][0]]
        seen += ["more than 32 own rows"] * any(len(owners) > 32 for owners in window_owners(job, steps))
        seen += ["more than 65536 documents"] * any(len(d.tokens) > 65536 for d in job.datasets)
        for kind in seen:
            endings[kind] = endings.get(kind, 0) + 1
    if not failures and (run.returncode != 0 or len(outputs) != len(jobs)):
        failures.append((first, "driver ended with %d after %d of %d jobs: %s" %
                         (run.returncode, len(outputs), len(jobs), run.stderr.decode()[-2000:])))
    return failures, endings


def driver_path():
    return os.path.join(os.environ.get("LEAT_BINARY_DIR", "build"), "tests", "plan_driver")


def main():
    seed = int(os.environ.get("LEAT_TEST_SEED", "20240607"))
    count = int(os.environ.get("LEAT_TEST_COUNT", "3000"))
    if sys.argv[1:2] == ["--job"]:
        sys.stdout.write(job_text(*numbered_job(seed, int(sys.argv[2]))))
        return 0
    print("LEAT_TEST_SEED=%d LEAT_TEST_COUNT=%d" % (seed, count), flush=True)
    tasks = [(seed, first, min(first + 50, count)) for first in range(0, count, 50)]
    failures, endings = [], {}
    with multiprocessing.Pool(min(2, os.cpu_count() or 1)) as pool:
        for task_failures, task_endings in pool.imap_unordered(compare_jobs, tasks):
            failures += task_failures
            for ending, times in task_endings.items():
                endings[ending] = endings.get(ending, 0) + times
    limits = check_limits()
    for kind in ("more than 32 own rows", "more than 65536 documents"):
        if count >= 3000 and kind not in endings:
            print("no job had %s: the test does not reach what it is for" % kind)
            limits += 1
    for number, text in sorted(failures)[:20]:
        print("job %d: %s" % (number, text))
    print("%d jobs compared, %d differ; %s" % (count, len(failures), sorted(endings.items())))
    return 1 if failures or limits or not endings else 0


if __name__ == "__main__":
    sys.exit(main())

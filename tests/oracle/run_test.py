"""oracle/run: `leat run` against the oracle, from files on disk to the lines of batches.jsonl.

Small JSON-lines corpora with everything that JSON lines can hold, job files in YAML for the command and in JSON for the
oracle; the command runs alone and under mpirun on three ranks.  LEAT_TEST_SEED and LEAT_TEST_COUNT choose the jobs.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal

import oracle
import oracle_plan

RANKS = 3


# -------------------------------------------------------------------------------------------------------- job files
def as_json(value):
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (json.dumps(k), as_json(v)) for k, v in value.items())
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(as_json, value))
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value)


def as_yaml(value, indent=0):
    """Block style down to what is short, as people write it."""
    pad = " " * indent
    if isinstance(value, dict):
        lines = []
        for k, v in value.items():
            block = isinstance(v, (dict, list)) and len(as_json(v)) > 60
            lines.append("%s%s:%s" % (pad, k, "\n" + as_yaml(v, indent + 2) if block else " " + as_flow(v)))
        return "\n".join(lines)
    return "\n".join("%s- %s" % (pad, as_yaml(v, indent + 2).lstrip() if isinstance(v, dict) else as_flow(v))
                     for v in value)


def as_flow(value):
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (k, as_flow(v)) for k, v in value.items())
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(as_flow, value))
    return as_json(value)


# ----------------------------------------------------------------------------------------------------------- corpora
WORDS = ["a", "leat", "feeds", "the", "mill", "é", "日本語", "😀", "\"quoted\"", "back\\slash", "\t", "\n", "\n\n", "\u0000",
         "\u2028", "/", "</s>", "0", "ﬁ", "\x7f", "e\u0301", "\r\n"]


def random_text(rng):
    kind = rng.random()
    if kind < 0.12:
        return ""
    if kind < 0.2:
        return rng.choice("x日😀") * rng.randint(1, 200)  # nothing to cut at
    return "".join(rng.choice(WORDS) + rng.choice(["", " ", " "]) for _ in range(rng.choice([1, 5, 20, 80])))


def random_line(rng, text):
    """A JSON line with that text: key order, spaces and escapes vary."""
    field = json.dumps(text, ensure_ascii=rng.random() < 0.4)
    if rng.random() < 0.2:
        field = field.replace("/", "\\/")
    others = rng.choice([[], ['"id": %d' % rng.randint(0, 99)], ['"meta": {"text": "no"}', '"score": -1.5e-3'],
                         ['"Text": null', '"tags": ["text", []]']])
    name = rng.choice(['"text"', '"text"', '"te\\u0078t"'])
    pairs = others + ["%s:%s%s" % (name, rng.choice(["", " ", "  \t"]), field)]
    rng.shuffle(pairs)
    return "%s{%s}%s" % (rng.choice(["", " "]), rng.choice([",", ", "]).join(pairs), rng.choice(["", "", " ", "\r"]))


# Lines that are no good record, whatever the setting is but `skip`; and texts that `replace` mends.
BAD_LINES = [b'{"text": 5}', b'{"text": null}', b'{bad', b'{"text":"a","text":"b"}', b'{"other": "a"}', b'["text"]', b'"text"',
             b'{"text":"\\ud800"}', b'{"text":"x\\udc00y"}', b'{"text":"a"} x', b'{"text":"a"}{"text":"b"}', b'{"text":"a",}',
             b'{"text":"\t"}', b'{"text":"a\\x"}', b'{"text":"a', b'{"text":"a","n":01}', b'{"text":"a","n":NaN}', b'7']
TORN_TEXTS = [b"a\xffb", b"\xe2\x82", b"\xf0\x9f\x98z", b"\xed\xa0\x80", b"\xc0\xafq", b"\x80\x80", b"\xf4\x90\x80\x80",
              b"\xe2\x28\xa1", b"\xf0\x80\x80\x80", b"\xc3"]


def bad_line(rng, bad_records):
    if bad_records == "skip" and rng.random() < 0.7:
        return rng.choice(BAD_LINES)
    return b'{"text":"' + rng.choice([b"", b"ab "]) + rng.choice(TORN_TEXTS) + b'"}'


def write_shard(rng, path, records, bad_records):
    lines = []
    for _ in range(records):
        lines += [b""] * (rng.random() < 0.1) + [b" \t"] * (rng.random() < 0.05)
        if bad_records != "fail" and rng.random() < 0.25:
            lines.append(bad_line(rng, bad_records))
        lines.append(random_line(rng, random_text(rng)).encode())
    with open(path, "wb") as file:
        file.write(b"\n".join(lines) + rng.choice([b"\n", b"", b"\n\n"]))


def write_dataset(rng, folder, number, bad_records):
    """The entry of the job file."""
    name = rng.choice(["docs", "code", "web"]) + str(number)
    os.makedirs(os.path.join(folder, name, "more"))
    files = rng.sample(["f2.jsonl", "f10.jsonl", "a b.jsonl", "é.jsonl", "z.jsonl", "A.jsonl"], rng.randint(1, 5))
    for file in files:
        write_shard(rng, os.path.join(folder, name, file), rng.choice([0, 1, 3, 10, 40]) if len(files) > 1 else 15,
                    bad_records)
    globs = [name + "/*.jsonl"]
    if rng.random() < 0.4:
        write_shard(rng, os.path.join(folder, name, "more", "part-0.jsonl"), 5, bad_records)
        globs.insert(rng.randrange(2), name + "/more/part-?.jsonl")
    entry = {"name": name, "files": globs if len(globs) > 1 or rng.random() < 0.5 else globs[0]}
    if rng.random() < 0.5:
        entry["epochs"] = rng.randint(1, 3)
    if rng.random() < 0.3:
        entry["holdout"] = rng.choice([Decimal("0.1"), Decimal("0.25"), Decimal("0.5"), Decimal("0.000001")])
        if rng.random() < 0.3:
            entry["use"] = "holdout"
    if rng.random() < 0.8:
        entry["shuffle"] = {"unit": rng.choice(["none", "document", "block", "shard"]),
                            "piece_window": rng.choice([1, 4, 256])}
        for setting, values in (("block", [1, 8]), ("buffer", [0, 1, 5, 1000]), ("window_tokens", [100, 1 << 20])):
            if rng.random() < 0.5:
                entry["shuffle"][setting] = rng.choice(values)
    return entry


def random_job(rng, folder):
    length = rng.choice([1, 7, 16, 31, 64])
    packing = rng.choice(["concat", "concat", "best_fit", "single"])
    bad_records = rng.choice(["fail", "fail", "skip", "replace"])
    datasets = [write_dataset(rng, folder, number, bad_records) for number in range(rng.randint(1, 4))]
    job = {"seed": rng.choice([0, 7, 1 << 40, (1 << 63) - 1]), "sequence_length": length, "packing": packing}
    if bad_records != "fail":
        job["bad_records"] = bad_records
    sizes = [RANKS, 4, 6, 9, 16]
    job["batch_size"] = rng.choice(sizes)
    if rng.random() < 0.3:
        job["batch_size"] = [{"from_step": step, "batch_size": rng.choice(sizes)} for step in (0, 2, 3)]
    if packing == "best_fit" or rng.random() < 0.1:
        job["pack_window"] = rng.choice([1, 4, 20])
    job["tokenizer"] = {"file": "bytes", "bos": rng.choice([None, 256]),
                        "eos": rng.choice([None, 257, "<|eos|>"])}
    for setting, likely, values in (
            ("part_bytes", 0.6, [0, 64, 65, 100, 333]), ("long_documents", 0.2, ["truncate", "split"]),
            ("mix_by", 0.3, ["documents", "tokens"]), ("on_exhausted", 0.6, ["drop", "stop"]),
            ("drop_last", 0.5, [True, False]), ("pad_id", 0.4, [0, 5, 257]), ("passes", 0.2, [1, 2]),
            ("piece", 0.4, [1, length // 2 + 1, length + 1])):
        if rng.random() < likely:
            job[setting] = rng.choice(values)
    if "passes" in job:
        job.pop("on_exhausted", None)
        for entry in datasets:
            entry.pop("epochs", None)
    if rng.random() < 0.7:
        for entry in datasets:
            entry["weight"] = rng.choice([Decimal("0.7"), Decimal("0.000003"), Decimal("2"), Decimal("1.25"), 1, 3])
    job["datasets"] = datasets
    if rng.random() < 0.3:
        names = [entry["name"] for entry in datasets]
        job["mixture_stages"] = [{kind: at, "weights": {rng.choice(names): Decimal("0.5"), names[0]: 1}}
                                 for kind, at in (("from_step", 1), ("from_row", 40))]
    return job


# ------------------------------------------------------------------------------------------------------------- running
def oracle_lines(path, steps):
    """The lines, and whether the job was refused in the end."""
    lines = []
    try:
        for line in oracle.job_lines(path, steps):
            lines.append(line)
    except oracle_plan.Refused:
        return lines, True
    return lines, False


def run_lines(command, out):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    lines = []
    log = os.path.join(out, "batches.jsonl")
    if os.path.exists(log):
        with open(log, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    return lines, run.returncode, run.stdout.decode("utf-8", "replace")


def compare_lines(label, got, want):
    """How many failures."""
    for number, (g, w) in enumerate(zip(got + [None] * len(want), want + [None] * len(got))):
        if g != w:
            names = [name for name in w if w[name] != (g or {}).get(name)] if w else []
            print("%s: step %d differs in %s\n  product %s\n  oracle  %s" % (label, number, names, g, w))
            return 1
    return 0


def compare_job(folder, job, steps, launchers):
    for name, text in (("job.json", as_json(job)), ("job.yaml", as_yaml(job) + "\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    want, refused = oracle_lines(os.path.join(folder, "job.json"), steps)
    failures = 0
    for label, launcher in launchers:
        out = os.path.join(folder, "out-" + label)
        got, code, output = run_lines(
            launcher + ["run", os.path.join(folder, "job.yaml"), "--out", out, "--steps", str(steps)], out)
        failed = (code == 0) == refused
        if failed:
            print("%s: exit code %d\n%s" % (label, code, output[-3000:]))
        failures += failed or compare_lines(label, got if not refused else got[:len(want)],
                                            want if not refused else want[:len(got)])
    return failures, len(want)


def main():
    seed = int(os.environ.get("LEAT_TEST_SEED", "7"))
    count = int(os.environ.get("LEAT_TEST_COUNT", "24"))
    leat = os.path.join(os.environ.get("LEAT_BINARY_DIR", "build"), "leat")
    if not os.path.exists(leat):
        print("SKIPPED: there is no %s" % leat)
        return 77
    launchers = [("alone", [leat])]
    if shutil.which("mpirun"):
        launchers.append(("mpirun", ["mpirun", "-n", str(RANKS), leat]))
    else:
        print("no mpirun: the command is run alone only")
    print("LEAT_TEST_SEED=%d LEAT_TEST_COUNT=%d" % (seed, count), flush=True)
    failures = steps = 0
    for number in range(count):
        rng = random.Random("%d/%d" % (seed, number))
        folder = tempfile.mkdtemp(prefix="leat-run-")
        failed, lines = compare_job(folder, random_job(rng, folder), rng.choice([3, 8, 20]), launchers)
        failures += failed
        steps += lines
        if failed:
            print("job %d failed; its folder is %s" % (number, folder), flush=True)
        else:
            shutil.rmtree(folder)
    print("%d jobs, %d steps compared, %d runs differ" % (count, steps, failures))
    return 1 if failures or steps == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What a job's batches.jsonl must hold, computed from corpus and job file without the product.

    python3 oracle.py JOB.json [--steps N]

JOB.json is a job file in JSON (a subset of YAML) over JSON-lines shards, with the built-in byte tokenizer
(`tokenizer: {"file": "bytes"}`) or a tokenizer.json, whose ids come from the Python package `tokenizers`.  It prints one line a step, as `leat run JOB.json --out DIR` writes them to
DIR/batches.jsonl; a run is checked by comparing the two.  oracle_plan.py holds the plan, this file what comes
before it: the job file, shards to documents, documents to tokens.  Both are written from docs/plan.md alone.
"""
import glob
import json
import os
import sys
from decimal import Decimal
from math import gcd

import oracle_plan


class JobError(Exception):
    pass


# ---------------------------------------------------------------------------------------------------- records and texts
def unique_pairs(pairs):
    keys = [name for name, _ in pairs]
    return {name: (TWICE if keys.count(name) > 1 else value) for name, value in pairs}


TWICE = object()


def no_constant(text):
    raise ValueError("%s is no JSON" % text)


def record_text(line, field, replace):
    """The text of a JSON line as UTF-8 bytes; ValueError where the record is bad."""
    value = json.loads(line.decode("utf-8", "replace" if replace else "strict"), object_pairs_hook=unique_pairs,
                       parse_constant=no_constant)
    for name in field.split("."):
        if not isinstance(value, dict) or name not in value:
            raise ValueError("no key %s" % field)
        value = value[name]
    if not isinstance(value, str):
        raise ValueError("%s is no text" % field)
    return value.encode("utf-8")  # UnicodeEncodeError, a ValueError, for a lone surrogate


def shard_texts(path, field, bad_records, record_bytes_max):
    """The texts of a shard; None for a bad record that is skipped."""
    with open(path, "rb") as shard:
        lines = shard.read().split(b"\n")
    texts = []
    for number, line in enumerate(lines, 1):
        if not line.strip(b" \t\r"):
            continue
        try:
            text = record_text(line, field, bad_records == "replace")
            if len(text) > record_bytes_max:
                raise ValueError("%d bytes" % len(text))
        except (ValueError, RecursionError) as error:
            if bad_records != "skip":
                raise JobError("%s:%d: bad record: %s" % (path, number, error)) from error
            text = None
        texts.append(text)
    return texts


def cut_parts(text, part_bytes):
    """Section 4, parts."""
    parts, s = [], 0
    while part_bytes > 0 and len(text) - s > part_bytes:
        cuts = range(s + part_bytes, s + part_bytes // 2, -1)  # the largest first
        c = next((c for c in cuts if text[c - 1] == 0x0A), None)
        if c is None:
            c = next((c for c in cuts if text[c] == 0x20), None)
        if c is None:
            c = next(c for c in cuts if text[c] & 0xC0 != 0x80)
        parts.append(text[s:c])
        s = c
    return parts + [text[s:]]


def document_ids(part, first, last, bos, eos, encode=list):
    """Section 4, tokens; the byte tokenizer: id = byte."""
    ids = encode(part)
    if not ids:
        return []
    return ([bos] if first and bos is not None else []) + ids + ([eos] if last and eos is not None else [])


# -------------------------------------------------------------------------------------------------------------- job file
def shard_paths(folder, globs):
    """Section 3: glob by glob, the matches of one sorted bytewise below its part without wildcards."""
    paths = []
    for pattern in globs:
        full = os.path.join(folder, pattern)
        wild = min([full.index(c) for c in "*?[" if c in full], default=len(full))
        fixed = full[:full.rfind("/", 0, wild) + 1]
        matches = sorted(glob.glob(full, recursive=True), key=lambda path: os.fsencode(path[len(fixed):]))
        if not matches:
            raise JobError("glob %s matches nothing" % pattern)
        paths += matches
    if len(set(map(os.path.realpath, paths))) != len(paths):
        raise JobError("a file is matched twice")
    return paths


def millionths(value, what):
    scaled = Decimal(str(value)) * 1000000
    if scaled != scaled.to_integral_value() or scaled < 0:
        raise JobError("%s: %s is no decimal of up to 6 digits" % (what, value))
    return int(scaled)


def decimal_weights(values):
    scaled = [millionths(value, "weight") for value in values]
    if sum(scaled) == 0:
        raise JobError("no weight is above 0")
    return [weight // gcd(*scaled) for weight in scaled]


def byte_weights(sizes):
    shift = 0
    while sum(size >> shift for size in sizes) >= 1 << 30:
        shift += 1
    return [max(1, size >> shift) for size in sizes]


def open_tokenizer(folder, name):
    """(bytes to ids, token text to id, vocabulary): the byte tokenizer, or a tokenizer.json by the package `tokenizers`."""
    if name == "bytes":
        return list, {"<|bos|>": 256, "<|eos|>": 257}.get, 258
    import tokenizers
    model = tokenizers.Tokenizer.from_file(os.path.join(folder, name))
    return (lambda text: model.encode(text.decode(), add_special_tokens=False).ids), model.token_to_id, model.get_vocab_size()


def token_id(value, of_text, vocabulary):
    found = of_text(value) if isinstance(value, str) else value
    if value is None or (found is not None and 0 <= found < vocabulary):
        return found
    raise JobError("the tokenizer has no token %r" % (value,))


def shuffle_settings(shuffle):
    unit = shuffle.get("unit", "block")
    return {"unit": unit, "block": shuffle.get("block", 256),
            "buffer": shuffle.get("buffer", 16384 if unit in ("block", "shard") else 0),
            "piece_window": shuffle.get("piece_window", 256),
            "window_tokens": shuffle.get("window_tokens", 1 << 20)}


def read_dataset(job, entry, folder, part_bytes, bos, eos, encode):
    """An oracle_plan.Dataset without its weight, the ids of its documents, the bytes of its texts."""
    files = entry["files"] if isinstance(entry["files"], list) else [entry["files"]]
    ids, shards, size = [], [], 0
    for path in shard_paths(folder, files):
        before = len(ids)
        for text in shard_texts(path, entry.get("text", "text"), job.get("bad_records", "fail"),
                                job.get("record_bytes_max", 1 << 30)):
            parts = cut_parts(text or b"", part_bytes)
            ids += [document_ids(part, i == 0, i == len(parts) - 1, bos, eos, encode) for i, part in enumerate(parts)]
            size += len(text or b"")
        shards.append(len(ids) - before)
    dataset = oracle_plan.Dataset(entry["name"], [len(document) for document in ids], shards=shards,
                                  epochs=job.get("passes") or entry.get("epochs", 0),
                                  holdout=millionths(entry.get("holdout", 0), "holdout"),
                                  use_holdout=entry.get("use", "train") == "holdout",
                                  **shuffle_settings(entry.get("shuffle", {})))
    return dataset, ids, size


def set_weights(datasets, entries, sizes):
    given = [entry.get("weight") for entry in entries]
    if all(weight is None or weight == "bytes" for weight in given):
        weights = byte_weights(sizes)
    elif any(weight is None or weight == "bytes" for weight in given):
        raise JobError("some datasets have a weight and some have none")
    else:
        weights = decimal_weights(given)
    for dataset, weight in zip(datasets, weights):
        dataset.weight = weight


def stage_of(entry, names, spec):
    if not set(entry["weights"]) <= set(names):
        raise JobError("a stage names a dataset that the job does not have")
    row = entry["from_row"] if "from_row" in entry else spec.step_first_row(entry["from_step"])
    return row, decimal_weights([entry["weights"].get(name, 0) for name in names])


def open_job(path):
    """(oracle_plan.Spec, ids of the documents of each dataset, pad_id)"""
    with open(path, encoding="utf-8") as file:
        job = json.load(file, parse_float=Decimal)
    row_tokens = job["sequence_length"] + 1
    tokenizer = job["tokenizer"]
    part_bytes = job.get("part_bytes")
    part_bytes = max(1 << 18, 16 * row_tokens) if part_bytes is None else part_bytes
    folder = os.path.dirname(os.path.abspath(path))
    encode, of_text, vocabulary = open_tokenizer(folder, tokenizer["file"])
    bos, eos = (token_id(tokenizer.get(name), of_text, vocabulary) for name in ("bos", "eos"))
    read = [read_dataset(job, entry, folder, part_bytes, bos, eos, encode) for entry in job["datasets"]]
    datasets = [dataset for dataset, _, _ in read]
    set_weights(datasets, job["datasets"], [size for _, _, size in read])
    sizes = job["batch_size"]
    spec = oracle_plan.Spec(
        job["seed"], row_tokens, datasets, piece=job.get("piece") or row_tokens,
        packing=job.get("packing", "concat"), pack_window=job.get("pack_window", 1024),
        truncate=job.get("long_documents", "split") == "truncate",
        by_documents=job.get("mix_by", "tokens") == "documents",
        drop_exhausted=bool(job.get("passes")) or job.get("on_exhausted", "stop") == "drop",
        drop_last=job.get("drop_last", True),
        batch_sizes=[(0, sizes)] if isinstance(sizes, int) else
        [(size["from_step"], size["batch_size"]) for size in sizes])
    names = [dataset.name for dataset in datasets]
    spec.stages = [stage_of(entry, names, spec) for entry in job.get("mixture_stages", [])]
    check_limits(spec)
    return spec, [ids for _, ids, _ in read], job.get("pad_id", 0)


def check_limits(spec):
    for weights in [[dataset.weight for dataset in spec.datasets]] + [weights for _, weights in spec.stages]:
        if sum(weights) * spec.piece * len(spec.datasets) >= 1 << 61:
            raise JobError("the weights are too large")
    if spec.packing != "concat" and spec.piece > spec.row_tokens:
        raise JobError("a piece is longer than a row")
    if spec.packing == "best_fit" and (spec.pack_window + 1) * spec.row_tokens >= 1 << 31:
        raise JobError("pack_window is too large")


def job_lines(path, steps=None):
    """The objects of batches.jsonl, one a step."""
    spec, ids, pad_id = open_job(path)
    plan, chain = oracle_plan.Plan(spec), bytes(32)

    def tokens_of(segment):
        return ids[segment.dataset][segment.document][segment.start:segment.start + segment.length]
    while steps is None or plan.step < steps:
        step = plan.next()
        if step is None:
            return
        line, chain = oracle_plan.batch_line(plan, step, chain, tokens_of, pad_id)
        yield line


def main(arguments):
    if len(arguments) not in (1, 3) or arguments[0].startswith("-") or arguments[1:2] not in ([], ["--steps"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        for line in job_lines(arguments[0], int(arguments[2]) if arguments[1:] else None):
            print(json.dumps(line, separators=(",", ":")), flush=True)
    except oracle_plan.Refused as refusal:
        print("refused: %s" % refusal, file=sys.stderr)
        return 3
    except (JobError, OSError) as error:
        print("error: %s" % error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Writes the seeds that a built leat makes (checkpoint, cursor, batch log, tokenizer) and plain ones for the other targets.

    seeds.py LEAT OUT      (the committed seeds in tests/fuzz/seeds were made by it)
"""
import json
import os
import subprocess
import sys
import tempfile

leat, out = sys.argv[1:]
work = tempfile.mkdtemp(prefix="leat-seeds-")
texts = ["the mill", "", "wheel \u00e9 \U0001f4a7 \n turns", "a" * 200]
shard = "".join(json.dumps({"text": t, "n": i, "more": {"a": [1, 2.5e3, None, True]}}) + "\n" for i, t in enumerate(texts))
with open(f"{work}/a.jsonl", "w", encoding="utf-8") as file:
    file.write(shard)
job = """seed: 3
sequence_length: 7
batch_size: [{from_step: 0, batch_size: 4}, {from_step: 9, batch_size: 5}]
packing: %s
pack_window: 4
tokenizer: {file: bytes, eos: "<|eos|>"}
datasets:
  - {name: a, weight: 0.5, files: [a.jsonl], shuffle: {unit: document, piece_window: 4}}
mixture_stages: [{from_step: 4, weights: {a: 1}}]
"""
base = [chr(b) if 33 <= b < 127 else chr(256 + b) for b in range(256)]
tokenizer = {"version": "1.0", "added_tokens": [{"id": 258, "content": "<|endoftext|>", "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True}], "normalizer": None,
             "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
             "post_processor": None, "decoder": {"type": "ByteLevel"},
             "model": {"type": "BPE", "vocab": {}, "merges": ["t h", "th e"]}}
order = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
extra = 0
for b in range(256):
    tokenizer["model"]["vocab"][chr(b) if b in order else chr(256 + extra)] = b
    extra += b not in order
tokenizer["model"]["vocab"].update({"th": 256, "the": 257})


def put(target, name, content):
    os.makedirs(f"{out}/{target}", exist_ok=True)
    with open(f"{out}/{target}/{name}", "wb") as file:
        file.write(content)


put("json_lines", "plain", shard.encode())
put("json_lines", "odd", b'\xef\xbb\xbf{"text":"\\ud83d\\ude00"}\r\n\n{"text":null}\n{"text":"\xff"}\n[1]\n{"text":"a","text":"b"}\n{"x":123456789012345678901234567890,"text":"' + b"word " * 40 + b'"}')
put("tokenizer", "small.json", json.dumps(tokenizer).encode())
for packing in ("concat", "best_fit"):
    put("job", f"{packing}.yaml", (job % packing).encode())
    with open(f"{work}/job.yaml", "w", encoding="utf-8") as file:
        file.write(job % packing)
    subprocess.run([leat, "run", f"{work}/job.yaml", "--out", f"{work}/{packing}", "--steps", "12"], check=True, stdout=subprocess.DEVNULL)
    with open(f"{work}/{packing}/checkpoints/step-000012.h5", "rb") as file:
        content = file.read()
    put("checkpoint", packing, content)
    with open(f"{work}/{packing}/batches.jsonl", "rb") as file:
        put("batch_log", packing, file.read())
    at = content.find(b"LEATCUR1")
    if at >= 0:
        put("cursor", packing, content[at:at + 172])
put("job", "json", json.dumps({"seed": 1, "sequence_length": 8, "batch_size": 2, "tokenizer": {"file": "bytes"}, "datasets": [{"name": "x", "files": ["a*"]}]}).encode())

#!/usr/bin/env python3
"""The elastic example's kind of job (real text and code of this machine, the demo tokenizer, rows of 257 tokens), against
the oracle, whose token ids come from the reference tokenizer.  Skips (77) where the Python package `tokenizers` is missing."""
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("LEAT_SOURCE_DIR", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
LEAT = os.path.join(os.environ.get("LEAT_BINARY_DIR", os.path.join(SOURCE, "build/release")), "leat")
STEPS = 12
try:
    import tokenizers  # noqa: F401
except ImportError:
    print("SKIPPED: the Python package tokenizers is not installed (pip install tokenizers==0.22.2)")
    sys.exit(77)


def call(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240)
    if done.returncode != 0:
        sys.exit(f"{command} failed ({done.returncode}):\n{done.stderr[-2000:]}")
    return done.stdout


with tempfile.TemporaryDirectory(prefix="leat-example-") as work:
    os.chdir(work)
    call("python3", f"{SOURCE}/examples/elastic_resume/gather.py", "corpus", "--megabytes", "1", "--shards", "3")
    shards = sorted(f"corpus/{d}/{n}" for d in ("text", "code") for n in os.listdir(f"corpus/{d}") if n.endswith(".jsonl"))
    call("python3", f"{SOURCE}/examples/demo_tokenizer/train.py", "tokenizer.json", *shards)
    for packing in ("concat", "best_fit"):
        job = {"seed": 7, "sequence_length": 256, "batch_size": 64, "packing": packing, "pack_window": 256,
               "tokenizer": {"file": "tokenizer.json", "eos": "<|endoftext|>"},
               "datasets": [{"name": "text", "weight": 0.7, "files": ["corpus/text/*.jsonl"]},
                            {"name": "code", "weight": 0.3, "files": ["corpus/code/*.jsonl"]}]}
        with open("job.json", "w", encoding="utf-8") as file:
            json.dump(job, file)
        want = call("python3", f"{SOURCE}/tests/oracle/oracle.py", "job.json", "--steps", str(STEPS)).splitlines()
        call("mpirun", "-n", "3", LEAT, "run", "job.json", "--out", f"run-{packing}", "--steps", str(STEPS))
        with open(f"run-{packing}/batches.jsonl", encoding="utf-8") as file:
            got = file.read().splitlines()
        assert len(got) == len(want) == STEPS, (len(got), len(want))
        for step, (a, b) in enumerate(zip(got, want)):
            assert json.loads(a) == json.loads(b), f"{packing}: step {step} differs:\n  product {a}\n  oracle  {b}"
        print(f"{packing}: {STEPS} steps equal the oracle's")

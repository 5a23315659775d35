#!/usr/bin/env bash
# examples/demo_tokenizer/train.py: the same file whatever the order of its inputs, which `leat tokenize` reads; what it
# writes is fewer ids than bytes, the end-of-text token is one id, and decoding the ids gives the text back.
set -euo pipefail
leat=$LEAT_BINARY_DIR/leat
[ -x "$leat" ] || { echo "SKIPPED: no $leat"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out"
train=$LEAT_SOURCE_DIR/examples/demo_tokenizer/train.py
python3 - "$LEAT_SOURCE_DIR" << 'PYTHON'
import glob, json, sys
names = sorted(glob.glob(sys.argv[1] + "/runtime/base/*.[ch]"))
for number, part in enumerate((names[::2], names[1::2])):
    with open(f"{number}.jsonl", "w", encoding="utf-8") as file:
        for name in part:
            file.write(json.dumps({"text": open(name, encoding="utf-8").read()}) + "\n\n")
with open("odd.jsonl", "w", encoding="utf-8") as file:
    for text in ("", "a", "naïve 中文 😀\t\x00 it's 12345<|endoftext|>\n", " " * 300):
        file.write(json.dumps({"text": text}) + "\n")
PYTHON
timeout 100 python3 "$train" one.json 0.jsonl 1.jsonl --vocabulary 1000
timeout 100 python3 "$train" two.json 1.jsonl 0.jsonl --vocabulary 1000
cmp one.json two.json
for name in 0 1 odd; do
    "$leat" tokenize one.json $name.jsonl > $name.ids
done
python3 - << 'PYTHON'
import json
whole = json.load(open("one.json", encoding="utf-8"))
vocab = whole["model"]["vocab"]
assert len(vocab) == 999 and whole["added_tokens"][0]["id"] == 999, len(vocab)
plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
bytes_of = {chr(b): b for b in plain}
for b in range(256):
    if b not in plain:
        bytes_of[chr(0x100 + len(bytes_of) - len(plain))] = b
token = {number: bytes(bytes_of[c] for c in text) for text, number in vocab.items()}
token[999] = b"<|endoftext|>"
for name in ("0", "1", "odd"):
    texts = [json.loads(line)["text"] for line in open(name + ".jsonl") if line.strip()]
    ids = [json.loads(line) for line in open(name + ".ids")]
    assert len(texts) == len(ids)
    for text, numbers in zip(texts, ids):
        assert b"".join(token[n] for n in numbers).decode() == text, text[:100]
    if name != "odd":
        assert sum(map(len, ids)) * 2 < sum(map(len, texts)), "poor compression"
    else:
        assert ids[0] == [] and ids[2].count(999) == 1, ids
PYTHON
echo '{"text":7}' > bad.jsonl
if python3 "$train" bad.json bad.jsonl 2> message; then
    echo "a bad record was taken"
    exit 1
fi
grep -q 'bad.jsonl:1: no text' message

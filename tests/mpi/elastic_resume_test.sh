#!/usr/bin/env bash
# The example elastic_resume: 16 ranks to 8, 32, 64 and 5 ranks, every batch compared.  And that its comparison can fail.
set -euo pipefail
leat=$LEAT_BINARY_DIR/leat
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
[ -x "$leat" ] || { echo "skipped: no $leat"; exit 77; }
LEAT=$leat timeout -k 10 280 "$LEAT_SOURCE_DIR/examples/elastic_resume/run.sh" "$out"

# One digit of one digest changed: the comparison must say so.
sed -i '177s/"batch":"\(.\)/"batch":"x\1/' "$out/run-5/batches.jsonl"
if python3 "$LEAT_SOURCE_DIR/examples/elastic_resume/compare.py" text,code "$out/full/batches.jsonl" \
    "16 to 5|5|-=$out/run-5/batches.jsonl" > "$out/table" 2> "$out/errors"; then
    echo "a changed digest was not seen"
    exit 1
fi
grep -q 'DIFFERS at step 176' "$out/table"
grep -q 'differs from .* at step 176' "$out/errors"

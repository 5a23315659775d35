#!/usr/bin/env bash
# leat checkpoint FILE: for people, as JSON, and every damaged file refused with exit 3; h5dump shows it; no rank count in it.
set -euo pipefail
leat=$LEAT_BINARY_DIR/leat
[ -x "$leat" ] || { echo "skipped: no $leat"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out"
fail() {
    echo "$*"
    exit 1
}
for i in $(seq 300); do
    echo "{\"text\":\"document number $i of a few hundred short ones\"}"
done > a.jsonl
cat > job.yaml << 'YAML'
seed: 1
sequence_length: 64
batch_size: 6
tokenizer: {file: bytes, eos: 257}
datasets:
  - {name: short, files: ["a.jsonl"]}
YAML
timeout 60 "$leat" run job.yaml --out one --steps 40 --checkpoint-every 20 > log 2>&1 || { cat log; exit 1; }
timeout 60 mpirun -n 5 "$leat" run job.yaml --out five --steps 40 --checkpoint-every 20 > log 2>&1 || { cat log; exit 1; }
cmp one/checkpoints/step-000040.h5 five/checkpoints/step-000040.h5
file=one/checkpoints/step-000020.h5

"$leat" checkpoint "$file" > text
for want in "$file: whole" "step  *20" "first row  *120" "chain  *[0-9a-f]\{64\}" "1 datasets" "0 short: stream position [0-9]* (epoch 0"; do
    grep -q "$want" text || { cat text; fail "no \"$want\""; }
done
"$leat" checkpoint "$file" --json > json
python3 - << 'PYTHON'
import json
checkpoint = json.load(open("json"))
log = [json.loads(line) for line in open("one/batches.jsonl")]
assert checkpoint["whole"] is True and checkpoint["step"] == 20 and checkpoint["first_row"] == 120, checkpoint
assert checkpoint["chain"] == log[19]["chain"], checkpoint["chain"]
assert checkpoint["datasets"][0]["name"] == "short", checkpoint["datasets"]
assert isinstance(checkpoint["settings"], dict) and isinstance(checkpoint["info"], dict)
PYTHON
if command -v h5dump > /dev/null; then
    h5dump -d settings "$file" | grep -q sequence_length || fail "h5dump does not show the settings"
    h5dump -n "$file" | grep -c dataset | grep -qx 7
fi

# refused CODE TEXT ARGUMENTS…
refused() {
    local want=$1 text=$2 got=0
    shift 2
    "$leat" checkpoint "$@" > text 2>&1 || got=$?
    [ "$got" -eq "$want" ] || { cat text; fail "leat checkpoint $*: exit $got, wanted $want"; }
    grep -q "$text" text || { cat text; fail "leat checkpoint $*: no \"$text\""; }
}
size=$(stat -c %s "$file")
for cut in 0 1 8 $((size / 2)) $((size - 1)); do
    head -c "$cut" "$file" > cut.h5
    refused 3 "is no whole checkpoint" cut.h5
done
for at in 0 9 2000 $((size - 48)) $((size - 1)); do
    cp "$file" flipped.h5
    printf '\x55' | dd of=flipped.h5 bs=1 seek="$at" conv=notrunc status=none
    refused 3 "is no whole checkpoint" flipped.h5
done
refused 3 "is not a plain file" one
refused 3 "cannot open nowhere.h5" nowhere.h5
refused 2 "checkpoint"
refused 2 "checkpoint" "$file" "$file"
refused 3 '"status":"CORRUPT"' cut.h5 --json

# A lock held by another process and locking forced on: nothing here needs a lock.
(
    flock -x 9
    HDF5_USE_FILE_LOCKING=TRUE "$leat" checkpoint "$file" > /dev/null
) 9< "$file"

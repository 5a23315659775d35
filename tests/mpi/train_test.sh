#!/usr/bin/env bash
# The example train, small: its verdict holds; a plain loader on the same number of ranks goes on exactly, so what is shown is
# the change of the number; the verdict can fail; a damaged model or a missing one is refused.
set -euo pipefail
train=$LEAT_BINARY_DIR/examples/train/train
example=$LEAT_SOURCE_DIR/examples/train
[ -x "$train" ] || { echo "skipped: no $train"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() { echo "$*"; exit 1; }

TRAIN=$train BASE=4 RANKS=2 STEPS=24 SAVE_AT=8 MEGABYTES=1 timeout -k 10 200 "$example/run.sh" "$out" | tee "$out/table"
grep -q '^the verdict holds$' "$out/table"
grep -q 'leat .* 4 to 2 .* digests equal' "$out/table"
[ "$(grep -c polyline "$out/loss.svg")" -eq 4 ] || fail "loss.svg has not its four curves"
cd "$out"
compare() { python3 "$example/compare.py" . --base 4 --save-at 8 --steps 24 2; }

# The plain loader is a fair one: on 4 ranks again it loses nothing.
cp -r plain-base plain-4
timeout -k 5 60 mpirun -n 4 "$train" --plain documents.bin --rows 64 --length 24 --out plain-4 --steps 24 --resume-at 8
cut -f 1,4 plain-4/losses-000008.tsv > again
tail -n 16 plain-full/losses-000000.tsv | cut -f 1,4 | cmp - again || fail "the plain loader did not go on where it was"

# One digest, then one loss changed: the verdict must fail, each time for that reason.
cp -r leat-2 kept
sed -i '18s/"batch":"\(.\)/"batch":"x\1/' leat-2/batches.jsonl
if compare > table; then fail "a changed digest was not seen"; fi
grep -q 'differ from 17 .*FAILED' table
rm -rf leat-2 && cp -r kept leat-2
awk -F '\t' -v OFS='\t' '$1 == 20 { $2 *= 1.001 } { print }' kept/losses-000008.tsv > leat-2/losses-000008.tsv
if compare > table; then fail "a changed loss was not seen"; fi
grep -q '1.0e-03 at step 20 .*FAILED' table
rm -rf leat-2 && cp -r kept leat-2
sed -i '$d' leat-2/losses-000008.tsv
if compare > table 2>&1; then fail "a missing step was not seen"; fi
grep -q 'losses of 23 steps' table

# The trainer's checkpoint: damaged, cut short, missing.
refused() { # WANTED: resuming broken must end with that message
    if timeout -k 5 60 mpirun -n 2 "$train" --job job.yaml --out broken --steps 10 --resume > log 2>&1; then
        fail "resumed although the model is $1"
    fi
    grep -q "model-000008.bin: $2" log || { cat log; fail "no word of the model that is $1"; }
    rm -rf broken && cp -r leat-base broken
}
cp -r leat-base broken
model=broken/model-000008.bin
printf 'x' | dd of=$model bs=1 seek=5000 conv=notrunc status=none
refused damaged 'is damaged'
truncate -s -8 $model
refused 'cut short' 'is damaged'
rm $model
refused missing 'cannot be opened'

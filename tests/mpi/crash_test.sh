#!/usr/bin/env bash
# A run that is killed, again and again, on changing numbers of ranks, must end with the batches of one that never was; damaged
# checkpoints are passed over; a run folder has one owner; a full disk costs nothing that was there.
set -euo pipefail
leat=$LEAT_BINARY_DIR/leat
[ -x "$leat" ] || { echo "skipped: no $leat"; exit 77; }
out=$(mktemp -d)
trap 'mountpoint -q "$out/small" && umount "$out/small"; rm -rf "$out"' EXIT
cd "$out"
mkdir corpus
python3 - << 'PYTHON'
import json
import random
random.seed(43)
words = ["water", "mill", "wheel", "stone", "grain", "leat", "sluice", "weir", "flour", "race"]
for name in "ab":
    for shard in range(3):
        with open(f"corpus/{name}-{shard}.jsonl", "w") as file:
            for _ in range(400):
                text = " ".join(random.choice(words) for _ in range(random.randrange(5, 200)))
                file.write(json.dumps({"text": text}) + "\n")
PYTHON
cat > job.yaml << 'YAML'
seed: 43
sequence_length: 128
batch_size: 12
tokenizer: {file: bytes, eos: 257}
datasets:
  - {name: a, weight: 0.6, files: ["corpus/a-*.jsonl"]}
  - {name: b, weight: 0.4, files: ["corpus/b-*.jsonl"]}
YAML
fail() {
    echo "$*"
    exit 1
}
leat_run() {
    local ranks=$1
    shift
    timeout -k 5 60 mpirun -n "$ranks" "$leat" run job.yaml "$@"
}
# expect CODE COMMAND…: runs it with its output in last.log.
expect() {
    local want=$1 got=0
    shift
    "$@" > last.log 2>&1 || got=$?
    [ "$got" -eq "$want" ] || { cat last.log; fail "$*: exit $got, wanted $want"; }
}
has() {
    grep -q "$1" last.log || { cat last.log; fail "no \"$1\" in the output"; }
}

# ranks_of FOLDER: the processes of the run in that folder; only ours, so their working folder is looked at too.
ranks_of() {
    local pid
    for pid in $(pgrep -f "^$leat run job.yaml --out $1" || true); do
        [ "$(readlink "/proc/$pid/cwd")" != "$out" ] || echo "$pid"
    done
}

leat_run 4 --out whole --steps 250 --checkpoint-every 20 > whole.log 2>&1 || { cat whole.log; fail "whole"; }

# SIGKILL to one rank or to all, at random moments.
seed=${LEAT_TEST_SEED:-$RANDOM}
echo "seed $seed"
RANDOM=$seed
kills=0
for try in 1 2 3 4 5 6; do
    ranks=$((1 + RANDOM % 5))
    leat_run "$ranks" --out killed --resume --steps 250 --checkpoint-every 20 --step-time 30 > killed.log 2>&1 &
    sleep "$((RANDOM % 3)).$((5 + RANDOM % 5))"
    pids=$(ranks_of killed)
    [ $((RANDOM % 2)) -eq 0 ] || pids=${pids##*$'\n'}
    if [ -n "$pids" ]; then
        kill -KILL $pids 2> /dev/null && kills=$((kills + 1))
    fi
    wait $! || true
done
echo "killed $kills times"
[ "$kills" -gt 0 ] || fail "no run was killed"
expect 0 leat_run 3 --out killed --resume --steps 250 --checkpoint-every 20
cmp whole/batches.jsonl killed/batches.jsonl
cmp whole/checkpoints/step-000240.h5 killed/checkpoints/step-000240.h5
[ ! -e killed/owner ] || fail "an owner file stayed"
[ -z "$(find killed -name '*.tmp')" ] || fail "temporary files stayed"

# Cut, changed and empty checkpoints are named and passed over; where none is whole the run does not begin anew.
cp -r whole damaged
rm -f damaged/checkpoints/step-000250.h5
truncate -s 3000 damaged/checkpoints/step-000240.h5
: > damaged/checkpoints/step-000220.h5
printf x | dd of=damaged/checkpoints/step-000200.h5 bs=1 seek=2222 conv=notrunc status=none
expect 0 leat_run 2 --out damaged --resume --steps 250
for step in 240 220 200; do
    has "step-000$step.h5 is no whole checkpoint"
done
cmp whole/batches.jsonl damaged/batches.jsonl
for file in damaged/checkpoints/*; do
    printf 'no checkpoint' > "$file"
done
expect 3 leat_run 2 --out damaged --resume --steps 260
has "is whole"
expect 0 leat_run 3 --out damaged --resume --step 237 --steps 250
cmp whole/batches.jsonl damaged/batches.jsonl
cmp whole/checkpoints/step-000250.h5 damaged/checkpoints/step-000250.h5

# A second run is refused while the first lives, and takes over when it is gone.
leat_run 2 --out owned --steps 100000 --step-time 50 > owned.log 2>&1 &
first=$!
for try in $(seq 100); do
    [ -s owned/batches.jsonl ] && break
    sleep 0.1
done
expect 4 leat_run 1 --out owned --resume --steps 10
has "in use by job"
kill -KILL $(ranks_of owned)
wait $first || true
[ -e owned/owner ] || fail "the killed run left no owner file"
expect 0 leat_run 1 --out owned --resume --steps 5

# A limit of file sizes (no launcher: MPI's shared memory would meet it too).
code=0
(
    ulimit -f 30
    exec timeout 60 "$leat" run job.yaml --out limited --steps 250
) > last.log 2>&1 || code=$?
[ "$code" -eq 3 ] || { cat last.log; fail "file size limit: exit $code, wanted 3"; }
has "File too large"
cmp -n "$(stat -c %s limited/batches.jsonl)" limited/batches.jsonl whole/batches.jsonl
[ "$(tail -c 1 limited/batches.jsonl)" = "" ] || fail "a torn line stayed"
expect 0 leat_run 2 --out limited --resume --steps 250
cmp whole/batches.jsonl limited/batches.jsonl

# A full disk: a loud end, and what was there is whole.
mkdir small
if mount -t tmpfs -o size=60k leat_test small 2> /dev/null; then
    code=0
    leat_run 2 --out small/run --steps 250 --checkpoint-every 20 > last.log 2>&1 || code=$?
    [ "$code" -eq 3 ] || { cat last.log; fail "full disk: exit $code, wanted 3"; }
    has "No space left"
    cmp -n "$(stat -c %s small/run/batches.jsonl)" small/run/batches.jsonl whole/batches.jsonl
    [ "$(tail -c 1 small/run/batches.jsonl)" = "" ] || fail "a torn line stayed"
    cp -r small/run bigger
    umount small
    expect 0 leat_run 3 --out bigger --resume --steps 250 --checkpoint-every 20
    cmp whole/batches.jsonl bigger/batches.jsonl
else
    echo "no tmpfs can be mounted here: the full disk is left to the unit tests"
fi

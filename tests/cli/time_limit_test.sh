#!/usr/bin/env bash
# leat run stops in time before the end of a Slurm job, as SLURM_JOB_END_TIME tells it.
set -euo pipefail
leat=${LEAT_BINARY_DIR:?}/leat
[ -x "$leat" ] || { echo "skipped: no $leat"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for i in $(seq 300); do echo "{\"text\":\"record $i of the corpus\"}"; done > corpus.jsonl
cat > job.yaml << 'YAML'
seed: 3
sequence_length: 32
batch_size: 4
tokenizer: {file: bytes, eos: 257}
datasets:
  - {name: corpus, files: [corpus.jsonl]}
YAML
fail() {
    echo "$*"
    tail -n 5 err.txt
    exit 1
}
# run WANT FOLDER END ARGUMENTS…: with SLURM_JOB_END_TIME, END seconds from now or as it stands.
run() {
    local want=$1 folder=$2 end=$3 got=0
    shift 3
    case $end in [+-]*) end=$(($(date +%s) + end)) ;; esac
    SLURM_JOB_END_TIME=$end timeout -k 5 60 "$leat" run job.yaml --out "$folder" --resume --step-time 50 "$@" \
        > out.txt 2> err.txt || got=$?
    [ "$got" = "$want" ] || fail "$folder: exit $got, wanted $want"
}
has() {
    grep -qF -- "$1" err.txt || fail "no \"$1\" in the messages"
}

# Ends by itself, having saved, and is gone on with; the batches are those of a run without a limit.
"$leat" run job.yaml --out whole --steps 100 > out.txt 2> err.txt
run 75 margin +8 --steps 100 --max-time-margin 6
has "6 s before the time limit"
steps=$(wc -l < margin/batches.jsonl)
[ "$steps" -lt 100 ] || fail "it was not stopped"
[ -f "margin/checkpoints/step-$(printf %06d "$steps").h5" ] || fail "it did not save"
run 0 margin +600 --steps 100
has "60 s before the time limit"
cmp whole/batches.jsonl margin/batches.jsonl

# Half of the time where that is less than a minute; a job shorter than its margin still gets on by a step each time.
run 75 short +4 --steps 1000
has "before the time limit"
run 75 tight +4 --steps 100 --max-time-margin 60
run 75 tight +4 --steps 100 --max-time-margin 60
[ "$(wc -l < tight/batches.jsonl)" -ge 2 ] || fail "a job shorter than its margin does not get on"

# The earlier of both limits holds.
run 75 both +600 --steps 1000 --max-time 1

# What makes no sense is named and left aside.
for end in -50 soon 12x "" 99999999999999999999; do
    rm -rf odd
    run 0 odd "$end" --steps 3
    has "SLURM_JOB_END_TIME"
    has "not used"
done
run 0 never 18446744073709551615 --steps 3

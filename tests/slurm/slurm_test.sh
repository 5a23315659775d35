#!/usr/bin/env bash
# examples/slurm on a Slurm of our own: a run that is asked to save and then preempted, a chain of jobs of 4, 16 and 4 ranks
# and an array over one index must give the very batches of a run that was left alone.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
leat=${LEAT_BINARY_DIR:?}/leat
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
examples=$tests/../../examples/slurm
[ -x "$leat" ] || { echo "SKIPPED: no $leat"; exit 77; }
for tool in slurmctld slurmd sbatch munged mpirun; do
    command -v $tool > /dev/null || { echo "SKIPPED: $tool is missing (apt-get install slurm-wlm munge)"; exit 77; }
done
work=$(mktemp -d /tmp/leat-slurm-XXXXXX)
chmod 711 "$work" # munged wants its socket to be reachable
bed=$work/bed
mkdir "$work/runs"
cd "$work/runs"
clean() {
    bash "$tests/bed-down.sh" "$bed"
    [ -n "${LEAT_KEEP:-}" ] || rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' TERM INT
fail() {
    echo "FAILED: $*"
    tail -n 40 ./*.txt
    tail -n 20 "$bed"/log/slurmctld.log
    exit 1
}

bash "$tests/bed-up.sh" "$bed" 2 24 > up.out || fail "the test bed did not come up"
. "$bed/env.sh"
export LEAT=$leat OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset OMPI_MCA_btl # of the other tests, for one host; the bed says what its nodes can use
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_hwloc_base_binding_policy=none

python3 - << 'PYTHON'
import json
import random
random.seed(29)
words = ["water", "mill", "wheel", "stone", "grain", "leat", "sluice", "weir", "flour", "race"]
for name in "ab":
    for shard in range(3):
        with open(f"{name}-{shard}.jsonl", "w") as file:
            for _ in range(300):
                file.write(json.dumps({"text": " ".join(random.choices(words, k=random.randrange(5, 120)))}) + "\n")
PYTHON
cat > job.yaml << 'YAML'
seed: 29
sequence_length: 128
batch_size: 24
tokenizer: {file: bytes, eos: 257}
index_dir: index
datasets:
  - {name: a, weight: 0.6, files: ["a-*.jsonl"]}
  - {name: b, weight: 0.4, files: ["b-*.jsonl"]}
YAML

steps() {
    local lines=0
    [ ! -e "$1/batches.jsonl" ] || lines=$(wc -l < "$1/batches.jsonl")
    echo "$lines"
}
state() {
    squeue -t all -h -j "$1" -o %T
}
# until_so SECONDS WHAT COMMAND…: waits until the command succeeds.
until_so() {
    local end=$((SECONDS + $1)) what=$2
    shift 2
    [ $end -lt 240 ] || end=240 # time to take the bed down before ctest ends this script by KILL
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "waited in vain for: $what"
        sleep 0.2
    done
}
has_steps() {
    [ "$(steps "$1")" -ge "$2" ]
}
has_starts() {
    [ -e "$1/manifest.json" ] && [ "$(starts "$1" | wc -w)" -ge "$2" ]
}
has_ended() {
    case $(state "$1") in
    COMPLETED) return 0 ;;
    FAILED | CANCELLED | TIMEOUT | NODE_FAIL) fail "job $1: $(state "$1")" ;;
    *) return 1 ;;
    esac
}
restarts() {
    scontrol show job "$1" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p'
}
# starts FOLDER: RANKS:STEP of each start of that run, as its manifest tells.  The batches alone would not show a start that
# did all steps again.
starts() {
    python3 -c 'import json, sys
print(*["{ranks}:{step}".format(**start) for start in json.load(open(sys.argv[1]))["restarts"]])' "$1/manifest.json"
}

# The index by a job of its own, and experiments that wait for it; what they differ in is their seed.
printf 'seed-29 --set seed=29\nseed-30 --set seed=30\n' > experiments
index=$(sbatch --parsable --ntasks=2 -o index.txt --wrap "mpirun $leat index job.yaml")
array=$(sbatch --parsable --array=1-2 --dependency=afterok:"$index" --ntasks=2 "$examples/array.sbatch" \
    job.yaml array experiments --steps 60)
until_so 60 "the index" has_ended "$index"

# What all is compared with.
"$leat" run job.yaml --out whole --steps 60 > whole.txt 2>&1 || fail "the run that is left alone"
"$leat" run job.yaml --out other --steps 60 --set seed=30 > other.txt 2>&1 || fail "the run of another seed"
if grep -q indexing whole.txt; then fail "the index was not shared"; fi

# These run beside the rest: a first run by srun, a run of which a rank will be killed, and one that always fails.
first=$(LAUNCH="srun --mpi=pmix" sbatch --parsable -N 1 --ntasks-per-node=2 "$examples/run.sbatch" job.yaml first --steps 60)
killed=$(sbatch --parsable -N 1 --ntasks-per-node=2 "$examples/requeue.sbatch" job.yaml killed --steps 60 --step-time 150)
printf '#!/bin/sh\nexit 5\n' > fails
chmod +x fails
failing=$(LAUNCH=env LEAT=./fails RETRIES=1 sbatch --parsable -N 1 --ntasks-per-node=1 "$examples/requeue.sbatch" \
    job.yaml failing)
until_so 60 "steps of the run to be killed" has_steps killed 2
for pid in $(pgrep -f "^$leat run job.yaml --out killed "); do
    if [ "$(readlink "/proc/$pid/cwd")" = "$PWD" ]; then victim=$pid; fi
done
kill -KILL "${victim:?no rank was found}" || fail "the rank was gone already"

# A chain on one node; its first link is asked to save, and is requeued: the second must wait for it all the same.
mapfile -t chain < <(SBATCH_OPTIONS="--nodelist=n1" RUN_OPTIONS="--step-time 150" "$examples/chain.sh" \
    job.yaml chain 1x4:30 1x16:45 1x4:60)
[ ${#chain[@]} = 3 ] || fail "the chain was not submitted"
until_so 60 "the chain's first steps" has_steps chain 2
scancel -b -s USR1 "${chain[0]}" || fail "the first link is gone already"
until_so 120 "the chain's end" has_ended "${chain[2]}"
cmp whole/batches.jsonl chain/batches.jsonl || fail "batches of the chain"
[ "$(restarts "${chain[0]}")" = 1 ] || fail "the first link was not requeued"
[[ $(starts chain) =~ ^4:0\ 4:[1-9][0-9]?\ 16:30\ 4:45$ ]] || fail "the chain's starts: $(starts chain)"
echo "chain: equal; ranks:step of its starts $(starts chain), after $SECONDS s"

for element in 1 2; do
    until_so 60 "the array" has_ended "${array}_$element"
done
cmp whole/batches.jsonl array/seed-29/batches.jsonl || fail "batches of the first experiment"
cmp other/batches.jsonl array/seed-30/batches.jsonl || fail "batches of the second experiment"
if cmp -s whole/batches.jsonl other/batches.jsonl; then fail "two seeds, one order"; fi
if grep -l indexing leat-array-*.txt; then fail "an experiment built its own index"; fi
echo "array: equal, after $SECONDS s"

until_so 60 "the first run" has_ended "$first"
cmp whole/batches.jsonl first/batches.jsonl || fail "batches of the first run"
until_so 60 "the run of which a rank was killed" has_ended "$killed"
cmp whole/batches.jsonl killed/batches.jsonl || fail "batches of the run of which a rank was killed"
[ "$(restarts "$killed")" = 1 ] || fail "restarts after the kill: $(restarts "$killed"), wanted 1"
[ ! -e killed.failures ] || fail "a count of failures stayed"
until_so 60 "the end of what always fails" eval '[ "$(state "$failing")" = FAILED ]'
[ "$(restarts "$failing")" = 1 ] || fail "what always fails was requeued $(restarts "$failing") times, wanted 1"
[ "$(wc -l < failing.failures)" = 2 ] || fail "failures were not counted"
echo "killed and failing: as expected, after $SECONDS s"

# Two nodes with four ranks each: asked to save, requeued, then preempted by a job of a better partition, requeued again.
job=$(sbatch --parsable "$examples/requeue.sbatch" job.yaml requeued --steps 60 --step-time 150)
until_so 60 "the first steps" has_steps requeued 3
scancel -b -s USR1 "$job" || fail "the job is gone already"
until_so 60 "a second start" has_starts requeued 2
until_so 60 "steps of the second start" has_steps requeued $(($(steps requeued) + 3))
sbatch -p high -N 2 --exclusive -o high.txt --wrap 'sleep 1' > high.out
until_so 120 "the end of the preempted job" has_ended "$job"
cmp whole/batches.jsonl requeued/batches.jsonl || fail "batches of the requeued run"
[ "$(restarts "$job")" = 2 ] || fail "restarts: $(restarts "$job"), wanted 2"
[[ $(starts requeued) =~ ^8:0\ 8:[1-9][0-9]?\ 8:[1-9][0-9]?$ ]] || fail "its starts: $(starts requeued)"
grep -q "exit 75" "leat-$job.txt" || fail "the run did not end with 75"
grep -q "before the time limit of the Slurm job" "leat-$job.txt" || fail "the run knows no end of its job"
"$leat" verify whole requeued > verify.txt || fail "leat verify"
echo "requeued: equal; ranks:step of its starts $(starts requeued), after $SECONDS s"

# A wrong use is not started again.
bad=$(sbatch --parsable -n 2 -N 1 -o bad.txt "$examples/requeue.sbatch" nowhere.yaml bad)
until_so 60 "the end of the wrong job" eval '[ "$(state "$bad")" = FAILED ]'
[ "$(restarts "$bad")" = 0 ] || fail "a job that cannot work was requeued"
echo "all as expected after $SECONDS s"

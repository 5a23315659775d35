#!/usr/bin/env bash
# A job is saved on 16 ranks at step 150 and goes on on 8, 32, 64 and 5 ranks.  Each continuation must assemble the very
# batches that an uninterrupted run of 200 steps on 16 ranks assembled.  Exit 0: it did; 1: something differs.
#
#     examples/elastic_resume/run.sh [OUT]       (default: a new folder below /tmp; everything is written there)
#
# LEAT=/path/to/leat takes that command instead of building one.  RANKS="8 32" tries other counts.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:-$(mktemp -d /tmp/leat_elastic_XXXXXX)}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Many ranks on few cores: a laptop or a CI machine shall do.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader
export OMPI_MCA_btl_vader_single_copy_mechanism=none

if [ -z "${LEAT:-}" ]; then
    if [ -x "$root/cmake/setup.sh" ]; then
        "$root/cmake/setup.sh"
    fi
    cmake -S "$root" -B "$root/build/release" -DCMAKE_BUILD_TYPE=Release > "$out/build.log"
    cmake --build "$root/build/release" --target leat -j "$(nproc)" >> "$out/build.log"
    LEAT=$root/build/release/leat
fi
cd "$out"

# run RANKS LOG ARGUMENTS…: leat run on that many ranks; its messages go to LOG.
run() {
    local ranks=$1 log=$2
    shift 2
    if ! timeout -k 10 300 mpirun -n "$ranks" "$LEAT" run job.yaml "$@" > "$log" 2>&1; then
        echo "mpirun -n $ranks leat run job.yaml $* failed; its last lines:" >&2
        tail -n 20 "$log" >&2
        exit 1
    fi
}

# resume RANKS: goes on in a copy of base; prints the seconds until the first new step was logged.
resume() {
    local ranks=$1 folder=run-$1 begun now size
    rm -rf "$folder"
    cp -r base "$folder"
    size=$(stat -c %s "$folder/batches.jsonl")
    begun=$(date +%s%N)
    run "$ranks" "$folder.log" --out "$folder" --resume --steps 200 --checkpoint-every 200 &
    while kill -0 $! 2> /dev/null && [ "$(stat -c %s "$folder/batches.jsonl")" -eq "$size" ]; do
        sleep 0.02
    done
    now=$(date +%s%N)
    wait $! || exit 1
    echo "$(((now - begun) / 1000000000)).$(printf %02d $(((now - begun) / 10000000 % 100))) s"
}

echo "writing to $out"
rm -rf corpus full base run-*
python3 "$here/gather.py" corpus
python3 "$root/examples/demo_tokenizer/train.py" tokenizer.json corpus/*/*.jsonl
cat > job.yaml << 'YAML'
seed: 7
sequence_length: 256
batch_size: 192
tokenizer: {file: tokenizer.json, eos: "<|endoftext|>"}
datasets:
  - {name: text, weight: 0.7, files: ["corpus/text/*.jsonl"]}
  - {name: code, weight: 0.3, files: ["corpus/code/*.jsonl"]}
YAML

begun=$SECONDS
echo "16 ranks, 200 steps without interruption"
run 16 full.log --out full --steps 200 --checkpoint-every 50
echo "16 ranks, saved at step 150"
run 16 base.log --out base --steps 150 --checkpoint-every 150
runs=()
for ranks in ${RANKS:-8 32 64 5}; do
    echo "$ranks ranks, from step 150 to 200"
    seconds=$(resume "$ranks")
    runs+=("16 to $ranks|$ranks|$seconds=run-$ranks/batches.jsonl")
done
echo
python3 "$here/compare.py" text,code full/batches.jsonl "${runs[@]}"
for ranks in ${RANKS:-8 32 64 5}; do
    cmp full/checkpoints/step-000200.h5 "run-$ranks/checkpoints/step-000200.h5"
done
echo "equal: the checkpoints of step 200, byte for byte"
echo "all runs took $((SECONDS - begun)) s on $(nproc) cores"

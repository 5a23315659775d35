#!/usr/bin/env bash
# A small language model is trained on 16 ranks; the run is saved at step 150 and goes on on 8, 32 and 64 ranks.  With leat
# the losses must be those of the uninterrupted run, up to the rounding of sums over ranks; a plain loader shows what
# happens without it.  Exit 0: so it is; 1: it is not.
#
#     examples/train/run.sh [OUT]       (default: a new folder below /tmp; everything is written there, also loss.svg)
#
# TRAIN=/path/to/train takes that program instead of building one.  Smaller: BASE=4 RANKS="2" STEPS=12 SAVE_AT=8.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:-$(mktemp -d /tmp/leat_train_XXXXXX)}
base=${BASE:-16} steps=${STEPS:-200} save_at=${SAVE_AT:-150} ranks_list=${RANKS:-8 32 64}
rows=64 length=24 # of a global batch: every number of ranks below divides the rows, as the plain loader wants
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Many ranks on few cores: a laptop or a CI machine shall do.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader
export OMPI_MCA_btl_vader_single_copy_mechanism=none

if [ -z "${TRAIN:-}" ]; then
    if [ -x "$root/cmake/setup.sh" ]; then
        "$root/cmake/setup.sh"
    fi
    cmake -S "$root" -B "$root/build/release" -DCMAKE_BUILD_TYPE=Release > "$out/build.log"
    cmake --build "$root/build/release" --target train -j "$(nproc)" >> "$out/build.log"
    TRAIN=$root/build/release/examples/train/train
fi
cd "$out"

# train RANKS FOLDER ARGUMENTS…
train() {
    local ranks=$1 folder=$2
    shift 2
    if ! timeout -k 10 300 mpirun -n "$ranks" "$TRAIN" --out "$folder" "$@" > "$folder.log" 2>&1; then
        echo "mpirun -n $ranks train --out $folder $* failed; its last lines:" >&2
        tail -n 20 "$folder.log" >&2
        exit 1
    fi
}

# with_… NAME RANKS ARGUMENTS…: the same run with leat and with the plain loader.
with_leat() { train "$2" "leat-$1" --job job.yaml "${@:3}"; }
with_plain() { train "$2" "plain-$1" --plain documents.bin --rows $rows --length $length "${@:3}"; }

echo "writing to $out"
rm -rf corpus leat-* plain-*
python3 "$here/../elastic_resume/gather.py" corpus --megabytes "${MEGABYTES:-2}"
# Rows of 25 bytes are short beside documents: pieces are mixed over a wide window, so that a batch is not one document.
cat > job.yaml << YAML
seed: 7
sequence_length: $length
batch_size: $rows
tokenizer: {file: bytes, eos: 257}
datasets:
  - {name: text, weight: 0.7, files: ["corpus/text/*.jsonl"], shuffle: {unit: document, piece_window: 16384}}
  - {name: code, weight: 0.3, files: ["corpus/code/*.jsonl"], shuffle: {unit: document, piece_window: 16384}}
YAML
# The same documents for the plain loader: shuffled once, a zero byte behind each.
python3 - << 'PYTHON'
import glob, hashlib, json
texts = [json.loads(line)["text"] for path in sorted(glob.glob("corpus/*/*.jsonl")) for line in open(path, encoding="utf-8")]
texts.sort(key=lambda text: hashlib.sha256(text.encode()).digest())
with open("documents.bin", "wb") as out:
    out.writelines(text.encode() + b"\0" for text in texts)
PYTHON

begun=$SECONDS
for loader in leat plain; do
    echo "$loader: $base ranks, $steps steps without interruption"
    with_$loader full "$base" --steps "$steps"
    echo "$loader: $base ranks, saved at step $save_at"
    with_$loader base "$base" --steps "$save_at" --save-at "$save_at"
    for ranks in $ranks_list; do
        echo "$loader: $ranks ranks, from step $save_at to $steps"
        cp -r $loader-base "$loader-$ranks"
        if [ $loader = leat ]; then
            with_leat "$ranks" "$ranks" --steps "$steps" --resume
        else
            with_plain "$ranks" "$ranks" --steps "$steps" --resume-at "$save_at"
        fi
    done
done
echo "all runs took $((SECONDS - begun)) s on $(nproc) cores"
echo
python3 "$here/compare.py" . --base "$base" --save-at "$save_at" --steps "$steps" $ranks_list

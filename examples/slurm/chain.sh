#!/usr/bin/env bash
# One run in several jobs of different sizes, each beginning when the one before has ended:
#
#     chain.sh JOB DIR NODESxRANKS:STEP…        e.g. chain.sh job.yaml runs/a 2x8:1000 8x8:5000 2x8:6000
#
# 2x8:1000 is two nodes with eight ranks each, until step 1000: so the example goes from 16 to 64 and back to 16 ranks.
# The batches are those of one job of any size.  Options for sbatch: SBATCH_OPTIONS="--partition=gpu --time=4:00:00";
# for leat run: RUN_OPTIONS="--step-time 50".  Prints the job numbers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage="usage: chain.sh JOB DIR NODESxRANKS:STEP…"
job=${1:?$usage} dir=${2:?$usage}
shift 2
for link; do
    [[ $link =~ ^[1-9][0-9]*x[1-9][0-9]*:[1-9][0-9]*$ ]] || {
        echo "chain.sh: \"$link\" is not NODESxRANKS:STEP, such as 2x8:1000" >&2
        exit 2
    }
done

# afterany and not afterok: a link that failed for good leaves its steps to the next one.  A link that is requeued has not
# ended, so the next one waits for its last start.
before=
for link; do
    IFS=x: read -r nodes ranks step <<< "$link"
    before=$(sbatch --parsable ${before:+--dependency=afterany:$before} ${SBATCH_OPTIONS:-} --nodes="$nodes" \
        --ntasks=$((nodes * ranks)) --ntasks-per-node="$ranks" "$here/requeue.sbatch" "$job" "$dir" --steps "$step" \
        ${RUN_OPTIONS:-})
    before=${before%%;*} # NUMBER;CLUSTER where there are several clusters
    echo "$before"
done

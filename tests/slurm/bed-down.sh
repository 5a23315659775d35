#!/usr/bin/env bash
# Ends the Slurm that bed-up.sh started in DIR, and nothing else.
#
# usage: bed-down.sh DIR
#
# A process is ended by its number alone, and only where it is the very one that was started (number and start time), or
# where it carries the mark of this folder in its environment (job steps and their ranks).
set -u -o pipefail
bed=${1:?usage: bed-down.sh DIR}
[ -d "$bed/run" ] || exit 0
export SLURM_CONF=$bed/etc/slurm.conf

# Does the process that was recorded under NAME still run?  Prints its number.
recorded() {
    local pid start
    read -r pid start 2> /dev/null < "$bed/run/$1.id" || return 1
    # shellcheck disable=SC2046 # fields
    set -- $(sed 's/.*) //' "/proc/$pid/stat" 2> /dev/null)
    [ "${20:-}" = "$start" ] && [ "$1" != Z ] && echo "$pid"
}
# stop SIGNAL SECONDS NAME…
stop() {
    local signal=$1 tries=$(($2 * 20)) name pid left
    shift 2
    for name; do
        pid=$(recorded "$name") && kill "-$signal" "$pid" 2> /dev/null
    done
    for ((; tries > 0; tries--)); do
        left=0
        for name; do
            recorded "$name" > /dev/null && left=1
        done
        [ $left = 1 ] || return 0
        sleep 0.05
    done
    return 1
}
# Steps and ranks of this bed, never this script or who called it.
ours() {
    local file pid
    for file in /proc/[0-9]*/environ; do
        pid=${file#/proc/}
        pid=${pid%/environ}
        case " $daemon_pids $$ $PPID " in *" $pid "*) continue ;; esac
        if grep -qzxF "LEAT_SLURM_BED=$bed" "$file" 2> /dev/null; then
            echo "$pid"
        elif grep -qzF "SLURM_CONF=$bed/etc/" "$file" 2> /dev/null &&
            [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = slurmstepd ]; then
            echo "$pid"
        fi
    done
}
daemon_pids=$(cut -d' ' -f1 "$bed"/run/*.id 2> /dev/null | tr '\n' ' ')
nodes=$(cd "$bed/run" && ls slurmd-n*.id 2> /dev/null | sed 's/\.id$//')

# The jobs, while the controller still answers.
if recorded slurmctld > /dev/null; then
    jobs=$(timeout 5 squeue -h -o %A 2> /dev/null | sort -u)
    if [ -n "$jobs" ]; then
        # shellcheck disable=SC2086 # a list
        timeout 10 scancel -f $jobs 2> /dev/null
        for ((i = 0; i < 100; i++)); do
            [ -n "$(timeout 5 squeue -h 2> /dev/null)" ] || break
            sleep 0.1
        done
    fi
fi
# The daemons, gently and then not.
# shellcheck disable=SC2086 # a list
stop TERM 10 $nodes || stop KILL 5 $nodes
stop TERM 10 slurmctld || stop KILL 5 slurmctld
# Steps that outlived their slurmd.
for signal in TERM KILL; do
    left=$(ours)
    # shellcheck disable=SC2086 # a list
    [ -z "$left" ] || { kill -$signal $left 2> /dev/null; sleep 1; }
done
stop TERM 5 munged || stop KILL 5 munged
rm -rf "$bed"/{run,spool,state,munge,pmix} "$bed/env.sh"

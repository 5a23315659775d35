#!/usr/bin/env bash
# A private Slurm on one machine: munged, slurmctld and one slurmd for each pretended node, all in one folder.  Nothing of
# /etc, systemd or a Slurm that runs here already is touched.  Ends with exit 0 when all nodes are idle, and prints
#
#     . DIR/env.sh        which makes sbatch, squeue … talk to it
#
# usage: bed-up.sh DIR [NODES [CPUS]]      CPUS: how many each node claims to have; there may be fewer
# munged wants the folders above DIR to be open to all (chmod a+x; `mktemp -d` makes one that is not).
# bed-down.sh DIR ends it.  Made for Debian's slurm-wlm 22.05.
set -euo pipefail
umask 022
bed=${1:?usage: bed-up.sh DIR [NODES [CPUS]]} nodes=${2:-2} cpus=${3:-8}
here=$(cd "$(dirname "$0")" && pwd)
case $bed in /*) ;; *)
    echo "bed-up: DIR must be an absolute path" >&2
    exit 2
    ;;
esac
PATH=$PATH:/usr/sbin:/sbin
die() {
    echo "bed-up: $*" >&2
    exit 1
}
for tool in munged mungekey slurmctld slurmd scontrol sinfo setsid; do
    command -v "$tool" > /dev/null || die "$tool is missing (apt-get install slurm-wlm munge)"
done
[ ! -e "$bed/run" ] || die "$bed is in use, or was not taken down with bed-down.sh"
mkdir -p "$bed"/{etc,run,log,spool,state,munge}
chmod 755 "$bed" "$bed"/*

# Ports: one for the controller, one for each node.
port_free() {
    ! (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null
}
free_ports() {
    local base port free
    for ((base = 21000 + $$ % 80 * 100; base < 30000; base += 100)); do
        free=1
        for ((port = base; port <= base + nodes; port++)); do
            port_free "$port" || free=0
        done
        [ "$free" = 0 ] || { echo "$base"; return; }
    done
    die "no free block of ports"
}
base=$(free_ports)
host=$(hostname -s)

# Of the settings, these were found by getting it wrong:
# - cred_expire: a requeued job waits that long before it starts again (default 120 s);
# - config_overrides: a slurmd believes this file and not the machine about its CPUs;
# - InactiveLimit: an srun that was killed does not hold its nodes for ever.
cat > "$bed/etc/slurm.conf" << CONF
ClusterName=bed
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$bed/munge/socket,cred_expire=5
StateSaveLocation=$bed/state
SlurmdSpoolDir=$bed/spool/%n
SlurmctldPidFile=$bed/run/slurmctld.pid
SlurmdPidFile=$bed/run/slurmd-%n.pid
SlurmctldLogFile=$bed/log/slurmctld.log
SlurmdLogFile=$bed/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=$bed/etc/taskprolog
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=pmix
PlugStackConfig=$bed/etc/plugstack.conf
MailProg=/bin/true
PropagateResourceLimits=NONE
ReturnToService=2
SlurmdParameters=config_overrides
SlurmctldTimeout=30
SlurmdTimeout=60
InactiveLimit=30
KillWait=5
UnkillableStepTimeout=30
MinJobAge=600
CompleteWait=0
Waittime=0
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PriorityType=priority/basic
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,batch_sched_delay=0,sched_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[0-$((nodes - 1))] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((base + 1))-$((base + nodes))] CPUs=$cpus RealMemory=2048 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=30 DefaultTime=10 State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=10
PartitionName=high Nodes=ALL MaxTime=30 DefaultTime=10 State=UP PriorityTier=10 PreemptMode=OFF
CONF
: > "$bed/etc/cgroup.conf"
: > "$bed/etc/plugstack.conf"
# Slurm's PMIx makes one folder of the same name on each node: each node reads its own mpi.conf, which puts it elsewhere.
for ((n = 0; n < nodes; n++)); do
    mkdir -p "$bed/etc/n$n" "$bed/spool/n$n" "$bed/pmix/n$n"
    chmod 1777 "$bed/pmix/n$n"
    ln -s ../slurm.conf ../cgroup.conf "$bed/etc/n$n/"
    printf 'PMIxCliTmpDirBase=%s\nPMIxCollFence=ring\n' "$bed/pmix/n$n" > "$bed/etc/n$n/mpi.conf"
done
# A host name for each node where this machine lets us.  Else no shared memory: Open MPI would take all ranks for neighbours
# and crash.
own_name=() shared_memory=,vader
if unshare --uts hostname probe 2> /dev/null; then
    own_name=(unshare --uts sh -c 'hostname "$0" && exec "$@"')
else
    shared_memory=
fi
# Before each task: a mark by which bed-down.sh knows it; shared memory of Open MPI apart for each node, since its names are
# made of host name and local rank; and ranks that yield while they wait, as there are more of them than cores.
cat > "$bed/etc/taskprolog" << PROLOG
#!/bin/sh
echo export LEAT_SLURM_BED=$bed
echo export OMPI_MCA_btl_vader_backing_directory=$bed/pmix/\$SLURMD_NODENAME
echo export OMPI_MCA_orte_tmpdir_base=$bed/pmix/\$SLURMD_NODENAME
echo export OMPI_MCA_mpi_yield_when_idle=1
echo export OMPI_MCA_btl=self,tcp$shared_memory
echo export OMPI_MCA_btl_tcp_if_include=lo
PROLOG
chmod 755 "$bed/etc/taskprolog"
echo "export SLURM_CONF=$bed/etc/slurm.conf" > "$bed/env.sh"
. "$bed/env.sh"

# A daemon stays in the foreground of its own session, so $! is its process.  Kept: number and start time.
start() {
    local name=$1 pid
    shift
    setsid "$@" < /dev/null >> "$bed/log/$name.out" 2>&1 &
    pid=$!
    echo "$pid $(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f20)" > "$bed/run/$name.id"
}
fail() {
    echo "bed-up: $*; errors in $bed/log:" >&2
    grep -hiE 'error|fatal' "$bed"/log/*.out | sort | uniq -c | tail -n 20 >&2
    bash "$here/bed-down.sh" "$bed"
    exit 1
}
mungekey -c -b 1024 -k "$bed/munge/key" || fail "mungekey failed"
start munged munged -F --key-file="$bed/munge/key" --socket="$bed/munge/socket" --pid-file="$bed/run/munged.pid" \
    --seed-file="$bed/munge/seed" --log-file="$bed/log/munged.log"
for ((i = 0; i < 200; i++)); do
    [ ! -S "$bed/munge/socket" ] || break
    sleep 0.05
done
munge -S "$bed/munge/socket" -n 2> /dev/null | unmunge -S "$bed/munge/socket" > /dev/null 2>&1 ||
    fail "munged does not answer"
start slurmctld slurmctld -D -f "$SLURM_CONF"
for ((n = 0; n < nodes; n++)); do
    # PMIx's shared-memory store fails now and then between the PMIx servers of two slurmd.
    command=(env PMIX_MCA_gds=hash SLURM_CONF="$bed/etc/n$n/slurm.conf")
    [ ${#own_name[@]} = 0 ] || command+=("${own_name[@]}" "n$n")
    start "slurmd-n$n" "${command[@]}" slurmd -D -N "n$n" -f "$bed/etc/n$n/slurm.conf"
done
for ((i = 0; i < 300; i++)); do
    idle=$(timeout 5 sinfo -h -N -p main -t idle -o %N 2> /dev/null | sort -u | wc -l)
    [ "$idle" != "$nodes" ] || { echo ". $bed/env.sh"; exit 0; }
    sleep 0.2
done
fail "only $idle of $nodes nodes are idle after a minute"

#!/bin/bash
# doctor, bench, metrics.prom, and `collectives: nccl` where NCCL cannot work; then the report of runs whole and damaged.
set -u
leat=${LEAT_BINARY_DIR:?}/leat
work=$(mktemp -d /tmp/leat-tools-XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
expect() { # wanted exit code, what, command…
    local want=$1 what=$2; shift 2
    timeout -k 5 120 "$@" >out.txt 2>err.txt
    local got=$?
    [ $got = "$want" ] || { fail "$what: exit code $got, want $want"; tail -5 err.txt; }
}
has() { grep -qF -- "$2" "$1" || { fail "want \"$2\" in $1"; head -c 2000 "$1"; echo; }; }
lacks() { ! grep -qF -- "$2" "$1" || fail "do not want \"$2\" in $1"; }
holds() { # what, Python expression over j, the JSON of out.txt's last line
    python3 - "$2" <<'P' || { fail "$1: $2"; tail -c 2000 out.txt; }
import json, sys
j = json.loads(open("out.txt").read().strip().split("\n")[-1])
sys.exit(0 if eval(sys.argv[1]) else 1)
P
}

python3 - <<'P'
import json, random
random.seed(5)
words = "the mill wheel turns while water runs along a leat of wood and stone".split()
for name, count, length in (("docs", 400, 60), ("code", 300, 120)):
    for shard in range(2):
        with open(f"{name}-{shard}.jsonl", "w") as f:
            for i in range(count):
                f.write(json.dumps({"text": " ".join(random.choices(words, k=random.randrange(length)))}) + "\n")
P
cat >job.yaml <<'Y'
seed: 3
sequence_length: 64
batch_size: 24
tokenizer: {file: bytes, eos: 257}
datasets:
  - {name: docs, weight: 0.7, files: ["docs-*.jsonl"]}
  - {name: "a<b>&\"c\"", weight: 0.3, files: ["code-*.jsonl"]}
Y

# --- doctor
expect 0 "doctor" "$leat" doctor
for subject in MPI cores HDF5 OpenSSL CUDA NCCL path; do has out.txt " $subject "; done
has out.txt "not started"
[ -z "$(ls -A | grep leat-doctor)" ] || fail "doctor leaves a file behind"
expect 0 "doctor under mpirun" mpirun -n 3 "$leat" doctor --json
holds "ranks and thread level" 'any(f["subject"] == "MPI" and "ranks: 3, thread level: multiple" in f["found"] for f in j["findings"])'
holds "one host of three ranks" 'sum(f["subject"] == "cores" and "ranks: 3," in f["found"] for f in j["findings"]) == 1'
export OMPI_MCA_mpi_yield_when_idle=0
expect 0 "ranks that do not yield" mpirun -n $(($(nproc) + 1)) "$leat" doctor --json
holds "mpi_yield_when_idle off is told" 'any(f["level"] == "warning" and "mpi_yield_when_idle=1" in f["remedy"] for f in j["findings"])'
export OMPI_MCA_mpi_yield_when_idle=1
expect 0 "ranks that yield" mpirun -n $(($(nproc) + 1)) "$leat" doctor --json
holds "mpi_yield_when_idle on is told" 'any(f["level"] == "warning" and "is on" in f["remedy"] for f in j["findings"])'
expect 1 "doctor: paths" "$leat" doctor . nowhere job.yaml /proc --json
holds "paths" '[f["level"] for f in j["findings"] if f["subject"] == "path"] == ["ok", "fails", "ok", "fails"] and not j["ok"]'
expect 0 "doctor bound to one core" taskset -c 0 "$leat" doctor --json
holds "one core is told" 'any(f["level"] == "warning" and "--bind-to none" in f["remedy"] for f in j["findings"])'
expect 2 "doctor: unknown option" "$leat" doctor --fast

# --- collectives: nccl
"$leat" doctor --json >out.txt
if grep -q '"subject":"NCCL","level":"ok"' out.txt; then
    expect 0 "nccl where it can work" "$leat" run job.yaml --steps 2 --set collectives=nccl
else
    expect 6 "nccl alone" "$leat" run job.yaml --steps 2 --set collectives=nccl
    has err.txt "NCCL cannot work here"
    expect 6 "nccl" mpirun -n 2 "$leat" run job.yaml --steps 2 --set collectives=nccl --json
    has err.txt '"status":"ENVIRONMENT","code":6,"retry":false'
    has err.txt "collectives"
fi
expect 0 "auto" "$leat" run job.yaml --steps 2 --set collectives=auto
expect 0 "mpi" "$leat" run job.yaml --steps 2 --set collectives=mpi

# --- bench
rm -f ./*leat*
expect 0 "bench" "$leat" bench job.yaml --steps 40
for word in index read tokenize assemble "tokens/s" "CPU time a million tokens" "a trainer stalls"; do has out.txt "$word"; done
expect 0 "bench --json" "$leat" bench job.yaml --steps 40 --json
holds "bench figures" 'j["steps"] == 40 and j["tokens"] == 40 * 24 * 65 and j["tokens_per_second"] > 0 and j["cpu_ns"] > 0'
holds "bench stages" '[s["stage"] for s in j["stages"]] == ["read", "tokenize", "assemble", "rest"] and 990 <= sum(s["share_permille"] for s in j["stages"]) <= 1000'
holds "the step that stalls" 'j["stall_step_ns"] == j["ns"] // 40 and j["index"]["text_bytes"] > 0'
expect 0 "bench on ranks" mpirun -n 3 "$leat" bench job.yaml --steps 40 --json
holds "bench on ranks" 'j["ranks"] == 3 and j["tokens"] == 40 * 24 * 65'
expect 0 "bench by time" "$leat" bench job.yaml --seconds 1 --json
holds "bench by time" '0.9e9 < j["ns"] < 20e9'
expect 2 "bench without a job" "$leat" bench
expect 2 "bench: no number" "$leat" bench job.yaml --steps x
expect 2 "bench: no such job" "$leat" bench nowhere.yaml

# --- metrics.prom: there while the run goes on, whole, and right at the end
timeout 60 "$leat" run job.yaml --out 'r"1' --steps 200 --step-time 30 >out.txt 2>err.txt & pid=$!
for i in $(seq 100); do grep -qs '^leat_step{.*} [1-9]' 'r"1/metrics.prom' && break; sleep 0.1; done
[ "$i" -lt 100 ] || fail "metrics.prom is not renewed within 10 s"
kill -0 $pid || fail "the run ended too early to see metrics.prom renewed"
wait $pid
prom() { awk -v name="$1" 'index($1, name "{") == 1 { print $2 }' 'r"1/metrics.prom'; }
[ "$(prom leat_step)" = 200 ] || fail "leat_step: $(prom leat_step)"
tokens=$(python3 -c 'import json; print(sum(json.loads(l)["tokens"] for l in open("r\"1/batches.jsonl")))')
[ "$(prom leat_tokens_total)" = "$tokens" ] || fail "leat_tokens_total: $(prom leat_tokens_total), want $tokens"
[ "$(prom leat_restarts_total)" = 0 ] || fail "leat_restarts_total"
grep -Evq '^(# (HELP|TYPE) leat_[a-z_]+ .+|leat_[a-z_]+\{run="r\\"1"\} [0-9]+(\.[0-9]+)?)$' 'r"1/metrics.prom' && fail "metrics.prom: a line of another form"
expect 0 "go on" mpirun -n 2 "$leat" run job.yaml --out 'r"1' --resume --steps 210
[ "$(prom leat_restarts_total) $(prom leat_step)" = "1 210" ] || fail "after a restart: $(prom leat_restarts_total) $(prom leat_step)"
[ ! -e 'r"1/metrics.prom.tmp' ] || fail "metrics.prom.tmp stays"
python3 - <<'P' || fail "metrics.jsonl"
import json, sys
lines = [json.loads(l) for l in open('r"1/metrics.jsonl')]
marks = [(l["summary"], l["step"]) for l in lines if "summary" in l]
steps = [l["step"] for l in lines if "summary" not in l]
print(marks) if marks != [("start", 0), ("end", 200), ("start", 200), ("end", 210)] else None
sys.exit(0 if marks == [("start", 0), ("end", 200), ("start", 200), ("end", 210)] and steps == list(range(210))
         and all(l["time_ns"] > 1.6e18 for l in lines) else 1)
P

[ $failures = 0 ] && echo "all as expected" || exit 1

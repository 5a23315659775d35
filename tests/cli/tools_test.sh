#!/bin/bash
# doctor, bench, metrics.prom, and `collectives: nccl` where NCCL cannot work; then the report of runs whole and damaged.
set -u
. "$(dirname "$0")/kit.sh"
kit tools
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

# --- report
cat >>job.yaml <<'Y'
mixture_stages:
  - {from_step: 150, weights: {docs: 0.5, "a<b>&\"c\"": 0.5}}
Y
expect 0 "one" "$leat" run job.yaml --out 'one<i>' --steps 300
expect 0 "two" mpirun -n 4 "$leat" run job.yaml --out two --steps 120
expect 0 "two goes on" mpirun -n 2 "$leat" run job.yaml --out two --resume --steps 200
sed 's/docs: 0.5/docs: 0.7/; s/: 0.5}}/: 0.3}}/' job.yaml >other.yaml
expect 0 "other" "$leat" run other.yaml --out other --steps 300
expect 0 "report" "$leat" report 'one<i>' two other -o page.html
has out.txt "runs: 3, with something missing or damaged: 0"
cat >page.py <<'P'
"""Checks that a page is well-formed, loads nothing, and has all the words given."""
import html.parser, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
void, stack, faults, words = {"meta", "br"}, [], [], []
class Page(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        if tag not in void: stack.append(tag)
        for name, value in attributes:
            if name in ("src", "href") or name.startswith("on"): faults.append(f"{tag} {name}={value}")
    def handle_endtag(self, tag):
        if not stack or stack.pop() != tag: faults.append(f"</{tag}> at {self.getpos()}")
    def handle_startendtag(self, tag, attributes): pass
    def handle_data(self, data): words.append(data)
page = Page(); page.feed(text); page.close()
if stack: faults.append(f"open: {stack}")
if re.search(r"<script|http|url\(|@import|&(?!amp;|lt;|gt;|quot;|#39;|#8239;)", text): faults.append("scripts, references or bare &")
for points in re.findall(r'points="([^"]*)"', text):
    for pair in points.split():
        x, y = map(float, pair.split(","))
        if not (0 <= x <= 460 and 0 <= y <= 120): faults.append(f"a point outside the picture: {pair}")
plain = re.sub(r"\s+", " ", "".join(words).replace("\u202f", ""))
faults += [f"not there: {word}" for word in sys.argv[2:] if word not in plain]
if faults: print("\n".join(faults))
sys.exit(1 if faults else 0)
P
page() { python3 page.py "$@" || fail "page $*"; }
page page.html "one<i>" 'a<b>&"c"' "equal, every batch of steps 0 to 200" "different from step 150 on" "different batches: 150 of 300" "cause: mixture_stages" \
    "Starts" "Mixture against target" "Waits and throughput" "Tokens a second"
lacks page.html "one<i>"
python3 - <<'P' || fail "shares and starts on the page"
import re, sys
text = open("page.html", encoding="utf-8").read().replace("&#8239;", "")
parts = re.split(r"<h2>", text)
two = next(p for p in parts if p.startswith("two<"))
starts = re.findall(r'<tr><td class="n">(\d+)</td><td class="n">(\d+)</td><td>[^<]+</td><td class="n">(\d+)</td>', two)
one = next(p for p in parts if p.startswith("one&lt;i&gt;<"))
docs = re.search(r'<td>docs</td><td class="n">\d+</td><td class="n">([\d.]+)%</td><td class="n">([\d.]+)%</td>', one)
ok = starts == [("0", "4", "120"), ("120", "2", "80")] and docs and abs(float(docs[1]) - 60) < 1 and 59.9 < float(docs[2]) < 60.1
print(starts, docs and docs.groups()) if not ok else None
sys.exit(0 if ok else 1)
P
expect 0 "one run" "$leat" report two -o single.html --json
holds "one run" 'j["runs"] == 1 and j["runs_with_faults"] == 0'
page single.html "the others are compared with this run"

# Damaged and missing pieces are named; the rest is shown.
cp -r two hurt && sed -i '50s/"rows"/"rxws"/' hurt/batches.jsonl && sed -i '9s/{/[/' hurt/metrics.jsonl && printf '{"step":' >>hurt/metrics.jsonl
sed -i 's/"seed":3/"seed":4/' hurt/manifest.json
cp -r two changed && python3 - <<'P'
lines = open("changed/batches.jsonl").read().split("\n")
at = lines[20].index('"batch":"') + 9
lines[20] = lines[20][:at] + ("0" if lines[20][at] != "0" else "1") + lines[20][at + 1:]
open("changed/batches.jsonl", "w").write("\n".join(lines))
P
cp -r two bare && rm bare/manifest.json bare/metrics.jsonl && mkdir empty noise huge
for file in batches.jsonl metrics.jsonl manifest.json; do head -c 5000 /dev/urandom >noise/$file; done
cp -r two torn && truncate -s -40 torn/batches.jsonl
cp -r two first && sed -i '1s/step/stop/' first/batches.jsonl
head -1 two/batches.jsonl | sed 's/"step":0,/"step":18446744073709551615,/' >huge/batches.jsonl
echo '{"step":4611686018427387903,"tokens":18446744073709551615,"wait_ns":18446744073709551615,"ready":18446744073709551615,"time_ns":18446744073709551615}' >huge/metrics.jsonl
expect 0 "report of damaged runs" "$leat" report two hurt changed bare empty noise torn first huge -o hurt.html
has out.txt "runs: 9, with something missing or damaged: 7"
page hurt.html "Missing or damaged" "2 damaged lines are left out, the first is line 9" "a line of the batch log hurt/batches.jsonl is damaged" "steps without a line that can be read: " \
    "the chain of batches.jsonl does not hold at step 20" "changed lines: the chains are equal, but 1 batches are not" "no log" "There is no log to take it from" \
    "The manifest cannot be read, so no target is known" "There is no line in metrics.jsonl that can be read" "Neither the manifest nor the metrics know of any" "equal, every batch of steps 0 to 199"
for first in empty noise huge first; do
    expect 0 "report begins with $first" "$leat" report $first two -o begin.html
    page begin.html "$first"
done
expect 3 "verify: steps that do not ascend" "$leat" verify huge two
expect 2 "report without -o" "$leat" report two
expect 2 "report without runs" "$leat" report -o x.html
expect 3 "report of no folder" "$leat" report nowhere -o x.html
expect 3 "report to nowhere" "$leat" report two -o nowhere/x.html

kit_done

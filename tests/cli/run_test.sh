#!/bin/bash
# leat run as a user meets it: alone and under mpirun, saving, stopping, resuming on other rank counts, and refusals.
set -u
. "$(dirname "$0")/kit.sh"
kit cli

python3 - <<'P'
import json, random
random.seed(5)
words = "the mill wheel turns while water runs along a leat of wood and stone".split()
for name, count, length in (("docs", 400, 60), ("code", 300, 120)):
    for shard in range(3):
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
  - {name: code, weight: 0.3, files: ["code-*.jsonl"]}
Y
expect 0 "alone" "$leat" run job.yaml --out alone --steps 60 --checkpoint-every 20 --keep 2
has out.txt "steps 0 to 60 on 1 ranks"
[ "$(wc -l <alone/batches.jsonl)" = 60 ] || fail "60 lines in the log"
[ "$(ls alone/checkpoints | tr '\n' ' ')" = "step-000040.h5 step-000060.h5 " ] || fail "--keep 2: $(ls alone/checkpoints)"
expect 0 "five ranks" mpirun -n 5 "$leat" run job.yaml --out five --steps 30
expect 0 "three go on" mpirun -n 3 "$leat" run job.yaml --out five --resume --steps 60
same alone/batches.jsonl five/batches.jsonl
expect 0 "caller's thread" mpirun -n 2 "$leat" run job.yaml --out caller --steps 60 --caller --set threads=3
same alone/batches.jsonl caller/batches.jsonl
expect 0 "any logged step" "$leat" run job.yaml --out alone --resume --step 17 --steps 25
[ "$(wc -l <alone/batches.jsonl)" = 60 ] || fail "steps done again are compared, not added"
expect 0 "nothing to resume" "$leat" run job.yaml --out fresh --resume --steps 5
head -5 alone/batches.jsonl | cmp -s - fresh/batches.jsonl || fail "a run that begins anew differs"

# Where a token is from, and back.
expect 0 "explain" "$leat" explain alone --step 17 --row 3 --json
where=$(python3 -c 'import json,sys; s=json.loads(sys.stdin.readline()); print(s["file"].split("/")[-1] + ":" + str(s["record"]))' <out.txt)
expect 0 "find" "$leat" explain alone --find "$where" --json
has out.txt '"step":17,"row":3,'
expect 2 "find no such record" "$leat" explain alone --find docs-1.jsonl:400
has err.txt "below 400"

# Refusals name the first difference.
sed 's/seed: 3/seed: 4/' job.yaml >other.yaml
expect 4 "another seed" mpirun -n 2 "$leat" run other.yaml --out five --resume --steps 70
has err.txt seed
cp -r . ../"$(basename "$work")-b" && cd ../"$(basename "$work")-b" && echo '{"text":"one more"}' >>docs-1.jsonl
expect 4 "a changed shard" "$leat" run job.yaml --out five --resume --steps 70
has err.txt docs
cd "$work" && rm -rf ../"$(basename "$work")-b"
expect 2 "too many ranks" mpirun -n 25 "$leat" run job.yaml --out many --steps 2
has err.txt "24"
expect 2 "no such job" "$leat" run nowhere.yaml --steps 2
expect 2 "unknown option" "$leat" run job.yaml --stepz 2
expect 2 "unknown command" "$leat" walk
expect 6 "one process of many" env WORLD_SIZE=4 "$leat" run job.yaml --steps 2
expect 0 "alone insists" env WORLD_SIZE=4 "$leat" run job.yaml --steps 2 --alone

# A bad record, named by file and line, ends all ranks.
mkdir bad && cp docs-0.jsonl bad/ && sed -i '17s/.*/{"text": "cut/' bad/docs-0.jsonl
sed 's/docs-\*/bad\/docs-*/' job.yaml >bad.yaml
expect 3 "a bad record" mpirun -n 3 "$leat" run bad.yaml --out badrun --steps 2
has err.txt "docs-0.jsonl:17"
expect 0 "bad records skipped" mpirun -n 3 "$leat" run bad.yaml --out skip3 --steps 20 --set bad_records=skip
expect 0 "bad records skipped alone" "$leat" run bad.yaml --out skip1 --steps 20 --set bad_records=skip
same skip1/batches.jsonl skip3/batches.jsonl

# A stop wish: by signal, by the stop file, by the time limit.
timeout 60 mpirun -n 3 "$leat" run job.yaml --out stopped --step-time 20 >out.txt 2>err.txt & pid=$!
sleep 3; kill -USR1 $(pgrep -P $pid mpirun || echo $pid); wait $pid; code=$?
[ $code = 75 ] || fail "USR1: exit code $code, want 75"
lines=$(wc -l <stopped/batches.jsonl)
[ -f "stopped/checkpoints/step-$(printf %06d "$lines").h5" ] || fail "USR1: a checkpoint of the last step"
expect 0 "go on after the stop" "$leat" run job.yaml --out stopped --resume --steps $((lines + 5))
timeout 60 "$leat" run job.yaml --out byfile --step-time 20 >out.txt 2>err.txt & pid=$!
sleep 2; "$leat" stop byfile >/dev/null; wait $pid; code=$?
[ $code = 75 ] || fail "leat stop: exit code $code, want 75"
[ ! -e byfile/stop ] || fail "the stop file is removed when obeyed"
expect 75 "--max-time" "$leat" run job.yaml --out timed --step-time 20 --max-time 1

# Two runs on one folder: the second is refused.
timeout 60 "$leat" run job.yaml --out held --step-time 50 --steps 60 >out1.txt 2>err1.txt & pid=$!
sleep 1
expect 4 "a folder that is held" "$leat" run job.yaml --out held --steps 5
kill -USR1 "$(pgrep -P $pid || echo $pid)"; wait $pid

# One rank killed: the job ends within seconds, and the last checkpoint works.
timeout 60 mpirun -n 4 "$leat" run job.yaml --out killed --step-time 20 --checkpoint-every 10 >out.txt 2>err.txt & pid=$!
sleep 3; kill -KILL "$(pgrep -f "run job.yaml --out killed" | tail -1)"
begin=$SECONDS; wait $pid; code=$?
[ $code != 0 ] && [ $((SECONDS - begin)) -le 10 ] || fail "a killed rank: exit code $code after $((SECONDS - begin)) s"
steps=$(wc -l <killed/batches.jsonl)
expect 0 "go on after the kill" mpirun -n 3 "$leat" run job.yaml --out killed --resume --steps $((steps + 20))
head -60 killed/batches.jsonl | cmp -s - alone/batches.jsonl || fail "batches after a kill"
[ "$(wc -l <killed/batches.jsonl)" = $((steps + 20)) ] || fail "every step once"

kit_done

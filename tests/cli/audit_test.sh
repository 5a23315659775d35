#!/bin/bash
# The questions people put before and after a run: init, check, plan, compare, verify, replay, explain.
set -u
. "$(dirname "$0")/kit.sh"
kit audit
py() { python3 - "$@" || fail "python check: $*"; }

python3 - <<'P'
import json, os, random
random.seed(11)
words = "the mill wheel turns while water runs along a leat of wood and stone ä 水 é".split()
for name, count, length in (("docs", 200, 60), ("code", 150, 120)):
    os.mkdir(name)
    for shard in range(3):
        with open(f"{name}/{shard}.jsonl", "w") as f:
            for i in range(count):
                f.write(json.dumps({"id": i, "text": " ".join(random.choices(words, k=random.randrange(length)))},
                                   ensure_ascii=i % 2 == 0) + "\n")
P
cat >job.yaml <<'Y'
seed: 3
sequence_length: 64
batch_size: 24
tokenizer: {file: bytes, eos: 257}
datasets:
  - {name: docs, weight: 0.7, files: ["docs/*.jsonl"]}
  - {name: code, weight: 0.3, files: ["code/*.jsonl"]}
Y

# init: the job file it writes runs as it is.
expect 0 "init" "$leat" init docs code -o made.yaml
expect 0 "a run of init's job file" "$leat" run made.yaml --steps 3
has out.txt "steps 0 to 3"
expect 0 "a check of init's job file" "$leat" check made.yaml
expect 3 "init of nothing" "$leat" init nowhere
expect 2 "init without a corpus" "$leat" init
expect 2 "init does not write over a file" "$leat" init docs code -o made.yaml
has err.txt "is there already"
mkdir -p jobs mixed && cp docs/0.jsonl mixed/ && echo '{"model": 1}' >mixed/tokenizer.json
expect 0 "init into another folder" "$leat" init mixed -o jobs/made.yaml
expect 0 "a run of it" "$leat" run jobs/made.yaml --steps 3 --out mixed/run
expect 0 "init takes no run for a corpus" "$leat" init mixed
has out.txt "mixed/*.jsonl"
lacks out.txt "mixed/run"

# check: tokens are those of an independent count; the same under mpirun; a sample is close.
expect 0 "check" "$leat" check job.yaml --json --steps 50
cp out.txt check1.json
py check1.json <<'P'
import glob, json, sys
found = json.load(open(sys.argv[1]))
for dataset in found["datasets"]:
    sizes = [len(json.loads(line)["text"].encode()) for path in glob.glob(dataset["name"] + "/*.jsonl") for line in open(path)]
    assert dataset["tokens"] == sum(n + 1 for n in sizes if n), dataset
    assert dataset["pieces"] == sum((n + 1 + 64) // 65 for n in sizes if n), dataset
    assert dataset["documents"] == len(sizes) and dataset["text_bytes"] == sum(sizes), dataset
    assert dataset["longest_document"] == max(sizes) + 1, dataset
    share = 0.7 if dataset["name"] == "docs" else 0.3
    want = 50 * 24 * 65 * share / dataset["tokens"] * 1e6
    assert abs(dataset["epoch_millionths"] - want) < 1000, (dataset, want)
assert found["ranks_most"] == 24 and found["bad_records"] == 0
P
expect 0 "check on three ranks" mpirun -n 3 "$leat" check job.yaml --json --steps 50
same out.txt check1.json
expect 0 "check of a sample" "$leat" check job.yaml --json --sample 20%
py out.txt check1.json <<'P'
import json, sys
sample, whole = (json.load(open(path)) for path in sys.argv[1:])
for a, b in zip(sample["datasets"], whole["datasets"]):
    assert a["documents_counted"] < b["documents_counted"] // 3
    assert abs(a["tokens"] - b["tokens"]) < b["tokens"] // 20, (a, b)
P
expect 2 "a sample of nothing" "$leat" check job.yaml --sample 0%
expect 2 "a sample that is no percentage" "$leat" check job.yaml --sample 0.2
expect 0 "check for people" "$leat" check job.yaml
has out.txt "bad records: none"
has out.txt "equal slices with 1 2 3 4 6 8 12 24"
[ ! -s err.txt ] || { fail "no line on stderr where nothing is wrong"; cat err.txt; }

# The forecast of the plan's end is the plan's (best_fit: but for the rows that stay unfilled).
for how in packing=concat packing=single packing=best_fit mix_by=documents on_exhausted=drop; do
    epochs="--set datasets.docs.epochs=2 --set datasets.code.epochs=1"
    expect 0 "check until the end, $how" "$leat" check job.yaml --json --set $how $epochs
    ends=$(python3 -c 'import json;print(json.load(open("out.txt"))["steps"])')
    expect 0 "run to the end, $how" "$leat" run job.yaml --out "whole-$how" --set $how $epochs
    steps=$(wc -l <"whole-$how/batches.jsonl")
    [ $((ends - steps)) -ge -3 ] && [ $((ends - steps)) -le 3 ] || fail "$how: check says $ends steps, the run has $steps"
done

# check: bad records by file and line, a file that is there twice, one that is nearly empty.
mkdir bad && cp docs/*.jsonl bad/ && sed -i -e '17s/.*/{"text": "cut/' -e '20s/"text"/"body"/' bad/1.jsonl
cp docs/0.jsonl bad/9.jsonl && echo '{"text":"x"}' >bad/tiny.jsonl && : >bad/void.jsonl
sed 's/docs\/\*/bad\/*/' job.yaml >bad.yaml
for bad_records in fail skip replace; do
    expect 1 "bad records, $bad_records" "$leat" check bad.yaml --set bad_records=$bad_records
    has out.txt "bad records: 2 in 1 files"
    has out.txt "bad/1.jsonl:17:"
    has out.txt "bad/1.jsonl:20:"
    has out.txt "bad/tiny.jsonl"
    has out.txt "bad/void.jsonl"
    has out.txt "bad/0.jsonl (docs) and"
done
expect 1 "one line of bad records" mpirun -n 2 "$leat" check bad.yaml --most 1
has out.txt "and 1 more"
lacks out.txt "1.jsonl:20:"
mkdir none && echo '{"text":""}' >none/0.jsonl
expect 1 "a dataset without tokens" "$leat" check job.yaml --set 'datasets.docs.files=["none/*.jsonl"]'
has out.txt "dataset docs has no tokens"
expect 2 "check of no job" "$leat" check nowhere.yaml

# plan says what the run logs; slices are the plan's; nothing is written.
expect 0 "a run" "$leat" run job.yaml --out one --steps 40
expect 0 "plan" "$leat" plan job.yaml --steps 3..9 --ranks 5 --documents --json
py out.txt <<'P'
import json, sys
log = [json.loads(line) for line in open("one/batches.jsonl")]
lines = [json.loads(line) for line in open(sys.argv[1])]
assert [line["step"] for line in lines] == list(range(3, 9))
for line in lines:
    logged = log[line["step"]]
    assert line["tokens"] == logged["tokens"] and line["rows"] == logged["rows"]
    assert [d["tokens"] for d in line["by_dataset"]] == [n for _, n in logged["by_dataset"]]
    assert [(r["first_row"], r["end_row"]) for r in line["ranks"]] == [(r * 24 // 5, (r + 1) * 24 // 5) for r in range(5)]
    assert sum(r["tokens"] for r in line["ranks"]) == line["tokens"]
    assert sum(s["token_end"] - s["token_begin"] for s in line["segments"]) == line["tokens"]
    for d in line["by_dataset"]:
        assert d["documents"] == len({(s["document"], s["epoch"]) for s in line["segments"] if s["dataset"] == d["name"]})
P
expect 0 "plan for people" "$leat" plan job.yaml --ranks 2
has out.txt "step 9: 24 rows, 1560 tokens:"
has out.txt "  rank 1: rows 12 to 23"
expect 2 "plan for too many ranks" "$leat" plan job.yaml --ranks 25
has err.txt "at most 24"
expect 2 "plan without steps" "$leat" plan job.yaml --steps 5..5
expect 0 "plan beyond the end" "$leat" plan job.yaml --set passes=1 --set batch_size=500 --steps 0..1000
has out.txt "the plan ends before step"

# verify and replay.
expect 0 "the same on three ranks" mpirun -n 3 "$leat" run job.yaml --out three --steps 30
expect 0 "equal runs" "$leat" verify one three
has out.txt "equal: every batch of steps 0 to 30"
expect 0 "export" "$leat" verify one --export log.jsonl
expect 0 "a published log against a job" mpirun -n 2 "$leat" verify log.jsonl job.yaml
expect 0 "replay" mpirun -n 2 "$leat" replay one --steps 5..25
sed 's/seed: 3/seed: 4/' job.yaml >seed.yaml
expect 0 "another seed" "$leat" run seed.yaml --out seed --steps 30
expect 1 "verify another seed" "$leat" verify one seed
has out.txt seed
has out.txt "different from step 0"
has out.txt "  first difference: row 0, token"
has out.txt "  in seed: "
expect 1 "verify for programs" "$leat" verify one seed --json
py out.txt <<'P'
import json, sys
found = json.load(open(sys.argv[1]))
assert not found["equal"] and found["step"] == 0 and found["row"] == 0 and len(found["sides"]) == 2, found
P
expect 2 "replay of steps that are not logged" "$leat" replay one --steps 30..50
has err.txt "0..40"
expect 1 "a published log against another job" "$leat" verify log.jsonl seed.yaml
sed 's/0.7/0.6/' job.yaml >mix.yaml
mkdir -p moved && cp -r docs code job.yaml moved/ && sed -i '150s/.*/{"text":"another text altogether"}/' moved/docs/1.jsonl
expect 0 "a run of a changed shard" "$leat" run moved/job.yaml --out changed --steps 40
expect 1 "verify a changed shard" "$leat" verify one changed
has out.txt "1.jsonl"
python3 - <<'P'
import json, shutil
shutil.copytree("one", "forged")
lines = open("one/batches.jsonl").read().splitlines(True)
lines[7] = lines[7].replace('"batch":"', '"batch":"0' , 1).replace(json.loads(lines[7])["batch"], json.loads(lines[7])["batch"][:-1], 1)
open("forged/batches.jsonl", "w").writelines(lines)
P
expect 1 "replay of a forged line" "$leat" replay forged
has out.txt "step 7 differs"

# explain: the bytes it names, read from the file again, are the row's tokens.
expect 0 "explain a row" "$leat" explain one --step 12 --row 5 --json
cp out.txt row.jsonl
for token in 0 17 63 64; do
    expect 0 "explain token $token" "$leat" explain one --step 12 --row 5 --token $token --json
    cat out.txt >>tokens.jsonl
done
py <<'P'
import json
row = [json.loads(line) for line in open("row.jsonl")]
assert row[0]["row_begin"] == 0 and row[-1]["row_end"] == 65
assert all(a["row_end"] == b["row_begin"] for a, b in zip(row, row[1:]))
seen = 0
for line in open("tokens.jsonl"):
    what = json.loads(line)
    data = open(what["file"], "rb").read()[what["byte_begin"]:what["byte_end"]]
    record = json.loads(data)
    assert record["id"] == what["record"]
    text = record["text"].encode()[what["text_begin"]:what["text_end"]]
    if what["id"] == 257:
        assert what["document_token"] == len(text)
        continue
    piece = text[what["token_text_begin"]:what["token_text_end"]]
    assert piece == bytes.fromhex(what["text"]) == bytes([what["id"]]), what
    seen += 1
assert seen >= 2
P
expect 0 "explain for people" "$leat" explain one --step 12 --row 5
has out.txt "record"
expect 0 "explain a token for people" "$leat" explain one --step 12 --row 5 --token 17
has out.txt "token 17: id"
expect 2 "explain a step that is not logged" "$leat" explain one --step 40
expect 0 "a padded run" "$leat" run job.yaml --out padded --steps 2 --set packing=single
expect 0 "explain padding" "$leat" explain padded --step 0 --json
row=$(python3 -c 'import json; print(next(x["row"] for x in map(json.loads, open("out.txt")) if x["row_end"] < 65))')
expect 0 "explain a token of padding" "$leat" explain padded --step 0 --row "$row" --token 64
has out.txt "padding"
expect 2 "explain a row that is not there" "$leat" explain one --step 12 --row 24
expect 2 "explain without a step" "$leat" explain one

# compare: what differs, and what that changes.
expect 0 "compare a run and its job" "$leat" compare one job.yaml
has out.txt "the same batches, step by step"
expect 1 "compare mixtures" "$leat" compare one mix.yaml
has out.txt "the same documents in the same order, other mixture"
has out.txt "weight"
expect 1 "compare seeds" "$leat" compare one seed
has out.txt "the same documents in another order"
has out.txt "seed: 3 in one, 4 in seed"
expect 1 "compare other data" mpirun -n 2 "$leat" compare job.yaml moved/job.yaml
has out.txt "docs: other files"
has out.txt "1.jsonl"
has out.txt "code: the same documents in the same order, the same tokens"
has out.txt "other data"
for change in "sequence_length: 32|other rows" "batch_size: 12|other batch sizes" "packing: best_fit|other rows"; do
    sed "/^${change%%:*}:/d" job.yaml >other.yaml && echo "${change%|*}" >>other.yaml
    [ "${change%%:*}" != sequence_length ] || echo "piece: 65" >>other.yaml
    expect 1 "compare ${change%|*}" "$leat" compare job.yaml other.yaml --json
    has out.txt "${change#*|}"
done
sed 's/eos: 257/eos: null/' job.yaml >other.yaml
expect 1 "compare tokens" "$leat" compare job.yaml other.yaml
has out.txt "other tokens"
sed '/name: code/d' job.yaml >other.yaml
expect 1 "compare with a dataset less" "$leat" compare job.yaml other.yaml
has out.txt "code: only in job.yaml"
expect 2 "compare one" "$leat" compare job.yaml
expect 3 "compare with no run folder" "$leat" compare job.yaml docs

for command in init check plan compare verify replay explain; do
    expect 0 "$command --help" "$leat" $command --help
    has out.txt "usage: leat $command"
done
kit_done

/* Job files, good and bad: every refusal names the line, the key, what was found and what was wanted. */
#include "job/job.h"
#include "job/schema.h"
#include "base/memory.h"
#include "check.h"

#define DATA "datasets: [{name: docs, files: a.jsonl}]\n"

static leat_status open_job(leat_job **job, const char *text, const char *const *sets, size_t count,
                            leat_error *error)
{
    return leat_job_open(job, (leat_bytes){(const uint8_t *)text, strlen(text)}, "dir/job.yaml",
                         sets, count, error);
}

typedef struct bad_case {
    const char *label, *text, *set,
        *message; /* message: text | where | found | wanted | hint, '*' inside: any */
} bad_case;

/* `want` in `got`, where '*' stands for any text. */
static bool matches(const char *got, const char *want)
{
    while (*want != '\0') {
        size_t part = strcspn(want, "*");
        char piece[600];
        snprintf(piece, sizeof piece, "%.*s", (int)part, want);
        const char *at = strstr(got, piece);
        if (at == NULL) {
            return false;
        }
        got = at + part;
        want += part + (want[part] == '*');
    }
    return true;
}

static const bad_case bad[] = {
    {"empty", "", NULL, "the job file is empty|dir/job.yaml:1|0 bytes"},
    {"comment alone", "# nothing\n", NULL, "the job file is empty|dir/job.yaml:1"},
    {"a list", "- 1\n", NULL,
     "(top): the job file is no mapping|dir/job.yaml:1, key (top)|a list of 1"},
    {"no seed", DATA, NULL,
     "seed: a key that has no default is missing|*key seed|no seed|seed: an integer from 0 to "
     "18446744073709551615|"},
    {"no datasets", "seed: 1\n", NULL, "datasets: a key that has no default is missing|"},
    {"typing error", "seed: 1\nseqence_length: 3\n" DATA, NULL,
     "seqence_length: an unknown key|dir/job.yaml:2, key seqence_length|the key "
     "\"seqence_length\"|a key that leat knows|did you mean sequence_length?"},
    {"key of another level", "seed: 1\nepochs: 3\n" DATA, NULL,
     "epochs: an unknown key|*|did you mean datasets[].epochs?"},
    {"longer name", "seed: 1\nglobal_batch_size: 3\n" DATA, NULL, "|did you mean batch_size?"},
    {"nothing near", "seed: 1\nqqqqqqqq: 3\n" DATA, NULL,
     "qqqqqqqq: an unknown key|*docs/job-file.md lists every key"},
    {"nested typing error",
     "seed: 1\ndatasets:\n- name: docs\n  files: a\n  shuffle:\n    bufer: 3\n", NULL,
     "datasets.docs.shuffle.bufer: an unknown key|dir/job.yaml:6, key "
     "datasets.docs.shuffle.bufer|*did you mean buffer?"},
    {"merge key", "seed: 1\n<<: {a: 1}\n" DATA, NULL, "<<: an unknown key|dir/job.yaml:2"},
    {"text for a number", "seed: abc\n" DATA, NULL,
     "seed: a value of the wrong type|dir/job.yaml:1, key seed|the text \"abc\"|an integer"},
    {"quoted number", "seed: \"7\"\n" DATA, NULL,
     "seed: a value of the wrong type|*|the text \"7\"|*|write it without the quotes"},
    {"float for a number", "seed: 1.5\n" DATA, NULL, "seed: a value of the wrong type|*|1.5|"},
    {"exponent", "seed: 1e3\n" DATA, NULL, "seed: a value of the wrong type|*|1e3|*plain digits"},
    {"hex", "seed: 0x10\n" DATA, NULL, "seed: a value of the wrong type|*|0x10|"},
    {"underscores", "seed: 1_000\n" DATA, NULL, "seed: a value of the wrong type|*|1_000|"},
    {"negative", "seed: -1\n" DATA, NULL,
     "seed: a value of the wrong type|*|-1|*|negative numbers have no meaning here"},
    {"plus", "seed: +1\n" DATA, NULL, "seed: a value of the wrong type|*|+1|"},
    {"leading zero", "seed: 010\n" DATA, NULL,
     "seed: an integer with leading zeros|*|010|*|write 10"},
    {"null seed", "seed: null\n" DATA, NULL,
     "seed: a value of the wrong type|*|nothing (null)|*no default"},
    {"too large", "seed: 18446744073709551616\n" DATA, NULL,
     "seed: a number out of range|*|18446744073709551616|"},
    {"sequence_length 0", "seed: 1\nsequence_length: 0\n" DATA, NULL,
     "sequence_length: a number out of range|dir/job.yaml:2, key sequence_length|0|an integer from "
     "1 to 2147483646"},
    {"batch_size 0", "seed: 1\nbatch_size: 0\n" DATA, NULL,
     "batch_size: a number out of range|dir/job.yaml:2, key batch_size|0|"},
    {"pack_window 0", "seed: 1\npack_window: 0\n" DATA, NULL,
     "pack_window: a number out of range|"},
    {"piece 0", "seed: 1\npiece: 0\n" DATA, NULL, "piece: a number out of range|"},
    {"piece 2^21+1", "seed: 1\npiece: 2097153\n" DATA, NULL,
     "piece: a number out of range|*|2097153|an integer from 1 to 2097152"},
    {"piece for best_fit", "seed: 1\nsequence_length: 8\npacking: best_fit\npiece: 10\n" DATA, NULL,
     "piece: pieces are too long|dir/job.yaml:4, key piece|10|at most 9 (sequence_length + 1)|set "
     "piece: 9"},
    {"piece for single", "seed: 1\nsequence_length: 8\npacking: single\npiece: 10\n" DATA, NULL,
     "piece: pieces are too long|"},
    {"piece by default", "seed: 1\nsequence_length: 2097152\n" DATA, NULL,
     "piece: pieces are too long (sequence_length + 1 by default)|dir/job.yaml:2, key "
     "piece|2097153|at most 2097152|set piece: 2097152"},
    {"part_bytes 63", "seed: 1\npart_bytes: 63\n" DATA, NULL,
     "part_bytes: parts are too short|dir/job.yaml:2, key part_bytes|63|0 (never cut) or at least "
     "64"},
    {"best_fit window", "seed: 1\npacking: best_fit\nsequence_length: 2097151\n" DATA, NULL,
     "pack_window: a packing window is too large|*|(1024 + 1) * 2097152 tokens|"},
    {"choice", "seed: 1\npacking: bestfit\n" DATA, NULL,
     "packing: not one of the choices|dir/job.yaml:2, key packing|the text \"bestfit\"|concat, "
     "best_fit or single|did you mean best_fit?"},
    {"choice of another type", "seed: 1\npacking: [concat]\n" DATA, NULL,
     "packing: a value of the wrong type|*|a list of 1|"},
    {"bool as text", "seed: 1\ndrop_last: \"true\"\n" DATA, NULL,
     "drop_last: a value of the wrong type|*|the text \"true\"|true or false|"},
    {"bool as yes", "seed: 1\ndrop_last: yes\n" DATA, NULL,
     "drop_last: a value of the wrong type|*|yes|true or false|write true or false"},
    {"bool as 1", "seed: 1\ndrop_last: 1\n" DATA, NULL,
     "drop_last: a value of the wrong type|*|1|true or false|"},
    {"text as number", "seed: 1\nindex_dir: 12\n" DATA, NULL,
     "index_dir: a value of the wrong type|*|12|*put it in quotes"},
    {"duplicate key", "seed: 1\n" DATA "seed: 2\n", NULL,
     "a key is given twice|dir/job.yaml:3|\"seed\", first on line 1|each key once|"},
    {"duplicate key deep", "seed: 1\ndatasets:\n- name: a\n  files: x\n  text: t\n  text: u\n",
     NULL, "a key is given twice|dir/job.yaml:6|\"text\", first on line 5|"},
    {"alias", "seed: 1\na: *x\n" DATA, NULL,
     "aliases are not allowed|dir/job.yaml:2|the alias \"x\"|every value written out"},
    {"anchor", "seed: &x 1\n" DATA, NULL,
     "anchors are not allowed|dir/job.yaml:1|the anchor \"x\"|"},
    {"anchor of a list", "seed: 1\ndatasets: &x []\n", NULL,
     "anchors are not allowed|dir/job.yaml:2|"},
    {"tag", "seed: !!int 1\n" DATA, NULL,
     "tags are not allowed|dir/job.yaml:1|the tag \"tag:yaml.org,2002:int\"|"},
    {"glob without quotes", "seed: 1\ndatasets:\n- name: a\n  files: *.jsonl\n", NULL,
     "|dir/job.yaml:4|"},
    {"two documents", "seed: 1\n" DATA "---\nseed: 2\n", NULL,
     "there is more than one YAML document|dir/job.yaml:3|*|one document|"},
    {"complex key", "? [a]\n: 1\n", NULL, "a list or a mapping cannot be a key|dir/job.yaml:1|"},
    {"syntax", "seed: 1\n  bad: [\n", NULL, "this is not valid YAML|dir/job.yaml:"},
    {"tab", "seed: 1\ntokenizer:\n\tfile: x\n", NULL, "this is not valid YAML|dir/job.yaml:3|"},
    {"open quote", "seed: \"1\n", NULL, "this is not valid YAML|dir/job.yaml:"},
    {"invalid UTF-8", "seed: 1\nindex_dir: \"\xff\"\n" DATA, NULL,
     "the file is not valid UTF-8|dir/job.yaml:2|byte 0xff at byte 20|UTF-8 text|"},
    {"surrogate", "seed: 1\n# \xed\xa0\x80\n" DATA, NULL,
     "the file is not valid UTF-8|dir/job.yaml:2|"},
    {"control", "seed: 1\n\x01", NULL,
     "the file holds a control character|dir/job.yaml:2|byte 0x01 at byte 8|"},
    {"escaped NUL", "seed: 1\nindex_dir: \"a\\0b\"\n" DATA, NULL,
     "a text holds a NUL character|dir/job.yaml:2|"},
    {"deep", "seed: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]\n", NULL,
     "lists and mappings are nested too deeply|dir/job.yaml:1||at most 16 levels"},
    {"datasets as map", "seed: 1\ndatasets: {docs: a}\n", NULL,
     "datasets: a value of the wrong type|dir/job.yaml:2, key datasets|a mapping|a list of "
     "datasets|"},
    {"datasets empty", "seed: 1\ndatasets: []\n", NULL, "datasets: an empty list|"},
    {"datasets null", "seed: 1\ndatasets:\n", NULL,
     "datasets: a value of the wrong type|*|nothing (null)|"},
    {"dataset as text", "seed: 1\ndatasets: [a.jsonl]\n", NULL,
     "datasets[0]: a value of the wrong type|dir/job.yaml:2, key datasets[0]|the text "
     "\"a.jsonl\"|a mapping of keys to values|"},
    {"dataset without name", "seed: 1\ndatasets: [{files: a}]\n", NULL,
     "datasets[0].name: a key that has no default is missing|dir/job.yaml:2, key "
     "datasets[0].name|no name|name: a text of 1 to 255 bytes|"},
    {"dataset without files", "seed: 1\ndatasets: [{name: a}]\n", NULL,
     "datasets.a.files: a key that has no default is missing|"},
    {"empty name", "seed: 1\ndatasets: [{name: \"\", files: a}]\n", NULL,
     "datasets..name: an empty text|"},
    {"number as name", "seed: 1\ndatasets: [{name: 7, files: a}]\n", NULL,
     "datasets[0].name: a value of the wrong type|*|7|*put it in quotes"},
    {"one name twice",
     "seed: 1\ndatasets:\n- {name: a, files: x}\n- {name: b, files: x}\n- {name: a, files: y}\n",
     NULL,
     "datasets[2].name: two datasets have one name|dir/job.yaml:5, key datasets[2].name|the text "
     "\"a\"|*(datasets[0] on line 3 has it)|"},
    {"no files", "seed: 1\ndatasets: [{name: a, files: []}]\n", NULL,
     "datasets.a.files: an empty list|"},
    {"files of numbers", "seed: 1\ndatasets: [{name: a, files: [1]}]\n", NULL,
     "datasets.a.files: a value of the wrong type|*|1|"},
    {"seven decimals", "seed: 1\ndatasets:\n- name: a\n  files: x\n  weight: 0.1234567\n", NULL,
     "datasets.a.weight: more than six digits after the point|dir/job.yaml:5, key "
     "datasets.a.weight|0.1234567|a decimal above 0 with at most 6 digits after the point, or "
     "bytes|round it"},
    {"seven decimals of zero", "seed: 1\ndatasets: [{name: a, files: x, weight: 0.5000000}]\n",
     NULL, "datasets.a.weight: more than six digits after the point|"},
    {"weight 0", "seed: 1\ndatasets: [{name: a, files: x, weight: 0}]\n", NULL,
     "datasets.a.weight: a weight of zero|*|0|*remove the dataset"},
    {"weight 0.0", "seed: 1\ndatasets: [{name: a, files: x, weight: 0.000000}]\n", NULL,
     "datasets.a.weight: a weight of zero|"},
    {"weight negative", "seed: 1\ndatasets: [{name: a, files: x, weight: -0.5}]\n", NULL,
     "datasets.a.weight: a negative number|*|-0.5|"},
    {"weight exponent", "seed: 1\ndatasets: [{name: a, files: x, weight: 1e-3}]\n", NULL,
     "datasets.a.weight: a decimal that is not written with digits and a point alone|*|1e-3|"},
    {"weight plus", "seed: 1\ndatasets: [{name: a, files: x, weight: +1}]\n", NULL,
     "datasets.a.weight: a decimal that is not"},
    {"weight .5", "seed: 1\ndatasets: [{name: a, files: x, weight: .5}]\n", NULL,
     "datasets.a.weight: a decimal that is not"},
    {"weight 1.", "seed: 1\ndatasets: [{name: a, files: x, weight: 1.}]\n", NULL,
     "datasets.a.weight: a decimal that is not"},
    {"weight inf", "seed: 1\ndatasets: [{name: a, files: x, weight: .inf}]\n", NULL,
     "datasets.a.weight: a decimal that is not"},
    {"weight nan", "seed: 1\ndatasets: [{name: a, files: x, weight: nan}]\n", NULL,
     "datasets.a.weight: a value of the wrong type|*|the text \"nan\"|"},
    {"weight quoted", "seed: 1\ndatasets: [{name: a, files: x, weight: \"0.5\"}]\n", NULL,
     "datasets.a.weight: a value of the wrong type|*write it without the quotes"},
    {"weight huge", "seed: 1\ndatasets: [{name: a, files: x, weight: 1234567890123}]\n", NULL,
     "datasets.a.weight: a number out of range|"},
    {"weights mixed",
     "seed: 1\ndatasets:\n- {name: a, files: x, weight: 1}\n- {name: b, files: x}\n", NULL,
     "datasets.b.weight: some datasets have a weight and this one has none|dir/job.yaml:4, key "
     "datasets.b.weight|1 of 2 datasets with a number, no weight here|"},
    {"weights mixed with bytes",
     "seed: 1\ndatasets:\n- {name: a, files: x, weight: bytes}\n- {name: b, files: x, weight: 1}\n",
     NULL,
     "datasets.a.weight: some datasets have a weight and this one has none|dir/job.yaml:3, key "
     "datasets.a.weight|1 of 2 datasets with a number, bytes here|"},
    {"holdout above 1", "seed: 1\ndatasets: [{name: a, files: x, holdout: 1.1}]\n", NULL,
     "datasets.a.holdout: a number out of range|*|1.1|a decimal from 0 to 1"},
    {"holdout too fine", "seed: 1\ndatasets: [{name: a, files: x, holdout: 0.0000001}]\n", NULL,
     "datasets.a.holdout: more than six digits after the point|"},
    {"block 0", "seed: 1\ndatasets: [{name: a, files: x, shuffle: {block: 0}}]\n", NULL,
     "datasets.a.shuffle.block: a number out of range|*|0|an integer from 1"},
    {"piece_window 0", "seed: 1\ndatasets: [{name: a, files: x, shuffle: {piece_window: 0}}]\n",
     NULL, "datasets.a.shuffle.piece_window: a number out of range|"},
    {"window_tokens 0", "seed: 1\ndatasets: [{name: a, files: x, shuffle: {window_tokens: 0}}]\n",
     NULL, "datasets.a.shuffle.window_tokens: a number out of range|"},
    {"shuffle as text", "seed: 1\ndatasets: [{name: a, files: x, shuffle: none}]\n", NULL,
     "datasets.a.shuffle: a value of the wrong type|*|the text \"none\"|"},
    {"dtype", "seed: 1\ndatasets: [{name: a, files: x, dtype: uint33}]\n", NULL,
     "datasets.a.dtype: not one of the choices|*|did you mean uint32?"},
    {"pad_id", "seed: 1\npad_id: 4294967296\n" DATA, NULL,
     "pad_id: a number out of range|*|4294967296|an integer from 0 to 4294967295"},
    {"token", "seed: 1\ntokenizer: {file: bytes, eos: 1.5}\n" DATA, NULL,
     "tokenizer.eos: a value of the wrong type|*|1.5|a token's text, its id"},
    {"token list", "seed: 1\ntokenizer: {file: bytes, eos: [1]}\n" DATA, NULL,
     "tokenizer.eos: a value of the wrong type|"},
    {"tokenizer as text", "seed: 1\ntokenizer: t.json\n" DATA, NULL,
     "tokenizer: a value of the wrong type|dir/job.yaml:2, key tokenizer|the text \"t.json\"|"},
    {"sizes not from 0", "seed: 1\nbatch_size: [{from_step: 1, batch_size: 2}]\n" DATA, NULL,
     "batch_size[0].from_step: batch sizes are not in ascending order from step 0|dir/job.yaml:2, "
     "key batch_size[0].from_step|1|0|"},
    {"sizes not ascending",
     "seed: 1\nbatch_size:\n- {from_step: 0, batch_size: 2}\n- {from_step: 5, batch_size: 2}\n- "
     "{from_step: 5, batch_size: 3}\n" DATA,
     NULL,
     "batch_size[2].from_step: batch sizes are not*|dir/job.yaml:5, key "
     "batch_size[2].from_step|5|a "
     "step above 5"},
    {"sizes of 0", "seed: 1\nbatch_size: [{from_step: 0, batch_size: 0}]\n" DATA, NULL,
     "batch_size[0].batch_size: a number out of range|"},
    {"sizes without step", "seed: 1\nbatch_size: [{batch_size: 1}]\n" DATA, NULL,
     "batch_size[0].from_step: a key that has no default is missing|"},
    {"sizes empty", "seed: 1\nbatch_size: []\n" DATA, NULL, "batch_size: an empty list|"},
    {"stage of unknown dataset",
     "seed: 1\nmixture_stages: [{from_row: 0, weights: {dics: 1}}]\n" DATA, NULL,
     "mixture_stages[0].weights.dics: no dataset has this name|dir/job.yaml:2, key "
     "mixture_stages[0].weights.dics|the name \"dics\"|*|did you mean docs?"},
    {"stage without weight", "seed: 1\nmixture_stages: [{from_row: 0, weights: {docs: 0}}]\n" DATA,
     NULL, "mixture_stages[0].weights: a stage without a weight above 0|"},
    {"stage with nothing", "seed: 1\nmixture_stages: [{from_row: 0, weights: {}}]\n" DATA, NULL,
     "mixture_stages[0].weights: a stage without a weight above 0|"},
    {"stage without weights", "seed: 1\nmixture_stages: [{from_row: 0}]\n" DATA, NULL,
     "mixture_stages[0].weights: a key that has no default is missing|"},
    {"stage twice",
     "seed: 1\nmixture_stages: [{from_row: 0, from_step: 0, weights: {docs: 1}}]\n" DATA, NULL,
     "mixture_stages[0].from_row: a stage without one clear beginning|*|from_row and from_step|"},
    {"stage without beginning", "seed: 1\nmixture_stages: [{weights: {docs: 1}}]\n" DATA, NULL,
     "mixture_stages[0].from_row: a stage without one clear beginning|*|neither"},
    {"stages not ascending",
     "seed: 1\nbatch_size: 10\nmixture_stages: [{from_row: 20, weights: {docs: 1}}, {from_step: 2, "
     "weights: {docs: 1}}]\n" DATA,
     NULL,
     "mixture_stages[1].from_step: stages are not in strictly ascending order|dir/job.yaml:3, key "
     "mixture_stages[1].from_step|row 20|a row from 21"},
    {"stage too far",
     "seed: 1\nbatch_size: 2147483647\nmixture_stages: [{from_step: 1099511627776, weights: {docs: "
     "1}}]\n" DATA,
     NULL, "mixture_stages[0].from_step: a number out of range|"},
    {"stage weight", "seed: 1\nmixture_stages: [{from_row: 0, weights: {docs: -1}}]\n" DATA, NULL,
     "mixture_stages[0].weights.docs: a negative number|"},
    {"passes 0", "seed: 1\npasses: 0\n" DATA, NULL, "passes: a number out of range|"},
    {"passes and stop", "seed: 1\npasses: 2\non_exhausted: stop\n" DATA, NULL,
     "on_exhausted: passes and this key contradict|dir/job.yaml:3, key on_exhausted|the text "
     "\"stop\"|drop"},
    {"passes and epochs", "seed: 1\npasses: 2\ndatasets: [{name: a, files: x, epochs: 3}]\n", NULL,
     "datasets.a.epochs: passes and this key contradict|dir/job.yaml:3, key datasets.a.epochs|3|2, "
     "which"},
    {"set without =", "seed: 1\n" DATA, "seed", "--set: there is no =|--set seed|seed|key=value"},
    {"set without key", "seed: 1\n" DATA, "=1", "--set: there is no key|"},
    {"set of an unknown key", "seed: 1\n" DATA, "sed=1",
     "sed: an unknown key|--set sed=1, key sed|the key \"sed\"|*|did you mean seed?"},
    {"set of a wrong type", "seed: 1\n" DATA, "seed=x",
     "seed: a value of the wrong type|--set seed=x, key seed|the text \"x\"|"},
    {"set to nothing", "seed: 1\n" DATA,
     "seed=", "seed: a value of the wrong type|--set seed=, key seed|nothing (null)|"},
    {"set of an unknown dataset", "seed: 1\n" DATA, "datasets.dogs.weight=1",
     "--set: there is no dataset of that name|--set datasets.dogs.weight=1|dogs|*|did you mean "
     "docs?"},
    {"set into a scalar", "seed: 1\n" DATA, "seed.a=1",
     "--set: the key goes into something that holds no keys|"},
    {"set of an empty part", "seed: 1\n" DATA, "tokenizer..a=1",
     "--set: a part of the key is empty|"},
    {"set with an alias", "seed: 1\n" DATA, "datasets.docs.files=*.jsonl",
     "|--set datasets.docs.files=*.jsonl|"},
};

static void test_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        leat_job *job;
        leat_error error;
        char got[2000];
        leat_status status = open_job(&job, bad[i].text, &bad[i].set, bad[i].set != NULL, &error);
        CHECK_U64(bad[i].label, status, LEAT_INVALID);
        if (status == LEAT_OK) {
            leat_job_close(job);
            continue;
        }
        CHECK(job == NULL && error.status == status);
        snprintf(got, sizeof got, "%s|%s|%s|%s|%s", error.text, error.where, error.found,
                 error.wanted, error.hint);
        if (!matches(got, bad[i].message)) {
            CHECK_HAS(bad[i].label, got, bad[i].message);
        }
    }
}

static leat_job *must_open(const char *label, const char *text, const char *const *sets,
                           size_t count)
{
    leat_job *job = NULL;
    leat_error error;
    leat_status status = open_job(&job, text, sets, count, &error);
    if (!CHECK_OK(status, &error)) {
        printf("in %s\n", label);
        exit(1);
    }
    return job;
}

static void test_defaults(void)
{
    leat_job *job = must_open("defaults", "seed: 7\n" DATA, NULL, 0);
    const leat_job_dataset *docs = &job->datasets[0];
    CHECK_TEXT("folder", job->folder, "dir");
    CHECK_U64("seed", job->seed, 7);
    CHECK_U64("sequence_length", job->sequence_length, 2048);
    CHECK_U64("batch sizes", job->batch_size_count, 1);
    CHECK_U64("batch size", job->batch_sizes[0].rows, 1024);
    CHECK_U64("packing", job->packing, LEAT_PACKING_CONCAT);
    CHECK_U64("pack_window", job->pack_window, 1024);
    CHECK_U64("piece", job->piece, 2049);
    CHECK_U64("part_bytes", job->part_bytes, 1 << 18);
    CHECK_U64("record_bytes_max", job->record_bytes_max, 1 << 30);
    CHECK_U64("peer_timeout", job->peer_timeout_s, 300);
    CHECK(job->drop_last && !job->truncate && !job->mix_by_documents && !job->drop_exhausted);
    CHECK(job->tokenizer == NULL && job->index_dir == NULL && job->bos.kind == LEAT_TOKEN_NONE);
    CHECK_TEXT("text", docs->text, "text");
    CHECK_TEXT("file", docs->files[0], "a.jsonl");
    CHECK_U64("unit", docs->unit, LEAT_UNIT_BLOCK);
    CHECK_U64("block", docs->block, 256);
    CHECK_U64("buffer", docs->buffer, 16384);
    CHECK_U64("piece_window", docs->piece_window, 256);
    CHECK_U64("window_tokens", docs->window_tokens, 1 << 20);
    CHECK_U64("epochs", docs->epochs, 0);
    CHECK(docs->weight_kind == LEAT_WEIGHT_NONE && !docs->has_eos_id && !docs->use_holdout);
    char *path = leat_job_path(job, docs->files[0]);
    CHECK_TEXT("path", path, "dir/a.jsonl");
    leat_free(path);
    leat_job_close(job);
}

static void test_full(void)
{
    static const char text[] =
        "{\"seed\": 18446744073709551615, \"sequence_length\": 8, \"batch_size\": "
        "[{\"from_step\": 0, \"batch_size\": 4}, {\"from_step\": 10, \"batch_size\": 8}],\n"
        "\"packing\": \"best_fit\", \"pack_window\": 3, \"piece\": 5, \"long_documents\": "
        "\"truncate\", \"part_bytes\": 0,\n"
        "\"mix_by\": \"documents\", \"on_exhausted\": \"drop\", \"drop_last\": false, "
        "\"bad_records\": \"skip\", \"pad_id\": 3,\n"
        "\"tokenizer\": {\"file\": \"t\\/k.json\", \"bos\": 1, \"eos\": \"<\\ud83d\\ude00>\"}, "
        "\"index_dir\": \"idx\",\n"
        "\"collectives\": \"nccl\", \"tokens\": \"exchange\", \"threads\": 3, \"mask_boundaries\": "
        "true,\n"
        "\"datasets\": [{\"name\": \"b\", \"weight\": 0.7, \"files\": [\"x\", \"/y\"], \"format\": "
        "\"jsonl\", \"text\": \"a.b\",\n"
        "\"epochs\": 2, \"holdout\": 0.001, \"use\": \"holdout\", \"shuffle\": {\"unit\": "
        "\"none\", \"piece_window\": 1}},\n"
        "{\"name\": \"a\", \"weight\": 0.3, \"files\": \"z\", \"add_special\": true, \"eos_id\": "
        "0, \"dtype\": \"uint16\"}],\n"
        "\"mixture_stages\": [{\"from_row\": 1, \"weights\": {\"a\": 1}}, {\"from_step\": 12, "
        "\"weights\": {\"a\": 0.25, \"b\": 0.75}}]}";
    leat_job *job = must_open("full", text, NULL, 0);
    CHECK(job->seed == UINT64_MAX && job->packing == LEAT_PACKING_BEST_FIT && job->truncate);
    CHECK(job->part_bytes == 0 && job->mix_by_documents && job->drop_exhausted && !job->drop_last);
    CHECK(job->bad_records == LEAT_BAD_SKIP && job->pad_id == 3 && job->threads == 3);
    CHECK(job->collectives == LEAT_COLLECTIVES_NCCL && job->tokens_way == LEAT_TOKENS_EXCHANGE);
    CHECK(job->batch_size_count == 2 && job->batch_sizes[1].rows == 8);
    CHECK_TEXT("tokenizer", job->tokenizer, "t/k.json");
    CHECK(job->bos.kind == LEAT_TOKEN_ID && job->bos.id == 1);
    CHECK_TEXT("surrogate pair", job->eos.text, "<\xf0\x9f\x98\x80>");
    CHECK(job->datasets[0].weight_millionths == 700000 && job->datasets[0].file_count == 2);
    CHECK(job->datasets[0].holdout_millionths == 1000 && job->datasets[0].use_holdout);
    CHECK(job->datasets[0].buffer == 0 && job->datasets[0].unit == LEAT_UNIT_NONE);
    CHECK(job->datasets[1].has_eos_id && job->datasets[1].add_special);
    CHECK_U64("row of a step", leat_job_stage_row(job, 1), 56);
    CHECK(job->stages[1].weights[0].dataset == 0 && job->stages[1].weights[0].millionths == 750000);
    char *path = leat_job_path(job, job->datasets[0].files[1]);
    CHECK_TEXT("absolute path", path, "/y");
    leat_free(path);
    uint64_t weights[2];
    leat_error error;
    CHECK_OK(leat_job_weights(job, SIZE_MAX, NULL, weights, &error), &error);
    CHECK(weights[0] == 7 && weights[1] == 3);
    CHECK_OK(leat_job_weights(job, 0, NULL, weights, &error), &error);
    CHECK(weights[0] == 0 && weights[1] == 1);
    CHECK_OK(leat_job_weights(job, 1, NULL, weights, &error), &error);
    CHECK(weights[0] == 3 && weights[1] == 1);
    leat_job_close(job);
}

static void test_weights_by_bytes(void)
{
    leat_job *job = must_open("bytes",
                              "seed: 1\ndatasets: [{name: a, files: x, weight: bytes}, {name: b, "
                              "files: x, weight: bytes}, {name: c, files: x, weight: bytes}]\n",
                              NULL, 0);
    static const struct {
        uint64_t bytes[3], want[3];
    } cases[] = {
        {{1, 2, 3}, {1, 2, 3}},
        {{0, 0, 0}, {1, 1, 1}},
        {{(1 << 30) - 1, 0, 0}, {(1 << 30) - 1, 1, 1}},
        {{1 << 30, 0, 0}, {1 << 29, 1, 1}},
        {{(1 << 30) - 1, 1, 0}, {(1 << 29) - 1, 1, 1}},
        {{UINT64_MAX, UINT64_MAX, UINT64_MAX},
         {(1ull << 28) - 1, (1ull << 28) - 1, (1ull << 28) - 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t weights[3];
        leat_error error;
        CHECK_OK(leat_job_weights(job, SIZE_MAX, cases[i].bytes, weights, &error), &error);
        for (size_t d = 0; d < 3; d++) {
            CHECK_U64("weight by bytes", weights[d], cases[i].want[d]);
        }
    }
    leat_job_close(job);
}

static void test_weight_sum(void)
{
    leat_job *job = must_open(
        "sum",
        "seed: 1\nsequence_length: 1048575\ndatasets: [{name: a, files: x, weight: 999999.999999}, "
        "{name: b, files: x, weight: 0.000001}]\n",
        NULL, 0);
    uint64_t weights[2];
    leat_error error;
    /* 10^12 · 2^20 · 2 is just below 2^61 */
    CHECK_OK(leat_job_weights(job, SIZE_MAX, NULL, weights, &error), &error);
    leat_job_close(job);
    job = must_open("sum",
                    "seed: 1\nsequence_length: 1048575\ndatasets: [{name: a, files: x, weight: "
                    "1999999.999999}, "
                    "{name: b, files: x, weight: 0.000001}]\n",
                    NULL, 0);
    leat_status status = leat_job_weights(job, SIZE_MAX, NULL, weights, &error);
    CHECK_U64("too large a sum", status, LEAT_INVALID);
    CHECK_TEXT("text", error.text, "the weights are too large or too fine");
    leat_job_close(job);
}

int main(void)
{
    test_bad();
    test_defaults();
    test_full();
    test_weights_by_bytes();
    test_weight_sum();
    return check_done();
}

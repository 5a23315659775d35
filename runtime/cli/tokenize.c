/* leat tokenize TOKENIZER [FILE.jsonl]: a line of ids for each record. */
#include "cli/cli.h"
#include "base/json.h"
#include "base/memory.h"
#include "io/store/store.h"
#include "tokenize/tokenizer.h"
#include <errno.h>
#include <stdio.h>

typedef struct tokenize {
    leat_cli *cli;
    leat_encoder *encoder;
    leat_json *json;
    bool special, count;
    const char *name;
    leat_tokens tokens;
    leat_buffer out;
    uint64_t line, records, bytes, ids;
} tokenize;

static void add_ids(tokenize *work)
{
    leat_buffer_add_u8(&work->out, '[');
    for (size_t i = 0; i < work->tokens.count; i++) {
        char digits[10];
        int length = 0;
        uint32_t id = work->tokens.ids[i];
        do {
            digits[length++] = (char)('0' + id % 10);
            id /= 10;
        } while (id != 0);
        if (i != 0) {
            leat_buffer_add(&work->out, ", ", 2);
        }
        uint8_t *at = leat_buffer_extend(&work->out, (size_t)length);
        while (length > 0) {
            *at++ = (uint8_t)digits[--length];
        }
    }
    leat_buffer_add(&work->out, "]\n", 2);
}

static leat_status record(tokenize *work, const char *line, size_t size)
{
    leat_error *error = &work->cli->error;
    leat_json_value root;
    leat_bytes text;
    work->line++;
    while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r')) {
        size--;
    }
    if (strspn(line, " \t\r\n") >= size) {
        return LEAT_OK;
    }
    leat_status status = leat_json_parse(work->json, (leat_bytes){(const uint8_t *)line, size},
                                         work->name, &root, error);
    if (status == LEAT_OK && !leat_json_get_text(leat_json_member(root, "text"), &text)) {
        status = LEAT_FAIL(error, LEAT_CORRUPT, "the record has no text under the key \"text\"");
    }
    work->tokens.count = 0;
    if (status == LEAT_OK) {
        status = work->special ? leat_encode_special(work->encoder, text, &work->tokens, error)
                               : leat_encode(work->encoder, text, &work->tokens, error);
    }
    if (status != LEAT_OK) {
        leat_error_where(error, "%s:%llu", work->name, (unsigned long long)work->line);
        return status;
    }
    work->records++;
    work->bytes += text.size;
    work->ids += work->tokens.count;
    if (!work->count) {
        add_ids(work);
    }
    return LEAT_OK;
}

static bool flush(tokenize *work)
{
    bool ok = fwrite(work->out.data, 1, work->out.size, stdout) == work->out.size;
    leat_buffer_clear(&work->out);
    return ok;
}

static leat_status stream(tokenize *work, FILE *in)
{
    char *line = NULL;
    size_t capacity = 0;
    leat_status status = LEAT_OK;
    for (ssize_t size; status == LEAT_OK && (size = getline(&line, &capacity, in)) >= 0;) {
        status = record(work, line, (size_t)size);
        if (work->out.size > 1 << 20 && !flush(work)) {
            status = LEAT_FAIL(&work->cli->error, LEAT_IO, "cannot write the ids");
        }
    }
    if (status == LEAT_OK && ferror(in)) {
        status = leat_fail_errno(&work->cli->error, "read", work->name, errno);
    }
    if (!flush(work) && status == LEAT_OK) {
        status = LEAT_FAIL(&work->cli->error, LEAT_IO, "cannot write the ids");
    }
    leat_free(line);
    return status;
}

static leat_status open_tokenizer(leat_cli *cli, const char *path, leat_tokenizer **out)
{
    leat_buffer file = {0};
    leat_status status = LEAT_OK;
    if (strcmp(path, "bytes") == 0) {
        *out = leat_tokenizer_open_bytes();
    } else {
        status =
            leat_store_read_whole(leat_store_posix(), path, (uint64_t)1 << 30, &file, &cli->error);
        if (status == LEAT_OK) {
            status =
                leat_tokenizer_open(out, (leat_bytes){file.data, file.size}, path, &cli->error);
        }
    }
    leat_buffer_deinit(&file);
    return status;
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    static const struct option options[] = {
        {"special", no_argument, NULL, 's'}, {"count", no_argument, NULL, 'c'}, {NULL, 0, NULL, 0}};
    tokenize work = {.cli = cli, .name = "standard input"};
    leat_tokenizer *tokenizer = NULL;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        work.special = work.special || option == 's';
        work.count = work.count || option == 'c';
        if (option != 's' && option != 'c') {
            return leat_cli_unknown(cli, "tokenize", argv);
        }
    }
    if (argc - optind < 1 || argc - optind > 2) {
        return leat_cli_usage(cli, "tokenize",
                              "wants a tokenizer file and at most one JSON-lines file");
    }
    FILE *in = stdin;
    if (argc - optind == 2) {
        work.name = argv[optind + 1];
        in = fopen(work.name, "rb");
        if (in == NULL) {
            return leat_fail_errno(&cli->error, "open", work.name, errno);
        }
    }
    leat_status status = open_tokenizer(cli, argv[optind], &tokenizer);
    if (status == LEAT_OK) {
        work.encoder = leat_encoder_open(tokenizer, 0);
        work.json = leat_json_open();
        status = stream(&work, in);
        if (status == LEAT_OK && work.count) {
            printf(cli->json ? "{\"records\":%llu,\"bytes\":%llu,\"tokens\":%llu}\n"
                             : "%llu records, %llu bytes, %llu tokens\n",
                   (unsigned long long)work.records, (unsigned long long)work.bytes,
                   (unsigned long long)work.ids);
        }
        leat_json_close(work.json);
        leat_encoder_close(work.encoder);
    }
    leat_tokenizer_close(tokenizer);
    leat_tokens_deinit(&work.tokens);
    leat_buffer_deinit(&work.out);
    if (in != stdin) {
        fclose(in);
    }
    return status;
}

const leat_command leat_command_tokenize = {
    "tokenize",
    "leat tokenize TOKENIZER [FILE.jsonl] [--special] [--count]",
    "Print the token ids of JSON-lines records",
    "For each record (key text) a line with the JSON array of its ids; TOKENIZER is a "
    "tokenizer.json, or `bytes`.\n"
    "  --special  with the special tokens of the tokenizer's post-processor\n"
    "  --count    print totals instead of ids\n",
    false,
    run};

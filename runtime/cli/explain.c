/* leat explain DIR --step S [--row R [--token T]]: which documents were there; --find FILE:RECORD: where a record was. */
#include "audit/find.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "cli/audit_print.h"

typedef struct explain {
    leat_cli *cli;
    leat_loader *loader;
    uint64_t step, row, token;
    bool has_step, has_row, has_token;
} explain;

static void print_token(explain *what, const leat_batch *batch, const leat_batch_segment *segment,
                        leat_json_out *out)
{
    uint64_t number = segment->start + (what->token - segment->row_start), begin = 0, end = 0;
    bool known = leat_audit_token_bytes(what->loader, segment, number, &begin, &end);
    leat_error error;
    leat_bytes text;
    uint32_t id = batch->tokens[what->row * batch->row_tokens + what->token];
    leat_json_key_u64(out, "id", id);
    leat_json_key_u64(out, "document_token", number);
    if (known && leat_audit_text_of(what->loader, segment, &text, &error) == LEAT_OK) {
        leat_json_key_u64(out, "token_text_begin", begin);
        leat_json_key_u64(out, "token_text_end", end);
        leat_json_key(out, "text");
        /* A token may be a part of a character: then its bytes are shown, not its text. */
        leat_json_hex(out, text.data + begin, (size_t)(end - begin));
    }
}

/* The same for people.  A token may be a part of a character: then only its bytes are shown. */
static void print_token_line(explain *what, const leat_batch *batch,
                             const leat_batch_segment *segment)
{
    uint64_t number = segment->start + (what->token - segment->row_start), begin = 0, end = 0;
    bool known = leat_audit_token_bytes(what->loader, segment, number, &begin, &end);
    leat_error error;
    leat_bytes text;
    printf("token %llu: id %u, token %llu of its document", (unsigned long long)what->token,
           batch->tokens[what->row * batch->row_tokens + what->token], (unsigned long long)number);
    if (known && leat_audit_text_of(what->loader, segment, &text, &error) == LEAT_OK) {
        leat_buffer quoted = {0};
        leat_json_out out = {&quoted, false};
        leat_bytes of = {text.data + begin, (size_t)(end - begin)};
        if (leat_utf8_fault(of.data, of.size) == of.size) {
            leat_json_text_sized(&out, (const char *)of.data, of.size);
        } else {
            leat_buffer_add_text(&quoted, "hexadecimal ");
            leat_json_hex(&out, of.data, of.size);
        }
        printf(", bytes %llu to %llu of its text: %s", (unsigned long long)begin,
               (unsigned long long)end, leat_buffer_text(&quoted));
        leat_buffer_deinit(&quoted);
    }
    putchar('\n');
}

static leat_status explain_row(explain *what, const leat_batch *batch, uint64_t row)
{
    uint64_t at = row == 0 ? batch->segment_first : batch->row_segments[row - 1];
    leat_status status = LEAT_OK;
    leat_buffer buffer = {0};
    bool found = false;
    for (; at < batch->row_segments[row] && status == LEAT_OK; at++) {
        const leat_batch_segment *segment = &batch->segments[at];
        bool meant =
            !what->has_token || (what->token >= segment->row_start &&
                                 what->token < (uint64_t)segment->row_start + segment->length);
        if (!meant) {
            continue;
        }
        found = true;
        leat_json_out out = {&buffer, false};
        leat_buffer_clear(&buffer);
        leat_json_object(&out);
        leat_json_key_u64(&out, "step", batch->step);
        leat_json_key_u64(&out, "row", row);
        status = leat_cli_segment_json(what->loader, segment, &out, &what->cli->error);
        if (status == LEAT_OK && what->has_token) {
            print_token(what, batch, segment, &out);
        }
        leat_json_object_end(&out);
        if (status == LEAT_OK && what->cli->json) {
            printf("%s\n", leat_buffer_text(&buffer));
        } else if (status == LEAT_OK) {
            printf("row %llu: ", (unsigned long long)row);
            status = leat_cli_segment_line(what->loader, segment, stdout, &what->cli->error);
            if (status == LEAT_OK && what->has_token) {
                print_token_line(what, batch, segment);
            }
        }
    }
    if (status == LEAT_OK && !found && what->has_token) {
        printf(what->cli->json ? "{\"step\":%llu,\"row\":%llu,\"padding\":true}\n"
                               : "step %llu, row %llu: that token is padding\n",
               (unsigned long long)batch->step, (unsigned long long)row);
    }
    leat_buffer_deinit(&buffer);
    return status;
}

static leat_status explain_batch(explain *what)
{
    leat_batch batch;
    leat_status status = leat_loader_next(what->loader, &batch, &what->cli->error);
    if (status != LEAT_OK) {
        return status;
    }
    if (batch.end || (what->has_row && what->row >= batch.rows) ||
        (what->has_token && what->token >= batch.row_tokens)) {
        LEAT_FAIL(&what->cli->error, LEAT_INVALID, "there is no such place in step %llu",
                  (unsigned long long)what->step);
        leat_error_wanted(&what->cli->error, "a row below %llu and a token below %u",
                          (unsigned long long)batch.rows, batch.row_tokens);
        return LEAT_INVALID;
    }
    for (uint64_t row = what->has_row ? what->row : 0; status == LEAT_OK && row < batch.rows;
         row++) {
        status = explain_row(what, &batch, row);
        if (what->has_row) {
            break;
        }
    }
    leat_loader_done(what->loader, &batch);
    return status;
}

typedef struct finder {
    leat_cli *cli;
    uint64_t count;
} finder;

static leat_status print_find(void *context, leat_loader *loader, uint64_t step, uint64_t row,
                              const leat_batch_segment *segment, leat_error *error)
{
    finder *to = context;
    to->count++;
    if (!to->cli->json) {
        printf("step %llu row %llu: ", (unsigned long long)step, (unsigned long long)row);
        return leat_cli_segment_line(loader, segment, stdout, error);
    }
    leat_buffer buffer = {0};
    leat_json_out out = {&buffer, false};
    leat_json_object(&out);
    leat_json_key_u64(&out, "step", step);
    leat_json_key_u64(&out, "row", row);
    leat_status status = leat_cli_segment_json(loader, segment, &out, error);
    leat_json_object_end(&out);
    if (status == LEAT_OK) {
        printf("%s\n", leat_buffer_text(&buffer));
    }
    leat_buffer_deinit(&buffer);
    return status;
}

/* FILE:RECORD; the last colon parts them. */
static leat_status find(leat_cli *cli, const char *folder, const char *what)
{
    const char *colon = strrchr(what, ':');
    uint64_t record = 0;
    if (colon == NULL || colon == what) {
        return leat_cli_usage(cli, "explain", "--find takes FILE:RECORD, not \"%s\"", what);
    }
    leat_status status =
        leat_cli_number(cli, "explain", "the RECORD of --find", colon + 1, &record);
    if (status != LEAT_OK) {
        return status;
    }
    char *file = leat_strndup(what, (size_t)(colon - what));
    finder to = {.cli = cli};
    leat_audit_wish wish = {
        .options = {.log = leat_cli_log, .log_context = cli}, .found = print_find, .context = &to};
    status = leat_audit_find(cli->wire, folder, file, record, &wish, &cli->error);
    if (status == LEAT_OK && to.count == 0 && !cli->json) {
        printf("record %llu of %s was in no logged step\n", (unsigned long long)record, file);
    }
    leat_free(file);
    return status;
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    static const struct option options[] = {{"step", required_argument, NULL, 's'},
                                            {"row", required_argument, NULL, 'r'},
                                            {"token", required_argument, NULL, 't'},
                                            {"find", required_argument, NULL, 'f'},
                                            {NULL, 0, NULL, 0}};
    explain what = {.cli = cli};
    const char *wanted = NULL;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        leat_status status = LEAT_OK;
        if (option == 'f') {
            wanted = optarg;
        } else if (option == 's') {
            what.has_step = true;
            status = leat_cli_number(cli, "explain", "--step", optarg, &what.step);
        } else if (option == 'r') {
            what.has_row = true;
            status = leat_cli_number(cli, "explain", "--row", optarg, &what.row);
        } else if (option == 't') {
            what.has_token = true;
            status = leat_cli_number(cli, "explain", "--token", optarg, &what.token);
        } else {
            status = leat_cli_unknown(cli, "explain", argv);
        }
        if (status != LEAT_OK) {
            return status;
        }
    }
    if (wanted != NULL && optind + 1 == argc && !what.has_step) {
        return find(cli, argv[optind], wanted);
    }
    if (optind + 1 != argc || !what.has_step || (what.has_token && !what.has_row)) {
        return leat_cli_usage(
            cli, "explain",
            "wants a run folder and --step S [--row R [--token T]], or --find FILE:RECORD");
    }
    leat_options open = {.log = leat_cli_log, .log_context = cli};
    leat_status status =
        leat_cli_check_logged(cli, "explain", argv[optind], what.step, what.step + 1);
    if (status == LEAT_OK) {
        status = leat_audit_open(&what.loader, cli->wire, argv[optind], what.step, what.step + 1,
                                 &open, &cli->error);
    }
    if (status == LEAT_OK) {
        status = explain_batch(&what);
    }
    leat_loader_abandon(what.loader);
    return status;
}

const leat_command leat_command_explain = {
    "explain",
    "leat explain DIR --step S [--row R [--token T]] | leat explain DIR --find FILE:RECORD",
    "Say which documents were in a batch, row or token, and where a record was",
    "For each run of tokens: dataset, file, record, part, bytes in the file, token range, epoch.  "
    "With --token also the id\n"
    "and the bytes of the text that the token stands for (with --json in hexadecimal).\n"
    "--find lists the logged steps and rows that a record (from 0) of a shard was in.\n",
    false,
    run};

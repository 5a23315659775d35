#include "job/init.h"
#include <inttypes.h>

/* In double quotes, as YAML reads it: control characters escaped, the rest as it is. */
static void put_quoted(leat_buffer *text, const char *value)
{
    leat_buffer_add_u8(text, '"');
    for (const char *at = value; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at, next = (unsigned char)at[1];
        if (c == '"' || c == '\\') {
            leat_buffer_add_format(text, "\\%c", c);
        } else if (c < 0x20 || c == 0x7f) {
            leat_buffer_add_format(text, "\\x%02x", c);
        } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
            leat_buffer_add_format(text, "\\x%02x", next); /* U+0080 … U+009F */
            at++;
        } else {
            leat_buffer_add_u8(text, c);
        }
    }
    leat_buffer_add_u8(text, '"');
}

static void put_size(leat_buffer *text, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    uint64_t rest = 0;
    while (bytes >= 1000) {
        rest = bytes % 1000;
        bytes /= 1000;
        unit++;
    }
    if (unit == 0) {
        leat_buffer_add_format(text, "%" PRIu64 " %s", bytes, units[unit]);
    } else {
        leat_buffer_add_format(text, "%" PRIu64 ".%" PRIu64 " %s", bytes, rest / 100, units[unit]);
    }
}

static void put_tokenizer(leat_buffer *text, const char *tokenizer)
{
    leat_buffer_add_text(text,
                         "\n# What makes tokens of text: a tokenizer.json, or \"bytes\" (a token a "
                         "byte; bos 256, eos 257).\n# bos and eos: a token's text or id, or null.\n"
                         "tokenizer:\n  file: ");
    put_quoted(text, tokenizer != NULL ? tokenizer : "bytes");
    leat_buffer_add_text(text, "\n  bos: null\n");
    leat_buffer_add_text(text, tokenizer == NULL || strcmp(tokenizer, "bytes") == 0
                                   ? "  eos: 257\n"
                                   : "  eos: null        # for example \"<|endoftext|>\"; without "
                                     "it documents run into each other\n");
}

static void put_dataset(leat_buffer *text, const leat_job_found *found)
{
    leat_buffer_add_format(text, "  # %" PRIu64 " file%s, ", found->files,
                           found->files == 1 ? "" : "s");
    put_size(text, found->bytes);
    leat_buffer_add_text(text, "\n  - name: ");
    put_quoted(text, found->name);
    leat_buffer_add_text(text, "\n    files:\n");
    for (size_t i = 0; i < found->glob_count; i++) {
        leat_buffer_add_text(text, "      - ");
        put_quoted(text, found->globs[i]);
        leat_buffer_add_text(text, "\n");
    }
    if (found->format != NULL) {
        leat_buffer_add_text(text, "    format: ");
        put_quoted(text, found->format);
        leat_buffer_add_text(text, "\n");
    }
    if (!found->is_tokens) {
        leat_buffer_add_text(text, "    text: ");
        put_quoted(text, found->text != NULL ? found->text : "text");
        leat_buffer_add_text(text, "       # the record's key that holds the text\n");
    }
    leat_buffer_add_text(text, "    # weight: 1.0     # by size where no dataset has one\n"
                               "    # epochs: 1       # 0: no limit\n"
                               "    # holdout: 0.001  # set apart for evaluation, see use\n");
}

void leat_job_init_text(const leat_job_found *found, size_t count,
                        const leat_job_init_options *options, leat_buffer *text)
{
    bool any_text = false;
    for (size_t i = 0; i < count; i++) {
        any_text = any_text || !found[i].is_tokens;
    }
    leat_buffer_add_format(
        text,
        "# A job for leat.  docs/job-file.md explains every key; globs are relative to this file.\n"
        "# Look at it with: leat check THIS_FILE\n\n"
        "seed: %" PRIu64 "            # another seed, another order\n"
        "sequence_length: 2048\n"
        "batch_size: 1024   # sequences in a global batch\n"
        "packing: concat    # concat, best_fit or single\n"
        "# passes: 1        # go through everything once and end; without it datasets repeat\n",
        options->seed);
    if (any_text || options->tokenizer != NULL) {
        put_tokenizer(text, options->tokenizer);
    }
    leat_buffer_add_text(text,
                         "\n# Without weights, datasets are mixed by their sizes.\ndatasets:");
    leat_buffer_add_text(text, count == 0 ? " []   # nothing was found\n" : "\n");
    for (size_t i = 0; i < count; i++) {
        put_dataset(text, &found[i]);
    }
}

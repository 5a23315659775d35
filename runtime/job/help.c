#include "job/init.h"
#include "job/schema.h"

static const char *order_word(const leat_job_key *key)
{
    return key->order ? "yes" : "no";
}

void leat_job_help(leat_buffer *text)
{
    leat_buffer_add_text(text,
                         "Keys of a job file.  \"order\": changing it changes the batches, so a "
                         "run cannot go on with\nanother value.  Any key may be set with "
                         "--set key=value.\n");
    for (size_t i = 0; i < leat_job_key_count; i++) {
        const leat_job_key *key = &leat_job_keys[i];
        char wanted[192];
        leat_job_key_wanted(key, wanted);
        leat_buffer_add_format(text, "\n%s\n    %s\n    %s; ", key->path, key->help, wanted);
        if (key->required) {
            leat_buffer_add_text(text, "no default");
        } else {
            leat_buffer_add_format(text, "default %s", key->default_text);
        }
        leat_buffer_add_text(text, key->order ? "; order\n" : "\n");
    }
}

/* A table cell: | would end it. */
static void put_cell(leat_buffer *text, const char *cell)
{
    for (; *cell != '\0'; cell++) {
        if (*cell == '|') {
            leat_buffer_add_u8(text, '\\');
        }
        leat_buffer_add_u8(text, (uint8_t)*cell);
    }
}

void leat_job_help_markdown(leat_buffer *text)
{
    leat_buffer_add_text(text, "| key | value | default | order | meaning |\n"
                               "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < leat_job_key_count; i++) {
        const leat_job_key *key = &leat_job_keys[i];
        char wanted[192];
        leat_job_key_wanted(key, wanted);
        leat_buffer_add_format(text, "| `%s` | ", key->path);
        put_cell(text, wanted);
        if (key->required) {
            leat_buffer_add_text(text, " | none: it must be given");
        } else {
            leat_buffer_add_format(text, " | `%s`", key->default_text);
        }
        leat_buffer_add_format(text, " | %s | ", order_word(key));
        put_cell(text, key->help);
        leat_buffer_add_text(text, " |\n");
    }
}

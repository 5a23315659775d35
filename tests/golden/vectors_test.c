/* Ids of a few thousand texts against those of Hugging Face tokenizers 0.22.2, kept in ../shared/vectors.  Skips (77) where
 * the vectors or xz are missing. */
#include "base/json.h"
#include "base/memory.h"
#include "check.h"
#include "tokenize/tokenizer.h"
#include <sys/stat.h>

enum { SKIPPED = 77 };

static int differences;

static int read_xz(const char *path, leat_buffer *out)
{
    struct stat there;
    if (stat(path, &there) != 0) {
        printf("SKIPPED: %s is missing\n", path);
        return 0;
    }
    char *command = leat_format("xz -dc '%s'", path);
    FILE *pipe = popen(command, "r");
    leat_free(command);
    size_t got;
    uint8_t part[65536];
    while (pipe != NULL && (got = fread(part, 1, sizeof part, pipe)) != 0) {
        leat_buffer_add(out, part, got);
    }
    if (pipe == NULL || pclose(pipe) != 0) {
        printf("SKIPPED: xz cannot read %s\n", path);
        return 0;
    }
    return 1;
}

static int same(const leat_tokens *got, leat_json_value want)
{
    size_t i = 0;
    leat_json_value item = leat_json_first(want, NULL);
    for (; leat_json_type_of(item) != LEAT_JSON_NONE; item = leat_json_after(item, NULL), i++) {
        uint64_t id;
        if (!leat_json_get_u64(item, &id) || i >= got->count || got->ids[i] != id) {
            return 0;
        }
    }
    return i == got->count;
}

static void show(const char *name, size_t number, leat_bytes text, const leat_tokens *got)
{
    printf("%s line %zu differs: %.*s\n  got:", name, number,
           (int)(text.size < 200 ? text.size : 200), (const char *)text.data);
    for (size_t i = 0; i < got->count && i < 40; i++) {
        printf(" %" PRIu32, got->ids[i]);
    }
    printf("\n");
}

static void compare(leat_encoder *encoder, leat_json_value line, const char *name, size_t number)
{
    leat_error error = {0};
    leat_bytes text = {0};
    for (int special = 0; special < 2; special++) {
        leat_tokens got = {0};
        CHECK(leat_json_get_text(leat_json_member(line, "text"), &text));
        leat_status status = special ? leat_encode_special(encoder, text, &got, &error)
                                     : leat_encode(encoder, text, &got, &error);
        CHECK_OK(status, &error);
        check_count++;
        if (!same(&got, leat_json_member(line, special ? "ids_special" : "ids"))) {
            check_failures++;
            if (differences++ < 20) {
                show(name, number, text, &got);
            }
        }
        leat_tokens_deinit(&got);
    }
}

/* The end of the list that begins at `at`: behind its bracket. */
static const char *list_end(const char *at)
{
    for (int depth = 0, quoted = 0; *at != 0; at++) {
        if (quoted && *at == '\\') {
            at++;
        } else if (*at == '"') {
            quoted = !quoted;
        } else if (!quoted && (*at == '[' || *at == ']')) {
            depth += *at == '[' ? 1 : -1;
            if (depth == 0) {
                return at + 1;
            }
        }
    }
    return at;
}

/* Puts the list of added tokens of the vectors' first line in place of the file's own. */
static void put_added(leat_buffer *file, leat_bytes line)
{
    const char *text = leat_buffer_text(file), *name = "\"added_tokens\"";
    const char *from = strstr(text, name);
    const char *list = memmem(line.data, line.size, name, strlen(name));
    if (!CHECK(from != NULL && list != NULL)) {
        return;
    }
    const char *to = list_end(strchr(from, '['));
    leat_buffer changed = {0};
    leat_buffer_add(&changed, text, (size_t)(from - text));
    leat_buffer_add(&changed, list, (size_t)(list_end(strchr(list, '[')) - list));
    leat_buffer_add(&changed, to, file->size - (size_t)(to - text));
    leat_buffer_deinit(file);
    *file = changed;
}

static void run_lines(leat_buffer *file, const leat_buffer *lines, const char *vectors)
{
    leat_error error = {0};
    leat_tokenizer *tokenizer = NULL;
    leat_encoder *encoder = NULL;
    leat_json *json = leat_json_open();
    size_t number = 0;
    for (size_t at = 0; at < lines->size; number++) {
        const uint8_t *end = memchr(lines->data + at, '\n', lines->size - at);
        size_t size = end != NULL ? (size_t)(end - lines->data) - at : lines->size - at;
        leat_bytes line = {lines->data + at, size};
        leat_json_value root;
        at += size + 1;
        if (!CHECK_OK(leat_json_parse(json, line, vectors, &root, &error), &error)) {
            break;
        }
        int first = leat_json_type_of(leat_json_member(root, "base")) == LEAT_JSON_TEXT;
        if (first) {
            put_added(file, line);
        }
        if (tokenizer == NULL) {
            leat_bytes whole = {file->data, file->size};
            if (!CHECK_OK(leat_tokenizer_open(&tokenizer, whole, vectors, &error), &error)) {
                break;
            }
            encoder = leat_encoder_open(tokenizer, 1 << 16);
        }
        if (!first) {
            compare(encoder, root, vectors, number + 1);
        }
    }
    printf("%s: %zu lines, %d differences so far\n", vectors, number, differences);
    leat_encoder_close(encoder);
    leat_tokenizer_close(tokenizer);
    leat_json_close(json);
}

static int run(const char *shared, const char *base, const char *vectors)
{
    leat_buffer file = {0}, lines = {0};
    char *file_path = leat_format("%s/tokenizers/%s.tokenizer.json.xz", shared, base);
    char *lines_path = leat_format("%s/vectors/%s.jsonl.xz", shared, vectors);
    int there = read_xz(file_path, &file) && read_xz(lines_path, &lines);
    if (there) {
        run_lines(&file, &lines, vectors);
    }
    leat_buffer_deinit(&file);
    leat_buffer_deinit(&lines);
    leat_free(file_path);
    leat_free(lines_path);
    return there;
}

int main(int count, char **arguments)
{
    static const char *const sets[][2] = {
        {"gpt2", "vectors_gpt2"},
        {"gpt2", "vectors_flags_gpt2"},
        {"llama3", "vectors_llama3"},
        {"qwen2_5", "vectors_qwen2_5"},
        {"qwen2_5", "vectors_flags_qwen2_5"},
    };
    const char *source = getenv("LEAT_SOURCE_DIR");
    char *shared = leat_format("%s/../shared", source != NULL ? source : ".");
    int ran = 0, missing = 0;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (count > 1 && strcmp(arguments[1], sets[i][1]) != 0) {
            continue;
        }
        int there = run(shared, sets[i][0], sets[i][1]);
        ran += there;
        missing += !there;
    }
    leat_free(shared);
    if (missing != 0 && check_failures == 0) {
        printf("SKIPPED: %d sets of vectors are missing (%d were compared)\n", missing, ran);
        return SKIPPED;
    }
    return check_done();
}

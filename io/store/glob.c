/* Globs.  Names are bytes; the order is that of strcmp, whatever the locale.  The walk keeps its own list of folders, so
 * that no depth of folders can exhaust the stack. */
#include "base/memory.h"
#include "base/utf8.h"
#include "io/store/store.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A place in the walk: a folder (or file) and the pattern that is left below it. */
typedef struct step {
    char *path;
    const char *rest;
} step;

typedef struct walk {
    step *steps;
    size_t count, capacity;
    leat_path_list found;
    size_t fixed_bytes; /* of every path: what belongs to the glob's fixed part */
} walk;

/* One bracket expression at pattern[0] = '['; *matched says whether c is in it.  Its length, 0 where it is none. */
static size_t bracket(const char *pattern, unsigned char c, bool *matched)
{
    size_t at = 1;
    bool negated = pattern[at] == '!' || pattern[at] == '^', in = false;
    at += negated;
    for (size_t first = at; pattern[at] != ']' || at == first; at++) {
        if (pattern[at] == '\0') {
            return 0;
        }
        unsigned char low = (unsigned char)pattern[at], high = low;
        if (pattern[at + 1] == '-' && pattern[at + 2] != ']' && pattern[at + 2] != '\0') {
            high = (unsigned char)pattern[at + 2];
            at += 2;
        }
        in = in || (low <= c && c <= high);
    }
    *matched = in != negated;
    return at + 1;
}

/* One name against one part of a pattern (to its '/' or end): after a mismatch only the last star can take more. */
static bool matches(const char *pattern, const char *name)
{
    const char *star = NULL, *star_name = NULL;
    if (name[0] == '.' && pattern[0] != '.') {
        return false;
    }
    for (;;) {
        bool end = *pattern == '\0' || *pattern == '/', matched = false;
        size_t pattern_bytes = 1, name_bytes = 1;
        if (!end && *pattern == '*') {
            star = ++pattern;
            star_name = name;
            continue;
        }
        if (*name == '\0') {
            return end;
        }
        if (end) {
            matched = false;
        } else if (*pattern == '?') {
            matched = true;
            size_t length = leat_utf8_length((const uint8_t *)name, strlen(name), NULL);
            name_bytes = length != 0 ? length : 1;
        } else if (*pattern == '[' &&
                   (pattern_bytes = bracket(pattern, (unsigned char)*name, &matched)) != 0) {
            ;
        } else {
            pattern_bytes = 1;
            matched = *pattern == *name;
        }
        if (matched) {
            pattern += pattern_bytes;
            name += name_bytes;
        } else if (star != NULL) {
            pattern = star;
            name = ++star_name;
        } else {
            return false;
        }
    }
}

static bool is_wild(const char *pattern, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (pattern[i] == '*' || pattern[i] == '?' || pattern[i] == '[') {
            return true;
        }
    }
    return false;
}

static size_t part_bytes(const char *pattern)
{
    return strcspn(pattern, "/");
}

static const char *after_part(const char *pattern)
{
    pattern += part_bytes(pattern);
    return pattern + strspn(pattern, "/");
}

static void push(walk *w, char *path, const char *rest)
{
    LEAT_GROW(w->steps, w->capacity, w->count + 1);
    w->steps[w->count++] = (step){path, rest};
}

static char *join(const char *folder, const char *name, size_t name_bytes)
{
    size_t length = strlen(folder);
    const char *slash = length == 0 || folder[length - 1] == '/' ? "" : "/";
    return leat_format("%s%s%.*s", folder, slash, (int)name_bytes, name);
}

static void add_found(leat_path_list *list, char *path, size_t name_at)
{
    size_t names = list->capacity;
    LEAT_GROW(list->names, names, list->count + 1);
    LEAT_GROW(list->paths, list->capacity, list->count + 1);
    list->paths[list->count] = path;
    list->names[list->count++] = path + name_at;
}

/* All entries of a folder against a wild part of the pattern. */
static leat_status read_folder(walk *w, const char *folder, const char *rest, leat_error *error)
{
    DIR *open = opendir(folder[0] != '\0' ? folder : ".");
    if (open == NULL) {
        return errno == ENOENT || errno == ENOTDIR
                   ? LEAT_OK
                   : leat_fail_errno(error, "list the folder", folder, errno);
    }
    bool any_depth = part_bytes(rest) == 2 && memcmp(rest, "**", 2) == 0;
    const char *below = after_part(rest);
    if (any_depth && *below != '\0') {
        push(w, leat_strdup(folder), below); /* no folder at all in between */
    }
    struct dirent *entry;
    while (errno = 0, (entry = readdir(open)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !matches(rest, name)) {
            continue;
        }
        char *path = join(folder, name, strlen(name));
        struct stat found;
        bool is_folder = any_depth && lstat(path, &found) == 0 && S_ISDIR(found.st_mode);
        if (is_folder) {
            push(w, path, rest);
        } else if (!any_depth || *below == '\0') {
            push(w, path, below);
        } else {
            leat_free(path);
        }
    }
    int code = errno;
    closedir(open);
    return code != 0 ? leat_fail_errno(error, "list the folder", folder, code) : LEAT_OK;
}

/* Takes a step: its path is used up. */
static leat_status take(walk *w, step now, leat_error *error)
{
    size_t bytes = part_bytes(now.rest);
    leat_status status = LEAT_OK;
    struct stat found;
    if (*now.rest == '\0') {
        if (stat(now.path, &found) == 0 && !S_ISDIR(found.st_mode)) {
            add_found(&w->found, now.path, w->fixed_bytes);
            return LEAT_OK;
        }
    } else if (is_wild(now.rest, bytes)) {
        status = read_folder(w, now.path, now.rest, error);
    } else {
        push(w, join(now.path, now.rest, bytes), after_part(now.rest));
    }
    leat_free(now.path);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All found paths begin with the same fixed part, so that whole paths sort as their names do. */
static void hand_over(walk *w, leat_path_list *append_to)
{
    qsort(w->found.paths, w->found.count, sizeof *w->found.paths, by_name);
    const char *last = NULL;
    for (size_t i = 0; i < w->found.count; i++) {
        char *path = w->found.paths[i];
        if (last != NULL && strcmp(path, last) == 0) { /* two ** can find a file twice */
            leat_free(path);
            continue;
        }
        add_found(append_to, path, w->fixed_bytes);
        last = path;
    }
}

static leat_status no_match(const char *base_folder, const char *pattern, const char *fixed,
                            leat_error *error)
{
    struct stat found;
    LEAT_FAIL(error, LEAT_INVALID, "no file matches %s", pattern);
    leat_error_where(error, "%s", pattern);
    leat_error_wanted(error, "at least one file");
    if (fixed[0] != '\0' && stat(fixed, &found) != 0) {
        leat_error_found(error, "%s does not exist", fixed);
    } else {
        leat_error_found(error, "none below %s", fixed[0] != '\0' ? fixed : ".");
    }
    leat_error_hint(error,
                    "a glob is relative to %s and does not match names that begin with a dot",
                    base_folder != NULL && base_folder[0] != '\0' ? base_folder : "this folder");
    return error->status;
}

leat_status leat_glob(const char *base_folder, const char *pattern, leat_path_list *append_to,
                      leat_error *error)
{
    walk w = {0};
    leat_status status = LEAT_OK;
    const char *rest = pattern;
    if (pattern[0] == '\0' || pattern[strlen(pattern) - 1] == '/') {
        LEAT_FAIL(error, LEAT_INVALID, "a glob that names no files: \"%s\"", pattern);
        leat_error_hint(error, "write %s* for all files of the folder", pattern);
        return error->status;
    }
    while (*rest != '\0' && !is_wild(rest, part_bytes(rest)) && *after_part(rest) != '\0') {
        rest = after_part(rest);
    }
    char *below = leat_strndup(pattern, (size_t)(rest - pattern));
    bool absolute = pattern[0] == '/' || base_folder == NULL || base_folder[0] == '\0';
    char *fixed = absolute ? leat_strdup(below) : join(base_folder, below, strlen(below));
    leat_free(below);
    w.fixed_bytes = strlen(fixed);
    if (w.fixed_bytes != 0 && fixed[w.fixed_bytes - 1] != '/') {
        w.fixed_bytes++;
    }
    push(&w, leat_strdup(fixed), rest);
    while (w.count != 0 && status == LEAT_OK) {
        status = take(&w, w.steps[--w.count], error);
    }
    if (status == LEAT_OK && w.found.count == 0) {
        status = no_match(base_folder, pattern, fixed, error);
    }
    if (status == LEAT_OK) {
        hand_over(&w, append_to);
        w.found.count = 0;
    }
    while (w.count != 0) {
        leat_free(w.steps[--w.count].path);
    }
    leat_free(w.steps);
    leat_free(fixed);
    leat_path_list_deinit(&w.found);
    return status;
}

void leat_path_list_deinit(leat_path_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        leat_free(list->paths[i]);
    }
    leat_free(list->paths);
    leat_free(list->names);
    *list = (leat_path_list){0};
}

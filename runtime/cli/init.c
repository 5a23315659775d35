/* leat init CORPUS…: looks at a corpus and writes a commented job file. */
#include "job/init.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "io/store/store.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { FOUND_MAX = 1000 };

typedef struct init {
    leat_cli *cli;
    leat_job_found found[FOUND_MAX];
    char *names[FOUND_MAX], *globs[FOUND_MAX];
    const char *glob_views[FOUND_MAX];
    size_t count;
} init;

/* A folder may hold a tokenizer.json beside its data, so .json counts only where there is nothing else. */
static const char *const endings[] = {".jsonl", ".ndjson", ".json"};
enum { ENDINGS = sizeof endings / sizeof *endings };

/* Which ending; ENDINGS: none of them. */
static size_t ending_of(const char *name)
{
    size_t length = strlen(name), i = 0;
    while (i < ENDINGS && (length <= strlen(endings[i]) ||
                           strcmp(name + length - strlen(endings[i]), endings[i]) != 0)) {
        i++;
    }
    return i;
}

static bool holds(const char *folder, const char *name)
{
    struct stat info;
    char *path = leat_format("%s/%s", folder, name);
    bool found = stat(path, &info) == 0;
    leat_free(path);
    return found;
}

/* The logs of a run are lines of JSON, too, and no corpus. */
static bool is_run_folder(const char *path)
{
    return holds(path, "manifest.json") && holds(path, "batches.jsonl");
}

/* Letters, digits, '-' and '_' of the last part of the path. */
static char *name_of(const init *all, const char *path)
{
    char whole[PATH_MAX]; /* so that "." has a name */
    char *copy = leat_strdup(realpath(path, whole) != NULL ? whole : path);
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/') {
        copy[--length] = '\0';
    }
    const char *base = strrchr(copy, '/') != NULL ? strrchr(copy, '/') + 1 : copy;
    char *name = leat_strdup(base);
    char *dot = strchr(name, '.');
    if (dot != NULL && dot != name) {
        *dot = '\0';
    }
    for (char *c = name; *c != '\0'; c++) {
        bool kept = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                    (*c >= '0' && *c <= '9') || *c == '_' || *c == '-';
        *c = kept ? *c : '_';
    }
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->names[i], name) == 0) {
            char *longer = leat_format("%s_%zu", name, all->count);
            leat_free(name);
            name = longer;
        }
    }
    leat_free(copy);
    return name;
}

static void add(init *all, const char *path, char *glob, uint64_t files, uint64_t bytes)
{
    size_t at = all->count;
    all->names[at] = name_of(all, path);
    all->globs[at] = glob;
    all->glob_views[at] = glob;
    all->found[at] = (leat_job_found){.name = all->names[at],
                                      .globs = &all->glob_views[at],
                                      .glob_count = 1,
                                      .files = files,
                                      .bytes = bytes};
    all->count++;
}

/* A folder: one dataset of its JSON-lines files, and one of each subfolder that has some. */
static leat_status look_at(init *all, const char *path, int depth)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return leat_fail_errno(&all->cli->error, "look at", path, errno);
    }
    if (!S_ISDIR(info.st_mode)) {
        if (all->count < FOUND_MAX) {
            add(all, path, leat_strdup(path), 1, (uint64_t)info.st_size);
        }
        return LEAT_OK;
    }
    if (is_run_folder(path)) {
        return LEAT_OK;
    }
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) {
        return leat_fail_errno(&all->cli->error, "read", path, errno);
    }
    uint64_t files[ENDINGS + 1] = {0}, bytes[ENDINGS + 1] = {0};
    leat_status status = LEAT_OK;
    for (int i = 0; i < count; i++) {
        char *child = leat_format("%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && status == LEAT_OK && stat(child, &info) == 0) {
            if (S_ISDIR(info.st_mode) && depth < 2) {
                status = look_at(all, child, depth + 1);
            } else if (S_ISREG(info.st_mode)) {
                files[ending_of(entries[i]->d_name)]++;
                bytes[ending_of(entries[i]->d_name)] += (uint64_t)info.st_size;
            }
        }
        leat_free(child);
        leat_free(entries[i]);
    }
    leat_free(entries);
    bool found = false;
    for (size_t e = 0; e < ENDINGS && !found && status == LEAT_OK; e++) {
        found = files[e] != 0 && all->count < FOUND_MAX;
        if (found) {
            add(all, path, leat_format("%s/*%s", path, endings[e]), files[e], bytes[e]);
        }
    }
    return status;
}

/* A job file that somebody has edited is not written over. */
static leat_status check_output(leat_cli *cli, const char *output)
{
    struct stat info;
    if (stat(output, &info) != 0) {
        return LEAT_OK;
    }
    LEAT_FAIL(&cli->error, LEAT_INVALID, "%s is there already", output);
    leat_error_where(&cli->error, "%s", output);
    leat_error_hint(&cli->error, "remove it, or name another file with -o");
    return LEAT_INVALID;
}

/* Paths in a job file are relative to its folder: where that is another one, they are made absolute. */
static const char *from_anywhere(const char *path, bool here, char whole[PATH_MAX])
{
    return !here && realpath(path, whole) != NULL ? whole : path;
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    static const struct option options[] = {{"tokenizer", required_argument, NULL, 't'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"output", required_argument, NULL, 'o'},
                                            {NULL, 0, NULL, 0}};
    leat_job_init_options how = {.tokenizer = NULL, .seed = 1};
    const char *output = NULL;
    init *all = leat_alloc(1, sizeof *all);
    leat_buffer text = {0};
    leat_status status = LEAT_OK;
    all->cli = cli;
    for (int option;
         status == LEAT_OK && (option = getopt_long(argc, argv, ":o:", options, NULL)) != -1;) {
        if (option == 't') {
            how.tokenizer = optarg;
        } else if (option == 's') {
            status = leat_cli_number(cli, "init", "--seed", optarg, &how.seed);
        } else if (option == 'o') {
            output = optarg;
        } else {
            status = leat_cli_unknown(cli, "init", argv);
        }
    }
    if (status == LEAT_OK && optind == argc) {
        status = leat_cli_usage(cli, "init", "wants files or folders of a corpus");
    }
    if (status == LEAT_OK && output != NULL) {
        status = check_output(cli, output);
    }
    char whole[PATH_MAX], tokenizer[PATH_MAX];
    bool here = output == NULL || strchr(output, '/') == NULL;
    for (int i = optind; i < argc && status == LEAT_OK; i++) {
        status = look_at(all, from_anywhere(argv[i], here, whole), 0);
    }
    if (how.tokenizer != NULL) {
        how.tokenizer = from_anywhere(how.tokenizer, here, tokenizer);
    }
    if (status == LEAT_OK && all->count == 0) {
        status = LEAT_FAIL(&cli->error, LEAT_NOT_FOUND,
                           "no JSON-lines file (.jsonl, .ndjson, .json) was found there");
    }
    if (status == LEAT_OK) {
        leat_job_init_text(all->found, all->count, &how, &text);
        if (output != NULL) {
            status = leat_store_posix()->write_whole(
                leat_store_posix(), output, (leat_bytes){text.data, text.size}, &cli->error);
        } else {
            fwrite(text.data, 1, text.size, stdout);
        }
    }
    for (size_t i = 0; i < all->count; i++) {
        leat_free(all->names[i]);
        leat_free(all->globs[i]);
    }
    leat_buffer_deinit(&text);
    leat_free(all);
    return status;
}

const leat_command leat_command_init = {
    "init",
    "leat init CORPUS… [-o JOB] [--tokenizer FILE] [--seed N]",
    "Look at a corpus and write a commented job file",
    "Every folder with JSON-lines files becomes a dataset.  The job file goes to standard output "
    "or to -o (which is not written\n"
    "over); its globs are relative to the folder that it lies in, or absolute where -o names "
    "another folder.\n",
    false,
    run};

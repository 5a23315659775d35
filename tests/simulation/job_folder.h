/* job_folder.h: a small corpus and a job file in a temporary folder, made from a seed, for tests. */
#ifndef LEAT_TESTS_JOB_FOLDER_H
#define LEAT_TESTS_JOB_FOLDER_H
#include "check.h"
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct job_folder {
    char path[256];
    char job[300];
} job_folder;

/* `documents` JSON lines of 0 … `bytes_most` bytes, some empty, some with escapes and other scripts. */
static inline void job_folder_shard(const char *path, uint64_t *seed, int documents, int bytes_most)
{
    static const char *const words[] = {
        "leat", "mill", "water ", "\\n", "\\u00e9", " the ", "wheel, ", "\xd0\x92\xd0\xbe ", "42"};
    FILE *file = fopen(path, "w");
    for (int i = 0; i < documents; i++) {
        int bytes = bytes_most == 0 || check_random(seed) % 9 == 0
                        ? 0
                        : (int)(check_random(seed) % (uint64_t)bytes_most);
        fprintf(file, "{\"id\":%d,\"text\":\"", i);
        for (int at = 0; at < bytes;) {
            const char *word = words[check_random(seed) % (sizeof words / sizeof *words)];
            at += (int)strlen(word);
            fputs(word, file);
        }
        fputs("\"}\n", file);
        if (check_random(seed) % 13 == 0) {
            fputs(" \n", file);
        }
    }
    fclose(file);
}

static inline void job_folder_make(job_folder *folder, uint64_t seed, const char *settings)
{
    char path[400];
    snprintf(folder->path, sizeof folder->path, "/tmp/leat-test-XXXXXX");
    if (mkdtemp(folder->path) == NULL) {
        perror("mkdtemp");
        exit(1);
    }
    for (int d = 0; d < 3; d++) {
        for (int s = 0; s < 3; s++) {
            snprintf(path, sizeof path, "%s/set%d-%d.jsonl", folder->path, d, s);
            job_folder_shard(path, &seed, 20 + 15 * d + s, d == 0 ? 60 : d == 1 ? 300 : 20);
        }
    }
    snprintf(folder->job, sizeof folder->job, "%s/job.yaml", folder->path);
    FILE *job = fopen(folder->job, "w");
    fprintf(job,
            "seed: 11\n%s\n"
            "tokenizer: {file: bytes, bos: null, eos: 257}\n"
            "datasets:\n"
            "  - {name: a, weight: 0.5, files: [\"set0-*.jsonl\"], shuffle: {unit: block, block: "
            "4, buffer: 16, piece_window: 8}}\n"
            "  - {name: b, weight: 0.3, files: [\"set1-*.jsonl\"], shuffle: {unit: document, "
            "piece_window: 5}}\n"
            "  - {name: c, weight: 0.2, files: [\"set2-*.jsonl\"], shuffle: {unit: shard, buffer: "
            "7, piece_window: 1}}\n",
            settings);
    fclose(job);
}

static inline void job_folder_remove(const job_folder *folder)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", folder->path);
    if (system(command) != 0) {
        printf("could not remove %s\n", folder->path);
    }
}
#endif

#include "fuzz/fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[256];

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) {
        perror(folder);
    }
}

const char *fuzz_folder(void)
{
    if (folder[0] == '\0') {
        strcpy(folder, "/tmp/leat-fuzz-XXXXXX");
        if (mkdtemp(folder) == NULL) {
            perror("mkdtemp");
            exit(1);
        }
        atexit(remove_folder);
    }
    return folder;
}

const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    return path;
}

#include "io/index/files.h"
#include "base/memory.h"
#include <pthread.h>

/* No key: the file is closed as soon as its users are gone. */
#define FORGOTTEN UINT64_MAX

typedef struct slot {
    uint64_t key, last_use;
    size_t users;
    leat_file *file;
} slot;

struct leat_files {
    leat_store *store;
    pthread_mutex_t lock; /* guards all below */
    slot *slots;
    size_t count, capacity, files_max;
    uint64_t clock;   /* counts acquires; orders uses, nothing else */
    uint64_t forgets; /* a file opened before the last of them may be the old one */
};

leat_files *leat_files_open(leat_store *store, size_t files_max)
{
    leat_files *files = leat_alloc(1, sizeof *files);
    files->store = store;
    files->files_max = files_max != 0 ? files_max : 64;
    LEAT_ASSERT(pthread_mutex_init(&files->lock, NULL) == 0);
    return files;
}

void leat_files_close(leat_files *files)
{
    if (files != NULL) {
        for (size_t i = 0; i < files->count; i++) {
            files->store->close(files->slots[i].file);
        }
        pthread_mutex_destroy(&files->lock);
        leat_free(files->slots);
        leat_free(files);
    }
}

static slot *find(leat_files *files, uint64_t key)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->slots[i].key == key) {
            return &files->slots[i];
        }
    }
    return NULL;
}

static leat_file *take_out(leat_files *files, slot *gone)
{
    leat_file *file = gone->file;
    *gone = files->slots[--files->count];
    return file;
}

/* The file to close so that there is room for one more; NULL: none has to go, or all are in use. */
static leat_file *make_room(leat_files *files)
{
    slot *oldest = NULL;
    if (files->count < files->files_max) {
        return NULL;
    }
    for (size_t i = 0; i < files->count; i++) {
        slot *now = &files->slots[i];
        if (now->users == 0 && (oldest == NULL || now->last_use < oldest->last_use)) {
            oldest = now;
        }
    }
    return oldest != NULL ? take_out(files, oldest) : NULL;
}

/* Under the lock.  The open file of the key with one more user, or NULL. */
static leat_file *use(leat_files *files, uint64_t key)
{
    slot *there = find(files, key);
    if (there == NULL) {
        return NULL;
    }
    there->users++;
    there->last_use = ++files->clock;
    return there->file;
}

leat_file *leat_files_use(leat_files *files, uint64_t key)
{
    pthread_mutex_lock(&files->lock);
    leat_file *file = use(files, key);
    pthread_mutex_unlock(&files->lock);
    return file;
}

/* Opens and checks a file.  Without the lock: on a parallel file system it takes milliseconds, and others have work to do. */
static leat_status open_checked(leat_files *files, const char *path, leat_files_check *check,
                                void *context, leat_file **out, leat_error *error)
{
    leat_status status = files->store->open(files->store, path, out, error);
    if (status == LEAT_OK && check != NULL) {
        status = check(context, *out, error);
    }
    if (status != LEAT_OK) {
        files->store->close(*out);
        *out = NULL;
    }
    return status;
}

leat_status leat_files_acquire(leat_files *files, uint64_t key, const char *path,
                               leat_files_check *check, void *context, leat_file **out,
                               leat_error *error)
{
    for (;;) {
        leat_file *opened = NULL, *closing;
        pthread_mutex_lock(&files->lock);
        uint64_t forgets = files->forgets;
        *out = use(files, key);
        closing = *out == NULL ? make_room(files) : NULL;
        pthread_mutex_unlock(&files->lock);
        if (*out != NULL) {
            return LEAT_OK;
        }
        files->store->close(closing);
        leat_status status = open_checked(files, path, check, context, &opened, error);
        if (status != LEAT_OK) {
            return status;
        }
        pthread_mutex_lock(&files->lock);
        *out = forgets == files->forgets ? use(files, key) : NULL;
        if (*out != NULL || forgets != files->forgets) {
            closing =
                opened; /* another thread was as quick, or this may be a file that was replaced */
        } else {
            closing = make_room(files);
            LEAT_GROW(files->slots, files->capacity, files->count + 1);
            files->slots[files->count++] = (slot){key, ++files->clock, 1, opened};
            *out = opened;
        }
        pthread_mutex_unlock(&files->lock);
        files->store->close(closing);
        if (*out != NULL) {
            return LEAT_OK;
        }
    }
}

void leat_files_release(leat_files *files, leat_file *file)
{
    leat_file *closing = NULL;
    if (file == NULL) {
        return;
    }
    pthread_mutex_lock(&files->lock);
    for (size_t i = 0; i < files->count; i++) {
        slot *now = &files->slots[i];
        if (now->file == file) {
            bool spare = now->key == FORGOTTEN || files->count > files->files_max;
            if (--now->users == 0 && spare) {
                closing = take_out(files, now);
            }
            break;
        }
    }
    pthread_mutex_unlock(&files->lock);
    files->store->close(closing);
}

void leat_files_forget(leat_files *files, uint64_t key)
{
    leat_file *closing = NULL;
    pthread_mutex_lock(&files->lock);
    files->forgets++;
    slot *there = find(files, key);
    if (there != NULL && there->users == 0) {
        closing = take_out(files, there);
    } else if (there != NULL) {
        there->key = FORGOTTEN;
    }
    pthread_mutex_unlock(&files->lock);
    files->store->close(closing);
}

/* memory.h: the only place that calls malloc.  Memory is zeroed, so that no stale byte reaches a hash or a file.  A request
 * that cannot be met ends the process with a message: leat sizes its buffers from checked limits at open, and no caller
 * has a better answer.  leat_free accepts NULL. */
#ifndef LEAT_BASE_MEMORY_H
#define LEAT_BASE_MEMORY_H
#include <stddef.h>
#include <stdint.h>

void *leat_alloc(size_t count, size_t item_bytes);              /* zeroed */
void *leat_realloc(void *old, size_t count, size_t item_bytes); /* new part not zeroed */
void *leat_alloc_aligned(size_t bytes,
                         size_t alignment); /* zeroed; leat_free; huge pages from 2 MiB */
char *leat_strdup(const char *text);
char *leat_strndup(const char *text, size_t length);
char *leat_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void leat_free(void *memory);
/* Allocations so far in this process; tests show with it that a path allocates nothing. */
uint64_t leat_alloc_count(void);

/* Grows *items (of *capacity items) so that `needed` fit, at least doubling. */
void leat_grow(void **items, size_t *capacity, size_t needed, size_t item_bytes);
#define LEAT_GROW(items, capacity, needed) \
    do { \
        if ((needed) > (capacity)) { \
            void *grown_ = (items); \
            leat_grow(&grown_, &(capacity), (needed), sizeof *(items)); \
            (items) = grown_; \
        } \
    } while (0)
#endif

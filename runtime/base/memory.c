#include "base/memory.h"
#include "base/status.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

static atomic_uint_fast64_t allocations; /* a statistic: relaxed, orders nothing */

static void *checked(void *memory, size_t count, size_t item_bytes)
{
    if (memory == NULL) {
        fprintf(stderr, "leat: out of memory: cannot get %zu items of %zu bytes\n", count,
                item_bytes);
        exit(7);
    }
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return memory;
}

void *leat_alloc(size_t count, size_t item_bytes)
{
    return checked(calloc(count != 0 ? count : 1, item_bytes != 0 ? item_bytes : 1), count,
                   item_bytes);
}

void *leat_realloc(void *old, size_t count, size_t item_bytes)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, item_bytes, &bytes)) {
        return checked(NULL, count, item_bytes);
    }
    return checked(realloc(old, bytes != 0 ? bytes : 1), count, item_bytes);
}

void *leat_alloc_aligned(size_t bytes, size_t alignment)
{
    size_t whole = (bytes + alignment - 1) / alignment * alignment;
    if (whole < bytes) {
        return checked(NULL, bytes, 1);
    }
    void *memory = checked(aligned_alloc(alignment, whole != 0 ? whole : alignment), whole, 1);
    if (alignment >= HUGE_PAGE) {
        /* Before the first touch: pages that are there already stay small. */
        (void)madvise(memory, whole, MADV_HUGEPAGE);
    }
    memset(memory, 0, whole);
    return memory;
}

char *leat_strndup(const char *text, size_t length)
{
    char *copy = leat_alloc(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

char *leat_strdup(const char *text)
{
    return leat_strndup(text, strlen(text));
}

char *leat_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    LEAT_ASSERT(length >= 0);
    char *text = leat_alloc((size_t)length + 1, 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void leat_free(void *memory)
{
    free(memory);
}

uint64_t leat_alloc_count(void)
{
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

void leat_grow(void **items, size_t *capacity, size_t needed, size_t item_bytes)
{
    size_t wanted = *capacity * 2 > needed ? *capacity * 2 : needed;
    wanted = wanted < 16 ? 16 : wanted;
    *items = leat_realloc(*items, wanted, item_bytes);
    *capacity = wanted;
}

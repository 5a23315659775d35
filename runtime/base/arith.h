/* arith.h: integer arithmetic that says what it does at the edges.  Sizes that come from files or from users are combined
 * with the checked forms; divisions say how they round. */
#ifndef LEAT_BASE_ARITH_H
#define LEAT_BASE_ARITH_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

_Static_assert(sizeof(size_t) == 8, "leat needs a 64-bit host");

/* true where the result fits; *out is then the result. */
static inline bool leat_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool leat_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline uint64_t leat_div_floor(uint64_t a, uint64_t b)
{
    return a / b;
}
static inline uint64_t leat_div_ceil(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}
static inline uint64_t leat_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
static inline uint64_t leat_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
/* floor(a * b / c) without overflow of the product; the result must fit. */
static inline uint64_t leat_mul_div_u64(uint64_t a, uint64_t b, uint64_t c)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b / c);
}
static inline uint32_t leat_u32(uint64_t value)
{
    LEAT_ASSERT(value <= UINT32_MAX);
    return (uint32_t)value;
}
static inline int leat_int(uint64_t value)
{
    LEAT_ASSERT(value <= INT32_MAX);
    return (int)value;
}
#endif

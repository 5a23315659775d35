/* sha256.h: SHA-256, the one place that uses OpenSSL.
 * A leat_sha256 is opened once and used for many messages (begin, add…, end); one thread at a time. */
#ifndef LEAT_BASE_SHA256_H
#define LEAT_BASE_SHA256_H
#include <stddef.h>
#include <stdint.h>

enum { LEAT_SHA256_BYTES = 32 };
typedef struct leat_sha256 leat_sha256;

leat_sha256 *leat_sha256_open(void);
void leat_sha256_close(leat_sha256 *hash);
void leat_sha256_begin(leat_sha256 *hash);
void leat_sha256_add(leat_sha256 *hash, const void *data, size_t bytes);
void leat_sha256_end(leat_sha256 *hash, uint8_t out[LEAT_SHA256_BYTES]);
/* One message. */
void leat_sha256_of(const void *data, size_t bytes, uint8_t out[LEAT_SHA256_BYTES]);
/* The library behind it and its version, for people. */
const char *leat_sha256_library(void);
#endif

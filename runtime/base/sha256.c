#include "base/sha256.h"
#include "base/memory.h"
#include "base/status.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>

struct leat_sha256 {
    EVP_MD_CTX *context;
    EVP_MD *algorithm; /* fetched once: a fetch for each message costs more than a short message */
};

leat_sha256 *leat_sha256_open(void)
{
    leat_sha256 *hash = leat_alloc(1, sizeof *hash);
    hash->context = EVP_MD_CTX_new();
    hash->algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
    LEAT_ASSERT(hash->context != NULL && hash->algorithm != NULL);
    return hash;
}

void leat_sha256_close(leat_sha256 *hash)
{
    if (hash != NULL) {
        EVP_MD_CTX_free(hash->context);
        EVP_MD_free(hash->algorithm);
        leat_free(hash);
    }
}

void leat_sha256_begin(leat_sha256 *hash)
{
    LEAT_ASSERT(EVP_DigestInit_ex2(hash->context, hash->algorithm, NULL) == 1);
}

void leat_sha256_add(leat_sha256 *hash, const void *data, size_t bytes)
{
    LEAT_ASSERT(EVP_DigestUpdate(hash->context, data, bytes) == 1);
}

void leat_sha256_end(leat_sha256 *hash, uint8_t out[LEAT_SHA256_BYTES])
{
    LEAT_ASSERT(EVP_DigestFinal_ex(hash->context, out, NULL) == 1);
}

void leat_sha256_of(const void *data, size_t bytes, uint8_t out[LEAT_SHA256_BYTES])
{
    LEAT_ASSERT(EVP_Digest(data, bytes, out, NULL, EVP_sha256(), NULL) == 1);
}

const char *leat_sha256_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}

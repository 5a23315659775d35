/* The one file that knows simdjson (validates UTF-8 and grammar at 1.3 GB/s a core; our own scanner decides what it
 * refuses).  Its errors come as values; no exception is thrown or passes. */
#define SIMDJSON_EXCEPTIONS 0
#include "base/json_tape.h"
#include <new>
#include <simdjson.h>

static_assert(static_cast<size_t>(LEAT_JSON_PADDING) >= simdjson::SIMDJSON_PADDING, "padding");

struct leat_json_simd {
    simdjson::dom::parser parser;
    simdjson::dom::document document;
    size_t capacity = 0;
};

leat_json_simd *leat_json_simd_open(void)
{
    return new (std::nothrow) leat_json_simd;
}

void leat_json_simd_close(leat_json_simd *simd)
{
    delete simd;
}

/* Grown by doubling: simdjson itself grows to just what one text needs, again and again. */
static bool reserve(leat_json_simd *simd, size_t size)
{
    if (size <= simd->capacity) {
        return true;
    }
    size_t wanted = simd->capacity * 2 > size ? simd->capacity * 2 : size;
    wanted = wanted < 4096 ? 4096 : wanted;
    if (wanted > simdjson::SIMDJSON_MAXSIZE_BYTES) {
        wanted = simdjson::SIMDJSON_MAXSIZE_BYTES;
    }
    if (size > wanted || simd->parser.allocate(wanted) != simdjson::SUCCESS ||
        simd->document.allocate(wanted) != simdjson::SUCCESS) {
        simd->capacity = 0;
        return false;
    }
    simd->capacity = wanted;
    return true;
}

bool leat_json_simd_parse(leat_json_simd *simd, const uint8_t *text, size_t size,
                          leat_json_tape *out)
{
    if (simd == nullptr || size == 0 || !reserve(simd, size)) {
        return false;
    }
    auto result = simd->parser.parse_into_document(simd->document, text, size, false);
    if (result.error() != simdjson::SUCCESS) {
        return false;
    }
    out->words = simd->document.tape.get();
    out->strings = simd->document.string_buf.get();
    return true;
}

bool leat_json_simd_is_utf8(const uint8_t *text, size_t size)
{
    return simdjson::validate_utf8(reinterpret_cast<const char *>(text), size);
}

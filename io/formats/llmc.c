/* llm.c's .bin: 256 i32 of header ([0] magic, [1] version, [2] tokens), then tokens.  Its scripts write the end-of-text token
 * before each document, so that with an eos_id a document begins there. */
#include "io/formats/array.h"
#include <inttypes.h>

enum { HEADER_BYTES = 1024 };

static leat_status llmc_scan(const leat_scan *scan, leat_error *error)
{
    uint8_t header[12];
    leat_file *file = scan->file;
    leat_token_array found = {.dtype = {2, false}, .offset = HEADER_BYTES, .eos_first = true};
    leat_status status = LEAT_OK;
    uint32_t magic = 0, version = 0;
    if (file->size >= HEADER_BYTES) {
        status = file->store->read(file, 0, header, sizeof header, error);
        magic = status == LEAT_OK ? leat_get_u32(header) : 0;
        version = status == LEAT_OK ? leat_get_u32(header + 4) : 0;
    }
    if (status != LEAT_OK) {
        return status;
    }
    found.dtype.width = magic == LEAT_LLMC_WIDE ? 4 : 2;
    if (!(magic == LEAT_LLMC_NARROW && version == 1) &&
        !(magic == LEAT_LLMC_WIDE && version == 7)) {
        LEAT_FAIL(error, LEAT_INVALID, "%s is no token file of llm.c", file->path);
        leat_error_found(error, "magic %" PRIu32 ", version %" PRIu32, magic, version);
        leat_error_wanted(error, "%d with version 1 or %d with version 7", (int)LEAT_LLMC_NARROW,
                          (int)LEAT_LLMC_WIDE);
        return error->status;
    }
    found.tokens = leat_get_u32(header + 8);
    if (file->size - HEADER_BYTES != found.tokens * found.dtype.width) {
        LEAT_FAIL(error, LEAT_CORRUPT, "%s does not hold the tokens its header names", file->path);
        leat_error_found(error, "%" PRIu64 " bytes", file->size);
        leat_error_wanted(error, "%" PRIu64 " tokens of %u bytes behind byte 1024", found.tokens,
                          found.dtype.width);
        return error->status;
    }
    return leat_token_array_scan(scan, &found, error);
}

const leat_corpus_format leat_format_llmc = {.name = "llmc", .number = 5, .scan = llmc_scan};

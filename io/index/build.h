/* build.h: what the files of this folder share about making and opening side-cars. */
#ifndef LEAT_IO_BUILD_H
#define LEAT_IO_BUILD_H
#include "io/formats/format.h"
#include "io/index/sidecar.h"

/* Scans the file and writes its side-car.  `file` and `modified_ns` are of the data; *out is complete. */
leat_status leat_sidecar_build(leat_file *file, uint64_t modified_ns, const char *sidecar_path,
                               const leat_record_rules *rules, const leat_index_options *options,
                               leat_sidecar_header *out, leat_error *error) LEAT_MUST_USE;
/* XXH3-64 of the first, middle and last 64 KiB of the file and, where the format has one, of its companion. */
leat_status leat_sidecar_windows(leat_file *file, const leat_corpus_format *format, uint64_t out[3],
                                 leat_error *error) LEAT_MUST_USE;
/* Reads a header; *why is set (and the call succeeds) where it is damaged or missing bytes. */
leat_status leat_sidecar_read_header(leat_file *file, leat_sidecar_header *out, const char **why,
                                     leat_error *error) LEAT_MUST_USE;
#endif

/* parts.h: where long texts are cut (docs/plan.md, section 4).  Pure. */
#ifndef LEAT_IO_PARTS_H
#define LEAT_IO_PARTS_H
#include "base/bytes.h"

/* End of the part that begins at `begin` of a text of valid UTF-8; size where no further part follows.  part_bytes is 0
 * (never cut) or at least 64. */
size_t leat_part_end(const uint8_t *text, size_t size, size_t begin, uint64_t part_bytes);
#endif

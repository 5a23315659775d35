/* A checkpoint file. */
#include "fuzz/fuzz.h"
#include "io/state/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_checkpoint checkpoint = {0};
    leat_error error;
    if (leat_checkpoint_read(fuzz_file("step-000001.h5", data, size), &checkpoint, &error) !=
        LEAT_OK) {
        return 0;
    }
    leat_checkpoint_deinit(&checkpoint);
    return 0;
}

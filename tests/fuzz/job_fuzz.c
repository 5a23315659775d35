/* The job file: any bytes are a job or an error. */
#include "fuzz/fuzz.h"
#include "job/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_job *job = NULL;
    leat_error error;
    if (leat_job_open(&job, (leat_bytes){data, size}, "job.yaml", NULL, 0, &error) == LEAT_OK) {
        leat_buffer json = {0};
        leat_job_canonical(job, &json);
        leat_buffer_deinit(&json);
    }
    leat_job_close(job);
    return 0;
}

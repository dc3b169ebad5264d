#include "spgemm/rows.h"

int64_t spryi_rows_count_bytes(spryi_spgemm_job *job)
{
    int64_t bytes = spryi_rows_mask_words(job) * 8;
    while (job->threads > 1 && job->most_bytes > 0 && bytes * job->threads > job->most_bytes) job->threads--;
    return bytes * job->threads;
}

int64_t spryi_rows_fill_bytes(spryi_spgemm_job *job)
{
    int64_t bytes = spryi_rows_lane_bytes(job);
    while (job->threads > 1 && job->most_bytes > 0 && bytes * job->threads > job->most_bytes) job->threads--;
    return bytes * job->threads;
}

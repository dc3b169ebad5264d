/*
 * Kernels of csr differ by what they prepare (on a GPU from 10 us to some hundreds) and by how they bear long rows.
 * Some rows at equal distances tell how long rows are, and one of the longest; where the offsets lie on a device, all
 * rows do. What columns would tell is set to what most matrices have.
 */
#include "choose/few.h"

#include "core/context.h"
#include "core/device.h"
#include "core/row_lengths.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 64 };

/* Of CSR in host memory, by rows at equal distances and one of the longest. */
static spryi_row_sums sample_rows(const spry_arrays *csr)
{
    const int64_t samples = csr->rows < SAMPLES ? csr->rows : SAMPLES;
    spryi_row_sums sums = {.longest = (double)spryi_row_length(csr, spryi_long_row(csr, SAMPLES))};
    for (int64_t n = 0; n < samples; n++) {
        const double length = (double)spryi_row_length(csr, spryi_range_of_rows(csr->rows, n, samples));
        sums.longest = fmax(sums.longest, length);
        sums.squares += length * length * (double)csr->rows / (double)samples;
    }
    return sums;
}

/* Of all rows where the arrays lie on a device, which takes one pass over the offsets. */
static spry_status find_rows(spryi_row_profile *rows, const spry_matrix *A)
{
    const spry_arrays *a = &A->a;
    const spryi_device *d = spryi_device_at(A->context, a->device);
    const double mean = rows->mean;
    spryi_row_sums sums;
    if (a->device == 0) {
        sums = sample_rows(a);
    } else {
        const spry_status status = d->ops->sum_rows(d, &sums, a, NULL);
        if (status != SPRY_OK) return status;
    }
    rows->longest = sums.longest;
    rows->deviation = sqrt(fmax(sums.squares / ((double)a->rows * mean * mean) - 1, 0));
    rows->body_deviation = rows->deviation;
    return SPRY_OK;
}

spryi_features spryi_unseen_features(const spry_arrays *csr, spry_type vector_type)
{
    static const double WARP = 0.4, SLOTS = 0.6, NEAR = 0.2; /* an entry, as meshes have them in the mean */
    const double mean = (double)csr->nnz / (double)csr->rows;
    return (spryi_features){.rows = csr->rows,
                            .cols = csr->cols,
                            .nnz = csr->nnz,
                            .value_bytes = (int)spry_type_bytes(csr->value_type),
                            .index_bytes = (int)spry_index_type_bytes(csr->index_type),
                            .offset_bytes = (int)spry_index_type_bytes(csr->offset_type),
                            .number_bytes = (int)spry_type_bytes(vector_type),
                            .lengths = {.mean = mean, .longest = mean},
                            .slots = 1,
                            .slot_sectors = SLOTS,
                            .warp_sectors = WARP,
                            .near_sectors = NEAR};
}

const char *spryi_kernel_for_few(const spry_matrix *A, spry_type vector_type, const spryi_device_class *device,
                                 int64_t calls)
{
    const char *best = NULL;
    double least = INFINITY;
    if (A->a.layout != SPRY_CSR || !device->rates[0].kernel) return NULL;
    spryi_features f = spryi_unseen_features(&A->a, vector_type);
    if (find_rows(&f.lengths, A) != SPRY_OK) return NULL;
    for (int r = 0; r < device->formats; r++) {
        const spryi_format_rates *rates = &device->rates[r];
        if (strcmp(rates->format, "csr") != 0 || !rates->kernel) continue;
        if (spryi_waits_for_rows(rates, &f.lengths)) continue;
        const spryi_work w = spryi_work_of(rates, device, &f, 1);
        const double us = spryi_setup_of(rates, &f, 1) + (double)calls * spryi_time_of(rates, &w, device, 1);
        if (us < least) best = rates->kernel;
        if (us < least) least = us;
    }
    return best;
}

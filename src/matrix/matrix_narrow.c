/*
 * Values in a narrower type that holds each of them exactly: f64 as f32 or as an index into a table of the distinct
 * values (base/types.h), f32 as bf16 or f16 (base/narrow.h). Widening a stored value restores all its bits.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/narrow.h"
#include "base/random.h"
#include "core/device.h"
#include "matrix/assemble.h"
#include "matrix/matrix.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Narrows the first `count` values. Returns false if one of them changes. */
typedef bool (*narrow_fn)(void *narrow, const void *wide, int64_t count);

#define DEFINE_NARROW(name, wide_bits, narrow_bits, exact)                                                             \
    static bool name(void *narrow, const void *wide, int64_t count)                                                    \
    {                                                                                                                  \
        const wide_bits *from = wide;                                                                                  \
        narrow_bits *to = narrow;                                                                                      \
        wide_bits changed = 0;                                                                                         \
        for (int64_t k = 0; k < count; k++) to[k] = exact(from[k], &changed);                                          \
        return changed == 0;                                                                                           \
    }
DEFINE_NARROW(f64_to_f32, uint64_t, uint32_t, spryi_exact_f32)
DEFINE_NARROW(f32_to_bf16, uint32_t, uint16_t, spryi_exact_bf16)
DEFINE_NARROW(f32_to_f16, uint32_t, uint16_t, spryi_exact_f16)

/*
 * Narrow types, preferred types first. convert: NULL for tables, which only GPUs have. On CPUs, packed with tables of
 * 256 values had 1.1 to 1.3 times the speed with 2 threads of a Zen 3, but 0.6 to 0.85 with 16 threads of a Xeon.
 */
static const struct {
    spry_type wide, narrow;
    narrow_fn convert;
} forms[] = {{SPRY_F64, (spry_type)SPRYI_TABLE8, NULL},
             {SPRY_F64, SPRY_F32, f64_to_f32},
             {SPRY_F64, (spry_type)SPRYI_TABLE16, NULL},
             {SPRY_F32, SPRY_BF16, f32_to_bf16},
             {SPRY_F32, SPRY_F16, f32_to_f16}};

/* Returns the function that narrows `wide` to `narrow`; NULL if there is none, or for tables. */
static narrow_fn conversion(spry_type wide, spry_type narrow)
{
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        if (forms[f].wide == wide && forms[f].narrow == narrow) return forms[f].convert;
    return NULL;
}

bool spryi_is_narrower(spry_type narrow, spry_type wide)
{
    return conversion(wide, narrow) != NULL;
}

bool spryi_narrow_values(void *narrow, spry_type narrow_type, const void *wide, spry_type wide_type, int64_t count)
{
    return conversion(wide_type, narrow_type)(narrow, wide, count);
}

/* ---- samples ------------------------------------------------------------------------------------------- */

enum { PIECES = SPRYI_SAMPLE_BYTES / SPRYI_PIECE_BYTES };

/*
 * Copies a piece from each of PIECES equal parts of the values to `sample`. Its position in the part is
 * pseudo-random, since values often repeat at regular distances. Returns false if the device fails.
 */
static bool take_pieces(const spryi_device *device, void *sample, const spry_arrays *a)
{
    const int64_t bytes = a->nnz * (int64_t)spry_type_bytes(a->value_type), all = bytes / SPRYI_PIECE_BYTES;
    int64_t pieces[PIECES];
    for (int64_t n = 0; n < PIECES; n++)
        pieces[n] = all / PIECES * n + (int64_t)(spryi_random(0, (uint64_t)n + 1) % (uint64_t)(all / PIECES));
    if (device)
        return device->ops->gather(device, &(spryi_gather){sample, a->values, bytes, pieces, PIECES}, NULL) == SPRY_OK;
    for (int n = 0; n < PIECES; n++)
        memcpy((char *)sample + n * SPRYI_PIECE_BYTES, (const char *)a->values + pieces[n] * SPRYI_PIECE_BYTES,
               SPRYI_PIECE_BYTES);
    return true;
}

static int by_bits(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Returns the number of distinct values among `count` f64 values of a sample. */
static int distinct(const uint64_t *values, int count)
{
    uint64_t sorted[SPRYI_SAMPLE_BYTES / 8];
    int found = 1;
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_bits);
    for (int n = 1; n < count; n++) found += sorted[n] != sorted[n - 1];
    return found;
}

void spryi_sample_values(spryi_value_sample *sample, const spryi_device *device, const spry_arrays *a)
{
    enum { LEAST_BYTES = 1 << 20 };
    const int64_t size = (int64_t)spry_type_bytes(a->value_type);
    sample->type = a->value_type;
    sample->bytes = a->nnz * size;
    sample->count = 0;
    if (a->value_type != SPRY_F64 && a->value_type != SPRY_F32) return; /* other types have no narrower one */
    if (sample->bytes < LEAST_BYTES || !take_pieces(device, sample->values, a)) return;
    sample->count = (int)(SPRYI_SAMPLE_BYTES / size);
    sample->distinct = sample->type == SPRY_F64 ? distinct(sample->values, sample->count) : sample->count;
}

/*
 * Returns whether the sample is exact in form f or, for a table, whether all values of the matrix may fit. If 4096
 * values are equally frequent, a sample of 512 has 481 of them on average, and seldom more than MOST_OF_SAMPLE.
 */
static bool fits(size_t f, const spryi_value_sample *sample)
{
    enum { MOST_OF_SAMPLE = 509, LEAST_TABLE_BYTES = 1 << 25 };
    uint64_t narrow[SPRYI_SAMPLE_BYTES / 8];
    const int most = spryi_table_values(forms[f].narrow);
    if (most > 0)
        return sample->distinct <= most && sample->distinct <= MOST_OF_SAMPLE && sample->bytes >= LEAST_TABLE_BYTES;
    return forms[f].convert(narrow, sample->values, sample->count);
}

spry_type spryi_narrow_type(const spryi_value_sample *sample, spry_type vector_type, bool with_tables,
                            spry_type previous)
{
    bool passed = previous == 0;
    for (size_t f = 0; sample->count > 0 && f < sizeof forms / sizeof *forms; f++) {
        if (passed && forms[f].wide == sample->type && spryi_value_row(forms[f].narrow, vector_type) >= 0 &&
            (with_tables || spryi_table_values(forms[f].narrow) == 0) && fits(f, sample))
            return forms[f].narrow;
        passed = passed || forms[f].narrow == previous;
    }
    return 0;
}

/* ---- narrow matrices ------------------------------------------------------------------------------------ */

typedef struct narrow_job {
    narrow_fn convert;
    const char *wide;
    char *narrow;
    size_t wide_bytes, narrow_bytes; /* of a value */
    _Atomic bool exact;
} narrow_job;

static void narrow_part(void *job, int64_t begin, int64_t end)
{
    enum { BLOCK = 4096 }; /* values per check of `exact` */
    narrow_job *j = job;
    for (int64_t k = begin; k < end && atomic_load_explicit(&j->exact, memory_order_relaxed); k += BLOCK)
        if (!j->convert(j->narrow + (size_t)k * j->narrow_bytes, j->wide + (size_t)k * j->wide_bytes,
                        end - k < BLOCK ? end - k : BLOCK))
            atomic_store_explicit(&j->exact, false, memory_order_relaxed);
}

spry_status spryi_matrix_narrowed(spry_context *context, spry_matrix **made, const spry_matrix *A, spry_type narrow,
                                  spry_error *err)
{
    const int64_t nnz = A->a.nnz;
    void *values = NULL;
    spry_arrays arrays = A->a;
    *made = NULL;
    if (narrow) {
        SPRYI_OK_OR_RETURN(
            spryi_allocate(context, &values, nnz, spry_type_bytes(narrow), "values in a narrower type", err));
        narrow_job job = {.convert = conversion(A->a.value_type, narrow),
                          .wide = A->a.values,
                          .narrow = values,
                          .wide_bytes = spry_type_bytes(A->a.value_type),
                          .narrow_bytes = spry_type_bytes(narrow),
                          .exact = true};
        spryi_loop(context, spryi_threads(context, nnz), nnz, 1 << 14, narrow_part, &job);
        arrays.value_type = narrow;
        arrays.values = values;
        const spry_status status = job.exact ? spryi_matrix_with_own_values(made, A, &arrays, err) : SPRY_OK;
        if (!*made) spryi_release(context, values);
        SPRYI_OK_OR_RETURN(status);
    }
    if (!*made) *made = spryi_matrix_retain(A);
    return SPRY_OK;
}

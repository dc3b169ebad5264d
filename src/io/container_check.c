/*
 * Hashes of a container's sections, and whether what they hold is a matrix. Both are done chunk by chunk, so that a
 * chunk is fetched from memory once and looked at while it lies in a cache.
 */
#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "io/container.h"
#include "matrix/assemble.h"

#include <string.h>

/* Compiled in, from the header alone: nothing to link, and no xxHash symbol in the library's users. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#if XXH_VERSION_NUMBER < 800
#error "xxHash 0.8.0 or later is needed: earlier ones have another XXH3"
#endif

uint64_t spryi_container_checksum(const spryi_container_head *head)
{
    unsigned char page[SPRYI_CONTAINER_HEAD] = {0};
    spryi_container_head copy = *head;
    copy.checksum = 0;
    memcpy(page, &copy, sizeof copy);
    return XXH3_64bits(page, sizeof page);
}

/* ---- structure ----------------------------------------------------------------------------------------- */

/* The faults of a chunk beside its hash; the larger, the worse. */
typedef enum fault { SOUND, FALLS, OUT_OF_RANGE, UNSORTED } fault;

/* The functions below look at items first .. last - 1. P and J are constants where they are inlined. */

/* Offsets never fall; the first is 0 and the last nnz. */
SPRYI_INLINE int offsets_rise(const spry_arrays *a, int64_t first, int64_t last, spry_index_type P)
{
    int64_t falls = first == 0 && spryi_index_at(a->offsets, P, 0) != 0;
    for (int64_t i = first > 0 ? first : 1; i < last; i++)
        falls += spryi_index_at(a->offsets, P, i) < spryi_index_at(a->offsets, P, i - 1);
    return falls == 0;
}

SPRYI_INLINE int in_range(const void *indices, int64_t bound, int64_t first, int64_t last, spry_index_type J)
{
    int bad = 0;
    for (int64_t k = first; k < last; k++)
        bad |= J == SPRY_I32 ? (uint32_t)((const int32_t *)indices)[k] >= (uint32_t)bound /* negative ones are large */
                             : (uint64_t)((const int64_t *)indices)[k] >= (uint64_t)bound;
    return !bad;
}

/* 1: index k is less than the one before it, or equal to it where entries are said to be unique. */
SPRYI_INLINE int falls_at(const spry_arrays *a, int64_t k, spry_index_type J)
{
    const int64_t index = spryi_index_at(a->indices, J, k), before = spryi_index_at(a->indices, J, k - 1);
    return (index < before) | ((a->unique == SPRY_KNOWN_YES) & (index == before));
}

/* A vector loop counts the descents of the whole chunk; those where a row begins are legal and taken off again. */
SPRYI_INLINE int rows_rise(const spry_arrays *a, int64_t first, int64_t last, spry_index_type P, spry_index_type J)
{
    const int64_t majors = a->layout == SPRY_CSC ? a->cols : a->rows;
    int64_t falls = 0, i;
    for (int64_t k = first > 0 ? first : 1; k < last; k++) falls += falls_at(a, k, J);
    if (falls == 0) return 1;
    SPRYI_BISECT(i, 0, majors, spryi_index_at(a->offsets, P, i) < first);
    for (; i < majors && spryi_index_at(a->offsets, P, i) < last; i++) {
        const int64_t k = spryi_index_at(a->offsets, P, i);
        if (k > 0 && k < spryi_index_at(a->offsets, P, i + 1)) falls -= falls_at(a, k, J);
    }
    return falls == 0;
}

SPRYI_INLINE int entries_rise(const spry_arrays *a, int64_t first, int64_t last, spry_index_type J)
{
    int64_t falls = 0;
    for (int64_t k = first > 0 ? first : 1; k < last; k++) {
        const int64_t row = spryi_index_at(a->row_indices, J, k), before = spryi_index_at(a->row_indices, J, k - 1);
        falls += (row < before) | ((row == before) & falls_at(a, k, J));
    }
    return falls == 0;
}

SPRYI_INLINE fault structure_as(const spry_arrays *a, const spryi_container_part *part, int64_t first, int64_t last,
                                spry_index_type P, spry_index_type J)
{
    if (part->data == a->offsets) return offsets_rise(a, first, last, P) ? SOUND : FALLS;
    if (part->data == a->row_indices) return in_range(a->row_indices, a->rows, first, last, J) ? SOUND : OUT_OF_RANGE;
    if (part->data != a->indices) return SOUND;
    if (!in_range(a->indices, a->layout == SPRY_CSC ? a->rows : a->cols, first, last, J)) return OUT_OF_RANGE;
    if (a->sorted != SPRY_KNOWN_YES) return SOUND;
    return (a->layout == SPRY_COO ? entries_rise(a, first, last, J) : rows_rise(a, first, last, P, J)) ? SOUND
                                                                                                       : UNSORTED;
}

static fault structure_of(const spry_arrays *a, const spryi_container_part *part, int64_t first, int64_t last)
{
    if (!a) return SOUND;
    if (a->index_type == SPRY_I64) return structure_as(a, part, first, last, SPRY_I64, SPRY_I64);
    if (a->offset_type == SPRY_I64) return structure_as(a, part, first, last, SPRY_I64, SPRY_I32);
    return structure_as(a, part, first, last, SPRY_I32, SPRY_I32);
}

/* ---- chunks -------------------------------------------------------------------------------------------- */

/* The findings about one part. */
typedef struct finding {
    uint64_t hash;
    fault worst;
} finding;

/* Chunk c of part: its hash, and what a says of its items. A chunk holds whole items, of 1, 2, 4, ... bytes. */
static fault look(const spryi_container_part *part, int64_t c, const spry_arrays *a, uint64_t *hash)
{
    int64_t begin = c * SPRYI_CONTAINER_CHUNK, end = begin + SPRYI_CONTAINER_CHUNK;
    if (end > part->count * part->item_bytes) end = part->count * part->item_bytes;
    *hash = XXH3_64bits((const char *)part->data + begin, (size_t)(end - begin));
    return structure_of(a, part, begin / part->item_bytes, end / part->item_bytes);
}

typedef struct look_job {
    const spryi_container_part *parts;
    const spry_arrays *a;
    const int64_t *first; /* chunk of each part */
    uint64_t *hashes;
    atomic_llong faults[SPRYI_MOST_SECTIONS];
} look_job;

static void look_at_chunks(void *job, int64_t begin, int64_t end)
{
    look_job *j = job;
    int s = 0;
    for (int64_t c = begin; c < end; c++) {
        while (c >= j->first[s + 1]) s++;
        spryi_raise(&j->faults[s], (int64_t)look(&j->parts[s], c - j->first[s], j->a, &j->hashes[c]));
    }
}

/* a NULL: hashes alone. */
static spry_status look_at_parts(spry_context *context, const spryi_container_part *parts, int count,
                                 const spry_arrays *a, finding *findings, spry_error *err)
{
    int64_t chunks = 0, first[SPRYI_MOST_SECTIONS + 1];
    for (int s = 0; s < count; s++) {
        first[s] = chunks;
        chunks += (parts[s].count * parts[s].item_bytes + SPRYI_CONTAINER_CHUNK - 1) / SPRYI_CONTAINER_CHUNK;
    }
    first[count] = chunks;
    look_job j = {.parts = parts, .a = a, .first = first};
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &j.hashes, chunks, "hashes of the chunks", err));
    spryi_loop(context, spryi_threads(context, chunks * (SPRYI_CONTAINER_CHUNK / 8)), chunks, 4, look_at_chunks, &j);
    for (int s = 0; s < count; s++) {
        findings[s].hash = XXH3_64bits(j.hashes + first[s], (size_t)(first[s + 1] - first[s]) * sizeof *j.hashes);
        findings[s].worst = (fault)j.faults[s];
    }
    spryi_release(context, j.hashes);
    return SPRY_OK;
}

spry_status spryi_container_hash(spry_context *context, const spryi_container_part *parts, int count, uint64_t *hashes,
                                 spry_error *err)
{
    finding findings[SPRYI_MOST_SECTIONS];
    spry_status status = look_at_parts(context, parts, count, NULL, findings, err);
    for (int s = 0; s < count && status == SPRY_OK; s++) hashes[s] = findings[s].hash;
    return status;
}

static spry_status fail_structure(const char *name, const char *section, fault found, const spry_arrays *a,
                                  spry_error *err)
{
    if (found == FALLS)
        return spryi_fail_file(err, SPRY_BAD_FILE, name, 0,
                               "section %s: offsets fall, expected them to rise from 0 to %lld", section,
                               (long long)a->nnz);
    if (found == OUT_OF_RANGE)
        return spryi_fail_file(err, SPRY_BAD_FILE, name, 0, "section %s: an index lies outside the %lld x %lld matrix",
                               section, (long long)a->rows, (long long)a->cols);
    return spryi_fail_file(err, SPRY_BAD_FILE, name, 0, "section %s: entries are not %s, which the head claims",
                           section, a->unique == SPRY_KNOWN_YES ? "sorted and unique" : "sorted");
}

/* The parts begin .. end - 1, whose table is the head's from there on. */
static spry_status verify_parts(spry_context *context, const char *name, const spryi_container_head *head,
                                const spryi_container_part *parts, int begin, int end, const spry_arrays *a,
                                spry_error *err)
{
    finding findings[SPRYI_MOST_SECTIONS];
    spry_status status = look_at_parts(context, parts + begin, end - begin, a, findings, err);
    for (int s = begin; s < end && status == SPRY_OK; s++)
        if (findings[s - begin].hash != head->sections[s].hash)
            status = spryi_fail_file(err, SPRY_BAD_FILE, name, 0,
                                     "section %s is damaged: its hash is %016llx, expected %016llx", parts[s].name,
                                     (unsigned long long)findings[s - begin].hash,
                                     (unsigned long long)head->sections[s].hash);
    for (int s = begin; s < end && status == SPRY_OK; s++)
        if (findings[s - begin].worst != SOUND)
            status = fail_structure(name, parts[s].name, findings[s - begin].worst, a, err);
    return status;
}

/* Order within rows is judged by offsets that are known to rise: those come first, by themselves. */
spry_status spryi_container_verify(spry_context *context, const char *name, const spryi_container_head *head,
                                   const spryi_container_part *parts, int count, const spry_arrays *a, spry_error *err)
{
    int begin = a && a->offsets ? 1 : 0;
    spry_status status = verify_parts(context, name, head, parts, 0, begin, a, err);
    if (status == SPRY_OK && begin > 0) {
        int64_t last = spryi_index_at(a->offsets, a->offset_type, parts[0].count - 1);
        if (last != a->nnz)
            status = spryi_fail_file(err, SPRY_BAD_FILE, name, 0, "section offsets ends with %lld, expected %lld",
                                     (long long)last, (long long)a->nnz);
    }
    if (status == SPRY_OK) status = verify_parts(context, name, head, parts, begin, count, a, err);
    return status;
}

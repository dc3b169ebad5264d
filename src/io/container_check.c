/*
 * Hashes of a container's sections, and whether what they hold is a matrix. Both are done chunk by chunk, so that a
 * chunk is fetched from memory once and looked at while it lies in a cache.
 */
#include "core/assemble.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/container.h"
#include "io/hash.h"

#include <string.h>

#define SPRYI_JOIN_(name, pair) name##_##pair
#define SPRYI_JOIN(name, pair) SPRYI_JOIN_(name, pair)
#define SPRY_FN(name) SPRYI_JOIN(name, SPRYI_PAIR_TAG)
#define SPRYI_TEMPLATE "io/container_check.tmpl.c"
#include "core/instantiate_pairs.h"

#define BY_PAIR(name)                                                                                                  \
    {                                                                                                                  \
        name##_32_32, name##_64_32, name##_64_64                                                                       \
    }

typedef int (*rise_fn)(const spry_arrays *a, int64_t first, int64_t last);
static const rise_fn offsets_rise[SPRYI_INDEX_PAIRS] = BY_PAIR(offsets_rise);
static const rise_fn rows_rise[SPRYI_INDEX_PAIRS] = BY_PAIR(rows_rise);
static const rise_fn entries_rise[SPRYI_INDEX_PAIRS] = BY_PAIR(entries_rise);
static int (*const in_range[SPRYI_INDEX_PAIRS])(const void *, int64_t, int64_t, int64_t) = BY_PAIR(in_range);

/* What can be wrong with a chunk beside its hash. */
enum { SOUND, FALLS, OUT_OF_RANGE, UNSORTED };

static int structure_of(const spry_arrays *a, const spryi_container_part *part, int64_t first, int64_t last)
{
    if (!a) return SOUND;
    int pair = spryi_index_pair(a->layout == SPRY_COO ? a->index_type : a->offset_type, a->index_type);
    if (part->data == a->offsets) return offsets_rise[pair](a, first, last) ? SOUND : FALLS;
    if (part->data == a->row_indices)
        return in_range[pair](a->row_indices, a->rows, first, last) ? SOUND : OUT_OF_RANGE;
    if (part->data != a->indices) return SOUND;
    if (!in_range[pair](a->indices, a->layout == SPRY_CSC ? a->rows : a->cols, first, last)) return OUT_OF_RANGE;
    if (a->sorted != SPRY_KNOWN_YES) return SOUND;
    rise_fn rise = a->layout == SPRY_COO ? entries_rise[pair] : rows_rise[pair];
    return rise(a, first, last) ? SOUND : UNSORTED;
}

/* What was found of one part. */
typedef struct finding {
    uint64_t hash;
    int fault; /* the worst */
} finding;

static int64_t chunks_of(const spryi_container_part *part)
{
    return (part->count * part->item_bytes + SPRYI_CONTAINER_CHUNK - 1) / SPRYI_CONTAINER_CHUNK;
}

/* Chunk c of part: its hash, and what a says of its items. A chunk holds whole items, of 1, 2, 4, ... bytes. */
static int look(const spryi_container_part *part, int64_t c, const spry_arrays *a, uint64_t *hash)
{
    int64_t begin = c * SPRYI_CONTAINER_CHUNK, end = begin + SPRYI_CONTAINER_CHUNK;
    if (end > part->count * part->item_bytes) end = part->count * part->item_bytes;
    *hash = spryi_hash((const char *)part->data + begin, (size_t)(end - begin));
    return structure_of(a, part, begin / part->item_bytes, end / part->item_bytes);
}

/* a NULL: hashes alone. */
static spry_status look_at_parts(spry_context *context, const spryi_container_part *parts, int count,
                                 const spry_arrays *a, finding *findings, spry_error *err)
{
    int64_t chunks = 0, first[SPRYI_MOST_SECTIONS + 1];
    for (int s = 0; s < count; s++) {
        first[s] = chunks;
        chunks += chunks_of(&parts[s]);
        findings[s].fault = SOUND;
    }
    first[count] = chunks;
    uint64_t *hashes = NULL;
    int faults[SPRYI_MOST_SECTIONS] = {0};
    spry_status status = SPRYI_NEW(context, &hashes, chunks, "hashes of the chunks", err);
    if (status != SPRY_OK) return status;
    int threads = spryi_threads(context, chunks * (SPRYI_CONTAINER_CHUNK / 8));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4) reduction(max : faults) if (threads > 1)
    for (int64_t c = 0; c < chunks; c++) {
        int s = 0;
        while (c >= first[s + 1]) s++;
        int fault = look(&parts[s], c - first[s], a, &hashes[c]);
        if (fault > faults[s]) faults[s] = fault;
    }
    for (int s = 0; s < count; s++) {
        findings[s].hash = spryi_hash(hashes + first[s], (size_t)(first[s + 1] - first[s]) * sizeof *hashes);
        findings[s].fault = faults[s];
    }
    spryi_release(context, hashes);
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

static spry_status fail_structure(const char *name, const char *section, int fault, const spry_arrays *a,
                                  spry_error *err)
{
    if (fault == FALLS)
        return spryi_fail_file(err, SPRY_BAD_FILE, name, 0,
                               "section %s: offsets fall, expected them to rise from 0 "
                               "to %lld",
                               section, (long long)a->nnz);
    if (fault == OUT_OF_RANGE)
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
        if (findings[s - begin].fault != SOUND)
            status = fail_structure(name, parts[s].name, findings[s - begin].fault, a, err);
    return status;
}

/* Whether rows are sorted can be seen by offsets that are known to rise: those come first, by themselves. */
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

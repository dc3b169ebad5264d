/*
 * Containers (container.h). A reader maps the file, verifies every byte and leaves the arrays in the mapping.
 * Containers from pipes or from memory are copied. A writer computes the hashes first, since the head precedes them.
 */
#include "io/container.h"

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "catalogue/catalogue.h"
#include "io/output.h"
#include "io/readers.h"
#include "matrix/assemble.h"
#include "spry/io.h"
#include "spry/matrix.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Compiles xxHash from its header, so that nothing is linked and the library has no symbol of xxHash. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#if XXH_VERSION_NUMBER < 800
#error "xxHash 0.8.0 or later is needed: earlier ones have another XXH3"
#endif

/* Reports a fault of `file`, an opened container. */
#define BAD_FILE(...) spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0, __VA_ARGS__)

/* The first byte occurs in no text, and a transfer as text would change the line ends. PNG uses the same idea. */
const unsigned char spryi_container_magic[8] = {SPRYI_CONTAINER_FIRST_BYTE, 'S', 'P', 'Y', '\r', '\n', 0x1a, '\n'};

static spry_status check_machine(const char *name, spry_error *err)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    (void)name, (void)err;
    return SPRY_OK;
#else
    return spryi_fail_file(err, SPRY_UNSUPPORTED, name, 0, "containers are little-endian, this machine is not");
#endif
}

/* ---- sections ---------------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t offset)
{
    return (offset + SPRYI_CONTAINER_ALIGNMENT - 1) / SPRYI_CONTAINER_ALIGNMENT * SPRYI_CONTAINER_ALIGNMENT;
}

static int parts_of(const spry_arrays *a, spryi_container_part parts[3])
{
    int count = 0;
    int64_t index_bytes = (int64_t)spryi_index_type_bytes(a->index_type);
    if (a->layout == SPRY_COO) {
        parts[count++] = (spryi_container_part){"rows", a->row_indices, a->nnz, index_bytes};
    } else {
        int64_t majors = a->layout == SPRY_CSC ? a->columns : a->rows;
        int64_t offset_bytes = (int64_t)spryi_index_type_bytes(a->offset_type);
        parts[count++] = (spryi_container_part){"offsets", a->offsets, majors + 1, offset_bytes};
    }
    parts[count++] = (spryi_container_part){"indices", a->indices, a->nnz, index_bytes};
    if (a->value_type != SPRY_PATTERN)
        parts[count++] = (spryi_container_part){"values", a->values, a->nnz, (int64_t)spry_type_bytes(a->value_type)};
    return count;
}

bool spryi_container_stores(const spryi_format *format)
{
    const char *const name = format->name; /* a container stores csr, csc and coo as the arrays of a matrix */
    return format->layout.sections || strcmp(name, "csr") == 0 || strcmp(name, "csc") == 0 || strcmp(name, "coo") == 0;
}

uint64_t spryi_container_checksum(const spryi_container_head *head)
{
    unsigned char page[SPRYI_CONTAINER_HEAD] = {0};
    spryi_container_head copy = *head;
    copy.checksum = 0;
    memcpy(page, &copy, sizeof copy);
    return XXH3_64bits(page, sizeof page);
}

/* ---- hashes and structure, chunk by chunk ------------------------------------------------------- */

/* Faults that a chunk may have in addition to a wrong hash. The last fault of this list that a part has is reported. */
typedef enum fault { SOUND, FALLS, OUT_OF_RANGE, UNSORTED } fault;

/*
 * The functions below inspect items first .. last - 1. P is the type of offsets, J the type of indices; both are
 * constants after inlining.
 */

/* Returns whether the offsets begin with 0 and never fall. verify checks that the last offset is nnz. */
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
        bad |= J == SPRY_I32 ? (uint32_t)((const int32_t *)indices)[k] >= (uint32_t)bound /* negative indices are
                                                                                           * large as unsigned */
                             : (uint64_t)((const int64_t *)indices)[k] >= (uint64_t)bound;
    return !bad;
}

/* Returns 1 if index k is less than index k - 1, or equal to it although entries are marked unique. */
SPRYI_INLINE int falls_at(const spry_arrays *a, int64_t k, spry_index_type J)
{
    const int64_t index = spryi_index_at(a->indices, J, k), before = spryi_index_at(a->indices, J, k - 1);
    return (index < before) | ((a->unique == SPRY_KNOWN_YES) & (index == before));
}

/*
 * Returns whether columns rise in every row. A loop that compilers can vectorize counts all entries of the chunk whose
 * column is smaller than the column before it. Such an entry is legal at the beginning of a row and is then subtracted.
 */
SPRYI_INLINE int rows_rise(const spry_arrays *a, int64_t first, int64_t last, spry_index_type P, spry_index_type J)
{
    const int64_t majors = a->layout == SPRY_CSC ? a->columns : a->rows;
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
    if (!in_range(a->indices, a->layout == SPRY_CSC ? a->rows : a->columns, first, last, J)) return OUT_OF_RANGE;
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

/* Result of the inspection of one part. */
typedef struct finding {
    uint64_t hash;
    fault worst;
} finding;

/*
 * Hashes chunk c of a part and checks the items of the chunk against the matrix a. A chunk contains whole items, since
 * item sizes are powers of two.
 */
static fault inspect(const spryi_container_part *part, int64_t c, const spry_arrays *a, uint64_t *hash)
{
    int64_t begin = c * SPRYI_CONTAINER_CHUNK, end = begin + SPRYI_CONTAINER_CHUNK;
    if (end > part->count * part->item_bytes) end = part->count * part->item_bytes;
    *hash = XXH3_64bits((const char *)part->data + begin, (size_t)(end - begin));
    return structure_of(a, part, begin / part->item_bytes, end / part->item_bytes);
}

typedef struct inspection {
    const spryi_container_part *parts;
    const spry_arrays *a;
    const int64_t *first; /* index of each part's first chunk among all chunks */
    uint64_t *hashes;
    atomic_llong faults[SPRYI_MOST_SECTIONS];
} inspection;

static void inspect_chunks(void *job, int64_t begin, int64_t end)
{
    inspection *j = job;
    int s = 0;
    for (int64_t c = begin; c < end; c++) {
        while (c >= j->first[s + 1]) s++;
        spryi_raise(&j->faults[s], (int64_t)inspect(&j->parts[s], c - j->first[s], j->a, &j->hashes[c]));
    }
}

/* Inspects the parts with all threads. If a is NULL, only computes hashes. */
static spry_status inspect_parts(spry_context *context, const spryi_container_part *parts, int count,
                                 const spry_arrays *a, finding *findings, spry_error *err)
{
    int64_t chunks = 0, first[SPRYI_MOST_SECTIONS + 1];
    for (int s = 0; s < count; s++) {
        first[s] = chunks;
        chunks += (parts[s].count * parts[s].item_bytes + SPRYI_CONTAINER_CHUNK - 1) / SPRYI_CONTAINER_CHUNK;
    }
    first[count] = chunks;
    inspection j = {.parts = parts, .a = a, .first = first};
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &j.hashes, chunks, "hashes of the chunks", err));
    spryi_loop(context, spryi_threads(context, chunks * (SPRYI_CONTAINER_CHUNK / 8)), chunks, 4, inspect_chunks, &j);
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
    spry_status status = inspect_parts(context, parts, count, NULL, findings, err);
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
                               section, (long long)a->rows, (long long)a->columns);
    return spryi_fail_file(err, SPRY_BAD_FILE, name, 0, "section %s: entries are not %s, which the head claims",
                           section, a->unique == SPRY_KNOWN_YES ? "sorted and unique" : "sorted");
}

/* Verifies parts begin .. end - 1 against the head's table. */
static spry_status verify_parts(spry_context *context, const char *name, const spryi_container_head *head,
                                const spryi_container_part *parts, int begin, int end, const spry_arrays *a,
                                spry_error *err)
{
    finding findings[SPRYI_MOST_SECTIONS];
    spry_status status = inspect_parts(context, parts + begin, end - begin, a, findings, err);
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

/*
 * Reads every byte once. Returns SPRY_BAD_FILE if a section differs from the head's table. If a is not NULL, also
 * returns SPRY_BAD_FILE unless the sections are the arrays of a: offsets rise, indices are in range, and entries have
 * the order that a states. Offsets are verified first, because the check of the order within rows relies on them.
 */
static spry_status verify(spry_context *context, const char *name, const spryi_container_head *head,
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

/* An open container. The mapping or the block becomes the matrix's when the matrix is complete. */
typedef struct opened {
    spry_context *context;
    const char *name;
    const unsigned char *base;
    int64_t bytes;
    void *mapping, *block; /* one of them is NULL */
    spryi_container_head head;
} opened;

/* ---- the head ---------------------------------------------------------------------------------- */

/* Checks magic and version first, because other fields of a newer version are unknown. */
static spry_status check_origin(opened *file, spry_error *err)
{
    size_t known = (size_t)file->bytes < sizeof file->head.magic ? (size_t)file->bytes : sizeof file->head.magic;
    if (memcmp(file->base, spryi_container_magic, known) != 0) {
        const char *bytes = (const char *)file->base;
        SPRYI_OK_OR_RETURN(spryi_refuse_foreign(file->name, bytes, bytes + file->bytes, err));
        return BAD_FILE("is not a Spry container: its first eight bytes are not a container's (changed by a "
                        "transfer as text?)");
    }
    if (file->bytes < SPRYI_CONTAINER_HEAD)
        return BAD_FILE("is cut short: %lld bytes, expected a head of %d at least", (long long)file->bytes,
                        SPRYI_CONTAINER_HEAD);
    memcpy(&file->head, file->base, sizeof file->head);
    if (file->head.version > SPRYI_CONTAINER_VERSION)
        return BAD_FILE("made by a newer version: container version %u, this library reads up to %d",
                        (unsigned)file->head.version, SPRYI_CONTAINER_VERSION);
    if (spryi_container_checksum(&file->head) != file->head.checksum)
        return BAD_FILE("head is damaged: its checksum is wrong");
    return SPRY_OK;
}

/*
 * Reads the head, and then the rest of the bytes that the head states. Reads one more byte if there is one, since a
 * longer file is an error.
 */
static spry_status open_feed(opened *file, spryi_feed *feed, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_feed_hold(feed, SPRYI_CONTAINER_HEAD, file->name, err));
    file->base = (const unsigned char *)feed->held;
    file->bytes = spryi_feed_held(feed);
    SPRYI_OK_OR_RETURN(check_origin(file, err));
    uint64_t most = file->head.file_bytes < INT64_MAX ? file->head.file_bytes + 1 : INT64_MAX;
    SPRYI_OK_OR_RETURN(spryi_feed_hold(feed, (int64_t)most, file->name, err));
    file->bytes = spryi_feed_held(feed);
    file->base = file->block = spryi_feed_give(feed);
    return SPRY_OK;
}

static spry_status open_bytes(opened *file, spryi_text *text, spry_error *err)
{
    *file = (opened){.context = text->context, .name = text->name, .bytes = text->bytes};
    if (text->feed.fd >= 0) return open_feed(file, &text->feed, err);
    if (text->memory) {
        spry_status status = spryi_allocate(file->context, &file->block, file->bytes, 1, "container", err);
        if (status != SPRY_OK) return status;
        memcpy(file->block, text->memory, (size_t)file->bytes);
    } else {
        void *mapping = mmap(NULL, (size_t)file->bytes, PROT_READ, MAP_PRIVATE, text->fd, 0);
        if (mapping == MAP_FAILED) {
            spry_status status = errno == ENOMEM ? SPRY_OUT_OF_MEMORY : SPRY_FILE_ERROR;
            return spryi_fail_file(err, status, file->name, 0, "cannot be mapped into memory (error %d)", errno);
        }
        file->mapping = mapping;
    }
    file->base = file->mapping ? file->mapping : file->block;
    return SPRY_OK;
}

static bool is_zero(const unsigned char *bytes, uint64_t count)
{
    unsigned char any = 0;
    for (uint64_t b = 0; b < count; b++) any |= bytes[b];
    return any == 0;
}

/* Returns whether the text ends within its field and is followed by zeros only. */
static bool is_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    return length < size && is_zero((const unsigned char *)text + length, size - length);
}

/*
 * Returns the name of a field of the head with an impossible value, or NULL if there is none. Such a value is the
 * writer's fault, since the checksum is correct.
 */
static const char *odd_field(const spryi_container_head *h)
{
    const int64_t most = INT64_MAX / 64;
    bool has_offsets = h->kind.offset_type != SPRY_INDEX_DEFAULT;
    if (h->version == 0 || h->head_bytes != SPRYI_CONTAINER_HEAD) return "version or size of the head";
    if (h->chunk_bytes != SPRYI_CONTAINER_CHUNK) return "size of the chunks";
    if (!is_text(h->layout, sizeof h->layout)) return "layout";
    if (!is_text(h->parameters, sizeof h->parameters)) return "parameters";
    if (h->rows < 0 || h->rows > most || h->cols < 0 || h->cols > most || h->nnz < 0 || h->nnz > most)
        return "number of rows, columns or entries";
    if (h->kind.value_type != SPRY_PATTERN && spryi_stored_row((spry_type)h->kind.value_type) < 0)
        return "type of the values";
    if (spryi_index_pair(has_offsets ? (spry_index_type)h->kind.offset_type : SPRY_I64,
                         (spry_index_type)h->kind.index_type) < 0)
        return "type of the indices";
    if (h->kind.index_type == SPRY_I32 && (h->rows > INT32_MAX || h->cols > INT32_MAX)) return "type of the indices";
    if (h->kind.sorted > SPRY_KNOWN_YES || h->kind.unique > SPRY_KNOWN_YES) return "order of the entries";
    if (h->kind.symmetry > SPRY_SKEW_SYMMETRIC || (h->kind.symmetry != SPRY_GENERAL && h->rows != h->cols))
        return "symmetry";
    if (h->kind.field > SPRYI_FIELD_PATTERN) return "field";
    if (h->section_count > SPRYI_MOST_SECTIONS) return "number of sections";
    if (h->kind.counts_from_0 > (h->version >= SPRYI_CONTAINER_BASE_0)) return "base of the matrix";
    if (!is_zero((const unsigned char *)h->reserved, sizeof h->reserved)) return "reserved bytes";
    return NULL;
}

/* Checks that sections are in order, aligned, and separated by zeros, up to the end. */
static spry_status check_table(const opened *file, spry_error *err)
{
    const spryi_container_head *h = &file->head;
    uint64_t end = sizeof *h;
    for (uint32_t s = 0; s < h->section_count; s++) {
        const spryi_container_section *section = &h->sections[s];
        uint64_t begin = aligned(end), bytes = 0, after = 0;
        int sound = is_text(section->name, sizeof section->name) && section->offset == begin &&
                    section->item_bytes > 0 && section->reserved[0] == 0 && section->reserved[1] == 0 &&
                    !__builtin_mul_overflow(section->count, section->item_bytes, &bytes) &&
                    !__builtin_add_overflow(begin, bytes, &after) && after <= h->file_bytes;
        if (!sound) return BAD_FILE("head is invalid: the place or size of section %u", (unsigned)s + 1);
        if (!is_zero(file->base + end, begin - end))
            return BAD_FILE("is damaged: bytes before section %s are not zero", section->name);
        end = after;
    }
    const unsigned char *unused = (const unsigned char *)&h->sections[h->section_count];
    if (end != h->file_bytes || !is_zero(unused, (uint64_t)((const unsigned char *)(h + 1) - unused)))
        return BAD_FILE("head is invalid: sections end at byte %llu, the file at %llu", (unsigned long long)end,
                        (unsigned long long)h->file_bytes);
    return SPRY_OK;
}

static spry_status check_head(opened *file, spry_error *err)
{
    SPRYI_OK_OR_RETURN(check_origin(file, err));
    const char *odd = odd_field(&file->head);
    if (odd) return BAD_FILE("head is invalid: %s", odd);
    if ((uint64_t)file->bytes != file->head.file_bytes)
        return BAD_FILE("%s: %lld bytes, expected %llu",
                        (uint64_t)file->bytes < file->head.file_bytes ? "is cut short" : "has bytes behind its end",
                        (long long)file->bytes, (unsigned long long)file->head.file_bytes);
    return check_table(file, err);
}

/* Returns the data of section s if the section has the expected name and size. */
static spry_status take_section(const opened *file, int s, const char *name, int64_t count, int64_t item_bytes,
                                const void **data, spry_error *err)
{
    const spryi_container_section *section = &file->head.sections[s];
    if (strcmp(section->name, name) != 0 || count < 0 || section->count != (uint64_t)count ||
        section->item_bytes != (uint64_t)item_bytes)
        return BAD_FILE("section %d is %llu x %llu bytes of %s, expected %lld x %lld bytes of %s", s + 1,
                        (unsigned long long)section->count, (unsigned long long)section->item_bytes, section->name,
                        count < 0 ? 0 : (long long)count, (long long)item_bytes, name);
    *data = file->base + section->offset;
    return SPRY_OK;
}

/* ---- the matrix's own layouts ------------------------------------------------------------------ */

static spry_arrays arrays_of(const spryi_container_head *h, spry_layout layout)
{
    spry_arrays a =
        spryi_types_of(h->rows, h->cols, h->nnz, h->kind.value_type, h->kind.offset_type, h->kind.index_type);
    a.layout = layout;
    a.sorted = (spry_known)h->kind.sorted;
    /* The check finds duplicates only if entries are sorted, so only then `unique` is taken from the head. */
    a.unique = a.sorted == SPRY_KNOWN_YES || h->kind.unique == SPRY_KNOWN_NO ? (spry_known)h->kind.unique
                                                                             : SPRY_NOT_KNOWN;
    a.symmetry = (spry_symmetry)h->kind.symmetry;
    return a;
}

/* Creates the matrix. Reports a fault in sizes or types as a fault of the file. */
static spry_status create(const opened *file, spry_matrix **A, const spry_arrays *a, spry_error *err)
{
    spry_error fault = SPRY_ERROR_INIT;
    spry_status status = spry_matrix_create(file->context, A, a, &fault);
    if (status == SPRY_OK) return SPRY_OK;
    if (status != SPRY_OUT_OF_MEMORY) return BAD_FILE("head is invalid: %s", fault.message);
    if (err) *err = fault;
    return status;
}

/* Makes the matrix the owner of the file's bytes. */
static void give_bytes(opened *file, spry_matrix *made)
{
    made->owned[0] = file->block;
    made->mapping = file->mapping;
    made->mapping_bytes = (size_t)file->bytes;
    file->block = file->mapping = NULL;
}

static spry_status read_arrays(opened *file, spry_matrix **A, spry_layout layout, spry_error *err)
{
    const spryi_container_head *h = &file->head;
    spry_matrix *made = NULL;
    spry_arrays a = arrays_of(h, layout);
    spryi_container_part parts[3];
    const void *data[3] = {NULL, NULL, NULL};
    int coo = layout == SPRY_COO;
    if ((a.offset_type == SPRY_INDEX_DEFAULT) != coo) return BAD_FILE("head is invalid: type of the offsets");
    int count = parts_of(&a, parts);
    if ((int)h->section_count != count)
        return BAD_FILE("has %u sections, expected %d", (unsigned)h->section_count, count);
    for (int s = 0; s < count; s++) {
        SPRYI_OK_OR_RETURN(take_section(file, s, parts[s].name, parts[s].count, parts[s].item_bytes, &data[s], err));
        parts[s].data = data[s];
    }
    a.offsets = coo ? NULL : data[0];
    a.row_indices = coo ? data[0] : NULL;
    a.indices = data[1];
    a.values = data[2];
    SPRYI_OK_OR_RETURN(verify(file->context, file->name, h, parts, count, &a, err));
    SPRYI_OK_OR_RETURN(create(file, &made, &a, err));
    if (file->block) made->a.ownership = SPRY_COPY; /* the bytes come from a pipe or are a copy of the caller's */
    made->field = (spryi_field)h->kind.field;
    give_bytes(file, made);
    *A = made;
    return SPRY_OK;
}

/* ---- storages of formats ----------------------------------------------------------------------- */

/* Fills in the scalar fields first, because they determine the lengths of the arrays. The arrays remain in the file. */
static spry_status fill_storage(const opened *file, const spryi_format *format, void *storage, spry_error *err)
{
    spryi_section sections[SPRYI_MOST_SECTIONS];
    bool is_number[SPRYI_MOST_SECTIONS];
    const void *data = NULL;
    int count = format->layout.sections(storage, sections);
    if ((int)file->head.section_count != count)
        return BAD_FILE("has %u sections, expected %d of a %s", (unsigned)file->head.section_count, count,
                        format->name);
    for (int s = 0; s < count; s++) {
        is_number[s] = !sections[s].array;
        if (!is_number[s]) continue;
        SPRYI_OK_OR_RETURN(
            take_section(file, s, sections[s].name, sections[s].count, sections[s].item_bytes, &data, err));
        memcpy(sections[s].inside, data, (size_t)(sections[s].count * sections[s].item_bytes));
    }
    (void)format->layout.sections(storage, sections);
    const int pattern = spryi_storage_arrays(storage)->value_type == SPRY_PATTERN;
    for (int s = 0; s < count; s++) {
        if (is_number[s]) continue;
        SPRYI_OK_OR_RETURN(
            take_section(file, s, sections[s].name, sections[s].count, sections[s].item_bytes, &data, err));
        if (!sections[s].array) continue; /* values of a pattern: the section is empty */
        /* Nothing writes to the arrays. A pattern gets no array of values, since kernels would read the array. */
        *sections[s].array = pattern && strstr(sections[s].name, "values") ? NULL : (void *)(uintptr_t)data;
    }
    return SPRY_OK;
}

static spry_status verify_storage(const opened *file, spry_error *err)
{
    spryi_container_part parts[SPRYI_MOST_SECTIONS];
    int count = (int)file->head.section_count;
    for (int s = 0; s < count; s++) {
        const spryi_container_section *section = &file->head.sections[s];
        parts[s] = (spryi_container_part){section->name, file->base + section->offset, (int64_t)section->count,
                                          (int64_t)section->item_bytes};
    }
    return verify(file->context, file->name, &file->head, parts, count, NULL, err);
}

/* Returns whether the head's value type suits the storage's (container.h). */
static bool is_type_of(const spryi_container_head *h, const spry_arrays *a)
{
    const spry_type type = (spry_type)h->kind.value_type;
    if (h->version >= SPRYI_CONTAINER_ONES && type == SPRY_PATTERN) return true;
    return a->value_type == type || (h->version >= SPRYI_CONTAINER_NARROW && spryi_is_narrower(a->value_type, type));
}

/* Sets the parameters from the head, unless they are invalid. */
static void take_parameters(spryi_stored *stored, const spryi_container_head *h)
{
    const spryi_format *format;
    char text[sizeof h->layout + sizeof h->parameters + 2];
    snprintf(text, sizeof text, "%s%s%s", h->layout, h->parameters[0] ? ":" : "", h->parameters);
    if (spryi_parse_format(&format, stored->parameters, text, NULL) != SPRY_OK) return;
    memcpy(stored->text, h->parameters, sizeof stored->text);
}

/* Drops the values if all of them are 1. A was created by spryi_matrix_adopt. */
static void drop_ones(spry_matrix *A)
{
    for (int64_t k = 0; k < A->a.nnz; k++)
        if (spryi_value_at(A->a.values, A->a.value_type, k) != 1) return;
    spryi_release(A->context, A->owned[3]);
    A->owned[3] = NULL;
    A->a.values = NULL;
    A->a.value_type = SPRY_PATTERN;
}

/* Replaces *A, a pattern that a format stored with values of 1, by CSR. Then drops the values if all are 1. */
static spry_status read_ones(spry_matrix **A, spry_error *err)
{
    spry_matrix *csr;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(*A, &csr, err));
    spryi_matrix_release(*A); /* csr then has no other users, and drop_ones may change it */
    drop_ones(csr);
    *A = csr;
    return SPRY_OK;
}

static spry_status read_storage(opened *file, spry_matrix **A, const spryi_format *format, spry_error *err)
{
    const spryi_container_head *h = &file->head;
    spry_status status = SPRY_OK;
    spry_error fault = SPRY_ERROR_INIT;
    spryi_stored stored = {.format = format};
    spry_matrix *made = NULL;
    SPRYI_TRY(verify_storage(file, err));
    SPRYI_TRY(spryi_allocate(file->context, &stored.storage, 1, format->layout.size, "storage of a container", err));
    memset(stored.storage, 0, format->layout.size);
    SPRYI_TRY(fill_storage(file, format, stored.storage, err));
    if (format->check(file->context, stored.storage, &fault) != SPRY_OK)
        SPRYI_TRY(BAD_FILE("%s storage: %s", h->layout, fault.message));
    const spry_arrays *a = spryi_storage_arrays(stored.storage);
    if (a->rows != h->rows || a->columns != h->cols || !is_type_of(h, a))
        SPRYI_TRY(BAD_FILE("head is invalid: sizes or types differ from the storage's"));
    take_parameters(&stored, h);
    SPRYI_TRY(spryi_matrix_of_storage(file->context, &made, &stored, (spry_symmetry)h->kind.symmetry,
                                      (spryi_field)h->kind.field, err));
    stored.storage = NULL;
    if (h->kind.value_type != SPRY_PATTERN) made->a.value_type = (spry_type)h->kind.value_type; /* may be wider */
    give_bytes(file, made);
    if (h->kind.value_type == SPRY_PATTERN && made->a.value_type != SPRY_PATTERN) SPRYI_TRY(read_ones(&made, err));
    *A = made;
    made = NULL;
done:
    spryi_matrix_release(made);
    spryi_release(file->context, stored.storage);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* Converts to the types that the options name. */
static spry_status convert(spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    const spry_arrays *a = &(*A)->a;
    spry_matrix *converted = NULL;
    if (!options) return SPRY_OK;
    int same = (options->value_type == SPRY_TYPE_DEFAULT || options->value_type == a->value_type) &&
               (options->index_type == SPRY_INDEX_DEFAULT || options->index_type == a->index_type) &&
               (options->offset_type == SPRY_INDEX_DEFAULT || options->offset_type == a->offset_type ||
                (a->layout == SPRY_COO && (options->offset_type == SPRY_I64 || a->index_type == SPRY_I32)));
    if (same) return SPRY_OK;
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    o.layout = a->layout;
    o.value_type = options->value_type;
    o.index_type = options->index_type;
    o.offset_type = options->offset_type;
    if (o.offset_type == SPRY_I32 && o.index_type == SPRY_INDEX_DEFAULT) o.index_type = SPRY_I32;
    if (o.offset_type == SPRY_INDEX_DEFAULT && o.index_type != SPRY_I64) o.offset_type = a->offset_type;
    o.keep_duplicates = true;
    SPRYI_OK_OR_RETURN(spry_matrix_convert((*A)->context, &converted, NULL, *A, &o, err));
    spryi_matrix_release(*A);
    *A = converted;
    return SPRY_OK;
}

static void fill_source(const spryi_container_head *h, spry_layout layout, spryi_source *source)
{
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    const spry_known ordered = (spry_known)h->kind.sorted;
    source->kind = SPRYI_CONTAINER;
    source->field = spry_type_name((spry_type)h->kind.value_type);
    source->symmetry = symmetries[h->kind.symmetry];
    snprintf(source->layout, sizeof source->layout, "%s%s%s", h->layout, h->parameters[0] ? ":" : "", h->parameters);
    source->rows = h->rows;
    source->cols = h->cols;
    source->entries = h->nnz;
    if (layout == SPRY_CSC)
        source->by_column = ordered;
    else if (layout > SPRY_LAYOUT_DEFAULT)
        source->by_row = ordered;
    source->duplicates = h->kind.unique == SPRY_NOT_KNOWN ? SPRY_NOT_KNOWN
                                                          : SPRY_KNOWN_NO + SPRY_KNOWN_YES - h->kind.unique;
}

spry_status spryi_container_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    spry_matrix *made = NULL;
    opened file = {0};
    spry_status status = check_machine(text->name, err);
    if (status != SPRY_OK) return status;
    SPRYI_TRY(open_bytes(&file, text, err));
    SPRYI_TRY(check_head(&file, err));
    const double lines = (double)file.head.rows + (double)file.head.cols;
    const int64_t enough = spryi_add_bytes(2 * spryi_text_enough(text, (double)file.head.nnz, 0, SPRY_I64),
                                           spryi_assembly_bytes(text->context, 0, 2 * lines, SPRY_I64, 8));
    SPRYI_TRY(spryi_note_needs(0, spryi_add_bytes(enough, file.block ? file.bytes : 0), "container", err));
    static const char *const own[] = {NULL, "csr", "coo", "csc"};
    spry_layout layout = SPRY_CSC;
    while (layout > SPRY_LAYOUT_DEFAULT && strcmp(file.head.layout, own[layout]) != 0) layout--;
    const spryi_format *format = spryi_find_format(file.head.layout);
    if (layout > SPRY_LAYOUT_DEFAULT) {
        SPRYI_TRY(read_arrays(&file, &made, layout, err));
    } else if (format && format->layout.sections) {
        SPRYI_TRY(read_storage(&file, &made, format, err));
    } else {
        SPRYI_TRY(spryi_fail_file(err, SPRY_BAD_FILE, file.name, 0, "holds format %s, which this library does not know",
                                  file.head.layout));
    }
    SPRYI_TRY(convert(&made, options, err));
    fill_source(&file.head, layout, &made->source);
    SPRYI_TRY(spry_matrix_set_index_base(made, !file.head.kind.counts_from_0, err));
    *A = made;
    made = NULL;
done:
    spryi_matrix_release(made);
    if (file.mapping) (void)munmap(file.mapping, (size_t)file.bytes);
    spryi_release(file.context, file.block);
    return status;
}

/* ---- content to write -------------------------------------------------------------------------- */

/* The content: the matrix in the requested layout, or its storage in a format. */
typedef struct content {
    const char *layout;
    char parameters[64];
    spry_matrix *converted; /* NULL: A itself */
    const spryi_format *format;
    void *storage; /* NULL: the content is the arrays of `converted`, or of A */
    bool borrowed; /* the storage belongs to the container that A was read from */
} content;

static spry_status build(spry_context *context, content *c, const spry_matrix *A,
                         const int64_t parameters[SPRYI_PARAMETERS], spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spryi_cost cost = {0};
    spryi_value_sample sample = {.count = 0};
    options.vector_type = spryi_usual_vectors(A->a.value_type);
    spryi_build_request request = {.A = A, .options = &options, .value_type = A->a.value_type, .cost = &cost};
    if (A->a.value_type == SPRY_PATTERN && !spryi_has_pattern_kernel(c->format)) request.value_type = SPRY_F64;
    SPRYI_TRY(spryi_check_stores(c->format, request.value_type, err));
    memcpy(request.parameters, parameters, sizeof request.parameters);
    if (!c->format->takes_any_layout) SPRYI_TRY(spryi_matrix_as_csr(context, &request.csr, A, request.value_type, err));
    if (request.csr) spryi_sample_values(&sample, NULL, &request.csr->a);
    request.narrow_type = spryi_narrow_type(&sample, options.vector_type, false, 0);
    SPRYI_TRY(spryi_storage_build(context, c->format, &c->storage, &request, err));
    memcpy(c->parameters, cost.parameters, sizeof c->parameters);
done:
    spryi_matrix_release(request.csr);
    return status;
}

/* Uses A's own storage if A is stored in this format. Returns false if it is not. */
static int keep_storage(content *c, const spry_matrix *A, const char *format)
{
    const spryi_stored *stored = A->stored;
    if (!stored || !spryi_is_stored_as(stored, format)) return 0;
    c->format = stored->format;
    c->layout = stored->format->name;
    c->storage = stored->storage;
    c->borrowed = 1;
    memcpy(c->parameters, stored->text, sizeof c->parameters);
    return 1;
}

/* Returns SPRY_UNSUPPORTED with a list of the formats that a container can store. */
static spry_status refuse_format(const char *format, spry_error *err)
{
    char known[256] = "";
    const spryi_format *f;
    for (int i = 0; (f = spryi_format_at(i)) != NULL; i++) {
        const size_t used = strlen(known);
        if (!spryi_container_stores(f)) continue;
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", f->name);
    }
    return spryi_fail(err, SPRY_UNSUPPORTED, "format",
                      "write: a container cannot store format %.40s, expected one of %s", format, known);
}

/* Builds the content in `format`, or in A's layout if format is NULL. */
static spry_status resolve(spry_context *context, content *c, const spry_matrix *A, const char *format, spry_error *err)
{
    spry_layout layout = format ? SPRY_CSR : A->a.layout;
    int64_t parameters[SPRYI_PARAMETERS] = {0};
    if (format && strcmp(format, "csc") == 0) {
        layout = SPRY_CSC;
    } else if (format) {
        SPRYI_OK_OR_RETURN(spryi_parse_format(&c->format, parameters, format, err));
        c->layout = c->format->name;
        if (c->format->layout.sections) return build(context, c, A, parameters, err);
        if (!spryi_container_stores(c->format)) return refuse_format(format, err);
        if (strcmp(c->format->name, "coo") == 0) layout = SPRY_COO;
    }
    c->layout = layout == SPRY_CSC ? "csc" : layout == SPRY_COO ? "coo" : "csr";
    if (layout == A->a.layout) return SPRY_OK;
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.layout = layout;
    options.keep_duplicates = 1;
    return spry_matrix_convert(context, &c->converted, NULL, A, &options, err);
}

static int list_parts(const content *c, const spry_matrix *A, spryi_container_part *parts,
                      spryi_section sections[SPRYI_MOST_SECTIONS])
{
    if (!c->storage) return parts_of(c->converted ? &c->converted->a : &A->a, parts);
    int count = c->format->layout.sections(c->storage, sections);
    for (int s = 0; s < count; s++) {
        const void *data = sections[s].array ? *sections[s].array : sections[s].inside;
        parts[s] = (spryi_container_part){sections[s].name, data, sections[s].count, sections[s].item_bytes};
    }
    return count;
}

/* ---- writing ----------------------------------------------------------------------------------- */

static spry_status build_head(spryi_container_head *head, const content *c, const spry_matrix *A,
                              const spryi_container_part *parts, int count, spry_error *err)
{
    const spry_arrays *a = c->storage ? spryi_storage_arrays(c->storage) : c->converted ? &c->converted->a : &A->a;
    const bool ones = c->storage && A->a.value_type == SPRY_PATTERN && a->value_type != SPRY_PATTERN;
    const bool narrow = c->storage && spryi_is_narrower(a->value_type, A->a.value_type);
    *head = (spryi_container_head){
        .version = narrow               ? SPRYI_CONTAINER_NARROW
                   : A->index_base == 0 ? SPRYI_CONTAINER_BASE_0
                   : ones               ? SPRYI_CONTAINER_ONES
                                        : SPRYI_CONTAINER_FIRST,
        .kind.counts_from_0 = A->index_base == 0,
        .head_bytes = SPRYI_CONTAINER_HEAD,
        .rows = A->a.rows,
        .cols = A->a.columns,
        .nnz = A->a.nnz,
        .kind.value_type = (uint8_t)(ones || narrow ? A->a.value_type : a->value_type),
        .kind.offset_type = (uint8_t)a->offset_type,
        .kind.index_type = (uint8_t)a->index_type,
        .kind.sorted = c->storage ? SPRY_NOT_KNOWN : (uint8_t)a->sorted,
        .kind.unique = c->storage ? SPRY_NOT_KNOWN : (uint8_t)a->unique,
        .kind.symmetry = (uint8_t)A->a.symmetry,
        .kind.field = (uint8_t)A->field,
        .section_count = (uint32_t)count,
        .chunk_bytes = SPRYI_CONTAINER_CHUNK,
    };
    memcpy(head->magic, spryi_container_magic, sizeof head->magic);
    snprintf(head->layout, sizeof head->layout, "%s", c->layout);
    memcpy(head->parameters, c->parameters, strlen(c->parameters));
    uint64_t hashes[SPRYI_MOST_SECTIONS], end = SPRYI_CONTAINER_HEAD;
    SPRYI_OK_OR_RETURN(spryi_container_hash(A->context, parts, count, hashes, err));
    for (int s = 0; s < count; s++) {
        spryi_container_section *section = &head->sections[s];
        snprintf(section->name, sizeof section->name, "%s", parts[s].name);
        section->offset = aligned(end);
        section->count = (uint64_t)parts[s].count;
        section->item_bytes = (uint64_t)parts[s].item_bytes;
        section->hash = hashes[s];
        end = section->offset + section->count * section->item_bytes;
    }
    head->file_bytes = end;
    head->checksum = spryi_container_checksum(head);
    return SPRY_OK;
}

static spry_status write_file(const spryi_output *output, const spryi_container_head *head,
                              const spryi_container_part *parts, spry_error *err)
{
    static const unsigned char zeros[SPRYI_CONTAINER_ALIGNMENT];
    spry_status status = spryi_output_write(output, head, sizeof *head, err);
    uint64_t end = sizeof *head;
    for (uint32_t s = 0; s < head->section_count && status == SPRY_OK; s++) {
        const spryi_container_section *section = &head->sections[s];
        status = spryi_output_write(output, zeros, (size_t)(section->offset - end), err);
        end = section->offset + section->count * section->item_bytes;
        if (status == SPRY_OK) status = spryi_output_write(output, parts[s].data, end - section->offset, err);
    }
    return status;
}

spry_status spryi_container_write(const spry_matrix *A, const char *path, const spry_write_options *options,
                                  spry_error *err)
{
    spry_status status = SPRY_OK;
    content c = {0};
    spryi_container_head head;
    spryi_container_part parts[SPRYI_MOST_SECTIONS];
    spryi_section sections[SPRYI_MOST_SECTIONS];
    spryi_output output = {.fd = -1};
    spry_context *context = A->context;
    spry_matrix *entries = NULL;
    SPRYI_TRY(check_machine(path, err));
    if (!options || !options->format || !keep_storage(&c, A, options->format)) {
        SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
        A = entries;
        SPRYI_TRY(resolve(A->context, &c, A, options ? options->format : NULL, err));
    }
    int count = list_parts(&c, A, parts, sections);
    SPRYI_TRY(build_head(&head, &c, A, parts, count, err));
    SPRYI_TRY(spryi_output_open(&output, path, err));
    status = write_file(&output, &head, parts, err);
done:
    if (status == SPRY_OUT_OF_MEMORY) status = spryi_name_file(err, status, path);
    if (c.storage && !c.borrowed) spryi_storage_destroy(context, c.format, c.storage);
    spryi_matrix_release(c.converted);
    spryi_matrix_release(entries);
    return spryi_output_close(&output, status, err);
}

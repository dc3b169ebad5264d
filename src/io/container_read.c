/*
 * Opening a container: the file is mapped, everything in it is verified, and the arrays of a matrix stay where they
 * are in the mapping. A container in memory (a pipe, the caller's bytes) is kept as a block of ours instead.
 */
#include "base/error.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "io/container.h"
#include "io/foreign.h"
#include "io/source.h"
#include "matrix/assemble.h"
#include "spry/io.h"
#include "spry/tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The file while it is looked at; mapping and block are given up to the matrix in the end. */
typedef struct opened {
    spry_context *context;
    const char *name;
    const unsigned char *base;
    int64_t bytes;
    void *mapping, *block; /* one of them */
    spryi_container_head head;
} opened;

int spryi_container_is(const spryi_text *text)
{
    unsigned char first = 0;
    const spryi_feed *feed = &text->feed;
    if (feed->fd >= 0)
        return spryi_feed_held(feed) > 0 && (unsigned char)feed->held[feed->begin] == SPRYI_CONTAINER_FIRST_BYTE;
    if (text->inflater || text->bytes == 0) return 0;
    if (text->memory) return (unsigned char)text->memory[0] == SPRYI_CONTAINER_FIRST_BYTE;
    return pread(text->fd, &first, 1, 0) == 1 && first == SPRYI_CONTAINER_FIRST_BYTE;
}

/* ---- the head ---------------------------------------------------------------------------------- */

/* Magic and version, which have the first word: of a newer version nothing else is known. */
static spry_status check_origin(opened *file, spry_error *err)
{
    size_t known = (size_t)file->bytes < sizeof file->head.magic ? (size_t)file->bytes : sizeof file->head.magic;
    if (memcmp(file->base, spryi_container_magic, known) != 0) {
        const char *bytes = (const char *)file->base;
        SPRYI_OK_OR_RETURN(spryi_refuse_foreign(file->name, bytes, bytes + file->bytes, err));
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0,
                               "is no Spry container: its first eight bytes are not a container's (changed by a "
                               "transfer as text?)");
    }
    if (file->bytes < SPRYI_CONTAINER_HEAD)
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0,
                               "is cut short: %lld bytes, expected a head of %d at least", (long long)file->bytes,
                               SPRYI_CONTAINER_HEAD);
    memcpy(&file->head, file->base, sizeof file->head);
    if (file->head.version > SPRYI_CONTAINER_VERSION)
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0,
                               "made by a newer version: container version %u, this library reads up to %d",
                               (unsigned)file->head.version, SPRYI_CONTAINER_VERSION);
    if (spryi_container_checksum(&file->head) != file->head.checksum)
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0, "head is damaged: its checksum does not hold");
    return SPRY_OK;
}

/* Head first: it tells how many bytes there have to be, and one more is looked for. Nothing was taken of the feed. */
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

static int is_zero(const unsigned char *bytes, uint64_t count)
{
    unsigned char any = 0;
    for (uint64_t b = 0; b < count; b++) any |= bytes[b];
    return any == 0;
}

/* Text that ends within its field, with zeros alone behind it. */
static int is_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    return length < size && is_zero((const unsigned char *)text + length, size - length);
}

/* Fields that a file with a good checksum has wrong only if it was made so: NULL, or what is wrong. */
static const char *odd_field(const spryi_container_head *h)
{
    const int64_t most = INT64_MAX / 64;
    int has_offsets = h->offset_type != SPRY_INDEX_DEFAULT;
    if (h->version == 0 || h->head_bytes != SPRYI_CONTAINER_HEAD) return "version or size of the head";
    if (h->chunk_bytes != SPRYI_CONTAINER_CHUNK) return "size of the chunks";
    if (!is_text(h->layout, sizeof h->layout)) return "layout";
    if (!is_text(h->parameters, sizeof h->parameters)) return "parameters";
    if (h->rows < 0 || h->rows > most || h->cols < 0 || h->cols > most || h->nnz < 0 || h->nnz > most)
        return "number of rows, columns or entries";
    if (h->value_type != SPRY_PATTERN && spry_type_bytes((spry_type)h->value_type) == 0) return "type of the values";
    if (spryi_index_pair(has_offsets ? (spry_index_type)h->offset_type : SPRY_I64, (spry_index_type)h->index_type) < 0)
        return "type of the indices";
    if (h->index_type == SPRY_I32 && (h->rows > INT32_MAX || h->cols > INT32_MAX)) return "type of the indices";
    if (h->sorted > SPRY_KNOWN_YES || h->unique > SPRY_KNOWN_YES) return "order of the entries";
    if (h->symmetry > SPRY_SKEW_SYMMETRIC || (h->symmetry != SPRY_GENERAL && h->rows != h->cols)) return "symmetry";
    if (h->field > SPRYI_FIELD_PATTERN) return "field";
    if (h->section_count > SPRYI_MOST_SECTIONS) return "number of sections";
    if (h->counts_from_0 > (h->version >= SPRYI_CONTAINER_BASE_0)) return "base of the matrix";
    if (!is_zero((const unsigned char *)h->reserved, sizeof h->reserved)) return "reserved bytes";
    return NULL;
}

/* The table: sections that follow each other as the writer lays them, nothing but zeros between them, to the end. */
static spry_status check_table(const opened *file, spry_error *err)
{
    const spryi_container_head *h = &file->head;
    uint64_t end = sizeof *h;
    for (uint32_t s = 0; s < h->section_count; s++) {
        const spryi_container_section *section = &h->sections[s];
        uint64_t begin = (end + SPRYI_CONTAINER_ALIGNMENT - 1) / SPRYI_CONTAINER_ALIGNMENT * SPRYI_CONTAINER_ALIGNMENT;
        uint64_t bytes = 0, after = 0;
        int sound = is_text(section->name, sizeof section->name) && section->offset == begin &&
                    section->item_bytes > 0 && section->reserved[0] == 0 && section->reserved[1] == 0 &&
                    !__builtin_mul_overflow(section->count, section->item_bytes, &bytes) &&
                    !__builtin_add_overflow(begin, bytes, &after) && after <= h->file_bytes;
        if (!sound)
            return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0,
                                   "head makes no sense: the place or size of section %u", (unsigned)s + 1);
        if (!is_zero(file->base + end, begin - end))
            return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0,
                                   "is damaged: bytes before section %s are not zero", section->name);
        end = after;
    }
    const unsigned char *unused = (const unsigned char *)&h->sections[h->section_count];
    if (end != h->file_bytes || !is_zero(unused, (uint64_t)((const unsigned char *)(h + 1) - unused)))
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0,
                               "head makes no sense: sections end at byte %llu, the file at %llu",
                               (unsigned long long)end, (unsigned long long)h->file_bytes);
    return SPRY_OK;
}

static spry_status check_head(opened *file, spry_error *err)
{
    SPRYI_OK_OR_RETURN(check_origin(file, err));
    const char *odd = odd_field(&file->head);
    if (odd) return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0, "head makes no sense: %s", odd);
    if ((uint64_t)file->bytes != file->head.file_bytes)
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0, "%s: %lld bytes, expected %llu",
                               (uint64_t)file->bytes < file->head.file_bytes ? "is cut short"
                                                                             : "has bytes behind its end",
                               (long long)file->bytes, (unsigned long long)file->head.file_bytes);
    return check_table(file, err);
}

/* Section s is what the reader expects it to be: then its data. */
static spry_status take_section(const opened *file, int s, const char *name, int64_t count, int64_t item_bytes,
                                const void **data, spry_error *err)
{
    const spryi_container_section *section = &file->head.sections[s];
    if (strcmp(section->name, name) != 0 || count < 0 || section->count != (uint64_t)count ||
        section->item_bytes != (uint64_t)item_bytes)
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0,
                               "section %d is %llu x %llu bytes of %s, expected %lld x %lld bytes of %s", s + 1,
                               (unsigned long long)section->count, (unsigned long long)section->item_bytes,
                               section->name, (long long)count, (long long)item_bytes, name);
    *data = file->base + section->offset;
    return SPRY_OK;
}

/* ---- the matrix's own layouts ------------------------------------------------------------------ */

static spry_arrays arrays_of(const spryi_container_head *h, spry_layout layout)
{
    spry_arrays a = spryi_types_of(h->rows, h->cols, h->nnz, h->value_type, h->offset_type, h->index_type);
    a.layout = layout;
    a.sorted = (spry_known)h->sorted;
    /* Duplicates are easily seen in sorted entries alone: elsewhere the claim is not kept. */
    a.unique = a.sorted == SPRY_KNOWN_YES || h->unique == SPRY_KNOWN_NO ? (spry_known)h->unique : SPRY_NOT_KNOWN;
    a.symmetry = (spry_symmetry)h->symmetry;
    return a;
}

/* As a fault of the file, what spry_matrix_create has to say of sizes and types. */
static spry_status create(const opened *file, spry_matrix **A, const spry_arrays *a, spry_error *err)
{
    spry_error fault = SPRY_ERROR_INIT;
    spry_status status = spry_matrix_create(file->context, A, a, &fault);
    if (status == SPRY_OK) return SPRY_OK;
    if (status != SPRY_OUT_OF_MEMORY)
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0, "head makes no sense: %s", fault.message);
    if (err) *err = fault;
    return status;
}

/* The bytes that the file's arrays lie in are the matrix's from now on. */
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
    if ((a.offset_type == SPRY_INDEX_DEFAULT) != coo)
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0, "head makes no sense: type of the offsets");
    int count = spryi_container_parts(&a, parts);
    if ((int)h->section_count != count)
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0, "has %u sections, expected %d",
                               (unsigned)h->section_count, count);
    for (int s = 0; s < count; s++) {
        SPRYI_OK_OR_RETURN(take_section(file, s, parts[s].name, parts[s].count, parts[s].item_bytes, &data[s], err));
        parts[s].data = data[s];
    }
    a.offsets = coo ? NULL : data[0];
    a.row_indices = coo ? data[0] : NULL;
    a.indices = data[1];
    a.values = data[2];
    SPRYI_OK_OR_RETURN(spryi_container_verify(file->context, file->name, h, parts, count, &a, err));
    SPRYI_OK_OR_RETURN(create(file, &made, &a, err));
    if (file->block) made->a.ownership = SPRY_COPY; /* of a pipe, or of the caller's bytes */
    made->field = (spryi_field)h->field;
    give_bytes(file, made);
    *A = made;
    return SPRY_OK;
}

/* ---- storages of formats ----------------------------------------------------------------------- */

static spry_status fail_storage(const opened *file, const spry_error *fault, spry_error *err)
{
    return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0, "%s storage: %s", file->head.layout, fault->message);
}

/* Numbers first, which then tell how long the arrays are. Those stay where they are in the file. */
static spry_status fill_storage(const opened *file, const spryi_format *format, void *storage, spry_error *err)
{
    spryi_section sections[SPRYI_MOST_SECTIONS];
    const void *data = NULL;
    int count = format->sections(storage, sections);
    if ((int)file->head.section_count != count)
        return spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0, "has %u sections, expected %d of a %s",
                               (unsigned)file->head.section_count, count, format->name);
    for (int s = 0; s < count; s++) {
        if (sections[s].array) continue;
        SPRYI_OK_OR_RETURN(
            take_section(file, s, sections[s].name, sections[s].count, sections[s].item_bytes, &data, err));
        memcpy(sections[s].inside, data, (size_t)(sections[s].count * sections[s].item_bytes));
    }
    (void)format->sections(storage, sections);
    const int pattern = spryi_storage_arrays(format, storage)->value_type == SPRY_PATTERN;
    for (int s = 0; s < count; s++) {
        if (!sections[s].array) continue;
        SPRYI_OK_OR_RETURN(
            take_section(file, s, sections[s].name, sections[s].count, sections[s].item_bytes, &data, err));
        /* nobody writes there; an array of values that is there would be read, however short it is */
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
    return spryi_container_verify(file->context, file->name, &file->head, parts, count, NULL, err);
}

/* 1: the head's value type is what the storage gave, or the pattern that its ones stand for. */
static int is_type_of(const spryi_container_head *h, const spry_arrays *a)
{
    int ones = h->version >= SPRYI_CONTAINER_ONES && h->value_type == SPRY_PATTERN;
    return ones || a->value_type == (spry_type)h->value_type;
}

/* The parameters as the head tells them; a head that does not make sense of them leaves them out. */
static void take_parameters(spryi_stored *stored, const spryi_container_head *h)
{
    const spryi_format *format;
    char text[sizeof h->layout + sizeof h->parameters + 2];
    snprintf(text, sizeof text, "%s%s%s", h->layout, h->parameters[0] ? ":" : "", h->parameters);
    if (spryi_parse_format(&format, stored->parameters, text, NULL) != SPRY_OK) return;
    memcpy(stored->text, h->parameters, sizeof stored->text);
}

/* Drops the values of what spryi_matrix_adopt made where all of them are ones. */
static void drop_ones(spry_matrix *A)
{
    for (int64_t k = 0; k < A->a.nnz; k++)
        if (spryi_value_at(A->a.values, A->a.value_type, k) != 1) return;
    spryi_release(A->context, A->owned[3]);
    A->owned[3] = NULL;
    A->a.values = NULL;
    A->a.value_type = SPRY_PATTERN;
}

/* A pattern whose format has none of its own: CSR at once, since the values tell whether it is one still. */
static spry_status read_ones(spry_matrix **A, spry_error *err)
{
    spry_matrix *csr;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(*A, &csr, err));
    spryi_matrix_release(*A); /* csr is ours alone */
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
    SPRYI_TRY(spryi_allocate(file->context, &stored.storage, 1, format->storage_size, "storage of a container", err));
    memset(stored.storage, 0, format->storage_size);
    SPRYI_TRY(fill_storage(file, format, stored.storage, err));
    if (format->check(file->context, stored.storage, &fault) != SPRY_OK) SPRYI_TRY(fail_storage(file, &fault, err));
    const spry_arrays *a = spryi_storage_arrays(format, stored.storage);
    if (a->rows != h->rows || a->cols != h->cols || !is_type_of(h, a))
        SPRYI_TRY(spryi_fail_file(err, SPRY_BAD_FILE, file->name, 0,
                                  "head makes no sense: sizes or types differ from the storage's"));
    take_parameters(&stored, h);
    SPRYI_TRY(
        spryi_matrix_of_storage(file->context, &made, &stored, (spry_symmetry)h->symmetry, (spryi_field)h->field, err));
    stored.storage = NULL;
    give_bytes(file, made);
    if (h->value_type == SPRY_PATTERN && made->a.value_type != SPRY_PATTERN) SPRYI_TRY(read_ones(&made, err));
    *A = made;
    made = NULL;
done:
    spryi_matrix_release(made);
    spryi_release(file->context, stored.storage);
    return status;
}

/* ---- together ---------------------------------------------------------------------------------- */

/* Other types than the file's, where options ask for them. */
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
    spry_convert_options o = SPRY_INIT(spry_convert_options);
    o.layout = a->layout;
    o.value_type = options->value_type;
    o.index_type = options->index_type;
    o.offset_type = options->offset_type;
    if (o.offset_type == SPRY_I32 && o.index_type == SPRY_INDEX_DEFAULT) o.index_type = SPRY_I32;
    o.keep_duplicates = 1;
    SPRYI_OK_OR_RETURN(spry_matrix_convert((*A)->context, &converted, *A, &o, err));
    spryi_matrix_release(*A);
    *A = converted;
    return SPRY_OK;
}

static void tell_source(const spryi_container_head *h, spry_layout layout, spryi_source *source)
{
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    const spry_known ordered = (spry_known)h->sorted;
    source->kind = SPRYI_CONTAINER;
    source->field = spry_type_name((spry_type)h->value_type);
    source->symmetry = symmetries[h->symmetry];
    snprintf(source->layout, sizeof source->layout, "%s%s%s", h->layout, h->parameters[0] ? ":" : "", h->parameters);
    source->rows = h->rows;
    source->cols = h->cols;
    source->entries = h->nnz;
    if (layout == SPRY_CSC)
        source->by_column = ordered;
    else if (layout > SPRY_LAYOUT_DEFAULT)
        source->by_row = ordered;
    source->duplicates = h->unique == SPRY_NOT_KNOWN ? SPRY_NOT_KNOWN : SPRY_KNOWN_NO + SPRY_KNOWN_YES - h->unique;
}

spry_status spryi_container_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err)
{
    spry_matrix *made = NULL;
    opened file = {0};
    spry_status status = spryi_container_check_machine(text->name, err);
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
    } else if (format && format->sections) {
        SPRYI_TRY(read_storage(&file, &made, format, err));
    } else {
        SPRYI_TRY(spryi_fail_file(err, SPRY_BAD_FILE, file.name, 0, "holds format %s, which this library does not know",
                                  file.head.layout));
    }
    SPRYI_TRY(convert(&made, options, err));
    tell_source(&file.head, layout, &made->source);
    SPRYI_TRY(spry_matrix_set_index_base(made, !file.head.counts_from_0, err));
    *A = made;
    made = NULL;
done:
    spryi_matrix_release(made);
    if (file.mapping) (void)munmap(file.mapping, (size_t)file.bytes);
    spryi_release(file.context, file.block);
    return status;
}

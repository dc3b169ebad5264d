/* What all formats share: the padding guard, and A as the CSR that they are built from. */
#include "core/assemble.h"
#include "core/error.h"
#include "core/kernel.h"
#include "core/memory.h"

#include <string.h>

int64_t spryi_bytes_to_own(const spryi_build_request *request, const spryi_cost *cost)
{
    return request->copied ? cost->bytes : cost->bytes - cost->borrowed;
}

spry_status spryi_check_memory_limit(const spry_spmv_options *options, const char *format, int64_t bytes,
                                     spry_error *err)
{
    int64_t limit = options->memory_limit_bytes;
    if (limit == 0 || bytes <= limit) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", bytes, limit,
                            "a plan in %s would own %lld bytes, over the limit of %lld", format, (long long)bytes,
                            (long long)limit);
}

/*
 * Bounds what a plan in `format` owns in addition to the format's arrays: row blocks, runs, spans, windows of columns
 * and workspace. An ordering and copies of vectors are not counted.
 */
static int64_t most_beside(const spryi_build_request *request, const char *format, const spryi_cost *cost)
{
    enum {
        FIXED = 1 << 10,
        ENTRY = 5,
        LINE = 8,
        LINE_OF_GROUPS = 80,
        SCATTERED_LINE = 40,
        SCATTERED_ENTRY = 8,
        SCATTERED_FIXED = 1 << 12
    };
    static const int64_t MOST = INT64_MAX / 1024;
    const spry_arrays *a = &request->A->a;
    const int scatters = (request->options->op == SPRY_TRANSPOSE) != (strcmp(format, "csc") == 0);
    const int has_groups = strncmp(format, "csr", 3) == 0 && format[3] != 0;
    const int64_t lines = a->rows > a->cols ? a->rows : a->cols;
    if (lines > MOST || a->nnz > MOST) return INT64_MAX;
    int64_t bytes = FIXED + ENTRY * a->nnz + (has_groups ? LINE_OF_GROUPS : LINE) * lines;
    if (scatters) bytes += SCATTERED_FIXED + SCATTERED_LINE * lines + SCATTERED_ENTRY * a->nnz + cost->bytes / 4;
    return spryi_add_bytes(bytes, cost->beside);
}

spry_status spryi_check_padding(const spryi_build_request *request, const char *format, const spryi_cost *cost,
                                spry_error *err)
{
    enum { SMALL = 4096 }; /* entries: not worth refusing */
    int64_t nnz = request->A->a.nnz;
    if (request->options->memory_limit_bytes > 0) {
        const int64_t least = spryi_bytes_to_own(request, cost), limit = request->options->memory_limit_bytes;
        if (least <= limit) return SPRY_OK;
        const int64_t most = spryi_add_bytes(least, most_beside(request, format, cost));
        return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", most, limit,
                                "a plan in %s would own up to %lld bytes, over the limit of %lld", format,
                                (long long)most, (long long)limit);
    }
    if (cost->padding <= SMALL || (cost->padding - SMALL) / SPRYI_MOST_PADDING <= nnz) return SPRY_OK;
    return spryi_fail_value(err, SPRY_TOO_LARGE, "format", cost->bytes, 0,
                            "format %s would take %lld bytes, %lld of %lld slots padding: refused by the padding "
                            "guard",
                            format, (long long)cost->bytes, (long long)cost->padding, (long long)(cost->padding + nnz));
}

spry_status spryi_admit(const spryi_build_request *request, const char *format, const spryi_cost *cost, spry_error *err)
{
    if (request->cost) *request->cost = *cost;
    return spryi_check_padding(request, format, cost, err);
}

spry_arrays spryi_types_of(int64_t rows, int64_t cols, int64_t nnz, int32_t value_type, int32_t offset_type,
                           int32_t index_type)
{
    spry_arrays types = SPRY_INIT(spry_arrays);
    types.layout = SPRY_CSR;
    types.rows = rows;
    types.cols = cols;
    types.nnz = nnz;
    types.offset_type = (spry_index_type)offset_type;
    types.index_type = (spry_index_type)index_type;
    types.value_type = (spry_type)value_type;
    return types;
}

spry_status spryi_new_csr(spry_context *context, spry_arrays *a, spry_error *err)
{
    void *offsets = NULL, *columns = NULL, *values = NULL;
    spry_status status =
        spryi_allocate(context, &offsets, a->rows + 1, spry_index_type_bytes(a->offset_type), "row offsets", err);
    if (status == SPRY_OK)
        status = spryi_allocate(context, &columns, a->nnz, spry_index_type_bytes(a->index_type), "columns", err);
    if (status == SPRY_OK && a->value_type != SPRY_PATTERN)
        status = spryi_allocate(context, &values, a->nnz, spry_type_bytes(a->value_type), "values", err);
    a->offsets = offsets;
    a->indices = columns;
    a->values = values;
    if (status != SPRY_OK) spryi_release_csr(context, a);
    return status;
}

void spryi_release_csr(spry_context *context, spry_arrays *a)
{
    spryi_release(context, (void *)(uintptr_t)a->offsets);
    spryi_release(context, (void *)(uintptr_t)a->indices);
    spryi_release(context, (void *)(uintptr_t)a->values);
    a->offsets = a->indices = a->values = NULL;
}

/* ---- storages ------------------------------------------------------------------------------------------ */

/* Lists what a storage without functions of its own owns. Writes nothing into a finished storage. */
static int list_owned(const spryi_format *format, void *storage, spryi_section list[SPRYI_MOST_SECTIONS + 1])
{
    int count = format->sections ? format->sections(storage, list) : format->device_sections(storage, list);
    if (format->windows_at > 0) {
        spryi_windows *windows = (void *)((char *)storage + format->windows_at);
        list[count++] =
            (spryi_section){"windows", (void **)&windows->parts, NULL, windows->count, sizeof *windows->parts};
    }
    return count;
}

spry_status spryi_storage_build(spry_context *context, const spryi_format *format, void **storage,
                                const spryi_build_request *request, spry_error *err)
{
    void *made = NULL;
    SPRYI_OK_OR_RETURN(spryi_allocate(context, &made, 1, format->storage_size, "storage", err));
    memset(made, 0, format->storage_size);
    const spry_status status = format->build(context, made, request, err);
    if (status == SPRY_OK)
        *storage = made;
    else
        spryi_storage_destroy(context, format, made);
    return status;
}

void spryi_storage_destroy(spry_context *context, const spryi_format *format, void *storage)
{
    spryi_section list[SPRYI_MOST_SECTIONS + 1];
    if (format->destroy) {
        format->destroy(context, storage);
        return;
    }
    for (int n = list_owned(format, storage, list) - 1; n >= 0; n--)
        if (list[n].array) spryi_release(context, *list[n].array);
    spryi_release(context, storage);
}

int64_t spryi_storage_bytes(const spryi_format *format, const void *storage)
{
    spryi_section list[SPRYI_MOST_SECTIONS + 1];
    if (format->storage_bytes) return format->storage_bytes(storage);
    return spryi_listed_bytes(list, list_owned(format, (void *)(uintptr_t)storage, list));
}

int64_t spryi_storage_owned_bytes(const spryi_format *format, const void *storage)
{
    return format->owned_bytes ? format->owned_bytes(storage) : spryi_storage_bytes(format, storage);
}

int64_t spryi_storage_workspace(const spryi_format *format, const void *storage, spry_type vector_type)
{
    if (format->workspace_bytes) return format->workspace_bytes(storage, vector_type);
    const spryi_windows *windows = (const void *)((const char *)storage + format->windows_at);
    return format->windows_at > 0 ? windows->numbers * (int64_t)spry_type_bytes(vector_type) : 0;
}

int spryi_storage_borrows_values(const spryi_format *format, const void *storage, const spry_matrix *A)
{
    if (format->borrows_values) return format->borrows_values(storage, A);
    return A->a.value_type == SPRY_PATTERN && spryi_storage_arrays(format, storage)->value_type == SPRY_PATTERN;
}

const spry_arrays *spryi_storage_arrays(const spryi_format *format, const void *storage)
{
    return format->arrays ? format->arrays(storage) : storage;
}

int spryi_storage_device_sections(const spryi_format *format, void *storage, spryi_section *list)
{
    if (format->device_sections) return format->device_sections(storage, list);
    const int count = format->sections(storage, list);
    int kept = 0;
    for (int n = 0; n < count; n++)
        if (list[n].array && list[n].count > 0 && !(format->host_only && strcmp(list[n].name, format->host_only) == 0))
            list[kept++] = list[n];
    return kept;
}

/* ---- matrices ------------------------------------------------------------------------------------------ */

spry_status spryi_matrix_as_csr(spry_context *context, spry_matrix **csr, const spry_matrix *A, spry_type value_type,
                                spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_compressed c = {0};
    spry_matrix *entries = NULL;
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    A = entries;
    if (A->a.layout == SPRY_CSR && A->a.value_type == value_type) {
        *csr = entries;
        return SPRY_OK;
    }
    spry_index_type offset_type = SPRY_INDEX_DEFAULT, index_type = A->a.index_type;
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, A->a.rows, A->a.cols, A->a.nnz, err));
    SPRYI_TRY(spryi_compress(context, &c, &A->a, SPRY_CSR, index_type, err));
    SPRYI_TRY(spryi_merge(context, &c, value_type, SPRYI_KEEP_ALL, NULL, err));
    SPRYI_TRY(spryi_compressed_finish(context, csr, &c, SPRY_CSR, offset_type, 0, SPRY_GENERAL, A->field, err));
done:
    spryi_matrix_release(entries);
    spryi_compressed_clear(context, &c);
    return status;
}

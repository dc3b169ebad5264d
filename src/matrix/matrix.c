#include "matrix/matrix.h"

#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "core/device.h"

#include <string.h>
#include <sys/mman.h>

int64_t spryi_major_of(const spry_arrays *a, int64_t k)
{
    int64_t i;
    SPRYI_BISECT(i, 0, (a->layout == SPRY_CSR ? a->rows : a->cols) - 1, spryi_offset_of(a, i + 1) <= k);
    return i;
}

spry_status spryi_check_value_type(const char *who, spry_type type, spry_type least, spry_error *err)
{
#define NAME(name, ...) #name ", "
    if (spry_type_bytes(type) > 0 || type == SPRY_PATTERN || type == least) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "value_type", type, SPRY_PATTERN,
                            "%s: value_type is %d, expected one of " SPRYI_TYPES(NAME) "SPRY_PATTERN", who, (int)type);
}

spry_status spryi_check_index_type(const char *who, const char *name, spry_index_type type, spry_error *err)
{
    if (type >= SPRY_INDEX_DEFAULT && type <= SPRY_I64) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, type, SPRY_I64,
                            "%s: %s is %d, expected SPRY_I32 or SPRY_I64", who, name, (int)type);
}

static int64_t offset_count(const spry_arrays *a)
{
    return a->layout == SPRY_CSR ? a->rows + 1 : a->layout == SPRY_CSC ? a->cols + 1 : 0;
}

void spryi_list_arrays(spryi_array list[SPRYI_ARRAYS], const spry_arrays *a)
{
    const int64_t indices = a->nnz * (int64_t)spry_index_type_bytes(a->index_type);
    list[SPRYI_VALUES] = (spryi_array){a->values, a->nnz * (int64_t)spry_type_bytes(a->value_type)};
    list[SPRYI_INDICES] = (spryi_array){a->indices, indices};
    list[SPRYI_ROW_INDICES] = (spryi_array){a->row_indices, a->layout == SPRY_COO ? indices : 0};
    list[SPRYI_OFFSETS] = (spryi_array){a->offsets, offset_count(a) * (int64_t)spry_index_type_bytes(a->offset_type)};
}

int64_t spryi_arrays_bytes(const spry_arrays *a)
{
    spryi_array list[SPRYI_ARRAYS];
    int64_t bytes = 0;
    spryi_list_arrays(list, a);
    for (int n = 0; n < SPRYI_ARRAYS; n++) bytes += list[n].bytes;
    return bytes;
}

spry_status spryi_pick_index_types(spry_index_type *offset_type, spry_index_type *index_type, int64_t rows,
                                   int64_t cols, int64_t nnz, spry_error *err)
{
    int64_t longer = rows > cols ? rows : cols;
    if (*index_type == SPRY_INDEX_DEFAULT) *index_type = longer <= INT32_MAX ? SPRY_I32 : SPRY_I64;
    if (*offset_type == SPRY_INDEX_DEFAULT)
        *offset_type = nnz <= INT32_MAX && *index_type == SPRY_I32 ? SPRY_I32 : SPRY_I64;
    if (spryi_index_pair(*offset_type, *index_type) < 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "index_type",
                          "32-bit offsets with 64-bit indices: the legal pairs are 32/32, 64/32 and 64/64");
    if (*index_type == SPRY_I32 && longer > INT32_MAX)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "index_type", longer, INT32_MAX,
                                "%lld rows or columns do not fit 32-bit indices, which hold %d", (long long)longer,
                                INT32_MAX);
    if (*offset_type == SPRY_I32 && nnz > INT32_MAX)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "offset_type", nnz, INT32_MAX,
                                "%lld entries do not fit 32-bit offsets, which hold %d", (long long)nnz, INT32_MAX);
    return SPRY_OK;
}

/* ---- creating -------------------------------------------------------------------------------- */

static spry_status check_types(const spry_arrays *a, spry_error *err)
{
    if (a->layout < SPRY_CSR || a->layout > SPRY_CSC)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "layout", a->layout, SPRY_CSC,
                                "arrays: layout is %d, expected SPRY_CSR, SPRY_COO or SPRY_CSC", (int)a->layout);
    SPRYI_OK_OR_RETURN(spryi_check_value_type("arrays", a->value_type, SPRY_F32, err));
    int coo = a->layout == SPRY_COO;
    if (!coo) SPRYI_OK_OR_RETURN(spryi_check_index_type("arrays", "offset_type", a->offset_type, err));
    SPRYI_OK_OR_RETURN(spryi_check_index_type("arrays", "index_type", a->index_type, err));
    int pair = spryi_index_pair(coo ? SPRY_I64 : a->offset_type, a->index_type);
    if (pair < 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, coo ? "index_type" : "offset_type",
                          "arrays: offset and index types must be one of the pairs 32/32, 64/32 and 64/64 bits");
    if (a->index_base != 0 && a->index_base != 1)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "index_base", a->index_base, 1,
                                "arrays: index_base is %d, expected 0 or 1", a->index_base);
    if (a->index_base != 0 && a->device > 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "index_base", "arrays in device memory have to count from 0");
    if (a->ownership != SPRY_BORROW && a->ownership != SPRY_COPY)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "ownership", a->ownership, SPRY_COPY,
                                "arrays: ownership is %d, expected SPRY_BORROW or SPRY_COPY", (int)a->ownership);
    if (a->device < SPRY_CPU)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", a->device, 0,
                                "arrays: device is %d, expected 0 (host memory) or a GPU's number", a->device);
    if (a->device > 0 && (a->layout != SPRY_CSR || a->ownership != SPRY_BORROW))
        return spryi_fail(err, SPRY_UNSUPPORTED, a->layout != SPRY_CSR ? "layout" : "ownership",
                          "arrays in device memory have to be CSR and borrowed");
    return SPRY_OK;
}

static spry_status check_claim(const char *name, spry_known claim, spry_error *err)
{
    if ((unsigned)claim <= SPRY_KNOWN_YES) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, claim, SPRY_KNOWN_YES,
                            "arrays: %s is %d, expected SPRY_NOT_KNOWN, SPRY_KNOWN_NO or SPRY_KNOWN_YES", name,
                            (int)claim);
}

static spry_status check_sizes(const spry_arrays *a, spry_error *err)
{
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"rows", a->rows}, {"cols", a->cols}, {"nnz", a->nnz}};
    for (int s = 0; s < 3; s++)
        if (sizes[s].value < 0 || sizes[s].value > INT64_MAX / 64)
            return spryi_fail_value(err, SPRY_INVALID_SIZE, sizes[s].name, sizes[s].value, INT64_MAX / 64,
                                    "arrays: %s is %lld, expected 0 to %lld", sizes[s].name, (long long)sizes[s].value,
                                    (long long)(INT64_MAX / 64));
    if (a->nnz > 0 && (a->rows == 0 || a->cols == 0))
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "nnz", a->nnz, 0,
                                "arrays: nnz is %lld in a matrix of %lld rows and %lld columns, expected 0",
                                (long long)a->nnz, (long long)a->rows, (long long)a->cols);
    spry_index_type offset_type = a->layout == SPRY_COO ? SPRY_I64 : a->offset_type, index_type = a->index_type;
    SPRYI_OK_OR_RETURN(spryi_pick_index_types(&offset_type, &index_type, a->rows, a->cols, a->nnz, err));
    if (a->symmetry < SPRY_GENERAL || a->symmetry > SPRY_SKEW_SYMMETRIC)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "symmetry", a->symmetry, SPRY_SKEW_SYMMETRIC,
                                "arrays: symmetry is %d, expected SPRY_GENERAL, SPRY_SYMMETRIC or SPRY_SKEW_SYMMETRIC",
                                (int)a->symmetry);
    if (a->symmetry != SPRY_GENERAL && a->rows != a->cols)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "symmetry", a->rows, a->cols,
                                "arrays: claimed symmetric, but it has %lld rows and %lld columns", (long long)a->rows,
                                (long long)a->cols);
    return SPRY_OK;
}

/* A square matrix by now, where symmetry is claimed. */
static spry_status check_triangle(const spry_arrays *a, spry_error *err)
{
    if (a->triangle == SPRY_ALL_ENTRIES) return SPRY_OK;
    if (a->triangle != SPRY_LOWER_TRIANGLE && a->triangle != SPRY_UPPER_TRIANGLE)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "triangle", a->triangle, SPRY_UPPER_TRIANGLE,
                                "arrays: triangle is %d, expected SPRY_ALL_ENTRIES, SPRY_LOWER_TRIANGLE or "
                                "SPRY_UPPER_TRIANGLE",
                                (int)a->triangle);
    if (a->symmetry == SPRY_GENERAL)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "symmetry", a->symmetry, SPRY_SKEW_SYMMETRIC,
                                "arrays: symmetry is SPRY_GENERAL, but one triangle needs SPRY_SYMMETRIC or "
                                "SPRY_SKEW_SYMMETRIC to tell the other");
    if (a->device > 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", a->device, 0,
                                "arrays: device is %d, but one triangle has to be in host memory", a->device);
    return SPRY_OK;
}

/*
 * Refuses offsets of the other width if a few of them show it. If 64-bit offsets are read as 32 bits, every second one
 * is an upper half, so a 0 follows a larger offset near the end. If 32-bit offsets are read as 64 bits, two of them
 * form one offset, which exceeds nnz. Nothing beyond the last pair of the array is read.
 */
static spry_status check_width(const spry_arrays *a, spry_error *err)
{
    const int64_t lines = offset_count(a) - 1;
    if (lines < 1) return SPRY_OK;
    if (a->offset_type == SPRY_I32 && lines > 1) {
        const int64_t upper = lines % 2 == 0 ? lines - 1 : lines;
        const int64_t lower = spryi_offset_of(a, upper - 1);
        if (spryi_offset_of(a, upper) == 0 && lower > 0)
            return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", 0, lower,
                                    "offsets[%lld] is 0, behind offsets[%lld], which is %lld: the offsets seem to be "
                                    "of 64 bits, but were given as 32",
                                    (long long)upper, (long long)(upper - 1), (long long)lower);
    }
    const int64_t pair = (lines + 1) / 2 - 1, found = spryi_offset_of(a, pair);
    if (a->offset_type == SPRY_I64 && found > UINT32_MAX && found > a->nnz + a->index_base)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", found, a->nnz + a->index_base,
                                "offsets[%lld] is %lld, more than nnz%s = %lld; the offsets seem to be of 32 bits, but "
                                "were given as 64",
                                (long long)pair, (long long)found, a->index_base ? " + 1" : "",
                                (long long)(a->nnz + a->index_base));
    return SPRY_OK;
}

/* Loads of an int or a double anywhere else are undefined. */
static spry_status check_alignment(const char *name, const void *array, size_t item_bytes, spry_error *err)
{
    if (item_bytes == 0 || (uintptr_t)array % item_bytes == 0) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, (int64_t)((uintptr_t)array % item_bytes), 0,
                            "arrays: %s is not aligned to its type (%d bytes)", name, (int)item_bytes);
}

static spry_status check_pointers(const spry_arrays *a, spry_error *err)
{
    const size_t index_bytes = spry_index_type_bytes(a->index_type);
    const char *missing = NULL;
    if (a->layout != SPRY_COO && !a->offsets) missing = "offsets";
    if (a->layout == SPRY_COO && a->nnz > 0 && !a->row_indices) missing = "row_indices";
    if (a->nnz > 0 && !a->indices) missing = "indices";
    if (a->nnz > 0 && !a->values && a->value_type != SPRY_PATTERN) missing = "values";
    if (missing)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, missing, "arrays: %s is NULL with %lld entries", missing,
                          (long long)a->nnz);
    if (a->value_type == SPRY_PATTERN && a->values)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "values",
                          "arrays: values is given with SPRY_PATTERN, which has none");
    if (a->layout == SPRY_COO)
        SPRYI_OK_OR_RETURN(check_alignment("row_indices", a->row_indices, index_bytes, err));
    else
        SPRYI_OK_OR_RETURN(check_alignment("offsets", a->offsets, spry_index_type_bytes(a->offset_type), err));
    SPRYI_OK_OR_RETURN(check_alignment("indices", a->indices, index_bytes, err));
    SPRYI_OK_OR_RETURN(check_alignment("values", a->values, spry_type_bytes(a->value_type), err));
    if (a->layout == SPRY_COO || a->device > 0) return SPRY_OK; /* not to be read from here */
    SPRYI_OK_OR_RETURN(check_width(a, err)); /* before the last offset, which may not be the caller's */
    const int64_t first = spryi_offset_of(a, 0);
    if (first != a->index_base)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", first, a->index_base,
                                "offsets[0] is %lld, expected %d%s", (long long)first, a->index_base,
                                first == 1 ? "; arrays that count from 1 have index_base 1" : "");
    const int64_t last = spryi_offset_of(a, offset_count(a) - 1);
    if (last != a->nnz + a->index_base)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", last, a->nnz + a->index_base,
                                "offsets[%lld] is %lld, expected nnz%s = %lld", (long long)(offset_count(a) - 1),
                                (long long)last, a->index_base ? " + 1" : "", (long long)(a->nnz + a->index_base));
    return SPRY_OK;
}

static spry_status copy_array(spry_matrix *A, int slot, const void **array, int64_t count, size_t size,
                              const char *what, spry_error *err)
{
    if (!*array) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_allocate(A->context, &A->owned[slot], count, size, what, err));
    if (count > 0) memcpy(A->owned[slot], *array, (size_t)count * size);
    *array = A->owned[slot];
    return SPRY_OK;
}

/* Offsets and indices alone. */
static spry_status copy_structure(spry_matrix *A, spry_error *err)
{
    size_t index_bytes = spry_index_type_bytes(A->a.index_type);
    SPRYI_OK_OR_RETURN(
        copy_array(A, 0, &A->a.offsets, offset_count(&A->a), spry_index_type_bytes(A->a.offset_type), "offsets", err));
    SPRYI_OK_OR_RETURN(copy_array(A, 1, &A->a.row_indices, A->a.nnz, index_bytes, "row indices", err));
    return copy_array(A, 2, &A->a.indices, A->a.nnz, index_bytes, "indices", err);
}

/* Counts from 0 what counts from 1. The arrays are the matrix's own. */
static void count_from_zero(spry_matrix *A)
{
    const struct {
        void *array;
        int64_t count;
        spry_index_type type;
    } parts[] = {{A->owned[0], offset_count(&A->a), A->a.offset_type},
                 {A->owned[1], A->a.nnz, A->a.index_type},
                 {A->owned[2], A->a.nnz, A->a.index_type}};
    for (int p = 0; p < 3; p++)
        for (int64_t k = 0; parts[p].array && k < parts[p].count; k++)
            spryi_set_index(parts[p].array, parts[p].type, k,
                            (int64_t)((uint64_t)spryi_index_at(parts[p].array, parts[p].type, k) - 1));
    A->a.index_base = 0;
}

static spry_status copy_arrays(spry_matrix *A, spry_error *err)
{
    const int copies = A->a.ownership == SPRY_COPY;
    if (copies || A->a.index_base != 0) SPRYI_OK_OR_RETURN(copy_structure(A, err));
    if (A->a.index_base != 0) count_from_zero(A);
    return copies ? copy_array(A, 3, &A->a.values, A->a.nnz, spry_type_bytes(A->a.value_type), "values", err) : SPRY_OK;
}

/* Unused fields are cleared, so that nothing later mistakes them for arrays. */
static spry_arrays tidy(const spry_arrays *a)
{
    spry_arrays tidied = *a;
    if (a->layout == SPRY_COO) {
        tidied.offsets = NULL;
        tidied.offset_type = SPRY_INDEX_DEFAULT;
    } else {
        tidied.row_indices = NULL;
    }
    return tidied;
}

static spry_status new_matrix(spry_context *context, spry_matrix **A, const spry_arrays *a, spryi_field field,
                              spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, A, 1, "matrix handle", err));
    **A = (spry_matrix){.context = spryi_context_retain(context), .a = tidy(a), .field = field};
    (*A)->a.device = spryi_device_number(a->device);
    atomic_init(&(*A)->references, 1);
    return SPRY_OK;
}

spry_status spry_matrix_create(spry_context *context, spry_matrix **A, const spry_arrays *arrays, spry_error *err)
{
    const char *missing = !context ? "context" : !A ? "A" : !arrays ? "arrays" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    spry_status status = SPRY_OK;
    spry_matrix *made = NULL;
    spry_arrays given;
    SPRYI_TRY(SPRYI_TAKE(&given, arrays, err));
    arrays = &given;
    SPRYI_TRY(check_types(arrays, err));
    SPRYI_TRY(check_claim("sorted", arrays->sorted, err));
    SPRYI_TRY(check_claim("unique", arrays->unique, err));
    SPRYI_TRY(check_sizes(arrays, err));
    SPRYI_TRY(check_triangle(arrays, err));
    SPRYI_TRY(check_pointers(arrays, err));
    if (arrays->device > 0) SPRYI_TRY(spryi_device_usable(context, NULL, arrays->device, err));
    SPRYI_TRY(
        new_matrix(context, &made, arrays, arrays->value_type == SPRY_PATTERN ? SPRYI_FIELD_PATTERN : SPRYI_REAL, err));
    made->index_base = arrays->index_base;
    SPRYI_TRY(copy_arrays(made, err));
    *A = made;
    made = NULL;
done:
    spryi_matrix_release(made);
    return status;
}

static spry_status borrow_csr(spry_context *context, spry_matrix **A, int64_t rows, int64_t cols,
                              const int32_t *offsets, const int32_t *columns, const void *values, spry_type type,
                              spry_error *err)
{
    if (rows < 0 || rows > INT32_MAX)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "rows", rows, INT32_MAX, "rows is %lld, expected 0 to %d",
                                (long long)rows, INT32_MAX);
    if (!offsets) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "offsets", "offsets is NULL");
    spry_arrays a = spryi_types_of(rows, cols, offsets[rows], (int32_t)type, SPRY_I32, SPRY_I32);
    a.offsets = offsets;
    a.indices = columns;
    a.values = values;
    return spry_matrix_create(context, A, &a, err);
}

spry_status spry_matrix_borrow_csr_f64(spry_context *context, spry_matrix **A, int64_t rows, int64_t cols,
                                       const int32_t *offsets, const int32_t *columns, const double *values,
                                       spry_error *err)
{
    return borrow_csr(context, A, rows, cols, offsets, columns, values, SPRY_F64, err);
}

spry_status spry_matrix_borrow_csr_f32(spry_context *context, spry_matrix **A, int64_t rows, int64_t cols,
                                       const int32_t *offsets, const int32_t *columns, const float *values,
                                       spry_error *err)
{
    return borrow_csr(context, A, rows, cols, offsets, columns, values, SPRY_F32, err);
}

/* A matrix of arrays that are A's, but for what *a changes; it keeps alive whose arrays they are. */
static spry_status view(spry_matrix **made, const spry_matrix *A, const spry_arrays *a, spryi_field field,
                        spry_error *err)
{
    if (A->stored) return spryi_fail(err, SPRY_INTERNAL, "A", "view: the matrix is a container's, without arrays");
    SPRYI_OK_OR_RETURN(new_matrix(A->context, made, a, field, err));
    /* A view without arrays of its own is left out, else views of views would be a chain that grows with updates. */
    const int has_own = A->owned[0] || A->owned[1] || A->owned[2] || A->owned[3];
    (*made)->index_base = A->index_base;
    (*made)->structure_of = spryi_matrix_retain(A->structure_of && !has_own ? A->structure_of : A);
    return SPRY_OK;
}

spry_status spryi_matrix_with_values(spry_matrix **made, const spry_matrix *A, const void *values, spry_error *err)
{
    const size_t size = spry_type_bytes(A->a.value_type);
    if (A->a.value_type == SPRY_PATTERN || (uintptr_t)values % size != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "values",
                          A->a.value_type == SPRY_PATTERN ? "values: the matrix is a pattern, which has none"
                                                          : "values are not aligned to their type (%zu bytes)",
                          size);
    spry_arrays a = A->a;
    a.values = values;
    return view(made, A, &a, A->field, err);
}

spry_status spryi_matrix_without_values(spry_matrix **pattern, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = A->a;
    a.value_type = SPRY_PATTERN;
    a.values = NULL;
    return view(pattern, A, &a, SPRYI_FIELD_PATTERN, err);
}

spry_status spryi_matrix_flip(spry_matrix **flipped, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = A->a;
    if (a.triangle != SPRY_ALL_ENTRIES) return spryi_fail(err, SPRY_INTERNAL, "A", "flip: the matrix is one triangle");
    a.layout = A->a.layout == SPRY_CSR ? SPRY_CSC : SPRY_CSR;
    a.rows = A->a.cols;
    a.cols = A->a.rows;
    return view(flipped, A, &a, A->field, err);
}

/* The memory is of the device that made it. */
static void release_block(const spry_context *context, int number, void *block)
{
    const spryi_device *device = block ? context->device_at(context, number) : NULL;
    if (device) device->ops->release(device, block);
}

spry_status spryi_matrix_adopt(spry_context *context, spry_matrix **A, const spry_arrays *a, spryi_field field,
                               spry_error *err)
{
    void *const blocks[4] = {(void *)(uintptr_t)a->offsets, (void *)(uintptr_t)a->row_indices,
                             (void *)(uintptr_t)a->indices, (void *)(uintptr_t)a->values};
    spry_matrix *made = NULL;
    spry_status status = new_matrix(context, &made, a, field, err);
    if (status != SPRY_OK) {
        for (int b = 0; b < 4; b++) release_block(context, a->device, blocks[b]);
        return status;
    }
    memcpy(made->owned, blocks, sizeof blocks);
    made->a.struct_size = sizeof made->a;
    made->a.ownership = SPRY_COPY;
    *A = made;
    return SPRY_OK;
}

spry_status spryi_fetch_array(const spryi_device *d, const void **array, int64_t count, size_t size, spry_error *err)
{
    const void *there = *array;
    void *here = NULL;
    spry_status status = spryi_allocate(d->context, &here, count, size, "host copy of the matrix", err);
    *array = here;
    if (status != SPRY_OK || count == 0) return status;
    return d->ops->copy(d, here, there, count * (int64_t)size, SPRYI_FROM_DEVICE, NULL, err);
}

spry_status spryi_matrix_fetch(const spryi_device *d, spry_matrix **host, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = A->a;
    const void **arrays[] = {&a.offsets, &a.indices, &a.values};
    const int64_t counts[] = {a.rows + 1, a.nnz, a.nnz};
    const size_t sizes[] = {spry_index_type_bytes(a.offset_type), spry_index_type_bytes(a.index_type),
                            spry_type_bytes(a.value_type)};
    const int count = a.value_type == SPRY_PATTERN ? 2 : 3;
    spry_status status = SPRY_OK;
    int fetched = 0; /* arrays of `a` that are host memory, or NULL, now */
    for (; fetched < count && status == SPRY_OK; fetched++)
        status = spryi_fetch_array(d, arrays[fetched], counts[fetched], sizes[fetched], err);
    if (status == SPRY_OK) status = d->ops->synchronize(d, NULL, err);
    if (status != SPRY_OK) {
        for (int n = 0; n < fetched; n++) spryi_release(d->context, (void *)(uintptr_t)*arrays[n]);
        return status;
    }
    a.device = 0;
    status = spryi_matrix_adopt(d->context, host, &a, A->field, err); /* takes them over, also on failure */
    if (status == SPRY_OK) {
        (*host)->index_base = A->index_base;
        (*host)->symmetry_holds = A->symmetry_holds;
    }
    return status;
}

spry_matrix *spryi_matrix_retain(const spry_matrix *A)
{
    spry_matrix *counted = (spry_matrix *)(uintptr_t)A; /* the count is no part of the value */
    atomic_fetch_add(&counted->references, 1);
    return counted;
}

void spryi_matrix_release(spry_matrix *A)
{
    if (!A || atomic_fetch_sub(&A->references, 1) > 1) return;
    for (int b = 0; b < 4; b++) release_block(A->context, A->a.device, A->owned[b]);
    spryi_matrix_release(A->structure_of);
    spryi_stored_release(A->context, A->stored);
    if (A->mapping) (void)munmap(A->mapping, A->mapping_bytes);
    spry_context *context = A->context;
    spryi_release(context, A);
    spryi_context_release(context);
}

void spry_matrix_destroy(spry_matrix *A)
{
    spryi_matrix_release(A);
}

int64_t spry_matrix_rows(const spry_matrix *A)
{
    return A ? A->a.rows : 0;
}

int64_t spry_matrix_cols(const spry_matrix *A)
{
    return A ? A->a.cols : 0;
}

int64_t spry_matrix_nnz(const spry_matrix *A)
{
    return A ? A->a.nnz : 0;
}

int spry_matrix_index_base(const spry_matrix *A)
{
    return A ? A->index_base : 0;
}

spry_status spry_matrix_set_index_base(spry_matrix *A, int index_base, spry_error *err)
{
    if (!A) return spryi_fail_missing(err, "A");
    if (index_base != 0 && index_base != 1)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "index_base", index_base, 1,
                                "index_base is %d, expected 0 or 1", index_base);
    A->index_base = index_base;
    if (A->stored && A->stored->csr) A->stored->csr->index_base = index_base;
    return SPRY_OK;
}

spry_status spry_matrix_get_arrays(const spry_matrix *A, spry_arrays *arrays, spry_error *err)
{
    if (!A || !arrays) return spryi_fail_missing(err, !A ? "A" : "arrays");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(arrays, err));
    spry_matrix *shown; /* a triangle as it was given */
    SPRYI_OK_OR_RETURN(A->stored ? spryi_matrix_entries(A, &shown, err) : SPRY_OK);
    SPRYI_GIVE(arrays, A->stored ? &shown->a : &A->a);
    if (A->stored) spryi_matrix_release(shown); /* A keeps it */
    return SPRY_OK;
}

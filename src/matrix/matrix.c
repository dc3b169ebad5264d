/* Matrices: creation, views, copies to and from devices, and the list of a matrix's plans. */
#include "matrix/matrix.h"

#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "core/device.h"
#include "core/kernel.h"
#include "matrix/assemble.h"
#include "spry/matrix.h"

#include <string.h>
#include <sys/mman.h>

int64_t spryi_major_of(const spry_arrays *a, int64_t k)
{
    int64_t i;
    SPRYI_BISECT(i, 0, (a->layout == SPRY_CSR ? a->rows : a->columns) - 1, spryi_offset_of(a, i + 1) <= k);
    return i;
}

spry_status spryi_check_value_type(const char *who, spry_type type, spry_type least, spry_error *err)
{
#define NAME(name, ...) #name ", "
    if (spryi_stored_row(type) >= 0 || type == SPRY_PATTERN || type == least) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "value_type", type, SPRY_PATTERN,
                            "%s: value_type is %d, expected one of " SPRYI_TYPES(NAME) "SPRY_PATTERN", who, (int)type);
}

spry_status spryi_check_index_type(const char *who, const char *name, spry_index_type type, spry_error *err)
{
    return spryi_check_range(who, name, type, SPRY_INDEX_DEFAULT, SPRY_I64, "SPRY_I32 or SPRY_I64", err);
}

static int64_t offset_count(const spry_arrays *a)
{
    return a->layout == SPRY_CSR   ? a->rows + 1
           : a->layout == SPRY_CSC ? a->columns + 1
           : a->layout == SPRY_BSR ? a->rows / a->block_size + 1
                                   : 0;
}

void spryi_list_arrays(spryi_array list[SPRYI_ARRAYS], const spry_arrays *a)
{
    const int64_t indices = spryi_index_count(a) * (int64_t)spryi_index_type_bytes(a->index_type);
    list[SPRYI_VALUES] = (spryi_array){a->values, a->nnz * (int64_t)spry_type_bytes(a->value_type)};
    list[SPRYI_INDICES] = (spryi_array){a->indices, indices};
    list[SPRYI_ROW_INDICES] = (spryi_array){a->row_indices, a->layout == SPRY_COO ? indices : 0};
    list[SPRYI_OFFSETS] = (spryi_array){a->offsets, offset_count(a) * (int64_t)spryi_index_type_bytes(a->offset_type)};
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
    SPRYI_OK_OR_RETURN(spryi_check_range("arrays", "layout", a->layout, SPRY_CSR, SPRY_BSR,
                                         "SPRY_CSR, SPRY_COO, SPRY_CSC or SPRY_BSR", err));
    SPRYI_OK_OR_RETURN(spryi_check_value_type("arrays", a->value_type, SPRY_F32, err));
    int coo = a->layout == SPRY_COO;
    if (!coo) SPRYI_OK_OR_RETURN(spryi_check_index_type("arrays", "offset_type", a->offset_type, err));
    SPRYI_OK_OR_RETURN(spryi_check_index_type("arrays", "index_type", a->index_type, err));
    int pair = spryi_index_pair(coo ? SPRY_I64 : a->offset_type, a->index_type);
    if (pair < 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, coo ? "index_type" : "offset_type",
                          "arrays: offset and index types must be one of the pairs 32/32, 64/32 and 64/64 bits");
    SPRYI_OK_OR_RETURN(spryi_check_range("arrays", "index_base", a->index_base, 0, 1, "0 or 1", err));
    if (a->index_base != 0 && a->device > 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "index_base", "arrays in device memory must count from 0");
    SPRYI_OK_OR_RETURN(spryi_check_range("arrays", "ownership", a->ownership, SPRY_BORROW, SPRY_COPY,
                                         "SPRY_BORROW or SPRY_COPY", err));
    if (a->device < SPRY_CPU)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", a->device, 0,
                                "arrays: device is %d, expected 0 (host memory) or a GPU's number", a->device);
    const bool is_rows = a->layout == SPRY_CSR || a->layout == SPRY_BSR;
    if (a->device > 0 && (!is_rows || a->ownership != SPRY_BORROW))
        return spryi_fail(err, SPRY_UNSUPPORTED, is_rows ? "ownership" : "layout",
                          "arrays in device memory must be CSR or BSR, and borrowed");
    return SPRY_OK;
}

static spry_status check_claim(const char *name, spry_known claim, spry_error *err)
{
    return spryi_check_range("arrays", name, claim, SPRY_NOT_KNOWN, SPRY_KNOWN_YES,
                             "SPRY_NOT_KNOWN, SPRY_KNOWN_NO or SPRY_KNOWN_YES", err);
}

/* Checks the block size, and that the shape is a multiple of it. */
static spry_status check_blocks(const spry_arrays *a, spry_error *err)
{
    enum { MOST = 1 << 16 };
    const int64_t b = a->block_size;
    if (a->layout != SPRY_BSR)
        return spryi_check_range("arrays", "block_size", b, 0, 0, "0 unless the layout is SPRY_BSR", err);
    SPRYI_OK_OR_RETURN(spryi_check_range("arrays", "block_size", b, 1, MOST, "1 to 65536 for SPRY_BSR", err));
    const struct {
        const char *name;
        int64_t value, of;
    } sizes[] = {{"rows", a->rows, b}, {"columns", a->columns, b}, {"nnz", a->nnz, b * b}};
    for (int s = 0; s < 3; s++)
        if (sizes[s].value % sizes[s].of != 0)
            return spryi_fail_value(err, SPRY_INVALID_SIZE, sizes[s].name, sizes[s].value, sizes[s].of,
                                    "arrays: %s is %lld, expected a multiple of %lld for blocks of %lld x %lld",
                                    sizes[s].name, (long long)sizes[s].value, (long long)sizes[s].of, (long long)b,
                                    (long long)b);
    if (a->triangle != SPRY_ALL_ENTRIES)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "triangle", a->triangle, SPRY_ALL_ENTRIES,
                                "arrays: SPRY_BSR must store all entries, not one triangle");
    return SPRY_OK;
}

static spry_status check_sizes(const spry_arrays *a, spry_error *err)
{
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"rows", a->rows}, {"cols", a->columns}, {"nnz", a->nnz}};
    for (int s = 0; s < 3; s++)
        if (sizes[s].value < 0 || sizes[s].value > INT64_MAX / 64)
            return spryi_fail_value(err, SPRY_INVALID_SIZE, sizes[s].name, sizes[s].value, INT64_MAX / 64,
                                    "arrays: %s is %lld, expected 0 to %lld", sizes[s].name, (long long)sizes[s].value,
                                    (long long)(INT64_MAX / 64));
    if (a->nnz > 0 && (a->rows == 0 || a->columns == 0))
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "nnz", a->nnz, 0,
                                "arrays: nnz is %lld in a matrix of %lld rows and %lld columns, expected 0",
                                (long long)a->nnz, (long long)a->rows, (long long)a->columns);
    SPRYI_OK_OR_RETURN(check_blocks(a, err));
    spry_index_type offset_type = a->layout == SPRY_COO ? SPRY_I64 : a->offset_type, index_type = a->index_type;
    SPRYI_OK_OR_RETURN(
        spryi_pick_index_types(&offset_type, &index_type, a->rows, a->columns, spryi_index_count(a), err));
    SPRYI_OK_OR_RETURN(spryi_check_range("arrays", "symmetry", a->symmetry, SPRY_GENERAL, SPRY_SKEW_SYMMETRIC,
                                         "SPRY_GENERAL, SPRY_SYMMETRIC or SPRY_SKEW_SYMMETRIC", err));
    if (a->symmetry != SPRY_GENERAL && a->rows != a->columns)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "symmetry", a->rows, a->columns,
                                "arrays: claimed symmetric, but it has %lld rows and %lld columns", (long long)a->rows,
                                (long long)a->columns);
    return SPRY_OK;
}

/* Checks the triangle. The matrix is square if symmetry is claimed. */
static spry_status check_triangle(const spry_arrays *a, spry_error *err)
{
    if (a->triangle == SPRY_ALL_ENTRIES) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_check_range("arrays", "triangle", a->triangle, SPRY_LOWER_TRIANGLE, SPRY_UPPER_TRIANGLE,
                                         "SPRY_ALL_ENTRIES, SPRY_LOWER_TRIANGLE or SPRY_UPPER_TRIANGLE", err));
    if (a->symmetry == SPRY_GENERAL)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "symmetry", a->symmetry, SPRY_SKEW_SYMMETRIC,
                                "arrays: symmetry is SPRY_GENERAL, but one triangle needs SPRY_SYMMETRIC or "
                                "SPRY_SKEW_SYMMETRIC to define the other");
    if (a->device > 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", a->device, 0,
                                "arrays: device is %d, but one triangle must be in host memory", a->device);
    return SPRY_OK;
}

/*
 * Rejects offsets of the wrong width if the last offsets show the error. If 64-bit offsets are read as 32 bits, every
 * second value is an upper half, so a 0 follows a larger offset near the end. If 32-bit offsets are read as 64 bits,
 * two offsets form one value, which exceeds nnz. Reads only bytes that an array of 32-bit offsets has.
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
    const int64_t nnz = spryi_index_count(a);
    if (a->offset_type == SPRY_I64 && found > UINT32_MAX && found > nnz + a->index_base)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", found, nnz + a->index_base,
                                "offsets[%lld] is %lld, more than %s%s = %lld; the offsets seem to be of 32 bits, but "
                                "were given as 64",
                                (long long)pair, (long long)found, a->layout == SPRY_BSR ? "the blocks" : "nnz",
                                a->index_base ? " + 1" : "", (long long)(nnz + a->index_base));
    return SPRY_OK;
}

/* Checks alignment, since unaligned loads of int or double are undefined. */
static spry_status check_alignment(const char *name, const void *array, size_t item_bytes, spry_error *err)
{
    if (item_bytes == 0 || (uintptr_t)array % item_bytes == 0) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, (int64_t)((uintptr_t)array % item_bytes), 0,
                            "arrays: %s is not aligned to its type (%d bytes)", name, (int)item_bytes);
}

static spry_status check_pointers(const spry_arrays *a, spry_error *err)
{
    const size_t index_bytes = spryi_index_type_bytes(a->index_type);
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
        SPRYI_OK_OR_RETURN(check_alignment("offsets", a->offsets, spryi_index_type_bytes(a->offset_type), err));
    SPRYI_OK_OR_RETURN(check_alignment("indices", a->indices, index_bytes, err));
    SPRYI_OK_OR_RETURN(check_alignment("values", a->values, spry_type_bytes(a->value_type), err));
    if (a->layout == SPRY_COO || a->device > 0) return SPRY_OK; /* entries on a device cannot be read by the host */
    /* The width is checked first: with the wrong width, the last offset may be outside the caller's array. */
    SPRYI_OK_OR_RETURN(check_width(a, err));
    const int64_t first = spryi_offset_of(a, 0);
    if (first != a->index_base)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", first, a->index_base,
                                "offsets[0] is %lld, expected %d%s", (long long)first, a->index_base,
                                first == 1 ? "; arrays that count from 1 have index_base 1" : "");
    const int64_t last = spryi_offset_of(a, offset_count(a) - 1);
    const int64_t expected = spryi_index_count(a) + a->index_base;
    if (last != expected)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", last, expected,
                                "offsets[%lld] is %lld, expected %s%s = %lld", (long long)(offset_count(a) - 1),
                                (long long)last, a->layout == SPRY_BSR ? "the number of blocks" : "nnz",
                                a->index_base ? " + 1" : "", (long long)expected);
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

/* Copies offsets and indices. */
static spry_status copy_structure(spry_matrix *A, spry_error *err)
{
    size_t index_bytes = spryi_index_type_bytes(A->a.index_type);
    SPRYI_OK_OR_RETURN(
        copy_array(A, 0, &A->a.offsets, offset_count(&A->a), spryi_index_type_bytes(A->a.offset_type), "offsets", err));
    SPRYI_OK_OR_RETURN(copy_array(A, 1, &A->a.row_indices, A->a.nnz, index_bytes, "row indices", err));
    return copy_array(A, 2, &A->a.indices, spryi_index_count(&A->a), index_bytes, "indices", err);
}

/* Subtracts 1 from offsets and indices, which count from 1. The matrix owns the arrays. */
static void count_from_zero(spry_matrix *A)
{
    const struct {
        void *array;
        int64_t count;
        spry_index_type type;
    } parts[] = {{A->owned[0], offset_count(&A->a), A->a.offset_type},
                 {A->owned[1], A->a.nnz, A->a.index_type},
                 {A->owned[2], spryi_index_count(&A->a), A->a.index_type}};
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

/* Clears unused fields, so that later code cannot mistake them for arrays. */
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

static spry_status borrow_csr(spry_context *context, spry_matrix **A, int64_t rows, int64_t columns,
                              const int32_t *offsets, const int32_t *indices, const void *values, spry_type type,
                              spry_error *err)
{
    if (rows < 0 || rows > INT32_MAX)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "rows", rows, INT32_MAX, "rows is %lld, expected 0 to %d",
                                (long long)rows, INT32_MAX);
    if (!offsets) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "offsets", "offsets is NULL");
    if (offsets[rows] < 0)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", offsets[rows], 0,
                                "offsets[%lld] is %d, expected the number of entries", (long long)rows, offsets[rows]);
    spry_arrays a = spryi_types_of(rows, columns, offsets[rows], (int32_t)type, SPRY_I32, SPRY_I32);
    a.offsets = offsets;
    a.indices = indices;
    a.values = values;
    return spry_matrix_create(context, A, &a, err);
}

spry_status spry_matrix_borrow_csr_f64(spry_context *context, spry_matrix **A, int64_t rows, int64_t columns,
                                       const int32_t *offsets, const int32_t *indices, const double *values,
                                       spry_error *err)
{
    return borrow_csr(context, A, rows, columns, offsets, indices, values, SPRY_F64, err);
}

spry_status spry_matrix_borrow_csr_f32(spry_context *context, spry_matrix **A, int64_t rows, int64_t columns,
                                       const int32_t *offsets, const int32_t *indices, const float *values,
                                       spry_error *err)
{
    return borrow_csr(context, A, rows, columns, offsets, indices, values, SPRY_F32, err);
}

/* Creates a matrix that shares A's arrays, except those that *a changes, and keeps their owner alive. */
static spry_status view(spry_matrix **made, const spry_matrix *A, const spry_arrays *a, spryi_field field,
                        spry_error *err)
{
    if (A->stored) return spryi_fail(err, SPRY_INTERNAL, "A", "view: the matrix is a container's, without arrays");
    SPRYI_OK_OR_RETURN(new_matrix(A->context, made, a, field, err));
    /* a view of a view without own arrays retains the viewed matrix, so that views form no chain */
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

spry_status spryi_matrix_with_own_values(spry_matrix **made, const spry_matrix *A, const spry_arrays *a,
                                         spry_error *err)
{
    SPRYI_OK_OR_RETURN(view(made, A, a, A->field, err));
    (*made)->owned[3] = (void *)(uintptr_t)a->values;
    return SPRY_OK;
}

spry_status spryi_matrix_without_values(spry_matrix **pattern, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = A->a;
    a.value_type = SPRY_PATTERN;
    a.values = NULL;
    return view(pattern, A, &a, SPRYI_FIELD_PATTERN, err);
}

spry_arrays spryi_transposed_view(const spry_arrays *a)
{
    spry_arrays t = *a;
    t.rows = a->columns;
    t.columns = a->rows;
    t.ownership = SPRY_BORROW;
    if (a->triangle != SPRY_ALL_ENTRIES)
        t.triangle = a->triangle == SPRY_LOWER_TRIANGLE ? SPRY_UPPER_TRIANGLE : SPRY_LOWER_TRIANGLE;
    if (a->layout == SPRY_COO) {
        t.row_indices = a->indices;
        t.indices = a->row_indices;
        t.sorted = SPRY_NOT_KNOWN;
    } else {
        t.layout = a->layout == SPRY_CSR ? SPRY_CSC : SPRY_CSR;
    }
    return t;
}

static spry_status flip(spry_matrix **flipped, const spry_matrix *A, spry_error *err)
{
    const spry_arrays a = spryi_transposed_view(&A->a);
    if (spryi_is_compact(&a)) return spryi_fail(err, SPRY_INTERNAL, "A", "flip: the matrix is one triangle or blocks");
    return view(flipped, A, &a, A->field, err);
}

spry_status spryi_transposed(spry_context *context, spry_matrix **T, const spry_matrix *A, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *entries = NULL, *csr = NULL, *csc = NULL;
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    if (entries->a.layout == SPRY_CSC) {
        status = flip(T, entries, err);
    } else {
        SPRYI_TRY(spryi_matrix_as_csr(context, &csr, entries, A->a.value_type, err));
        SPRYI_TRY(spryi_csc_from_csr(context, &csc, csr, err));
        status = flip(T, csc, err);
    }
done:
    spryi_matrix_release(entries);
    spryi_matrix_release(csr);
    spryi_matrix_release(csc);
    return status;
}

static void release_stored(spry_context *context, spryi_stored *stored)
{
    if (!stored) return;
    spryi_matrix_release(stored->csr);
    pthread_mutex_destroy(&stored->making);
    spryi_release(context, stored->storage); /* its arrays are in the matrix's mapping or block */
    spryi_release(context, stored);
}

/* Releases a block of memory of the device with this index; 0: the host. block may be NULL. */
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
    const void *source = *array;
    void *copy = NULL;
    spry_status status = spryi_allocate(d->context, &copy, count, size, "host copy of the matrix", err);
    *array = copy;
    if (status != SPRY_OK || count == 0) return status;
    return d->ops->copy(d, copy, source, count * (int64_t)size, SPRYI_FROM_DEVICE, NULL, err);
}

spry_status spryi_fetch_structure(const spryi_device *d, spry_arrays *a, spry_error *err)
{
    spry_arrays host = *a;
    spry_status status =
        spryi_fetch_array(d, &host.offsets, offset_count(a), spryi_index_type_bytes(a->offset_type), err);
    if (status == SPRY_OK)
        status = spryi_fetch_array(d, &host.indices, spryi_index_count(a), spryi_index_type_bytes(a->index_type), err);
    else
        host.indices = NULL;
    if (status == SPRY_OK) status = d->ops->synchronize(d, NULL, err);
    if (status == SPRY_OK) {
        a->offsets = host.offsets;
        a->indices = host.indices;
    } else {
        spryi_release(d->context, (void *)(uintptr_t)host.offsets);
        spryi_release(d->context, (void *)(uintptr_t)host.indices);
    }
    return status;
}

spry_status spryi_matrix_fetch(const spryi_device *d, spry_matrix **host, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = A->a;
    const size_t size = spry_type_bytes(a.value_type);
    const bool has_values = a.value_type != SPRY_PATTERN;
    spry_status status = has_values ? spryi_fetch_array(d, &a.values, a.nnz, size, err) : SPRY_OK;
    if (status == SPRY_OK) status = spryi_fetch_structure(d, &a, err); /* also waits for the values */
    if (status != SPRY_OK) {
        if (has_values) spryi_release(d->context, (void *)(uintptr_t)a.values);
        return status;
    }
    a.device = 0;
    status = spryi_matrix_adopt(d->context, host, &a, A->field, err); /* owns the arrays, also on failure */
    if (status == SPRY_OK) {
        (*host)->index_base = A->index_base;
        (*host)->symmetry_holds = A->symmetry_holds;
    }
    return status;
}

/* Copies `bytes` bytes of host memory to a new block of device memory. */
static spry_status copy_block(const spryi_device *d, void **copy, const void **array, int64_t bytes, const char *what,
                              spry_error *err)
{
    SPRYI_OK_OR_RETURN(d->ops->allocate(d, copy, bytes, what, err));
    if (bytes > 0) SPRYI_OK_OR_RETURN(d->ops->copy(d, *copy, *array, bytes, SPRYI_TO_DEVICE, NULL, err));
    *array = *copy;
    return SPRY_OK;
}

spry_status spryi_copy_csr(const spryi_device *d, spry_arrays *a, void *copies[3], spry_error *err)
{
    const int64_t offset = (int64_t)spryi_index_type_bytes(a->offset_type);
    const int64_t index = (int64_t)spryi_index_type_bytes(a->index_type);
    const int64_t value = (int64_t)spry_type_bytes(a->value_type);
    SPRYI_OK_OR_RETURN(copy_block(d, &copies[0], &a->offsets, (a->rows + 1) * offset, "offsets", err));
    SPRYI_OK_OR_RETURN(copy_block(d, &copies[1], &a->indices, a->nnz * index, "columns", err));
    if (value > 0) SPRYI_OK_OR_RETURN(copy_block(d, &copies[2], &a->values, a->nnz * value, "values", err));
    return d->ops->synchronize(d, NULL, err);
}

spry_status spryi_copy_to_device(const spryi_device *d, spry_matrix **copy, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = A->a;
    void *copies[3] = {NULL, NULL, NULL};
    const spry_status status = spryi_copy_csr(d, &a, copies, err);
    a.device = d->number;
    if (status != SPRY_OK) {
        for (int n = 0; n < 3; n++) d->ops->release(d, copies[n]);
        return status;
    }
    SPRYI_OK_OR_RETURN(spryi_matrix_adopt(d->context, copy, &a, A->field, err)); /* owns the arrays, also on failure */
    (*copy)->index_base = A->index_base;
    (*copy)->symmetry_holds = A->symmetry_holds;
    return SPRY_OK;
}

spry_matrix *spryi_matrix_retain(const spry_matrix *A)
{
    spry_matrix *counted = (spry_matrix *)(uintptr_t)A; /* only the reference count of A changes */
    atomic_fetch_add(&counted->references, 1);
    return counted;
}

/* ---- plans of a matrix --------------------------------------------------------------------------------- */

/* Protects the lists of all matrices. A plan and its matrix may be destroyed by different threads. */
static pthread_mutex_t dependents_lock = PTHREAD_MUTEX_INITIALIZER;

static void unlink_dependent(spryi_dependent *plan)
{
    if (!plan->link) return;
    *plan->link = plan->next;
    if (plan->next) plan->next->link = plan->link;
    plan->link = NULL;
    plan->matrix = NULL;
}

void spryi_add_dependent(const spry_matrix *A, spryi_dependent *plan)
{
    spry_matrix *listed = (spry_matrix *)(uintptr_t)A; /* only the list of plans in A changes */
    pthread_mutex_lock(&dependents_lock);
    plan->matrix = A;
    plan->change = A->changes;
    plan->next = listed->dependents;
    plan->link = &listed->dependents;
    if (plan->next) plan->next->link = &plan->next;
    listed->dependents = plan;
    pthread_mutex_unlock(&dependents_lock);
}

void spryi_remove_dependent(spryi_dependent *plan)
{
    pthread_mutex_lock(&dependents_lock);
    unlink_dependent(plan);
    pthread_mutex_unlock(&dependents_lock);
}

void spryi_note_update(spryi_dependent *plan)
{
    pthread_mutex_lock(&dependents_lock);
    if (plan->matrix) plan->change = plan->matrix->changes;
    pthread_mutex_unlock(&dependents_lock);
}

static void remove_dependents(spry_matrix *A)
{
    pthread_mutex_lock(&dependents_lock);
    while (A->dependents) unlink_dependent(A->dependents);
    pthread_mutex_unlock(&dependents_lock);
}

/* Returns a plan that has not been updated to the present values, or NULL. */
static spryi_dependent *find_outdated(const spry_matrix *A)
{
    pthread_mutex_lock(&dependents_lock);
    spryi_dependent *plan = A->dependents;
    while (plan && plan->change == A->changes) plan = plan->next;
    pthread_mutex_unlock(&dependents_lock);
    return plan;
}

/* Updates all plans. An update may create and destroy other plans, so the search restarts after each. */
spry_status spry_matrix_values_changed(spry_matrix *A, const spry_update_options *options, spry_error *err)
{
    if (!A) return spryi_fail_missing(err, "A");
    spry_update_options o;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    if (o.values)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "values",
                          "update: values must be NULL for all plans of a matrix: change the array of A in place");
    A->changes++;
    for (spryi_dependent *plan = find_outdated(A); plan; plan = find_outdated(A)) {
        spryi_note_update(plan);
        SPRYI_OK_OR_RETURN(plan->update(plan, &o, err));
    }
    return SPRY_OK;
}

void spryi_matrix_release(spry_matrix *A)
{
    if (!A || atomic_fetch_sub(&A->references, 1) > 1) return;
    remove_dependents(A);
    for (int b = 0; b < 4; b++) release_block(A->context, A->a.device, A->owned[b]);
    spryi_matrix_release(A->structure_of);
    release_stored(A->context, A->stored);
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

int64_t spry_matrix_columns(const spry_matrix *A)
{
    return A ? A->a.columns : 0;
}

int64_t spry_matrix_nnz(const spry_matrix *A)
{
    return A ? A->a.nnz : 0;
}

spry_status spry_matrix_get_arrays(const spry_matrix *A, spry_arrays *arrays, spry_error *err)
{
    if (!A || !arrays) return spryi_fail_missing(err, !A ? "A" : "arrays");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(arrays, err));
    spry_matrix *shown; /* CSR of a stored format; a triangle is returned as the caller gave it */
    SPRYI_OK_OR_RETURN(A->stored ? spryi_matrix_entries(A, &shown, err) : SPRY_OK);
    spry_arrays given = A->stored ? shown->a : A->a;
    if (A->stored) given.ownership = SPRY_BORROW; /* the values are a file's, although the library has built CSR */
    if (A->stored) spryi_matrix_release(shown);   /* A keeps the CSR alive */
    SPRYI_GIVE(arrays, &given);
    return SPRY_OK;
}

/* ---- writable values --------------------------------------------------------------------------------------- */

spry_status spry_matrix_get_values(spry_matrix *A, void **values, spry_error *err)
{
    if (!A || !values) return spryi_fail_missing(err, !A ? "A" : "values");
    if (!A->owned[3])
        return spryi_fail(err, SPRY_UNSUPPORTED, "A", "the matrix has no values of its own to be written: it %s",
                          A->a.value_type == SPRY_PATTERN ? "is a pattern"
                          : A->mapping || A->stored       ? "is mapped from a file"
                                                          : "borrows the caller's");
    if (A->a.triangle == SPRY_ALL_ENTRIES) A->a.symmetry = SPRY_GENERAL; /* the caller may write other values */
    *values = A->owned[3];
    return SPRY_OK;
}

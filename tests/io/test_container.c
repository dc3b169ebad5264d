/*
 * Tests of containers. Written matrices must be read bitwise equal, and a file with any fault must be refused with a
 * reason.
 */
#include "catalogue/catalogue.h"
#include "core/kernel.h"
#include "files.h"
#include "io/container.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/tune.h"

#include <unistd.h>

/* ---- matrices ---------------------------------------------------------------------------------- */

/*
 * Entries of a 5 x 7 matrix with an empty row and an empty column. The entries are sorted and unique, or row 0 is in
 * reverse order with one entry repeated.
 */
enum { ROWS = 5, COLS = 7, ENTRIES = 8 };
static const int64_t entry_rows[ENTRIES] = {0, 0, 0, 1, 3, 3, 4, 4};
static const int64_t sorted_cols[ENTRIES] = {0, 2, 6, 1, 0, 4, 2, 5}, unsorted_cols[ENTRIES] = {6, 2, 2, 1, 0, 4, 2, 5};

typedef struct sample {
    spry_arrays a;
    int64_t offsets[COLS + 1], rows[ENTRIES], indices[ENTRIES];
    double values[ENTRIES];
} sample;

static void put(void *array, spry_index_type type, int64_t k, int64_t value)
{
    if (type == SPRY_I32)
        ((int32_t *)array)[k] = (int32_t)value;
    else
        ((int64_t *)array)[k] = value;
}

/* For CSC the arrays are those of the transposed matrix. pair: as in spryi_index_pair. */
static void make_sample(sample *s, spry_layout layout, spry_type value_type, int pair, int sorted)
{
    memset(s, 0, sizeof *s);
    s->a = SPRY_INIT(spry_arrays);
    s->a.layout = layout;
    s->a.rows = layout == SPRY_CSC ? COLS : ROWS;
    s->a.columns = layout == SPRY_CSC ? ROWS : COLS;
    s->a.nnz = ENTRIES;
    s->a.offset_type = layout == SPRY_COO ? SPRY_INDEX_DEFAULT : pair == 0 ? SPRY_I32 : SPRY_I64;
    s->a.index_type = pair == 2 ? SPRY_I64 : SPRY_I32;
    s->a.value_type = value_type;
    s->a.sorted = sorted ? SPRY_KNOWN_YES : SPRY_NOT_KNOWN;
    s->a.unique = sorted ? SPRY_KNOWN_YES : SPRY_KNOWN_NO;
    for (int64_t i = 0; i <= ROWS; i++) {
        int64_t k = 0;
        while (k < ENTRIES && entry_rows[k] < i) k++;
        if (layout != SPRY_COO) put(s->offsets, s->a.offset_type, i, k);
    }
    for (int k = 0; k < ENTRIES; k++) {
        put(s->rows, s->a.index_type, k, entry_rows[k]);
        put(s->indices, s->a.index_type, k, sorted ? sorted_cols[k] : unsorted_cols[k]);
        if (value_type == SPRY_F64) s->values[k] = 0.1 * (k + 1);
        if (value_type == SPRY_F32) ((float *)s->values)[k] = 0.1f * (float)(k + 1);
    }
    s->a.offsets = layout == SPRY_COO ? NULL : s->offsets;
    s->a.row_indices = layout == SPRY_COO ? s->rows : NULL;
    s->a.indices = s->indices;
    s->a.values = value_type == SPRY_PATTERN ? NULL : s->values;
}

static void assert_same_arrays(const spry_arrays *a, const spry_arrays *b)
{
    size_t offset = spryi_index_type_bytes(a->offset_type), index = spryi_index_type_bytes(a->index_type);
    int64_t majors = a->layout == SPRY_CSC ? a->columns : a->rows;
    assert_int_equal(a->layout, b->layout);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    assert_int_equal(a->nnz, b->nnz);
    assert_int_equal(a->offset_type, b->offset_type);
    assert_int_equal(a->index_type, b->index_type);
    assert_int_equal(a->value_type, b->value_type);
    assert_int_equal(a->sorted, b->sorted);
    assert_int_equal(a->unique, b->unique);
    assert_int_equal(a->symmetry, b->symmetry);
    if (a->layout != SPRY_COO) assert_memory_equal(a->offsets, b->offsets, (size_t)(majors + 1) * offset);
    if (a->nnz == 0) return;
    if (a->layout == SPRY_COO) assert_memory_equal(a->row_indices, b->row_indices, (size_t)a->nnz * index);
    assert_memory_equal(a->indices, b->indices, (size_t)a->nnz * index);
    if (a->value_type == SPRY_PATTERN)
        assert_null(b->values);
    else
        assert_memory_equal(a->values, b->values, (size_t)a->nnz * spry_type_bytes(a->value_type));
}

static void write_to(const spry_matrix *A, const char *path, const char *format)
{
    spry_write_options options = SPRY_INIT(spry_write_options);
    options.format = format;
    MUST(spry_matrix_write(A, path, &options, err));
}

static spry_matrix *read_from(spry_context *context, const char *path, const spry_read_options *options)
{
    return read_matrix(context, path, options);
}

/* ---- round trips ----------------------------------------------------------------------------------- */

static void round_trip(spry_context *context, const spry_arrays *a)
{
    const char *path = temporary_path("trip.spry");
    spry_matrix *B = NULL;
    spry_matrix *A = create_matrix(context, a);
    int64_t before = context_bytes(context);
    write_to(A, path, NULL);
    assert_int_equal(before, context_bytes(context));
    B = read_from(context, path, NULL);
    spry_arrays b = arrays_of(B);
    assert_same_arrays(a, &b);
    assert_int_equal(SPRY_BORROW, b.ownership);                            /* the arrays are memory-mapped */
    assert_int_equal(0, (uintptr_t)b.indices % SPRYI_CONTAINER_ALIGNMENT); /* sections are aligned */
    assert_int_equal(SPRY_OK, spry_matrix_check(B, NULL, SPRY_CHECK_ALL, NULL));
    spry_matrix_destroy(B);
    size_t bytes;
    char *data = content_of(path, &bytes);
    assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &B, data, bytes, "x", NULL, NULL));
    memset(data, 0, bytes);
    free(data);
    b = arrays_of(B);
    assert_same_arrays(a, &b);
    spry_matrix_destroy(B);
    spry_matrix_destroy(A);
}

static void test_round_trip(void **state)
{
    spry_context *context = context_of(2);
    sample s;
    for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++)
        for (int type = SPRY_F32; type <= SPRY_PATTERN; type++)
            for (int pair = 0; pair < 3; pair++)
                for (int sorted = 0; sorted < 2; sorted++) {
                    make_sample(&s, (spry_layout)layout, (spry_type)type, pair, sorted);
                    round_trip(context, &s.a);
                    s.a.nnz = 0; /* the second file has no entries, the third also no rows */
                    memset(s.offsets, 0, sizeof s.offsets);
                    round_trip(context, &s.a);
                    s.a.rows = s.a.columns = 0;
                    s.a.symmetry = SPRY_SYMMETRIC;
                    round_trip(context, &s.a);
                }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Tests a large matrix: multiple chunks per section, multiple threads, and the information about the original file. */
static void test_large(void **state)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        spry_context *context = context_of(threads);
        spry_matrix *A = generate_matrix(context, "rmat16");
        write_to(A, temporary_path("large.spry"), NULL);
        spry_matrix *B = read_from(context, temporary_path("large.spry"), NULL);
        assert_same_matrix(A, B);
        assert_int_equal(SPRY_KNOWN_YES, arrays_of(B).sorted);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        spry_context_destroy(context);
    }
}

static void test_field(void **state)
{
    static const char text[] = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 4\n2 1 -7\n3 3 2\n";
    spry_context *context = context_of(1);
    spry_matrix *A = read_from(context, temporary_file("field.mtx", text, strlen(text)), NULL);
    write_to(A, temporary_path("field.spry"), NULL);
    spry_matrix_destroy(A);
    A = read_from(context, temporary_path("field.spry"), NULL);
    assert_int_equal(SPRY_SYMMETRIC, arrays_of(A).symmetry);
    write_to(A, temporary_path("again.mtx"), NULL);
    char *again = content_of(temporary_path("again.mtx"), NULL);
    assert_string_equal(text, again);
    free(again);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Asserts that a container in any format returns the same CSR. A file with one changed byte in the stored arrays must
 * be refused.
 */
static void test_formats(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "grid5,x=40,y=30");
    spry_matrix_options to_csr = SPRY_INIT(spry_matrix_options);
    const char *path = temporary_path("format.spry");
    for (int f = 0; f <= format_count(); f++) {
        const char *name = f < format_count() ? spryi_format_at(f)->name : "csc";
        if (f < format_count() && !spryi_container_stores(spryi_format_at(f))) continue;
        write_to(A, path, name);
        size_t bytes;
        char *data = content_of(path, &bytes);
        const spryi_container_head *head = (const void *)data;
        int own = f == format_count() || !spryi_format_at(f)->layout.sections;
        if (!own) assert_string_equal(name, head->layout);
        spry_matrix *B = read_from(context, path, NULL);
        spry_matrix *C = convert_matrix(context, B, &to_csr);
        assert_same_matrix(A, C);
        if (!own) {
            spry_arrays b = arrays_of(B), a = arrays_of(A);
            assert_same_arrays(&a, &b);
        }
        spry_matrix_destroy(B);
        spry_matrix_destroy(C);
        for (uint32_t s = 0; s < head->section_count; s++) {
            if (head->sections[s].count == 0) continue;
            data[head->sections[s].offset] ^= 1;
            assert_int_equal(SPRY_BAD_FILE, spry_matrix_read_memory(context, &B, data, bytes, "x", NULL, NULL));
            data[head->sections[s].offset] ^= 1;
        }
        free(data);
    }
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

static void test_types(void **state)
{
    spry_context *context = context_of(1);
    sample s;
    make_sample(&s, SPRY_CSR, SPRY_F64, 0, 1);
    spry_matrix *B = NULL;
    spry_matrix *A = create_matrix(context, &s.a);
    const char *path = temporary_path("types.spry");
    write_to(A, path, NULL);
    static const struct {
        spry_type value_type, value_result;
        spry_index_type offset_type, index_type, offset_result, index_result;
    } cases[] = {
        {SPRY_F32, SPRY_F32, 0, 0, SPRY_I32, SPRY_I32},
        {SPRY_PATTERN, SPRY_PATTERN, 0, 0, SPRY_I32, SPRY_I32},
        {SPRY_TYPE_DEFAULT, SPRY_F64, SPRY_I64, 0, SPRY_I64, SPRY_I32},
        {SPRY_TYPE_DEFAULT, SPRY_F64, 0, SPRY_I64, SPRY_I64, SPRY_I64},
        {SPRY_F64, SPRY_F64, SPRY_I32, SPRY_I32, SPRY_I32, SPRY_I32},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_read_options options = SPRY_INIT(spry_read_options);
        options.value_type = cases[c].value_type;
        options.offset_type = cases[c].offset_type;
        options.index_type = cases[c].index_type;
        B = read_from(context, path, &options);
        spry_arrays b = arrays_of(B);
        assert_int_equal(cases[c].value_result, b.value_type);
        assert_int_equal(cases[c].offset_result, b.offset_type);
        assert_int_equal(cases[c].index_result, b.index_type);
        for (int k = 0; k < ENTRIES; k++) assert_int_equal(sorted_cols[k], spryi_index_at(b.indices, b.index_type, k));
        if (b.value_type == SPRY_F32)
            for (int k = 0; k < ENTRIES; k++) assert_true(((const float *)b.values)[k] == (float)s.values[k]);
        spry_matrix_destroy(B);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Asserts that a plan can still use the memory-mapped arrays after the matrix is destroyed and the file is removed. */
static void test_plan(void **state)
{
    spry_context *context = context_of(1);
    sample s;
    make_sample(&s, SPRY_CSR, SPRY_F64, 0, 1);
    spry_spmv_plan *plan = NULL;
    double x[COLS] = {1, 1, 1, 1, 1, 1, 1}, y[ROWS];
    spry_matrix *A = create_matrix(context, &s.a);
    const char *path = temporary_path("plan.spry");
    write_to(A, path, NULL);
    spry_matrix_destroy(A);
    A = read_from(context, path, NULL);
    plan = create_plan(context, A, NULL);
    spry_matrix_destroy(A);
    assert_int_equal(0, unlink(path));
    spry_vector xv = spry_vector_f64(x, COLS), yv = spry_vector_f64(y, ROWS);
    assert_int_equal(SPRY_OK, spry_spmv_plan_run(plan, yv, NULL, spry_vector_as_const(xv), NULL, NULL, NULL));
    assert_true(y[1] == s.values[3] && y[2] == 0 && y[3] == s.values[4] + s.values[5]);
    spry_spmv_plan_destroy(plan);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

static void test_options(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "grid5,x=4,y=4");
    spry_write_options options = SPRY_INIT(spry_write_options);
    spry_error err = {0};
    int files = count_files();
    options.comment = "x";
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_write(A, temporary_path("o.spry"), &options, &err));
    assert_non_null(strstr(err.message, "write: comment is an option of Matrix Market files, which "));
    options.comment = NULL;
    options.format = "nothing";
    assert_int_equal(SPRY_UNKNOWN_NAME, spry_matrix_write(A, temporary_path("o.spry"), &options, &err));
    static const char *const not_stored[] = {"csr2", "csr3:srs=4", "csr4", "swept"};
    for (size_t f = 0; f < sizeof not_stored / sizeof *not_stored; f++) {
        options.format = not_stored[f];
        assert_int_equal(SPRY_UNSUPPORTED, spry_matrix_write(A, temporary_path("o.spry"), &options, &err));
        assert_non_null(strstr(err.message, "expected one of csr"));
        assert_non_null(strstr(err.message, "windowed"));
    }
    options.format = "csr";
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_write(A, temporary_path("o.mtx"), &options, &err));
    assert_non_null(strstr(err.message, "write: format is an option of containers, whose names end in .spry, which "));
    assert_int_equal(files, count_files());
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* ---- faults ------------------------------------------------------------------------------------ */

typedef struct content {
    unsigned char *data;
    size_t bytes;
} content;

static content container_of(spry_context *context, spry_layout layout, int sorted)
{
    sample s;
    content c;
    make_sample(&s, layout, SPRY_F64, 0, sorted);
    spry_matrix *A = create_matrix(context, &s.a);
    write_to(A, temporary_path("fault.spry"), NULL);
    spry_matrix_destroy(A);
    c.data = (unsigned char *)content_of(temporary_path("fault.spry"), &c.bytes);
    return c;
}

/* Flips bits in every byte: head, table, padding, sections, gaps. */
static void test_flipped_bytes(void **state)
{
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    spry_context *context = context_of(1);
    for (int layout = SPRY_CSR; layout <= SPRY_COO; layout++) {
        content c = container_of(context, (spry_layout)layout, 1);
        assert_int_equal(4096 * 3 + 8 * ENTRIES, c.bytes);
        for (size_t b = 0; b < c.bytes; b++)
            for (int f = 0; f < 3; f++) {
                spry_matrix *A = NULL;
                spry_error err = {0};
                c.data[b] ^= flips[f];
                spry_status status = spry_matrix_read_memory(context, &A, c.data, c.bytes, "x", NULL, &err);
                c.data[b] ^= flips[f];
                if (status != SPRY_BAD_FILE) fail_msg("byte %zu flipped by %d: status %d", b, flips[f], status);
                assert_null(A);
                assert_string_equal("x", err.file);
                assert_true(strlen(err.message) > 20);
            }
        free(c.data);
    }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

static void test_lengths(void **state)
{
    spry_context *context = context_of(1);
    content c = container_of(context, SPRY_CSR, 1);
    unsigned char *longer = calloc(1, c.bytes + 5000);
    assert_non_null(longer);
    memcpy(longer, c.data, c.bytes);
    for (size_t bytes = 0; bytes <= c.bytes + 5000; bytes += bytes < c.bytes + 3 ? 1 : 1000) {
        spry_matrix *A = NULL;
        spry_error err = {0};
        spry_status status = spry_matrix_read_memory(context, &A, longer, bytes, "x", NULL, &err);
        assert_int_equal(bytes == c.bytes ? SPRY_OK : SPRY_BAD_FILE, status);
        if (bytes > 0 && bytes < c.bytes) assert_non_null(strstr(err.message, "is cut short: "));
        if (bytes > c.bytes) assert_non_null(strstr(err.message, "has bytes behind its end: "));
        spry_matrix_destroy(A);
    }
    /* Truncated files on disk are refused as well. */
    static const size_t lengths[] = {1, 8, 4095, 4096, 4097, 8192, 12288, 12350};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        spry_matrix *A = NULL;
        const char *path = temporary_file("short.spry", c.data, lengths[l]);
        assert_int_equal(SPRY_BAD_FILE, spry_matrix_read(context, &A, path, NULL, NULL));
    }
    free(longer);
    free(c.data);
    spry_context_destroy(context);
}

/*
 * A fault with correct checksums. The field of `bytes` bytes at `offset` gets the value `value`. where: 0 if `offset`
 * counts from the head, 1 to 3 if it counts from the content of that section.
 */
typedef struct forgery {
    spry_layout layout;
    int where, offset, bytes;
    int64_t value;
    const char *message;
} forgery;

#define HEAD(field) 0, offsetof(spryi_container_head, field), sizeof(((spryi_container_head *)0)->field)
#define TABLE(s, field)                                                                                                \
    0, offsetof(spryi_container_head, sections) + 64 * (s) + offsetof(spryi_container_section, field), 8
#define ODD "x: head is invalid: "

static const forgery forgeries[] = {
    {SPRY_CSR, HEAD(version), 5, "x: made by a newer version: container version 5, this library reads up to 4"},
    {SPRY_CSR, HEAD(version), 0, ODD "version or size of the head"},
    {SPRY_CSR, HEAD(head_bytes), 8192, ODD "version or size of the head"},
    {SPRY_CSR, HEAD(chunk_bytes), 4096, ODD "size of the chunks"},
    {SPRY_CSR, HEAD(layout[1]), 0, ODD "layout"},
    {SPRY_CSR, HEAD(layout[15]), 'x', ODD "layout"},
    {SPRY_CSR, HEAD(layout[2]), 'x', "x: holds format csx, which this library does not know"},
    {SPRY_CSR, HEAD(parameters[1]), 'x', ODD "parameters"},
    {SPRY_CSR, HEAD(rows), -1, ODD "number of rows, columns or entries"},
    {SPRY_CSR, HEAD(rows), INT64_MAX, ODD "number of rows, columns or entries"},
    {SPRY_CSR, HEAD(rows), 6, "x: section 1 is 6 x 4 bytes of offsets, expected 7 x 4 bytes of offsets"},
    {SPRY_CSR, HEAD(cols), 6, "x: section indices: an index lies outside the 5 x 6 matrix"},
    {SPRY_CSR, HEAD(cols), INT64_MAX / 64, ODD "type of the indices"},
    {SPRY_CSR, HEAD(nnz), 7, "x: section 2 is 8 x 4 bytes of indices, expected 7 x 4 bytes of indices"},
    {SPRY_CSR, HEAD(kind.value_type), 0, ODD "type of the values"},
    {SPRY_CSR, HEAD(kind.value_type), 6, ODD "type of the values"},
    {SPRY_CSR, HEAD(kind.value_type), 64, ODD "type of the values"}, /* SPRYI_TABLE8 */
    {SPRY_CSR, HEAD(kind.value_type), SPRY_PATTERN, "x: has 3 sections, expected 2"},
    {SPRY_CSR, HEAD(kind.value_type), SPRY_F32,
     "x: section 3 is 8 x 8 bytes of values, expected 8 x 4 bytes of values"},
    {SPRY_CSR, HEAD(kind.index_type), SPRY_I64, ODD "type of the indices"},
    {SPRY_CSR, HEAD(kind.index_type), 3, ODD "type of the indices"},
    {SPRY_CSR, HEAD(kind.offset_type), 0, ODD "type of the offsets"},
    {SPRY_COO, HEAD(kind.offset_type), SPRY_I64, ODD "type of the offsets"},
    {SPRY_CSR, HEAD(kind.sorted), 3, ODD "order of the entries"},
    {SPRY_CSR, HEAD(kind.unique), 3, ODD "order of the entries"},
    {SPRY_CSR, HEAD(kind.symmetry), 1, ODD "symmetry"},
    {SPRY_CSR, HEAD(kind.field), 3, ODD "field"},
    {SPRY_CSR, HEAD(kind.counts_from_0), 2, ODD "base of the matrix"},
    {SPRY_CSR, HEAD(reserved[4]), 1, ODD "reserved bytes"},
    {SPRY_CSR, HEAD(section_count), 17, ODD "number of sections"},
    {SPRY_CSR, HEAD(section_count), 0xffffffff, ODD "number of sections"},
    {SPRY_CSR, HEAD(section_count), 2, ODD "sections end at byte 8224, the file at 12352"},
    {SPRY_CSR, HEAD(section_count), 4, ODD "the place or size of section 4"},
    {SPRY_CSR, HEAD(file_bytes), 12353, "x: is cut short: 12352 bytes, expected 12353"},
    {SPRY_CSR, HEAD(file_bytes), 12351, "x: has bytes behind its end: 12352 bytes, expected 12351"},
    {SPRY_CSR, TABLE(0, offset), 0, ODD "the place or size of section 1"},
    {SPRY_CSR, TABLE(1, offset), 4096, ODD "the place or size of section 2"},
    {SPRY_CSR, TABLE(2, offset), 16384, ODD "the place or size of section 3"},
    {SPRY_CSR, TABLE(2, count), INT64_MAX, ODD "the place or size of section 3"},
    {SPRY_CSR, TABLE(2, count), 9, ODD "the place or size of section 3"},
    {SPRY_CSR, TABLE(2, count), 7, ODD "sections end at byte 12344, the file at 12352"},
    {SPRY_CSR, TABLE(0, item_bytes), 0, ODD "the place or size of section 1"},
    {SPRY_CSR, TABLE(0, item_bytes), -1, ODD "the place or size of section 1"},
    {SPRY_CSR, TABLE(0, name[0]), 0x66, "x: section 1 is 6 x 4 bytes of f, expected 6 x 4 bytes of offsets"},
    {SPRY_CSR, TABLE(0, reserved[1]), 1, ODD "the place or size of section 1"},
    {SPRY_CSR, TABLE(5, reserved[1]), 1, ODD "sections end at byte 12352, the file at 12352"},
    {SPRY_CSR, 1, 0, 4, 1, "x: section offsets: offsets fall, expected them to rise from 0 to 8"},
    {SPRY_CSR, 1, 4, 4, 5, "x: section offsets: offsets fall, expected them to rise from 0 to 8"},
    {SPRY_CSR, 1, 4, 4, -5, "x: section offsets: offsets fall, expected them to rise from 0 to 8"},
    {SPRY_CSR, 1, 20, 4, 9, "x: section offsets ends with 9, expected 8"},
    {SPRY_CSR, 2, 0, 4, -1, "x: section indices: an index lies outside the 5 x 7 matrix"},
    {SPRY_CSR, 2, 28, 4, 7, "x: section indices: an index lies outside the 5 x 7 matrix"},
    {SPRY_CSR, 2, 4, 4, 0, "x: section indices: entries are not sorted and unique, which the head claims"},
    {SPRY_CSR, 2, 8, 4, 1, "x: section indices: entries are not sorted and unique, which the head claims"},
    {SPRY_COO, 1, 28, 4, 5, "x: section rows: an index lies outside the 5 x 7 matrix"},
    {SPRY_COO, 1, 0, 4, -1, "x: section rows: an index lies outside the 5 x 7 matrix"},
    {SPRY_COO, 1, 8, 4, 4, "x: section indices: entries are not sorted and unique, which the head claims"},
    {SPRY_COO, 2, 4, 4, 0, "x: section indices: entries are not sorted and unique, which the head claims"},
    {SPRY_COO, 2, 0, 4, 7, "x: section indices: an index lies outside the 5 x 7 matrix"},
    {SPRY_CSC, 2, 28, 4, 7, "x: section indices: an index lies outside the 7 x 5 matrix"},
};

static void forge(const content *c, const forgery *f)
{
    spryi_container_head head;
    memcpy(&head, c->data, sizeof head);
    unsigned char *at = f->where == 0 ? (unsigned char *)&head : c->data + head.sections[f->where - 1].offset;
    memcpy(at + f->offset, &f->value, (size_t)f->bytes);
    if (f->where > 0) {
        spryi_container_section *s = &head.sections[f->where - 1];
        spryi_container_part part = {s->name, c->data + s->offset, (int64_t)s->count, (int64_t)s->item_bytes};
        spry_context *context = context_of(1);
        assert_int_equal(SPRY_OK, spryi_container_hash(context, &part, 1, &s->hash, NULL));
        spry_context_destroy(context);
    }
    head.checksum = spryi_container_checksum(&head);
    memcpy(c->data, &head, sizeof head);
}

static void test_forgeries(void **state)
{
    spry_context *context = context_of(1);
    for (size_t f = 0; f < sizeof forgeries / sizeof *forgeries; f++) {
        spry_matrix *A = NULL;
        spry_error err = {0};
        content c = container_of(context, forgeries[f].layout, 1);
        forge(&c, &forgeries[f]);
        spry_status status = spry_matrix_read_memory(context, &A, c.data, c.bytes, "x", NULL, &err);
        if (status != SPRY_BAD_FILE) fail_msg("forgery %zu: status %d", f, status);
        assert_string_equal(forgeries[f].message, err.message);
        free(c.data);
    }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Asserts that unsorted entries and duplicates are valid, unless the head states that entries are sorted or unique. */
static void test_unsorted(void **state)
{
    static const forgery sorted = {SPRY_CSR, HEAD(kind.sorted), SPRY_KNOWN_YES, NULL};
    spry_context *context = context_of(1);
    for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++) {
        content c = container_of(context, (spry_layout)layout, 0);
        spry_matrix *A = NULL;
        spry_error err = {0};
        assert_int_equal(SPRY_OK, spry_matrix_read_memory(context, &A, c.data, c.bytes, "x", NULL, &err));
        spry_matrix_destroy(A);
        forge(&c, &sorted);
        assert_int_equal(SPRY_BAD_FILE, spry_matrix_read_memory(context, &A, c.data, c.bytes, "x", NULL, &err));
        assert_string_equal("x: section indices: entries are not sorted, which the head claims", err.message);
        free(c.data);
    }
    spry_context_destroy(context);
}

/* The values of a pattern need no bytes, but their section is checked. */
static void test_pattern_values(void **state)
{
    static const char *const formats[] = {"packed", "windowed", "sell"};
    spry_context *context = context_of(1);
    spry_read_options pattern = SPRY_INIT(spry_read_options);
    pattern.value_type = SPRY_PATTERN;
    for (int f = 0; f < 3; f++)
        for (int renamed = 0; renamed < 2; renamed++) {
            spry_matrix *A = NULL;
            spry_error err = {0};
            spryi_container_head head;
            int at = 0;
            assert_int_equal(SPRY_OK, spry_matrix_generate(context, &A, "fem3,x=3,y=2,z=2", &pattern, NULL));
            write_to(A, temporary_path("pattern.spry"), formats[f]);
            spry_matrix_destroy(A);
            content c;
            c.data = (unsigned char *)content_of(temporary_path("pattern.spry"), &c.bytes);
            memcpy(&head, c.data, sizeof head);
            while (at < (int)head.section_count && strcmp(head.sections[at].name, "values") != 0) at++;
            assert_true(at < (int)head.section_count);
            if (renamed)
                memcpy(head.sections[at].name, "garbage", 8);
            else
                head.sections[at].item_bytes = 8;
            head.checksum = spryi_container_checksum(&head);
            memcpy(c.data, &head, sizeof head);
            assert_int_equal(SPRY_BAD_FILE, spry_matrix_read_memory(context, &A, c.data, c.bytes, "x", NULL, &err));
            assert_non_null(strstr(err.message, "expected 0 x 1 bytes of values"));
            free(c.data);
        }
    spry_context_destroy(context);
}

/* A container keeps values in a narrower type, and the matrix has its own type. */
static void test_narrow_values(void **state)
{
    static const char *const formats[] = {"packed", "sell", "bsr:block=3", "ell"};
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "fem3,x=11,y=11,z=12,bits=24");
    const spry_arrays a = arrays_of(A);
    double *x = malloc((size_t)a.columns * 8), *y[3];
    for (int p = 0; p < 3; p++) y[p] = malloc((size_t)a.rows * 8);
    for (int64_t j = 0; j < a.columns; j++) x[j] = 1 / (double)(j + 3);
    for (int f = 0; f < 4; f++) {
        const char *path = temporary_path("narrow.spry");
        write_to(A, path, formats[f]);
        spry_matrix *B = read_from(context, path, NULL);
        const bool narrow = f < 3;
        assert_int_equal(arrays_of(B).value_type, SPRY_F64);
        spry_arrays entries = arrays_of(B);
        assert_same_arrays(&a, &entries);
        /* p: 0 a plan of the container, 1 of the container in A's type, 2 of A in A's type */
        for (int p = 0; p < 3; p++) {
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.format = p ? formats[f] : NULL;
            o.keep_value_type = p > 0;
            spry_spmv_plan *plan = create_plan(context, p < 2 ? B : A, &o);
            assert_int_equal(plan_info(plan).value_type, narrow && p == 0 ? SPRY_F32 : SPRY_F64);
            assert_int_equal(plan_info(plan).from_file, p == 0 || (p == 1 && !narrow));
            MUST(spry_spmv_plan_run(plan, spry_vector_f64(y[p], a.rows), NULL,
                                    spry_vector_as_const(spry_vector_f64(x, a.columns)), NULL, NULL, err));
            spry_spmv_plan_destroy(plan);
        }
        for (int p = 1; p < 3; p++) assert_memory_equal(y[0], y[p], (size_t)a.rows * 8);
        write_to(B, path, formats[f]); /* again, from the storage */
        spry_matrix *C = read_from(context, path, NULL);
        spry_arrays again = arrays_of(C);
        assert_same_arrays(&a, &again);
        spry_matrix_destroy(C);
        spry_matrix_destroy(B);
        assert_int_equal(0, unlink(path));
    }
    spry_matrix_destroy(A);
    for (int p = 0; p < 3; p++) free(y[p]);
    free(x);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

static void test_foreign(void **state)
{
    static const unsigned char other[] = {0x89, 'P', 'I', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13};
    static const char *const message = "x: is not a Spry container: its first eight bytes are not a container's "
                                       "(changed by a transfer as text?)";
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    assert_int_equal(SPRY_BAD_FILE, spry_matrix_read_memory(context, &A, other, sizeof other, "x", NULL, &err));
    assert_string_equal(message, err.message);
    /* CR LF was changed to LF */
    content c = container_of(context, SPRY_CSR, 1);
    memmove(c.data + 4, c.data + 5, c.bytes - 5);
    assert_int_equal(SPRY_BAD_FILE, spry_matrix_read_memory(context, &A, c.data, c.bytes - 1, "x", NULL, &err));
    assert_string_equal(message, err.message);
    free(c.data);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_large),         cmocka_unit_test(test_field),
        cmocka_unit_test(test_formats),        cmocka_unit_test(test_types),         cmocka_unit_test(test_plan),
        cmocka_unit_test(test_options),        cmocka_unit_test(test_lengths),       cmocka_unit_test(test_forgeries),
        cmocka_unit_test(test_flipped_bytes),  cmocka_unit_test(test_unsorted),      cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_pattern_values), cmocka_unit_test(test_narrow_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

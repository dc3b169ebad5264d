/*
 * Tests of files of unsupported kinds. Whatever the file's name is, the message must name the kind of file and a
 * remedy.
 */
#include "files.h"
#include "spry/io.h"

typedef struct foreign {
    const char *kind, *text;
    size_t bytes; /* 0: up to the NUL */
    int offset;   /* position of the text in the file */
} foreign;

static const foreign files[] = {
    {"tar archive", "ustar", 0, 257},
    {"HDF5", "\211HDF\r\n\032\n", 0, 0},
    {"HDF5", "\211HDF\r\n\032\n", 0, 512},
    {"PNG", "\211PNG\r\n\032\n", 0, 0},
    {"PDF", "%PDF-1.7\n", 0, 0},
    {"Harwell-Boeing",
     "Title                                                                   key     \n"
     "             3             1             1             1             0\n"
     "RSA                        1             1             1             0\n(8I10)\n1 2\n1\n1.0\n",
     0, 0},
    {"Harwell-Boeing", "1138 bus | a title\n 4 1 1 2 0\nrua 3 3 4 0\n(26I3) (26I3) (3E23.15)\n", 0, 0},
    {"NumPy array", "\223NUMPY\1\0", 8, 0},
    {"PETSc", "\0\022{P\0\0\0\1", 8, 0},
    {"MATLAB", "MATLAB 5.0 MAT-file", 0, 0},
    {"pickle", "\200\4\225", 0, 0},
    {"Parquet", "PAR1", 0, 0},
    {"lz4", "\004\"M\030", 0, 0},
    {"7z", "7z\274\257\047\034", 0, 0},
    {"UTF-16", "\377\376%\0%\0", 6, 0},
    {"HTML", "<!DOCTYPE HTML>\n<html>", 0, 0},
    {"HTML", "<!doctype html>\n<html>", 0, 0},
    {"GraphML", "<?xml version=\"1.0\"?>\n", 0, 0},
    {"JSON", "{\"nodes\": []}\n", 0, 0},
    {"Pajek", "*Vertices 3\n", 0, 0},
    {"vector in .csv", "row,value\n0,1\n", 0, 0},
    {"vector in .csv", "node,rank\n0,1\n", 0, 0},
    {"Git LFS", "version https://git-lfs.github.com/spec/v1\n", 0, 0},
};

static void expect_refused(spry_context *context, const foreign *f, const void *data, size_t bytes, const char *name)
{
    spry_matrix *A = NULL;
    spry_vector v = {0};
    spry_error err = {0};
    const spry_status status = spry_matrix_read_memory(context, &A, data, bytes, name, NULL, &err);
    if (status != SPRY_UNSUPPORTED || !strstr(err.message, f->kind) || !strstr(err.message, "; "))
        fail_msg("%s as %s: status %d, %s", f->kind, name, (int)status, err.message);
    assert_int_equal(SPRY_UNSUPPORTED, spry_matrix_read(context, &A, temporary_file(name, data, bytes), NULL, &err));
    if (f->text[0] == 'M') return; /* MATLAB files are not tested as vectors */
    assert_int_equal(SPRY_UNSUPPORTED, spry_vector_read(context, &v, temporary_path(name), SPRY_F64, &err));
    assert_non_null(strstr(err.message, f->kind));
}

static void test_kinds(void **state)
{
    spry_context *context = context_of(1);
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        const foreign *f = &files[k];
        const size_t length = f->bytes ? f->bytes : strlen(f->text), bytes = (size_t)f->offset + length + 200;
        char *file = calloc(1, bytes);
        size_t packed_bytes;
        memset(file, 'x', (size_t)f->offset);
        memcpy(file + f->offset, f->text, length);
        memset(file + f->offset + length, '\n', 200);
        unsigned char *packed = gzip_of(file, bytes, &packed_bytes);
        expect_refused(context, f, file, bytes, "x.mtx");
        expect_refused(context, f, file, bytes, "x.csv");
        expect_refused(context, f, packed, packed_bytes, "x.mtx");
        expect_refused(context, f, packed, packed_bytes, "x.csv.gz");
        free(packed);
        free(file);
    }
    spry_context_destroy(context);
}

/* Tests text with lines of an edge list in a file whose name does not end like that of an edge list. */
static void test_edges_by_another_name(void **state)
{
    static const char *const texts[] = {"0 1\n1 2\n", "0,1,2.5\n", "# a comment\n5\t7\n", "1;2;-3e4\n"};
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        assert_int_equal(SPRY_BAD_FILE,
                         spry_matrix_read_memory(context, &A, texts[k], strlen(texts[k]), "g.edgelist", NULL, &err));
        if (!strstr(err.message, "edge list") || !strstr(err.message, ".edges")) fail_msg("%s", err.message);
    }
    assert_int_equal(SPRY_BAD_FILE, spry_matrix_read_memory(context, &A, "a b\n", 4, "g.edgelist", NULL, &err));
    assert_null(strstr(err.message, "edge list"));
    spry_context_destroy(context);
}

/* Tests text in a file whose name stands for another kind of file. */
static void test_wrong_names(void **state)
{
    static const char *const cases[][2] = {{"a.npz",
                                            "the name ends in .npz, but the content is no zip archive of NumPy"},
                                           {"a.spry", "the name ends in .spry, but the content is no container"}};
    spry_context *context = context_of(1);
    spry_matrix *A = NULL;
    spry_error err = {0};
    for (int c = 0; c < 2; c++) {
        assert_int_equal(SPRY_BAD_FILE, spry_matrix_read_memory(context, &A, "hello\n", 6, cases[c][0], NULL, &err));
        if (!strstr(err.message, cases[c][1])) fail_msg("%s", err.message);
    }
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_edges_by_another_name),
                                       cmocka_unit_test(test_wrong_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

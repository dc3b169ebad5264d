#include "files.h"
#include "base/types.h"

#include <dirent.h>
#include <unistd.h>
#include <zlib.h>

static char folder[256];

static void remove_folder(void)
{
    DIR *open = opendir(folder);
    if (!open) return;
    for (struct dirent *entry; (entry = readdir(open));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') (void)remove(path);
    }
    closedir(open);
    (void)rmdir(folder);
}

const char *temporary_folder(void)
{
    if (folder[0] != '\0') return folder;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/spry_io_XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    atexit(remove_folder);
    return folder;
}

const char *temporary_path(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", temporary_folder(), name);
    return path;
}

const char *temporary_file(const char *name, const void *text, size_t bytes)
{
    const char *path = temporary_path(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(bytes, fwrite(text, 1, bytes, file));
    assert_int_equal(0, fclose(file));
    return path;
}

int count_files(void)
{
    int count = 0;
    DIR *open = opendir(temporary_folder());
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));) count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

unsigned char *gzip_of(const void *text, size_t length, size_t *bytes)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    assert_int_equal(Z_OK, deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY));
    size_t room = deflateBound(&z, (uLong)length);
    unsigned char *packed = malloc(room);
    assert_non_null(packed);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)length;
    z.next_out = packed;
    z.avail_out = (uInt)room;
    assert_int_equal(Z_STREAM_END, deflate(&z, Z_FINISH));
    *bytes = z.total_out;
    deflateEnd(&z);
    return packed;
}

char *content_of(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(0, fseek(file, 0, SEEK_END));
    long length = ftell(file);
    rewind(file);
    char *text = malloc((size_t)length + 1);
    assert_non_null(text);
    assert_int_equal(length, fread(text, 1, (size_t)length, file));
    text[length] = '\0';
    fclose(file);
    if (bytes) *bytes = (size_t)length;
    return text;
}

double *dense_of(const spry_matrix *A)
{
    spry_arrays a = arrays_of(A);
    const int32_t *Ap = a.offsets, *Aj = a.indices;
    const double *Ax = a.values;
    double *dense = calloc((size_t)(a.rows * a.columns) + 1, sizeof *dense);
    assert_non_null(dense);
    assert_int_equal(SPRY_CSR, a.layout);
    assert_int_equal(SPRY_I32, a.offset_type);
    assert_int_equal(SPRY_I32, a.index_type);
    assert_int_equal(SPRY_F64, a.value_type);
    for (int64_t i = 0; i < a.rows; i++)
        for (int32_t k = Ap[i]; k < Ap[i + 1]; k++) dense[i * a.columns + Aj[k]] += Ax[k];
    return dense;
}

void assert_same_matrix(const spry_matrix *A, const spry_matrix *B)
{
    spry_arrays a = arrays_of(A), b = arrays_of(B);
    size_t offset = spryi_index_type_bytes(a.offset_type), index = spryi_index_type_bytes(a.index_type);
    assert_int_equal(a.layout, b.layout);
    assert_int_equal(a.rows, b.rows);
    assert_int_equal(a.columns, b.columns);
    assert_int_equal(a.nnz, b.nnz);
    assert_int_equal(a.offset_type, b.offset_type);
    assert_int_equal(a.index_type, b.index_type);
    assert_int_equal(a.value_type, b.value_type);
    assert_int_equal(a.symmetry, b.symmetry);
    assert_memory_equal(a.offsets, b.offsets, (size_t)(a.rows + 1) * offset);
    if (a.nnz == 0) return;
    assert_memory_equal(a.indices, b.indices, (size_t)a.nnz * index);
    if (a.value_type != SPRY_PATTERN)
        assert_memory_equal(a.values, b.values, (size_t)a.nnz * spry_type_bytes(a.value_type));
}

/*
 * libFuzzer target for containers with valid checksums. Bytes changed at random would always fail at a hash. Therefore
 * the input is not a file but a list of changes to a file that the library wrote. At the start, the target writes
 * containers of most formats, with each value type and index pair. After the changes, sections are laid out and hashed
 * again. The reader must then refuse the file, or return a sound matrix that can be multiplied.
 *
 *     byte 0       index of the container (modulo the number of containers)
 *     byte 1       bit 0: do not update the section hashes; bit 1: do not update the head checksum; bits 2, 3: value
 *                  type that the reader is asked for
 *     then         changes of 13 bytes: target (0: head, s: section s); byte offset (32 bits); a byte whose bits 0-1
 *                  are log2 of the bytes to change, and bits 2-3 are 0 to set, 1 to add, 2 or 3 to resize the section
 *                  to `number` items; 7 bytes with `number`, little-endian
 */
#include "io/container.h"
#include "limits.h"
#include "matrix/matrix.h"
#include "spry/io.h"
#include "spry/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SECTION = 1 << 14, MOST_CHANGES = 24, CHANGE = 13, MOST_TEMPLATES = 250 };

/* ---- containers to change ------------------------------------------------------------------------ */

typedef struct container {
    spryi_container_head head;
    unsigned char *sections[SPRYI_MOST_SECTIONS];
} container;

static container templates[MOST_TEMPLATES];
static int template_count;

static spry_context *open_context(void)
{
    spry_context *context = NULL;
    spry_context_options options = SPRY_INIT(spry_context_options);
    options.allocate = allocate;
    options.release = release;
    options.threads = 1;
    require(spry_context_create(&context, &options, NULL) == SPRY_OK, "no context");
    return context;
}

static void split_container(container *c, const unsigned char *file)
{
    memcpy(&c->head, file, sizeof c->head);
    for (uint32_t s = 0; s < c->head.section_count; s++) {
        const spryi_container_section *section = &c->head.sections[s];
        uint64_t bytes = section->count * section->item_bytes;
        require(bytes <= MOST_SECTION, "a template is too large");
        c->sections[s] = calloc(1, MOST_SECTION);
        require(c->sections[s] != NULL, "no memory for a template");
        memcpy(c->sections[s], file + section->offset, bytes);
    }
}

static void add_template(const spry_matrix *A, const char *format)
{
    static unsigned char file[1 << 20];
    char path[64];
    spry_write_options options = SPRY_INIT(spry_write_options);
    options.format = format;
    snprintf(path, sizeof path, "/tmp/fuzz_container.%ld.spry", (long)getpid());
    spry_status status = spry_matrix_write(A, path, &options, NULL);
    if (status == SPRY_TOO_LARGE) return; /* padding */
    require(status == SPRY_OK && template_count < MOST_TEMPLATES, "a template cannot be written");
    FILE *in = fopen(path, "rb");
    require(in && fread(file, 1, sizeof file, in) >= SPRYI_CONTAINER_HEAD, "a template cannot be read");
    fclose(in);
    unlink(path);
    split_container(&templates[template_count++], file);
}

/* Adds containers of most formats. Their matrices include grids, blocks with missing entries, and long rows. */
static void add_templates(spry_context *context, spry_type type, spry_index_type offset, spry_index_type index)
{
    static const char *const made[][2] = {
        {"grid5,x=6,y=7", "csr"},         {"random,rows=9,cols=70,density=0.1", "csc"},
        {"arrow,rows=20", "coo"},         {"grid5,x=6,y=7", "ell"},
        {"grid5,x=9,y=7", "sell:c=4"},    {"random,rows=50,cols=30,density=0.1", "sell:c=8:sigma=16"},
        {"circuit,rows=60", "hyb"},       {"random,rows=90,cols=40,density=0.05", "scoo"},
        {"fem3,x=3,y=2,z=2", "packed"},   {"fem3,x=3,y=2,z=2", "bsr"},
        {"grid5,x=6,y=7", "bsr:block=2"}, {"empty,rows=3,cols=0", "csr"},
        {"banded,rows=70,half=3", "ell"},
    };
    for (size_t t = 0; t < sizeof made / sizeof *made; t++) {
        spry_matrix *A = NULL;
        spry_read_options options = SPRY_INIT(spry_read_options);
        options.value_type = type;
        options.offset_type = offset;
        options.index_type = index;
        require(spry_matrix_generate(context, &A, made[t][0], &options, NULL) == SPRY_OK, "a matrix cannot be made");
        add_template(A, made[t][1]);
        spry_matrix_destroy(A);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    spry_context *context = open_context();
    for (spry_type type = SPRY_F32; type <= SPRY_PATTERN; type++) {
        add_templates(context, type, SPRY_I32, SPRY_I32);
        add_templates(context, type, SPRY_I64, SPRY_I32);
        add_templates(context, type, SPRY_I64, SPRY_I64);
    }
    spry_context_destroy(context);
    return 0;
}

/* ---- changes ------------------------------------------------------------------------------------ */

static void change_bytes(unsigned char *at, size_t bytes, int add, uint64_t number)
{
    uint64_t before = 0;
    memcpy(&before, at, bytes);
    if (add) number += before;
    memcpy(at, &number, bytes);
}

/* Applies a change. A section that grows contains zeros, or bytes that an earlier change left. */
static void change(container *c, const uint8_t *data)
{
    uint32_t where = 0;
    int64_t number = 0;
    memcpy(&where, data + 1, sizeof where);
    memcpy((unsigned char *)&number + 1, data + 6, 7);
    number >>= 8; /* keeps the sign */
    size_t bytes = (size_t)1 << (data[5] & 3), s = data[0] % (c->head.section_count % SPRYI_MOST_SECTIONS + 1);
    int way = data[5] >> 2 & 3;
    if (s == 0) {
        change_bytes((unsigned char *)&c->head + where % (sizeof c->head - 8), bytes, way & 1, (uint64_t)number);
        return;
    }
    spryi_container_section *section = &c->head.sections[s - 1];
    if (way > 1)
        section->count = (uint64_t)number;
    else if (c->sections[s - 1])
        change_bytes(c->sections[s - 1] + where % (MOST_SECTION - 8) / bytes * bytes, bytes, way, (uint64_t)number);
}

/*
 * Writes the file with valid positions, lengths and hashes, so that the reader continues past them. Returns the bytes.
 */
static size_t assemble(spry_context *context, unsigned char *file, container *c, int keep_hashes, int keep_checksum)
{
    size_t end = SPRYI_CONTAINER_HEAD;
    uint32_t count = c->head.section_count < SPRYI_MOST_SECTIONS ? c->head.section_count : SPRYI_MOST_SECTIONS;
    for (uint32_t s = 0; s < count; s++) {
        spryi_container_section *section = &c->head.sections[s];
        uint64_t bytes = 0;
        size_t begin = (end + SPRYI_CONTAINER_ALIGNMENT - 1) / SPRYI_CONTAINER_ALIGNMENT * SPRYI_CONTAINER_ALIGNMENT;
        if (__builtin_mul_overflow(section->count, section->item_bytes, &bytes) || bytes > MOST_SECTION) bytes = 0;
        if (!c->sections[s]) bytes = 0;
        memset(file + end, 0, begin - end);
        if (bytes > 0) memcpy(file + begin, c->sections[s], bytes);
        section->offset = begin;
        spryi_container_part part = {section->name, file + begin, (int64_t)bytes, 1};
        if (!keep_hashes) require(spryi_container_hash(context, &part, 1, &section->hash, NULL) == SPRY_OK, "no hash");
        end = begin + bytes;
    }
    c->head.file_bytes = end;
    if (!keep_checksum) c->head.checksum = spryi_container_checksum(&c->head);
    memset(file, 0, SPRYI_CONTAINER_HEAD);
    memcpy(file, &c->head, sizeof c->head);
    return end;
}

/* ---- checks -------------------------------------------------------------------------------------- */

/* Multiplies by op(A). A vector x too large to allocate is not an error of the reader. */
static void multiply(spry_context *context, const spry_matrix *A)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_type type = A->a.value_type == SPRY_F32 ? SPRY_F32 : SPRY_F64;
    const int64_t rows = spry_matrix_rows(A), cols = spry_matrix_columns(A);
    for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
        spry_spmv_plan *plan = NULL;
        spry_vector x = {0}, y = {0};
        options.op = (spry_op)op;
        if (spry_vector_create(context, &x, op == SPRY_TRANSPOSE ? rows : cols, type, 0, NULL) == SPRY_OK &&
            spry_vector_create(context, &y, op == SPRY_TRANSPOSE ? cols : rows, type, 0, NULL) == SPRY_OK &&
            spry_spmv_plan_create(context, &plan, A, &options, NULL) == SPRY_OK)
            require(spry_spmv_plan_run(plan, y, NULL, spry_vector_as_const(x), NULL, NULL, NULL) == SPRY_OK,
                    "a product fails");
        spry_spmv_plan_destroy(plan);
        spry_vector_destroy(context, &x);
        spry_vector_destroy(context, &y);
    }
}

static void check_matrix(spry_context *context, spry_matrix *A)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix_report report = SPRY_INIT(spry_matrix_report);
    multiply(context, A); /* A's arrays are in the file */
    spry_status status = spry_matrix_get_arrays(A, &a, NULL);
    if (status == SPRY_OUT_OF_MEMORY) return;
    require(status == SPRY_OK, "arrays");
    status = spry_matrix_check(A, &report, SPRY_CHECK_ALL, NULL);
    require(status == SPRY_OK || status == SPRY_OUT_OF_MEMORY || a.symmetry != SPRY_GENERAL,
            "a matrix that is unsound");
    require(report.bad_ends + report.decreasing_offsets + report.out_of_range == 0, "a matrix that is no matrix");
    multiply(context, A);
}

static spry_status read_file(const unsigned char *file, size_t bytes, spry_type type, spry_error *err)
{
    spry_context *context = open_context();
    spry_matrix *A = NULL;
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = type;
    spry_status status = spry_matrix_read_memory(context, &A, file, bytes, "fuzz", &options, err);
    require(status == SPRY_OK || status == SPRY_BAD_FILE || status == SPRY_OUT_OF_MEMORY, "an unexpected status");
    require((status == SPRY_OK) == (A != NULL), "a matrix without success, or the reverse");
    require(status == SPRY_OK || (err->status == status && strncmp(err->message, "fuzz", 4) == 0), "no error told");
    if (A) check_matrix(context, A);
    spry_matrix_destroy(A);
    spry_context_info info = SPRY_INIT(spry_context_info);
    require(spry_context_get_info(context, &info, NULL) == SPRY_OK && info.bytes == 0, "memory kept");
    spry_context_destroy(context);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    enum { PAGES = MOST_SECTION + SPRYI_CONTAINER_ALIGNMENT };
    static unsigned char file[SPRYI_CONTAINER_HEAD + SPRYI_MOST_SECTIONS * PAGES];
    static unsigned char changed[SPRYI_MOST_SECTIONS][MOST_SECTION];
    const container *from = &templates[bytes > 0 ? data[0] % template_count : 0];
    container c = {.head = from->head};
    for (uint32_t s = 0; s < from->head.section_count; s++)
        c.sections[s] = memcpy(changed[s], from->sections[s], MOST_SECTION);
    int flags = bytes > 1 ? data[1] : 0, changes = 0;
    for (size_t at = 2; at + CHANGE <= bytes && changes < MOST_CHANGES; at += CHANGE, changes++) change(&c, data + at);
    spry_context *context = open_context();
    size_t length = assemble(context, file, &c, flags & 1, flags & 2);
    spry_context_destroy(context);
    /* A copy of exactly `length` bytes, so that AddressSanitizer detects reads past its end. */
    unsigned char *copy = malloc(length);
    require(copy != NULL, "no memory");
    memcpy(copy, file, length);
    spry_error err = SPRY_ERROR_INIT;
    spry_status status = read_file(copy, length, (spry_type)(flags >> 2 & 3), &err);
    require(changes > 0 || status == SPRY_OK, "an unchanged container is refused");
    free(copy);
    require(atomic_load(&live) == 0, "memory not released");
    return 0;
}

/*
 * Containers (.spry): files with the arrays of a matrix. Kernels read the arrays in the mapped file.
 *
 *     0       head        192 bytes: magic, version, checksum, sizes, types, flags, parameters
 *     192     table       16 slots of 64 bytes: name, offset, count, bytes an item, hash
 *     1216    zeros       up to 4096; the head's checksum is over all 4096 bytes, with 0 as the checksum
 *     4096    section     its bytes; then zeros up to the next multiple of 4096
 *     ...     section     the file ends with the last section's last byte
 *
 * Numbers are little-endian. Sections begin at multiples of 4096, the smallest page. Arrays are therefore aligned for
 * any vector load in the mapping, a page contains only one array, and a reader may map a single section.
 *
 * A section is divided into chunks of 256 KiB. The section's hash is the hash of the hashes of its chunks, in order.
 * Multiple threads can therefore verify chunks, each in a core's cache, and the table needs one hash per section. All
 * bytes of a file are verified. The checksum covers head and table, and the hashes cover the sections. Gaps must be
 * zero, and the file must have the length that the head states.
 *
 * The field layout names csr, coo or csc, or another format. The sections of csr, coo and csc (offsets or rows,
 * indices, values) are the arrays of the matrix. The sections of another format are those of spryi_format.sections.
 *
 * The field value_type is the value type of the matrix. A format that cannot store entries without values stores the
 * value 1 for each entry of a pattern. Such a file has version 2, and the reader drops the values. If the format has
 * added duplicates, as bsr does, some values are not 1. The reader then keeps the values, because products need them.
 *
 * A format may store values in a narrower type in which all are exact (matrix/matrix_narrow.c). Such a file has
 * version 4. The storage states its own type.
 *
 * Indices in a file always count from 0. The field counts_from_0 states whether messages about the matrix count from 0
 * or from 1 (spry_source_info.index_base).
 */
#pragma once

#include "core/kernel.h"
#include "io/text.h"
#include "spry/io.h"

enum {
    SPRYI_CONTAINER_VERSION = 4, /* version of this library's newest files; readers reject later versions */
    SPRYI_CONTAINER_FIRST = 1,   /* version of files that use nothing that later versions added */
    SPRYI_CONTAINER_ONES = 2,    /* first version in which stored values of 1 may represent a pattern */
    SPRYI_CONTAINER_BASE_0 = 3,  /* first version in which messages about a matrix may count from 0 */
    SPRYI_CONTAINER_NARROW = 4,  /* first version in which stored values may have a narrower type than the matrix */
    SPRYI_CONTAINER_ALIGNMENT = 4096,
    SPRYI_CONTAINER_HEAD = 4096,
    SPRYI_CONTAINER_CHUNK = 256 << 10,
    SPRYI_CONTAINER_FIRST_BYTE = 0x89 /* no text begins with this byte */
};

typedef struct spryi_container_section {
    char name[16];
    uint64_t offset; /* position in the file, in bytes */
    uint64_t count, item_bytes;
    uint64_t hash;
    uint64_t reserved[2];
} spryi_container_section;

/* Types and stated properties of the matrix. */
typedef struct spryi_container_kind {
    uint8_t value_type, offset_type, index_type; /* spry_type, spry_index_type */
    uint8_t sorted, unique, symmetry, field;     /* spry_known, spry_symmetry, spryi_field */
    uint8_t counts_from_0;                       /* 1: messages about the matrix count from 0; 0: from 1 */
} spryi_container_kind;

typedef struct spryi_container_head {
    unsigned char magic[8];
    uint32_t version, head_bytes;
    uint64_t checksum;
    uint64_t file_bytes;
    char layout[16];
    char parameters[64]; /* parameters of the format that the storage was built with */
    int64_t rows, cols, nnz;
    spryi_container_kind kind;
    uint32_t section_count, chunk_bytes;
    uint64_t reserved[5];
    spryi_container_section sections[SPRYI_MOST_SECTIONS];
} spryi_container_head;

_Static_assert(sizeof(spryi_container_section) == 64, "a file's table has no holes");
_Static_assert(sizeof(spryi_container_head) == 192 + SPRYI_MOST_SECTIONS * 64, "a file's head has no holes");
_Static_assert(sizeof(spryi_container_head) <= SPRYI_CONTAINER_HEAD, "head and table fit the first page");

/* Returns whether a container can hold a matrix in this format. */
bool spryi_container_stores(const struct spryi_format *format);

extern const unsigned char spryi_container_magic[8];

/* A section in memory. */
typedef struct spryi_container_part {
    const char *name;
    const void *data;
    int64_t count, item_bytes;
} spryi_container_part;

/* Returns the checksum of the first page: the head with 0 as its checksum, the table and zeros. */
uint64_t spryi_container_checksum(const spryi_container_head *head);

/* Computes the hash of each part with all threads. */
spry_status spryi_container_hash(spry_context *context, const spryi_container_part *parts, int count, uint64_t *hashes,
                                 spry_error *err);

/* Reads a container. The matrix becomes the owner of the bytes, so that the text must be closed next. */
spry_status spryi_container_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err);

/* Writes A as a container. */
spry_status spryi_container_write(const spry_matrix *A, const char *path, const spry_write_options *options,
                                  spry_error *err);

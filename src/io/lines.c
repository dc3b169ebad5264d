/* Finds lines and words of text, shows them in messages, and rejects files of kinds that the library does not read. */
#include "base/error.h"
#include "io/container.h"
#include "io/readers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

spry_status spryi_cursor_next(spryi_cursor *c, const char **start, const char **end, spry_error *err)
{
    *start = *end = NULL;
    while (c->p == c->block->end) {
        SPRYI_OK_OR_RETURN(spryi_text_next(c->text, c->block, err));
        c->p = c->block->text;
        if (c->block->finished) return SPRY_OK;
    }
    *start = c->p;
    *end = spryi_line_end(c->p, c->block->end);
    c->p = *end < c->block->end ? *end + 1 : *end;
    c->line++;
    return SPRY_OK;
}

spry_status spryi_check_aside(const spryi_text *text, int64_t aside, int64_t line, spry_error *err)
{
    if (text->feed.fd < 0 || aside <= SPRYI_ASIDE_BYTES) return SPRY_OK;
    return spryi_fail_file(err, SPRY_BAD_FILE, text->name, line,
                           "comments and blank lines take more than %d MB, the limit in a pipe",
                           SPRYI_ASIDE_BYTES >> 20);
}

const char *spryi_line_end(const char *p, const char *end)
{
    const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return newline ? newline : end;
}

spryi_shown spryi_show_word(const char *p, const char *end)
{
    spryi_shown shown;
    const spryi_word w = spryi_next_word(&p, end);
    if (w.p == w.end) {
        snprintf(shown.text, sizeof shown.text, "the end of the line");
        return shown;
    }
    char *to = shown.text, *last = shown.text + sizeof shown.text - 10;
    *to++ = '\'';
    const char *c = w.p;
    for (; c < w.end && to < last; c++) {
        if (*c > ' ' && *c <= '~') {
            *to++ = *c;
        } else {
            to += snprintf(to, 5, "\\x%02x", (unsigned)(unsigned char)*c);
        }
    }
    snprintf(to, 5, c < w.end ? "...'" : "'");
    return shown;
}

spryi_line spryi_bad_line(spryi_fault *fault, const char *format, ...)
{
    if (fault) {
        va_list list;
        va_start(list, format);
        (void)spryi_write_list(fault->text, sizeof fault->text, format, list);
        va_end(list);
    }
    return SPRYI_LINE_BAD;
}

/* ---- Matrix Market: banner and comments ---------------------------------------------------------- */

spryi_word spryi_first_word(const char **p, const char *end)
{
    if (end - *p >= 3 && memcmp(*p, "\xef\xbb\xbf", 3) == 0) *p += 3;
    return spryi_next_word(p, end);
}

bool spryi_is_banner(spryi_word w)
{
    static const char banner[] = "%%MatrixMarket";
    return (size_t)(w.end - w.p) == sizeof banner - 1 && strncasecmp(w.p, banner, sizeof banner - 1) == 0;
}

enum { MOST_COMMENT = 1024 - 2 }; /* without '%' and the newline */

/*
 * The text at p is too long for one line. Returns how many of its bytes the next line gets. The line ends before a
 * blank if possible, else at the end of a character.
 */
static size_t break_at(const char *p)
{
    const char *blank = memrchr(p, ' ', MOST_COMMENT + 1);
    if (blank > p) return (size_t)(blank - p);
    size_t take = MOST_COMMENT;
    while (take > MOST_COMMENT - 3 && ((unsigned char)p[take] & 0xc0) == 0x80) take--; /* within a UTF-8 character */
    return take;
}

size_t spryi_mtx_comment(char *to, const char *comment)
{
    size_t bytes = 0;
    while (comment && *comment) {
        size_t length = strcspn(comment, "\n"), take = length > MOST_COMMENT ? break_at(comment) : length;
        if (to) {
            *to++ = '%';
            memcpy(to, comment, take);
            to += take;
            *to++ = '\n';
        }
        bytes += take + 2;
        comment += take;
        if (*comment == '\n' || (take < length && *comment == ' ')) comment++;
    }
    return bytes;
}

/* ---- files of other kinds -------------------------------------------------------------------------- */

#define NO_MATRIX "expected Matrix Market, an edge list, SciPy's .npz or a container"
#define EXPORT "write the matrix as Matrix Market, with scipy.io.mmwrite for example"
#define AS_CSV "write the edges as a .csv with columns source, target and weight"
#define UNPACK "unpack the file first"
#define VECTOR "write the vector as Matrix Market, with -o FILE.mtx"

/* Signature of a kind of file: the bytes `magic` at an offset. At offset 0 a byte order mark is skipped. */
typedef struct signature {
    int offset, bytes;
    const char *magic, *kind, *remedy;
} signature;

#define MAGIC(offset, text, kind, remedy)                                                                              \
    {                                                                                                                  \
        offset, sizeof text - 1, text, kind, remedy                                                                    \
    }

static const signature signatures[] = {
    MAGIC(257, "ustar", "a tar archive",
          "unpack it (tar -xf) and read the .mtx in it, or let 'spry fetch' get a matrix of the SuiteSparse "
          "collection"),
    MAGIC(0, "PK\3\4", "a zip archive", "unpack it (unzip) and read the matrix in it"),
    MAGIC(0, "\211HDF\r\n\032\n", "an HDF5 file", EXPORT),
    MAGIC(512, "\211HDF\r\n\032\n", "an HDF5 file", EXPORT),
    MAGIC(0, "MATLAB ", "a MATLAB file", "in MATLAB or Octave write its entries, 'mmwrite'"),
    MAGIC(0, "\223NUMPY", "a NumPy array (.npy)",
          "write a sparse matrix with scipy.sparse.save_npz or scipy.io.mmwrite"),
    MAGIC(0, "\0\022{P", "a matrix of PETSc", EXPORT),
    MAGIC(0, "CDF\1", "a NetCDF file", EXPORT),
    MAGIC(0, "CDF\2", "a NetCDF file", EXPORT),
    MAGIC(0, "PAR1", "a Parquet file", AS_CSV),
    MAGIC(0, "ARROW1", "an Arrow file", AS_CSV),
    MAGIC(0, "SQLite format 3", "an SQLite database", AS_CSV),
    MAGIC(0, "\200\3", "a pickle of Python", "write a sparse matrix with scipy.sparse.save_npz"),
    MAGIC(0, "\200\4", "a pickle of Python", "write a sparse matrix with scipy.sparse.save_npz"),
    MAGIC(0, "\200\5", "a pickle of Python", "write a sparse matrix with scipy.sparse.save_npz"),
    MAGIC(0, "\037\213", "compressed twice, cut short or damaged (gzip)", UNPACK),
    MAGIC(0, "BZh", "compressed twice, cut short or damaged (bzip2)", UNPACK),
    MAGIC(0, "\3757zXZ", "compressed twice, cut short or damaged (xz)", UNPACK),
    MAGIC(0, "(\265/\375", "compressed twice, cut short or damaged (Zstandard)", UNPACK),
    MAGIC(0, "\037\235", "compressed by compress (.Z)",
          "unpack it (uncompress), or compress with gzip, bzip2, xz or zstd"),
    MAGIC(0, "\004\"M\030", "compressed by lz4", "unpack it (lz4 -d), or compress with gzip, bzip2, xz or zstd"),
    MAGIC(0, "LZIP", "compressed by lzip", "unpack it (lzip -d), or compress with gzip, bzip2, xz or zstd"),
    MAGIC(0, "]\0\0", "compressed by lzma", "unpack it (unlzma), or compress with gzip, bzip2, xz or zstd"),
    MAGIC(0, "P*M\030", "compressed by pzstd", "unpack it (zstd -d), or compress with gzip, bzip2, xz or zstd"),
    MAGIC(0, "7z\274\257\047\034", "a 7z archive", "unpack it and read the matrix in it"),
    MAGIC(0, "Rar!\032", "a RAR archive", "unpack it and read the matrix in it"),
    MAGIC(0, "\377\376", "text in UTF-16", "convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"),
    MAGIC(0, "\376\377", "text in UTF-16", "convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"),
    MAGIC(0, "\211PNG", "a picture (PNG)", NO_MATRIX),
    MAGIC(0, "\377\330\377", "a picture (JPEG)", NO_MATRIX),
    MAGIC(0, "GIF8", "a picture (GIF)", NO_MATRIX),
    MAGIC(0, "%PDF", "a PDF document", NO_MATRIX),
    MAGIC(0, "%!PS", "a PostScript document", NO_MATRIX),
    MAGIC(0, "\177ELF", "a program or library (ELF)", NO_MATRIX),
    MAGIC(0, "version https://git-lfs", "a pointer of Git LFS", "get the file itself (git lfs pull)"),
    MAGIC(0, "<!DOCTYPE html", "a web page (HTML)", "download the file itself, the link may lead to a page"),
    MAGIC(0, "<html", "a web page (HTML)", "download the file itself, the link may lead to a page"),
    MAGIC(0, "<?xml", "XML, as of GraphML", AS_CSV),
    MAGIC(0, "<graphml", "GraphML", AS_CSV),
    MAGIC(0, "{", "JSON", AS_CSV),
    MAGIC(0, "[", "JSON", AS_CSV),
    MAGIC(0, "*Vertices", "a network of Pajek", AS_CSV),
    MAGIC(0, "graph [", "a graph in GML", AS_CSV),
    MAGIC(0, "digraph", "a graph in DOT", AS_CSV),
    MAGIC(0, "row,value", "a vector in .csv", VECTOR),
    MAGIC(0, "node,rank", "a vector in .csv", VECTOR),
};

static int has(const signature *s, const char *p, const char *end)
{
    if (s->offset == 0 && end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3;
    if (end - p < s->offset + s->bytes) return 0;
    /* a signature that begins with '<' matches upper-case and lower-case letters */
    return s->magic[0] == '<' ? strncasecmp(p + s->offset, s->magic, (size_t)s->bytes) == 0
                              : memcmp(p + s->offset, s->magic, (size_t)s->bytes) == 0;
}

/* Returns the number of integers at the beginning of p..end. *others: number of words that are not integers. */
static int count_numbers(const char *p, const char *end, int *others)
{
    int count = 0;
    *others = 0;
    for (spryi_word w = spryi_next_word(&p, end); w.p < w.end; w = spryi_next_word(&p, end)) {
        int64_t value;
        int past;
        if (spryi_read_digits(w.p, w.end, &value, &past) < w.end)
            (*others)++;
        else
            count += *others == 0;
    }
    return count;
}

/*
 * Returns whether the text begins as Harwell-Boeing files do: with a title line, a line with numbers of cards, and a
 * line with three letters of the type ("RSA") and sizes.
 */
static int is_harwell_boeing(const char *p, const char *end)
{
    const char *lines[3], *ends[3];
    int others;
    for (int l = 0; l < 3; l++) {
        lines[l] = p;
        ends[l] = spryi_line_end(p, end);
        if (ends[l] == end) return 0;
        p = ends[l] + 1;
    }
    if (count_numbers(lines[1], ends[1], &others) < 3 || others > 0) return 0;
    const char *rest = lines[2];
    const spryi_word type = spryi_next_word(&rest, ends[2]);
    return type.end - type.p == 3 && strchr("RCPIQrcpiq", type.p[0]) && strchr("SUHZRsuhzr", type.p[1]) &&
           strchr("AEae", type.p[2]) && count_numbers(rest, ends[2], &others) >= 3;
}

spry_status spryi_refuse_foreign(const char *name, const char *p, const char *end, spry_error *err)
{
    if (end - p >= 8 && memcmp(p, spryi_container_magic, 8) == 0)
        return spryi_fail_file(err, SPRY_UNSUPPORTED, name, 0, "is a compressed container; " UNPACK);
    for (size_t s = 0; s < sizeof signatures / sizeof *signatures; s++)
        if (has(&signatures[s], p, end))
            return spryi_fail_file(err, SPRY_UNSUPPORTED, name, 0, "is %s, which is not read; %s", signatures[s].kind,
                                   signatures[s].remedy);
    if (!is_harwell_boeing(p, end)) return SPRY_OK;
    return spryi_fail_file(err, SPRY_UNSUPPORTED, name, 0,
                           "is a Harwell-Boeing or Rutherford-Boeing file, which is not read; get the collection's "
                           "Matrix "
                           "Market file (spry fetch)");
}

#include "families.h"

#include "base/random.h"

uint64_t family_random(uint64_t *state)
{
    const uint64_t drawn = spryi_random(*state, 1);
    *state += SPRYI_RANDOM_STEP;
    return drawn;
}

/* ---- building row by row ----------------------------------------------------------------------- */

typedef struct builder {
    family f;
    int64_t row_room, entry_room;
    uint64_t random;
} builder;

static void *grown(void *old, int64_t *room, int64_t needed)
{
    if (needed <= *room) return old;
    *room = 2 * needed + 64;
    void *fresh = realloc(old, (size_t)*room * sizeof(int64_t));
    if (!fresh) abort();
    return fresh;
}

static void end_row(builder *b)
{
    b->f.offsets = grown(b->f.offsets, &b->row_room, b->f.rows + 2);
    b->f.offsets[++b->f.rows] = b->f.nnz;
}

static void entry(builder *b, int64_t j)
{
    b->f.columns = grown(b->f.columns, &b->entry_room, b->f.nnz + 1);
    b->f.columns[b->f.nnz++] = j;
    if (j >= b->f.cols) b->f.cols = j + 1;
}

static int64_t below(builder *b, int64_t limit)
{
    return (int64_t)(family_random(&b->random) % (uint64_t)limit);
}

static int rising(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Adds a row of `length` sorted columns in 0 .. cols-1. The columns are distinct if `length` allows. */
static void random_row(builder *b, int64_t length, int64_t cols)
{
    int64_t begin = b->f.nnz, gap = length > 0 ? cols / length : 0;
    for (int64_t e = 0; e < length; e++) entry(b, gap > 0 ? e * gap + below(b, gap) : below(b, cols));
    if (gap == 0 && length > 0) qsort(b->f.columns + begin, (size_t)length, sizeof(int64_t), rising);
    end_row(b);
}

/* ---- the families: each uses up to three parameters of its line in the table ------------------------ */

typedef struct line {
    const char *name;
    void (*make)(builder *b, int64_t p, int64_t q, int64_t r);
    int64_t p, q, r;
    int structured, pieces;
} line;

static void no_entries(builder *b, int64_t rows, int64_t cols, int64_t r)
{
    while (b->f.rows < rows) end_row(b);
    b->f.cols = cols;
}

static void full(builder *b, int64_t rows, int64_t cols, int64_t r)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) entry(b, j);
        end_row(b);
    }
}

/* About one row in `every` has entries. The first and the last row are empty. */
static void empty_rows(builder *b, int64_t rows, int64_t every, int64_t most)
{
    b->f.cols = 2000;
    for (int64_t i = 0; i < rows; i++)
        random_row(b, i > 0 && i < rows - 1 && below(b, every) == 0 ? 1 + below(b, most) : 0, 2000);
}

/*
 * Adds rows of `length` or `length` + 1 entries. The first entry is on the diagonal. Each further entry is `distance`
 * columns to the right of the entry before. Of each 192 rows, the first 64 are empty.
 */
static void bands_and_gaps(builder *b, int64_t rows, int64_t length, int64_t distance)
{
    b->f.cols = rows + length * distance;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t e = 0; i / 64 % 3 > 0 && e < length + i / 64 % 2; e++) entry(b, i + e * distance);
        end_row(b);
    }
}

/* Rows of three entries, except row `at`, which has `length`. If `two`, the row after it is long as well. */
static void dense_row(builder *b, int64_t length, int64_t at, int64_t two)
{
    const int64_t rows = 300;
    for (int64_t i = 0; i < rows; i++) {
        int is_long = i == at || (two && i == at + 1);
        random_row(b, is_long ? length + (i - at) : 3, length + 2);
    }
}

static void dense_column(builder *b, int64_t rows, int64_t cols, int64_t at)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t other = below(b, cols);
        entry(b, other < at ? other : at);
        if (other != at) entry(b, other < at ? at : other);
        end_row(b);
    }
    b->f.cols = cols;
}

static void last_column(builder *b, int64_t rows, int64_t cols, int64_t most)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t length = below(b, most + 1);
        for (int64_t e = 0; e < length; e++) entry(b, cols - 1 - length + e);
        entry(b, cols - 1);
        end_row(b);
    }
}

/* Every row repeats some of its columns. */
static void duplicates(builder *b, int64_t rows, int64_t cols, int64_t most)
{
    for (int64_t i = 0; i < rows; i++) random_row(b, cols + below(b, most), cols);
}

static void unsorted(builder *b, int64_t rows, int64_t cols, int64_t most)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t length = below(b, most + 1);
        for (int64_t e = 0; e < length; e++) entry(b, below(b, cols));
        end_row(b);
    }
    b->f.cols = cols;
}

static void uniform(builder *b, int64_t rows, int64_t cols, int64_t most)
{
    b->f.cols = cols;
    for (int64_t i = 0; i < rows; i++) random_row(b, below(b, most + 1), cols);
}

/* Rows of equal length. The last row has `extra` more entries (fewer if negative). */
static void constant(builder *b, int64_t rows, int64_t length, int64_t extra)
{
    const int64_t cols = 3000;
    b->f.cols = cols;
    for (int64_t i = 0; i < rows; i++) random_row(b, length + (i == rows - 1 ? extra : 0), cols);
}

static void power_law(builder *b, int64_t size, int64_t q, int64_t r)
{
    b->f.cols = size;
    for (int64_t i = 0; i < size; i++) random_row(b, size / (1 + (i * 7919) % size) + below(b, 2), size);
}

static void banded(builder *b, int64_t size, int64_t below_diagonal, int64_t above)
{
    for (int64_t i = 0; i < size; i++) {
        for (int64_t j = i - below_diagonal; j <= i + above; j++)
            if (j >= 0 && j < size) entry(b, j);
        end_row(b);
    }
}

/* Nodes of a grid are neighbours if they differ by at most 1 in each direction, and in at most `reach` directions. */
static void grid(builder *b, int64_t side, int64_t depth, int64_t reach)
{
    for (int64_t i = 0; i < side * side * depth; i++) {
        int64_t x = i % side, y = i / side % side, z = i / (side * side);
        for (int64_t n = 0; n < 27; n++) {
            int64_t dx = n % 3 - 1, dy = n / 3 % 3 - 1, dz = n / 9 - 1;
            if ((dx != 0) + (dy != 0) + (dz != 0) > reach) continue;
            if (x + dx < 0 || x + dx >= side || y + dy < 0 || y + dy >= side || z + dz < 0 || z + dz >= depth) continue;
            entry(b, i + dx + side * (dy + side * dz));
        }
        end_row(b);
    }
}

/* Adds rows with random columns. If step is 0, all rows have equal columns. Otherwise columns increase by 1 per row. */
static void run_of_rows(builder *b, int64_t rows, int64_t length, int step)
{
    const int64_t spread = 40 * (length + 1);
    int64_t first[256];
    for (int64_t e = 0; e < length; e++) first[e] = e * 40 + below(b, 39);
    if (length > 0 && below(b, 4) == 0) first[length - 1] = spread - 1;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t e = 0; e < length; e++) entry(b, first[e] + (step ? i : 0));
        end_row(b);
    }
}

/* Adds one run of rows for each number of rows from 70 to 1. If not `all`, leaves out most numbers above 20. */
static void strided(builder *b, int64_t length, int64_t all, int64_t r)
{
    for (int64_t rows = 70; rows >= 1; rows--)
        if (all || rows <= 20 || rows % 16 < 2 || rows == 70) run_of_rows(b, rows, length, 1);
}

static void shared(builder *b, int64_t length, int64_t most, int64_t repeats)
{
    for (int64_t n = 0; n < repeats; n++)
        for (int64_t rows = 1; rows <= most; rows++) run_of_rows(b, rows, length, 0);
}

/* Groups of `size` rows with equal columns, as in problems with multiple unknowns per node. */
static void groups(builder *b, int64_t size, int64_t nodes, int64_t length)
{
    for (int64_t n = 0; n < nodes; n++) run_of_rows(b, size, size * (1 + below(b, length)), 0);
}

/* Rows of about `most` clusters with up to `spread` neighbouring columns each. One row in 17 is unsorted. */
static void clusters(builder *b, int64_t rows, int64_t spread, int64_t most)
{
    b->f.cols = 40 * spread;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t begin = b->f.nnz;
        int64_t from = below(b, 4 * spread);
        for (int64_t n = below(b, 8) > 0 ? most : below(b, most + 3); n > 0; n--, from += spread * (1 + below(b, 3))) {
            if (from + spread > b->f.cols || below(b, 5) == 0) from = b->f.cols - spread;
            for (int64_t j = 0; j < spread; j++)
                if (j == 0 || j == spread - 1 || below(b, 8) > 2) entry(b, from + j);
        }
        for (int64_t k = begin, last = b->f.nnz - 1; i % 17 == 3 && k < last; k++, last--) {
            int64_t j = b->f.columns[k];
            b->f.columns[k] = b->f.columns[last];
            b->f.columns[last] = j;
        }
        end_row(b);
    }
}

/* Groups of `size` rows with equal columns. A row has up to nine runs of 1 to `longest` neighbouring columns. */
static void grouped_clusters(builder *b, int64_t size, int64_t nodes, int64_t longest)
{
    for (int64_t n = 0; n < nodes; n++) {
        const uint64_t random = b->random;
        for (int64_t r = 0; r < size; r++) {
            b->random = random;
            int64_t from = below(b, 900);
            for (int64_t runs = 1 + below(b, 9); runs > 0; runs--, from += 2 + below(b, 30))
                for (int64_t length = 1 + below(b, longest); length > 0; length--) entry(b, from++);
            end_row(b);
        }
    }
}

static void mixed(builder *b, int64_t runs, int64_t longest, int64_t general)
{
    for (int64_t n = 0; n < runs; n++) {
        int64_t length = 1 + below(b, longest);
        if (below(b, 100) < general) {
            for (int64_t rows = below(b, 12); rows > 0; rows--) random_row(b, below(b, longest + 1), 900);
        } else {
            run_of_rows(b, 1 + below(b, 40), length, below(b, 2) == 0);
        }
    }
}

/* Adds three long rows. Shorter rows are before and after each long row. */
static void mixed_long(builder *b, int64_t runs, int64_t length, int64_t r)
{
    for (int64_t n = 0; n < 3; n++) {
        mixed(b, runs, 12, 20);
        random_row(b, length, length + 7);
    }
    mixed(b, runs, 12, 20);
}

static const line table[] = {
    {"0 x 0", no_entries, 0, 0, 0, 0, 0},
    {"m x 0", no_entries, 77, 0, 0, 0, 0},
    {"0 x n", no_entries, 0, 77, 0, 0, 0},
    {"no entries", no_entries, 70001, 5, 0, 0, 0},
    {"1 x 1", full, 1, 1, 0, 0, 0},
    {"1 x n", full, 1, 1003, 0, 0, 0},
    {"n x 1", full, 1003, 1, 0, 0, 0},
    {"dense", full, 61, 67, 0, 1, 0},
    {"1 x n, pieces", full, 1, 100003, 0, 0, 1},
    {"empty rows", empty_rows, 3000, 3, 20, 0, 0},
    {"nearly all rows empty", empty_rows, 40000, 100, 9, 0, 0},
    {"bands and empty rows", bands_and_gaps, 1391, 3, 2, 0, 0},
    {"dense row first", dense_row, 5000, 0, 0, 0, 0},
    {"long row first", dense_row, 100001, 0, 0, 0, 1},
    {"long row in the middle", dense_row, 100001, 151, 0, 0, 1},
    {"long row last", dense_row, 100001, 299, 0, 0, 1},
    {"two long rows", dense_row, 40001, 150, 1, 0, 1},
    {"row of 32766", dense_row, 32766, 5, 0, 0, 0},
    {"row of 32767", dense_row, 32767, 5, 0, 0, 0},
    {"row of 32768", dense_row, 32768, 5, 0, 0, 0},
    {"row of 32769", dense_row, 32769, 5, 0, 0, 1},
    {"row of 65536", dense_row, 65536, 0, 0, 0, 1},
    {"row of 65537", dense_row, 65537, 299, 0, 0, 1},
    {"dense column", dense_column, 5000, 50, 7, 0, 0},
    {"last column", last_column, 700, 1000, 19, 0, 0},
    {"duplicates", duplicates, 300, 9, 20, 0, 0},
    {"unsorted", unsorted, 2000, 700, 25, 0, 0},
    {"wide", uniform, 50, 20000, 300, 0, 0},
    {"tall", uniform, 20000, 50, 7, 0, 0},
    {"more than 2^16 rows", uniform, 70001, 300, 2, 0, 0},
    {"more than 2^16 columns", uniform, 900, 70001, 12, 0, 0},
    {"power law", power_law, 4000, 0, 0, 0, 0},
    {"diagonal", banded, 40000, 0, 0, 1, 0},
    {"tridiagonal", banded, 20000, 1, 1, 1, 0},
    {"lower bidiagonal", banded, 3001, 1, 0, 1, 0},
    {"banded 4", banded, 3002, 2, 1, 1, 0},
    {"banded 9", banded, 3003, 4, 4, 1, 0},
    {"banded 33", banded, 2004, 16, 16, 1, 0},
    {"upper triangle", banded, 130, 0, 130, 0, 0},
    {"grid, 5 points", grid, 57, 1, 1, 1, 0},
    {"grid, 9 points", grid, 41, 1, 2, 1, 0},
    {"grid, 7 points", grid, 17, 9, 1, 1, 0},
    {"grid, 27 points", grid, 13, 7, 3, 1, 0},
    {"groups of 2", groups, 2, 300, 9, 1, 0},
    {"groups of 3", groups, 3, 300, 9, 1, 0},
    {"groups of 4", groups, 4, 200, 7, 1, 0},
    {"groups of 5", groups, 5, 200, 7, 1, 0},
    {"groups of 6", groups, 6, 200, 7, 1, 0},
    {"groups of 7", groups, 7, 100, 5, 1, 0},
    {"groups of 8", groups, 8, 100, 5, 1, 0},
    {"clusters of 5", clusters, 1003, 5, 2, 0, 0},
    {"clusters of 8", clusters, 1005, 8, 3, 0, 0},
    {"clusters of 9", clusters, 1007, 9, 1, 0, 0},
    {"clusters of 16", clusters, 1009, 16, 4, 0, 0},
    {"clusters of 17", clusters, 1011, 17, 6, 0, 0},
    {"clusters of 40", clusters, 300, 40, 9, 0, 0},
    {"groups of 2, clusters", grouped_clusters, 2, 101, 17, 1, 0},
    {"groups of 3, clusters", grouped_clusters, 3, 101, 9, 1, 0},
    {"groups of 4, clusters", grouped_clusters, 4, 67, 8, 1, 0},
    {"groups of 5, clusters", grouped_clusters, 5, 51, 40, 1, 0},
    {"groups of 6, clusters", grouped_clusters, 6, 51, 16, 1, 0},
    {"groups of 7, clusters", grouped_clusters, 7, 41, 12, 1, 0},
    {"groups of 8, clusters", grouped_clusters, 8, 41, 20, 1, 0},
    {"mixed runs", mixed, 1500, 12, 20, 1, 0},
    {"mixed runs, longer rows", mixed, 400, 40, 20, 1, 0},
    {"mixed runs, mostly general", mixed, 1500, 9, 70, 0, 0},
    {"mixed runs and long rows", mixed_long, 300, 40003, 0, 1, 1},
    /*
     * The cost of a row is its length plus 2. A whole number of rows with 6 entries has the maximum cost of a block of
     * csr. The following families are close to this limit.
     */
    {"border of blocks", constant, 8192, 6, 0, 0, 0},
    {"border of blocks - 1", constant, 8192, 6, -1, 0, 0},
    {"border of blocks + 1", constant, 8192, 6, 1, 0, 0},
    {"border of blocks + 1 row", constant, 8193, 6, 0, 0, 0},
    {"border of blocks, empty row", constant, 8193, 6, -6, 0, 0},
    {"border of entries", constant, 8192, 8, 0, 0, 0},
    {"border of entries - 1", constant, 8192, 8, -1, 0, 0},
    {"border of entries + 1", constant, 8192, 8, 1, 0, 0},
    {"border of entries in a row", constant, 9363, 7, -5, 0, 0},
};

/*
 * y in f32 of the first family, and y in f64 of the second, exceed the size above which kernels use non-temporal
 * stores. Row counts are odd, so y is not aligned.
 */
static const line large[] = {
    {"4194311 rows", uniform, 4194311, 300, 1, 0, 0},
    {"2097161 rows, diagonal", banded, 2097161, 0, 0, 1, 0},
};

enum { TABLE = sizeof table / sizeof *table, LENGTHS = 40 };

int family_large_count(void)
{
    return sizeof large / sizeof *large;
}

int family_count(void)
{
    return TABLE + 3 * LENGTHS;
}

/* Returns whether the row length is close to a vector width. Such lengths are tested with runs of 1 to 70 rows. */
static int is_critical(int64_t length)
{
    return (length >= 3 && length <= 5) || (length >= 7 && length <= 9) || length == 12 || length == 13 ||
           length == 16 || length == 17;
}

int family_next(int number, int haste)
{
    for (number++; haste && number >= TABLE && number < family_count(); number++) {
        int64_t length = 1 + (number - TABLE) % LENGTHS;
        if (is_critical(length) || length % 11 == 2) break;
    }
    return number;
}

static line line_of(int number)
{
    if (number < TABLE) return table[number];
    if (number >= family_count()) return large[number - family_count()];
    int64_t length = 1 + (number - TABLE) % LENGTHS;
    switch ((number - TABLE) / LENGTHS) {
    case 0: return (line){"strided", strided, length, is_critical(length), 0, 1, 0};
    case 1: return (line){"shared", shared, length, 20, 1 + 40 / length, length >= 4, 0};
    default: return (line){"constant length", constant, 301, length, 0, 0, 0};
    }
}

family family_make(int number)
{
    line l = line_of(number);
    builder b = {.random = (uint64_t)number};
    if (number < TABLE || number >= family_count())
        snprintf(b.f.name, sizeof b.f.name, "%s", l.name);
    else
        snprintf(b.f.name, sizeof b.f.name, "%s %d", l.name, 1 + (number - TABLE) % LENGTHS);
    b.f.offsets = grown(b.f.offsets, &b.row_room, 1);
    b.f.columns = grown(b.f.columns, &b.entry_room, 1);
    b.f.offsets[0] = 0;
    l.make(&b, l.p, l.q, l.r);
    b.f.structured = l.structured;
    b.f.pieces = l.pieces;
    b.f.sorted = 1;
    for (int64_t i = 0; i < b.f.rows; i++)
        for (int64_t k = b.f.offsets[i] + 1; k < b.f.offsets[i + 1]; k++)
            if (b.f.columns[k] < b.f.columns[k - 1]) b.f.sorted = 0;
    return b.f;
}

void family_free(family *f)
{
    free(f->offsets);
    free(f->columns);
    memset(f, 0, sizeof *f);
}



#include "columns.h"

/* Columns of x and y that lie row by row, with room behind each row, or apart, with room behind each column. */
typedef struct rows_of_columns {
    int64_t columns;
    int apart;
    guarded x, y;
    spry_vector all_x, all_y;
} rows_of_columns;

enum { X_ROOM = 2, Y_ROOM = 3 };

static int64_t place_of(const spry_vector *v, int64_t i, int64_t c)
{
    return i * v->row_stride + c * v->column_stride;
}

/* Column c of x is x_numbers, from number c on. */
static rows_of_columns rows_make(const material *s, const double *x_numbers, int64_t columns, int apart)
{
    const size_t size = spry_type_bytes(s->type);
    const int64_t m = s->y_length, n = s->x_length;
    rows_of_columns r = {.columns = columns, .apart = apart};
    r.all_x = (spry_vector){NULL, n, columns, columns + X_ROOM, 1, s->type, 0, {0, 0}};
    r.all_y = (spry_vector){NULL, m, columns, columns + Y_ROOM, 1, s->type, 0, {0, 0}};
    if (apart) {
        r.all_x.row_stride = r.all_y.row_stride = 1;
        r.all_x.column_stride = n + X_ROOM;
        r.all_y.column_stride = m + Y_ROOM;
    }
    r.x = guarded_make((size_t)(n > 0 ? place_of(&r.all_x, n - 1, columns - 1) + 1 : 0) * size, AT_END);
    r.y = guarded_make((size_t)(m > 0 ? place_of(&r.all_y, m - 1, columns - 1) + 1 : 0) * size, AT_END);
    memset(r.x.data, 0xff, r.x.bytes);
    for (int64_t j = 0; j < n; j++)
        for (int64_t c = 0; c < columns; c++) set_number(r.x.data, s->type, place_of(&r.all_x, j, c), x_numbers[j + c]);
    r.all_x.data = r.x.data;
    r.all_y.data = r.y.data;
    return r;
}

static void rows_free(rows_of_columns *r)
{
    guarded_free(&r->x);
    guarded_free(&r->y);
}

/* y's numbers are s->y_numbers in every column before; afterwards column c is in column[c]. */
static void run_rows(const material *s, const trial *t, const spry_spmv_plan *plan, const rows_of_columns *r,
                     const double scaling[2], guarded *column)
{
    const size_t size = spry_type_bytes(s->type);
    const int64_t m = s->y_length;
    float single[2] = {(float)scaling[0], (float)scaling[1]};
    const void *alpha = s->type == SPRY_F32 ? (const void *)&single[0] : &scaling[0];
    const void *beta = s->type == SPRY_F32 ? (const void *)&single[1] : &scaling[1];
    memset(r->y.data, 0xff, r->y.bytes);
    for (int64_t i = 0; i < m && scaling[1] != 0; i++)
        for (int64_t c = 0; c < r->columns; c++)
            set_number(r->y.data, s->type, place_of(&r->all_y, i, c), s->y_numbers[i]);
    assert_int_equal(spry_spmv_plan_run(plan, r->all_y, alpha, spry_vector_as_const(r->all_x), beta, NULL, NULL),
                     SPRY_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t c = 0; c < r->columns; c++) {
            char *number = (char *)r->y.data + (size_t)place_of(&r->all_y, i, c) * size;
            memcpy((char *)column[c].data + (size_t)i * size, number, size);
            memset(number, 0xff, size);
        }
    for (size_t b = 0; b < r->y.bytes; b++)
        if (((const char *)r->y.data)[b] != (char)0xff) fail_msg("%s: wrote between columns", describe(t));
    if (!guarded_intact(&r->y)) fail_msg("%s: wrote beside the columns", describe(t));
}

/*
 * Every column within the bound, and of the same bits as among the most columns. If SAMPLED, each call takes the most
 * columns and two other numbers of columns, which rotate; if RACES_SAMPLED, one other.
 */
void judge_rows(const material *s, const trial *t, const spry_spmv_plan *plan, const double *x_numbers, int apart)
{
    static const int64_t counts[] = {MOST_COLUMNS, 2, 3, 7, 8, 9, 17};
    static const double scalings[][2] = {{1, 0}, {-0.5, 2}};
    static size_t calls;
    calls++;
    guarded most[MOST_COLUMNS], column[MOST_COLUMNS];
    const size_t bytes = (size_t)s->y_length * spry_type_bytes(s->type);
    for (int c = 0; c < MOST_COLUMNS; c++) most[c] = guarded_make(bytes, ON_HEAP);
    for (int c = 0; c < MOST_COLUMNS; c++) column[c] = guarded_make(bytes, ON_HEAP);
    for (size_t k = 0; k < 2 * sizeof counts / sizeof *counts; k++) {
        if (SAMPLED && k > 1 && (k / 2 + calls) % (3 + 3 * RACES_SAMPLED) != 0) continue;
        rows_of_columns r = rows_make(s, x_numbers, counts[k / 2], apart);
        const double *scaling = scalings[k % 2];
        if (k < 2 || k % 2 == 1) run_rows(s, t, plan, &r, scaling, k < 2 ? most : column);
        for (int64_t c = 0; c < r.columns && k < 2; c += MOST_COLUMNS / 3) {
            reference exact =
                reference_make(&s->f, t->how->pattern ? NULL : s->values, x_numbers + c, t->op == SPRY_TRANSPOSE);
            const comparison found =
                reference_compare(&exact, s->type, scaling[0], scaling[1], s->before.data, most[c].data);
            if (found.wrong > 0) fail_msg("%s: column %d of several is wrong", describe(t), (int)c);
            reference_free(&exact);
        }
        for (int64_t c = 0; c < r.columns && k > 2 && k % 2 == 1; c++)
            if (memcmp(column[c].data, most[c].data, bytes) != 0)
                fail_msg("%s: column %d of %d differs", describe(t), (int)c, (int)r.columns);
        rows_free(&r);
    }
    for (int c = 0; c < MOST_COLUMNS; c++) guarded_free(&most[c]);
    for (int c = 0; c < MOST_COLUMNS; c++) guarded_free(&column[c]);
}

/* Bits, or NaN in both. */
static int same_number(const void *a, const void *b, spry_type type, int64_t i)
{
    const size_t size = spry_type_bytes(type);
    const double one = number_at(a, type, i), other = number_at(b, type, i);
    return (isnan(one) && isnan(other)) ||
           memcmp((const char *)a + (size_t)i * size, (const char *)b + (size_t)i * size, size) == 0;
}

void judge_beside_single(const material *s, const trial *t, const spry_spmv_plan *plan, const spry_spmv_plan *single,
                         const double *x_numbers, int apart)
{
    enum { COLUMNS = 11, SCALINGS = 7 };
    static const double scalings[SCALINGS][2] = {{1, 0}, {-0.7, 1.3},      {1, -1.3},   {0, -2},
                                                 {0, 1}, {0, (double)NAN}, {-0.7, -0.0}};
    const size_t size = spry_type_bytes(s->type), bytes = (size_t)s->y_length * size;
    material own = *s;
    own.y_numbers = malloc((size_t)(s->y_length + 1) * sizeof *own.y_numbers);
    for (int64_t i = 0; i < s->y_length; i++) own.y_numbers[i] = i % 5 == 1 ? 0.0 : i % 5 == 3 ? -0.0 : s->y_numbers[i];
    double *odd = malloc((size_t)(s->x_length + COLUMNS) * sizeof *odd);
    guarded column[COLUMNS], y = guarded_make(bytes, ON_HEAP);
    for (int c = 0; c < COLUMNS; c++) column[c] = guarded_make(bytes, ON_HEAP);
    static int calls;
    calls++;
    for (int k = 0; k < SCALINGS + 2; k++) {
        if (SAMPLED && (k + calls) % (3 + 6 * RACES_SAMPLED) != 0) continue;
        const double *scaling = scalings[k % SCALINGS];
        for (int64_t j = 0; j < s->x_length + COLUMNS; j++)
            odd[j] = k < SCALINGS || j % 37 != 5 ? x_numbers[j] : j % 2 == 0 ? (double)INFINITY : (double)NAN;
        rows_of_columns r = rows_make(s, odd, COLUMNS, apart);
        run_rows(&own, t, plan, &r, scaling, column);
        for (int c = 0; c < COLUMNS; c++) {
            guarded x = vector_make(odd + c, s->x_length, s->type, ON_HEAP);
            fill_y(&y, s->type, own.y_numbers, scaling[1]);
            run(t, single, scaling[0], &x, scaling[1], &y);
            for (int64_t i = 0; i < s->y_length; i++)
                if (!same_number(column[c].data, y.data, s->type, i))
                    fail_msg("%s: row %lld of column %d is not as alone: alpha %g, beta %g, %s", describe(t),
                             (long long)i, c, scaling[0], scaling[1], apart ? "apart" : "row by row");
            guarded_free(&x);
        }
        rows_free(&r);
    }
    for (int c = 0; c < COLUMNS; c++) guarded_free(&column[c]);
    guarded_free(&y);
    free(odd);
    free(own.y_numbers);
}

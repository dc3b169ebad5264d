/*
 * Conjugate Gradient and PageRank. Iterations run without Python's lock; every few hundredths of a second the lock is
 * taken, so that Ctrl-C is seen.
 */
#include "spry_python.h"

#include <time.h>

/* ---- Ctrl-C ---- */

typedef struct Watch {
    PyThreadState *state; /* of the thread, while it has no lock */
    double looked;        /* seconds, when signals were last looked at */
} Watch;

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The library's observer: 1 where a signal's handler has raised an exception, which stays set. */
static int watch(void *user, int64_t iteration, double residual)
{
    (void)iteration, (void)residual;
    Watch *const w = user;
    const double now = seconds();
    if (now - w->looked < 0.05) return 0;
    w->looked = now;
    PyEval_RestoreThread(w->state);
    const int stop = PyErr_CheckSignals() < 0;
    w->state = PyEval_SaveThread();
    return stop;
}

/* What a solver came to: its result as a dict with the message of a failure, or NULL where it did not run. */
static PyObject *told(const void *result, const spry_field *fields, spry_status status, const spry_error *err)
{
    if (PyErr_Occurred()) return NULL; /* Ctrl-C */
    if (status != SPRY_OK && status != SPRY_NOT_CONVERGED) return spry_python_fail(err);
    PyObject *const dict = spry_python_dict(result, fields);
    PyObject *const message = PyUnicode_FromString(status == SPRY_OK ? "" : err->message);
    if (!dict || !message || PyDict_SetItemString(dict, "message", message) < 0) {
        Py_XDECREF(dict);
        Py_XDECREF(message);
        return NULL;
    }
    Py_DECREF(message);
    return dict;
}

/*
 * Vectors of a solver are the very arrays that Python gives, or views: columns one behind the other, of the type of both.
 */
static int take_vector(spry_operand *operand, PyObject *given, spry_type type, int64_t length, const char *name)
{
    if (PyTuple_Check(given)) return spry_python_view_operand(operand, given, name);
    if (spry_python_operand(operand, given, type, length, name) < 0) return -1;
    if (!operand->copied && !spry_python_by_rows(operand)) return 0;
    Py_CLEAR(operand->array);
    PyErr_Format(PyExc_ValueError, "%s: expected columns that lie one behind the other", name);
    return -1;
}

/* ---- Conjugate Gradient ---- */

#define OPTION(kind, member) SPRY_FIELD(spry_cg_options, kind, member)

static const spry_field cg_options[] = {
    OPTION(INT, precond),          OPTION(DOUBLE, tolerance), OPTION(DOUBLE, absolute_tolerance),
    OPTION(INT64, max_iterations), OPTION(INT64, patience),   OPTION(BOOL, start_from_x),
    OPTION(INT, device),           OPTION(STRING, format),    OPTION(STRING, kernel),
    OPTION(INT64, block_size),     OPTION(INT64, degree),     OPTION(DOUBLE, eigenvalue_ratio),
    OPTION(INT, inside),           OPTION(POINTER, stream),   SPRY_FIELDS_END,
};

#define RESULT(kind, member) SPRY_FIELD(spry_cg_result, kind, member)

static const spry_field cg_fields[] = {
    RESULT(VERDICT, verdict),         RESULT(INT64, iterations),
    RESULT(DOUBLE, residual),         RESULT(DOUBLE, true_residual),
    RESULT(INT64, restarts),          RESULT(INT64, bad_row),
    RESULT(STRING, format),           RESULT(STRING, kernel),
    RESULT(DOUBLE, setup_us),         RESULT(DOUBLE, solve_us),
    RESULT(DOUBLE, product_us),       RESULT(INT64, replacements),
    RESULT(INT64, products),          RESULT(INT64, column),
    RESULT(INT64, columns_converged), SPRY_FIELDS_END,
};

PyDoc_STRVAR(cg_doc, "cg(A, x, b, is_f32, options, threads) -> dict\n\nSolves A*x = b into the array x.");

static PyObject *cg(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *matrix, *into, *right, *dict;
    int is_f32, threads;
    if (!PyArg_ParseTuple(args, "O!OOpOi", spry_python_matrix_type, &matrix, &into, &right, &is_f32, &dict, &threads))
        return NULL;
    const spry_matrix *const A = ((SpryMatrix *)matrix)->matrix;
    const spry_type type = is_f32 ? SPRY_F32 : SPRY_F64;
    spry_cg_options options = SPRY_INIT(spry_cg_options);
    spry_cg_result result = SPRY_INIT(spry_cg_result);
    spry_context *const context = spry_python_context(threads);
    spry_operand x = {0}, b = {0};
    spry_status status = SPRY_OK;
    spry_error err;
    Watch w = {.looked = seconds()};
    options.observe = watch;
    options.user = &w;
    PyObject *solved = NULL;
    if (context && spry_python_options(&options, cg_options, dict) == 0 &&
        take_vector(&x, into, type, spry_matrix_rows(A), "x") == 0 &&
        take_vector(&b, right, type, spry_matrix_rows(A), "b") == 0) {
        w.state = PyEval_SaveThread();
        status = spry_cg(context, x.vector, &result, A, spry_vector_as_const(b.vector), &options, &err);
        PyEval_RestoreThread(w.state);
        solved = told(&result, cg_fields, status, &err);
    }
    Py_XDECREF((PyObject *)x.array);
    Py_XDECREF((PyObject *)b.array);
    return solved;
}

/* ---- PageRank ---- */

#undef OPTION
#define OPTION(kind, member) SPRY_FIELD(spry_pagerank_options, kind, member)

static const spry_field pagerank_options[] = {
    OPTION(DOUBLE, alpha),  OPTION(DOUBLE, tolerance),  OPTION(INT, norm),       OPTION(INT64, max_iterations),
    OPTION(INT, edges),     OPTION(INT, zero_columns),  OPTION(INT, device),     OPTION(STRING, format),
    OPTION(STRING, kernel), OPTION(BOOL, start_from_x), OPTION(POINTER, stream), SPRY_FIELDS_END,
};

#undef RESULT
#define RESULT(kind, member) SPRY_FIELD(spry_pagerank_result, kind, member)

static const spry_field pagerank_fields[] = {
    RESULT(VERDICT, verdict),
    RESULT(INT64, iterations),
    RESULT(DOUBLE, residual),
    RESULT(DOUBLE, error_bound),
    RESULT(DOUBLE, mass),
    RESULT(BOOL, as_it_stands),
    RESULT(INT64, zero_columns),
    RESULT(INT64, first_zero_column),
    RESULT(DOUBLE, zero_mass),
    RESULT(STRING, format),
    RESULT(STRING, kernel),
    RESULT(DOUBLE, setup_us),
    RESULT(DOUBLE, solve_us),
    RESULT(DOUBLE, product_us),
    SPRY_FIELDS_END,
};

PyDoc_STRVAR(pagerank_doc, "pagerank(A, x, personalised or None, is_f32, options, threads) -> dict\n\n"
                           "Writes the ranks of a graph's nodes into the array x.");

static PyObject *pagerank(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *matrix, *into, *personalised, *dict;
    int is_f32, threads;
    if (!PyArg_ParseTuple(args, "O!OOpOi", spry_python_matrix_type, &matrix, &into, &personalised, &is_f32, &dict,
                          &threads))
        return NULL;
    const spry_matrix *const A = ((SpryMatrix *)matrix)->matrix;
    const spry_type type = is_f32 ? SPRY_F32 : SPRY_F64;
    spry_pagerank_options options = SPRY_INIT(spry_pagerank_options);
    spry_pagerank_result result = SPRY_INIT(spry_pagerank_result);
    spry_context *const context = spry_python_context(threads);
    spry_operand x = {0}, v = {0};
    spry_status status = SPRY_OK;
    spry_error err;
    Watch w = {.looked = seconds()};
    options.observe = watch;
    options.user = &w;
    PyObject *solved = NULL;
    if (context && spry_python_options(&options, pagerank_options, dict) == 0 &&
        take_vector(&x, into, type, spry_matrix_rows(A), "x") == 0 &&
        (personalised == Py_None || take_vector(&v, personalised, type, spry_matrix_rows(A), "personalised") == 0)) {
        if (personalised != Py_None) options.personalised = spry_vector_as_const(v.vector);
        w.state = PyEval_SaveThread();
        status = spry_pagerank(context, x.vector, &result, A, &options, &err);
        PyEval_RestoreThread(w.state);
        solved = told(&result, pagerank_fields, status, &err);
    }
    Py_XDECREF((PyObject *)x.array);
    Py_XDECREF((PyObject *)v.array);
    return solved;
}

PyMethodDef spry_python_solve_functions[] = {
    {"cg", cg, METH_VARARGS, cg_doc},
    {"pagerank", pagerank, METH_VARARGS, pagerank_doc},
    {NULL, NULL, 0, NULL},
};

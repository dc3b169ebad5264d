/*
 * Conjugate Gradient, PageRank, and spry._core.CgPlan for systems that are solved many times. Iterations run without
 * Python's lock. At most every 0.05 s a solver takes the lock between two iterations to handle Ctrl-C.
 */
#include "spry/solve.h"
#include "spry_python.h"

#include <time.h>

/* ---- Ctrl-C ---- */

typedef struct Watch {
    PyThreadState *state;  /* state of the thread while the lock is released */
    double last_check;     /* time of the last check for signals, in seconds */
    PyObject *should_stop; /* function without arguments, or NULL; borrowed */
} Watch;

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns true if `should_stop` returns true or raises an exception. */
static bool is_stopped(PyObject *should_stop)
{
    PyObject *const answer = should_stop ? PyObject_CallNoArgs(should_stop) : NULL;
    const bool stopped = answer ? PyObject_IsTrue(answer) != 0 : should_stop != NULL;
    Py_XDECREF(answer);
    return stopped;
}

/*
 * The library's observer. Returns 1 to stop the solver: if a signal handler raised an exception, which remains set, or
 * if is_stopped returns true.
 */
static int watch(void *user, int64_t iteration, double residual)
{
    (void)iteration, (void)residual;
    Watch *const w = user;
    const double now = seconds();
    if (now - w->last_check < 0.05) return 0;
    w->last_check = now;
    PyEval_RestoreThread(w->state);
    const int stop = PyErr_CheckSignals() < 0 || is_stopped(w->should_stop);
    w->state = PyEval_SaveThread();
    return stop;
}

/* One call of a solver. */
typedef struct Call {
    spry_operand x, b; /* b is zeroed if the solver has no right side */
    Watch watch;
} Call;

/* Converts a vector of a solver without a copy: a view, or an array of the given type with contiguous columns. */
static int take_vector(spry_operand *operand, PyObject *given, spry_type type, int64_t length, const char *name)
{
    if (PyTuple_Check(given)) return spry_python_view_operand(operand, given, name);
    if (spry_python_operand(operand, given, type, length, name) < 0) return -1;
    if (!operand->is_copy && !spry_python_is_row_major(operand)) return 0;
    Py_CLEAR(operand->array);
    spry_python_invalid("%s: expected contiguous columns", name);
    return -1;
}

static void drop_vectors(Call *call)
{
    Py_XDECREF((PyObject *)call->x.array);
    Py_XDECREF((PyObject *)call->b.array);
}

/*
 * Converts the vectors and releases the lock. Returns -1 with the lock held if a vector is refused. right may be None;
 * should_stop may be None or NULL.
 */
static int begin(Call *call, PyObject *into, PyObject *right, bool is_f32, int64_t length, const char *name,
                 PyObject *should_stop)
{
    const spry_type type = is_f32 ? SPRY_F32 : SPRY_F64;
    *call = (Call){.watch = {.last_check = seconds(), .should_stop = should_stop == Py_None ? NULL : should_stop}};
    if (take_vector(&call->x, into, type, length, "x") < 0 ||
        (right != Py_None && take_vector(&call->b, right, type, length, name) < 0)) {
        drop_vectors(call);
        return -1;
    }
    call->watch.state = PyEval_SaveThread();
    return 0;
}

/*
 * Takes the lock and releases the vectors. Returns the result as a dict, with a message if the solver did not converge;
 * NULL after other errors and after Ctrl-C.
 */
static PyObject *end(Call *call, const void *result, const spry_field *fields, spry_status status,
                     const spry_error *err)
{
    PyEval_RestoreThread(call->watch.state);
    drop_vectors(call);
    if (PyErr_Occurred()) return NULL; /* Ctrl-C */
    if (status != SPRY_OK && status != SPRY_NOT_CONVERGED) return spry_python_fail(err);
    PyObject *const dict = spry_python_dict(result, fields);
    PyObject *const message = spry_python_text(status == SPRY_OK ? "" : err->message);
    if (!dict || !message || PyDict_SetItemString(dict, "message", message) < 0) {
        Py_XDECREF(dict);
        Py_XDECREF(message);
        return NULL;
    }
    Py_DECREF(message);
    return dict;
}

/* ---- Conjugate Gradient ---- */

#define OPTION(kind, member) SPRY_FIELD(spry_cg_options, kind, member)

static const spry_field cg_options[] = {
    OPTION(INT, precond),
    OPTION(DOUBLE, tolerance),
    OPTION(DOUBLE, absolute_tolerance),
    OPTION(INT64, max_iterations),
    OPTION(INT64, patience),
    OPTION(INT, start),
    OPTION(INT, device),
    OPTION(STRING, format),
    OPTION(STRING, kernel),
    OPTION(INT64, block_size),
    OPTION(INT64, degree),
    OPTION(DOUBLE, eigenvalue_ratio),
    OPTION(INT, precision),
    OPTION(POINTER, stream),
    OPTION(INT64, count),
    OPTION(DOUBLE, symmetry_tolerance),
    OPTION(BOOL, assume_symmetric),
    SPRY_FIELDS_END,
};

#undef OPTION
#define OPTION(kind, member) SPRY_FIELD(spry_cg_run_options, kind, member)

static const spry_field cg_run_options[] = {
    OPTION(DOUBLE, tolerance),     OPTION(DOUBLE, absolute_tolerance),
    OPTION(INT64, max_iterations), OPTION(INT, start),
    OPTION(POINTER, stream),       SPRY_FIELDS_END,
};

#define RESULT(kind, member) SPRY_FIELD(spry_cg_result, kind, member)

static const spry_field cg_fields[] = {
    RESULT(VERDICT, verdict),      RESULT(INT64, iterations),  RESULT(DOUBLE, residual),
    RESULT(DOUBLE, true_residual), RESULT(INT64, restarts),    RESULT(INT64, bad_row),
    RESULT(STRING, format),        RESULT(STRING, kernel),     RESULT(DOUBLE, setup_us),
    RESULT(DOUBLE, solve_us),      RESULT(DOUBLE, product_us), RESULT(INT64, replacements),
    RESULT(INT64, vector),         RESULT(INT64, converged),   SPRY_FIELDS_END,
};

PyDoc_STRVAR(cg_doc, "cg(A, x, b, is_f32, options, threads, should_stop=None) -> dict\n\n"
                     "Solves A*x = b into the array x. Ends early once should_stop() returns true.");

static PyObject *cg(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *matrix, *into, *right, *dict, *should_stop = NULL;
    int is_f32, threads;
    if (!PyArg_ParseTuple(args, "O!OOpOi|O", spry_python_matrix_type, &matrix, &into, &right, &is_f32, &dict, &threads,
                          &should_stop))
        return NULL;
    const spry_matrix *const A = ((SpryMatrix *)matrix)->matrix;
    spry_cg_options options = SPRY_INIT(spry_cg_options);
    spry_cg_result result = SPRY_INIT(spry_cg_result);
    spry_context *const context = spry_python_context(threads);
    Call call;
    spry_error err;
    options.observe = watch;
    options.observe_user = &call.watch;
    if (!context || spry_python_options(&options, cg_options, dict) < 0 ||
        begin(&call, into, right, is_f32, spry_matrix_rows(A), "b", should_stop) < 0)
        return NULL;
    const spry_const_vector b = spry_vector_as_const(call.b.vector);
    const spry_status status = spry_cg(context, call.x.vector, &result, A, b, &options, &err);
    return end(&call, &result, cg_fields, status, &err);
}

/* ---- systems that are solved many times ---- */

typedef struct CgPlan {
    PyObject_HEAD PyObject *matrix; /* the plan reads the matrix's arrays */
    PyObject *options;              /* a dict, which owns the strings */
    spry_cg_plan *plan;
    int64_t rows;
    bool running;
} CgPlan;

static void cg_plan_dealloc(PyObject *self)
{
    CgPlan *const p = (CgPlan *)self;
    spry_cg_plan_destroy(p->plan);
    Py_XDECREF(p->matrix);
    Py_XDECREF(p->options);
    spry_python_free(self);
}

/* Sets the exception for a plan that cannot be created or updated. SPRY_NOT_CONVERGED is reported as a bad matrix. */
static PyObject *refuse_matrix(spry_error *err)
{
    if (err->status == SPRY_NOT_CONVERGED) err->status = SPRY_INVALID_MATRIX;
    return spry_python_fail(err);
}

static PyObject *cg_plan_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"matrix", "options", "threads", NULL};
    PyObject *matrix, *dict;
    int threads;
    spry_cg_options options = SPRY_INIT(spry_cg_options);
    spry_status status;
    spry_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!i", names, spry_python_matrix_type, &matrix, &PyDict_Type,
                                     &dict, &threads))
        return NULL;
    spry_context *const context = spry_python_context(threads);
    CgPlan *const p = context ? (CgPlan *)spry_python_new(type) : NULL;
    if (!p) return NULL;
    const spry_matrix *const A = ((SpryMatrix *)matrix)->matrix;
    p->matrix = Py_NewRef(matrix);
    p->options = PyDict_Copy(dict);
    p->rows = spry_matrix_rows(A);
    if (p->options && spry_python_options(&options, cg_options, p->options) == 0) {
        SPRY_WITHOUT_LOCK(status = spry_cg_plan_create(context, &p->plan, NULL, A, &options, &err));
        if (status == SPRY_OK) return (PyObject *)p;
        refuse_matrix(&err);
    }
    Py_DECREF(p);
    return NULL;
}

static int is_running(const CgPlan *p)
{
    spry_error err = {.status = SPRY_UNSUPPORTED, .message = "the plan is in use by another thread"};
    if (!p->running) return 0;
    spry_python_fail(&err); /* this call may run other threads, so p->running is not read again */
    return 1;
}

PyDoc_STRVAR(cg_plan_run_doc, "run(x, b, is_f32, options) -> dict\n\nSolves for one right side or one block of them.");

static PyObject *cg_plan_run(PyObject *self, PyObject *args)
{
    CgPlan *const p = (CgPlan *)self;
    PyObject *into, *right, *dict;
    int is_f32;
    spry_cg_run_options options = SPRY_INIT(spry_cg_run_options);
    spry_cg_result result = SPRY_INIT(spry_cg_result);
    Call call;
    spry_error err;
    options.observe = watch;
    options.observe_user = &call.watch;
    if (!PyArg_ParseTuple(args, "OOpO", &into, &right, &is_f32, &dict) || is_running(p)) return NULL;
    p->running = true; /* set before begin, which releases the interpreter's lock */
    if (spry_python_options(&options, cg_run_options, dict) < 0 ||
        begin(&call, into, right, is_f32, p->rows, "b", NULL) < 0) {
        p->running = false;
        return NULL;
    }
    const spry_const_vector b = spry_vector_as_const(call.b.vector);
    const spry_status status = spry_cg_plan_run(p->plan, call.x.vector, &result, b, &options, &err);
    PyObject *const dict_of_result = end(&call, &result, cg_fields, status, &err);
    p->running = false;
    return dict_of_result;
}

PyDoc_STRVAR(cg_plan_update_doc, "update()\n\nTakes over values that have changed in place, in the same structure.");

static PyObject *cg_plan_update(PyObject *self, PyObject *unused)
{
    (void)unused;
    CgPlan *const p = (CgPlan *)self;
    spry_status status;
    spry_error err;
    if (is_running(p)) return NULL;
    p->running = true;
    SPRY_WITHOUT_LOCK(status = spry_cg_plan_update(p->plan, NULL, &err));
    p->running = false;
    if (status != SPRY_OK) return refuse_matrix(&err);
    Py_RETURN_NONE;
}

static PyMethodDef cg_plan_methods[] = {
    {"run", cg_plan_run, METH_VARARGS, cg_plan_run_doc},
    {"update", cg_plan_update, METH_NOARGS, cg_plan_update_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot cg_plan_slots[] = {
    {Py_tp_doc,
     (void *)(uintptr_t) "CgPlan(matrix, options, threads)\n\nA system that is solved for many right sides."},
    {Py_tp_new, (void *)cg_plan_new},
    {Py_tp_dealloc, (void *)cg_plan_dealloc},
    {Py_tp_methods, cg_plan_methods},
    {0, NULL},
};

static PyType_Spec cg_plan_spec = {"spry._core.CgPlan", sizeof(CgPlan), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, cg_plan_slots};

int spry_python_add_cg_plan(PyObject *module)
{
    return spry_python_add_type(module, "CgPlan", &cg_plan_spec, NULL);
}

/* ---- PageRank ---- */

#undef OPTION
#define OPTION(kind, member) SPRY_FIELD(spry_pagerank_options, kind, member)

static const spry_field pagerank_options[] = {
    OPTION(DOUBLE, alpha),  OPTION(DOUBLE, tolerance), OPTION(INT, norm),       OPTION(INT64, max_iterations),
    OPTION(INT, edges),     OPTION(INT, dangling),     OPTION(INT, device),     OPTION(STRING, format),
    OPTION(STRING, kernel), OPTION(INT, start),        OPTION(POINTER, stream), SPRY_FIELDS_END,
};

#undef RESULT
#define RESULT(kind, member) SPRY_FIELD(spry_pagerank_result, kind, member)

static const spry_field pagerank_fields[] = {
    RESULT(VERDICT, verdict),
    RESULT(INT64, iterations),
    RESULT(DOUBLE, residual),
    RESULT(DOUBLE, error_bound),
    RESULT(DOUBLE, mass),
    RESULT(BOOL, is_stochastic),
    RESULT(INT64, dangling_nodes),
    RESULT(INT64, first_dangling_node),
    RESULT(DOUBLE, dangling_mass),
    RESULT(STRING, format),
    RESULT(STRING, kernel),
    RESULT(DOUBLE, setup_us),
    RESULT(DOUBLE, solve_us),
    RESULT(DOUBLE, product_us),
    SPRY_FIELDS_END,
};

PyDoc_STRVAR(pagerank_doc, "pagerank(A, x, personalization or None, is_f32, options, threads, should_stop=None) -> dict"
                           "\n\nWrites the ranks of a graph's nodes into the array x. Ends early once should_stop()\n"
                           "returns true.");

static PyObject *pagerank(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *matrix, *into, *personalization, *dict, *should_stop = NULL;
    int is_f32, threads;
    if (!PyArg_ParseTuple(args, "O!OOpOi|O", spry_python_matrix_type, &matrix, &into, &personalization, &is_f32, &dict,
                          &threads, &should_stop))
        return NULL;
    const spry_matrix *const A = ((SpryMatrix *)matrix)->matrix;
    spry_pagerank_options options = SPRY_INIT(spry_pagerank_options);
    spry_pagerank_result result = SPRY_INIT(spry_pagerank_result);
    spry_context *const context = spry_python_context(threads);
    Call call;
    spry_error err;
    options.observe = watch;
    options.observe_user = &call.watch;
    if (!context || spry_python_options(&options, pagerank_options, dict) < 0 ||
        begin(&call, into, personalization, is_f32, spry_matrix_rows(A), "personalization", should_stop) < 0)
        return NULL;
    if (personalization != Py_None) options.personalization = spry_vector_as_const(call.b.vector);
    const spry_status status = spry_pagerank(context, call.x.vector, &result, A, &options, &err);
    return end(&call, &result, pagerank_fields, status, &err);
}

PyMethodDef spry_python_solve_functions[] = {
    {"cg", cg, METH_VARARGS, cg_doc},
    {"pagerank", pagerank, METH_VARARGS, pagerank_doc},
    {NULL, NULL, 0, NULL},
};

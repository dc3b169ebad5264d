/*
 * spry._core.Plan: products with vectors and blocks of columns. The public class spry.Plan in _plan.py derives from it.
 * Functions that are called often are in this file.
 *
 * A library plan is built either for vectors or for row-major blocks, NumPy's default. So an object may own two plans.
 * The second is built when the first row-major block is multiplied.
 *
 * Python's lock is released during products that take more than some microseconds. Runs may then overlap, which plans
 * support. An update must not overlap with a run or another update, and is refused if it would.
 */
#include "spry_python.h"

/* Least size in bytes of a result whose memory the plan keeps for later results. */
enum { LARGE_RESULT = 1 << 20 };

/*
 * Least work of a product that releases the lock: (nnz + rows + columns of A) times the columns of x. Such a product
 * takes much longer than releasing the lock.
 */
enum { LARGE_PRODUCT = 8192 };

typedef struct Plan {
    PyObject_HEAD SpryMatrix *matrix;
    PyObject *options; /* a dict, which owns the strings */
    spry_context *context;
    spry_spmv_plan *plan, *row_major_plan; /* row_major_plan: for row-major blocks, NULL until needed */
    spry_type type;                        /* type of vectors */
    int64_t x_length, y_length;
    int64_t work;           /* nnz + rows + columns of A */
    bool checks_structure;  /* check the structure before row_major_plan is built */
    bool is_row_major;      /* `plan` itself is built for row-major blocks */
    int threads;            /* threads that a run may use */
    int runs;               /* runs and builds of row_major_plan that are in progress without the lock */
    PyArrayObject *kept[2]; /* memory of earlier results, or NULL; see take_result */
    int oldest;             /* index in kept of the memory to replace next */
    bool is_updating;
} Plan;

static PyTypeObject *plan_type = NULL;

/* ---- creation ---- */

static void plan_dealloc(PyObject *self)
{
    Plan *const p = (Plan *)self;
    spry_spmv_plan_destroy(p->plan);
    spry_spmv_plan_destroy(p->row_major_plan);
    Py_XDECREF((PyObject *)p->matrix);
    Py_XDECREF(p->options);
    Py_XDECREF((PyObject *)p->kept[0]);
    Py_XDECREF((PyObject *)p->kept[1]);
    spry_python_free(self);
}

/*
 * Builds a plan with p's options; columns > 1: for row-major blocks. stream: stream of the GPU that holds the matrix.
 */
static spry_spmv_plan *build_plan(Plan *p, int64_t columns, void *stream)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan = NULL;
    spry_status status;
    spry_error err;
    if (spry_python_options(&options, spry_python_spmv_options, p->options) < 0) return NULL;
    if (columns > 1) options.row_major = true, options.count = columns;
    options.stream = stream;
    SPRY_WITHOUT_LOCK(status = spry_spmv_plan_create(p->context, &plan, p->matrix->matrix, &options, &err));
    if (status != SPRY_OK) spry_python_fail(&err);
    p->is_row_major = columns > 1 ? p->is_row_major : options.row_major;
    if (columns <= 1) p->type = options.vector_type;
    return plan;
}

static int describe(Plan *p)
{
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    spry_error err;
    info.struct_size = offsetof(spry_spmv_plan_info, baseline); /* no predictions: they would inspect the matrix */
    if (spry_spmv_plan_get_info(p->plan, &info, &err) != SPRY_OK) {
        spry_python_fail(&err);
        return -1;
    }
    const int64_t rows = spry_matrix_rows(p->matrix->matrix), cols = spry_matrix_columns(p->matrix->matrix);
    p->threads = info.threads;
    p->x_length = info.op == SPRY_TRANSPOSE ? rows : cols;
    p->y_length = info.op == SPRY_TRANSPOSE ? cols : rows;
    p->work = spry_matrix_nnz(p->matrix->matrix) + rows + cols;
    return 0;
}

PyDoc_STRVAR(
    plan_doc,
    "Plan(matrix, options, threads=0, stream=0, check=False)\n\nA matrix prepared for products; spry.plan creates\n"
    "plans. options: fields of spry_spmv_options, with vector_type. stream: a GPU stream; the matrix's arrays are "
    "read\n"
    "after its pending work. check: check the structure before a plan for row-major blocks is built.");

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"matrix", "options", "threads", "stream", "check", NULL};
    PyObject *matrix, *options;
    int threads = 0, check = 0;
    unsigned long long stream = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!|iKp", names, spry_python_matrix_type, &matrix, &PyDict_Type,
                                     &options, &threads, &stream, &check))
        return NULL;
    Plan *const p = (Plan *)spry_python_new(type);
    if (!p) return NULL;
    p->matrix = (SpryMatrix *)Py_NewRef(matrix);
    p->options = PyDict_Copy(options);
    p->checks_structure = check;
    p->context = spry_python_context(threads);
    if (p->options && p->context) p->plan = build_plan(p, 0, (void *)(uintptr_t)stream);
    if (p->plan && p->type != SPRY_F32 && p->type != SPRY_F64)
        spry_python_invalid("vector_type is %s, expected f32 or f64", spry_type_name(p->type));
    else if (p->plan && describe(p) == 0)
        return (PyObject *)p;
    Py_DECREF(p);
    return NULL;
}

/* ---- products ---- */

static int refuse(const char *message)
{
    spry_error err = {.status = SPRY_UNSUPPORTED};
    PyOS_snprintf(err.message, sizeof err.message, "%s", message);
    spry_python_fail(&err);
    return -1;
}

/* Builds the plan for row-major blocks if it does not exist. */
static int need_row_major_plan(Plan *p, int64_t columns, void *stream)
{
    if (p->row_major_plan || p->is_row_major) return 0;
    spry_status status = SPRY_OK;
    spry_spmv_plan *built = NULL;
    spry_error err;
    p->runs++;                 /* refuses updates while the lock is released */
    if (p->checks_structure) { /* SciPy may have changed the arrays in place since the first plan was built */
        SPRY_WITHOUT_LOCK(status = spry_matrix_check(p->matrix->matrix, NULL, SPRY_CHECK_STRUCTURE, &err));
        if (status != SPRY_OK) spry_python_fail(&err);
    }
    if (status == SPRY_OK) built = build_plan(p, columns, stream);
    p->runs--;
    if (!built) return -1;
    if (p->row_major_plan)
        spry_spmv_plan_destroy(built); /* another thread built the plan first */
    else
        p->row_major_plan = built;
    return 0;
}

/* Runs a product. on_gpu: options of a product in a GPU's memory, which is only enqueued; NULL for host memory. */
static int multiply(Plan *p, const spry_operand *y, const spry_operand *x, const double *alpha, const double *beta,
                    const spry_spmv_run_options *on_gpu)
{
    const int64_t columns = x->vector.count;
    if (columns == 0) return 0; /* no run, because the library reads a count of 0 as 1 */
    if (p->is_updating) return refuse("the plan is being updated by another thread");
    const bool is_row_major = spry_python_is_row_major(x) || spry_python_is_row_major(y);
    if (is_row_major && need_row_major_plan(p, columns, on_gpu ? on_gpu->stream : NULL) < 0) return -1;
    const spry_spmv_plan *const plan = is_row_major && !p->is_row_major ? p->row_major_plan : p->plan;
    const float alpha_f32 = alpha ? (float)*alpha : 1, beta_f32 = beta ? (float)*beta : 0;
    const void *const a = !alpha ? NULL : p->type == SPRY_F32 ? (const void *)&alpha_f32 : alpha;
    const void *const b = !beta ? NULL : p->type == SPRY_F32 ? (const void *)&beta_f32 : beta;
    const int limit = spry_python_thread_limit;
    spry_spmv_run_options limited;
    const spry_spmv_run_options *options = on_gpu;
    if (!on_gpu && limit > 0 && limit < p->threads) {
        limited = SPRY_INIT(spry_spmv_run_options);
        limited.threads = limit;
        options = &limited;
    }
    const spry_const_vector from = spry_vector_as_const(x->vector);
    spry_status status;
    spry_error err;
    if (on_gpu || (p->work < LARGE_PRODUCT && p->work * columns < LARGE_PRODUCT)) {
        status = spry_spmv_plan_run(plan, y->vector, a, from, b, options, &err);
    } else {
        p->runs++;
        SPRY_WITHOUT_LOCK(status = spry_spmv_plan_run(plan, y->vector, a, from, b, options, &err));
        p->runs--;
    }
    if (status == SPRY_OK) return 0;
    spry_python_fail(&err);
    return -1;
}

/*
 * Creates an array for the result. malloc may map large blocks anew on each call, and clearing their pages takes a
 * large part of a product's time. So the plan keeps the memory of the last two large results and reuses it once nothing
 * else refers to it. Two are needed: in y = plan @ x the old y exists until the new one is assigned.
 */
static int take_result(Plan *p, spry_operand *y, const spry_operand *x)
{
    const int64_t size = (int64_t)spry_type_bytes(p->type);
    int64_t bytes;
    if (__builtin_mul_overflow(p->y_length * size, x->vector.count, &bytes) || bytes < LARGE_RESULT)
        return spry_python_result(y, x, p->type, p->y_length); /* if the size overflows, NumPy reports it */
    for (int k = 0; k < 2; k++)
        if (p->kept[k] && spry_python_is_reusable(p->kept[k], bytes))
            return spry_python_result_in(p->kept[k], y, x, p->type, p->y_length);
    PyArrayObject *const memory = spry_python_memory(bytes), *const dropped = p->kept[p->oldest];
    if (!memory) return -1;
    p->kept[p->oldest] = memory;
    p->oldest = !p->oldest;
    Py_XDECREF((PyObject *)dropped);
    return spry_python_result_in(memory, y, x, p->type, p->y_length);
}

/* Returns true if x is an array of another library, which _homes.py converts. */
static bool is_foreign(PyObject *x)
{
    return !PyArray_Check(x) &&
           (PyObject_HasAttrString(x, "__dlpack__") || PyObject_HasAttrString(x, "__cuda_array_interface__"));
}

static PyObject *plan_matmul(PyObject *left, PyObject *right)
{
    if (!PyObject_TypeCheck(left, plan_type)) return spry_python_call("spry._plan", "multiply_left", "OO", left, right);
    Plan *const p = (Plan *)left;
    spry_operand x, y = {0};
    if (is_foreign(right)) return spry_python_call("spry._plan", "multiply_foreign", "OO", left, right);
    if (spry_python_operand(&x, right, p->type, p->x_length, "x") < 0) return NULL;
    if (take_result(p, &y, &x) == 0 && multiply(p, &y, &x, NULL, NULL, NULL) < 0) Py_CLEAR(y.array);
    Py_DECREF(x.array);
    return (PyObject *)y.array;
}

/* Arguments of run(). An omitted argument is NULL. alpha and beta may also be None. */
typedef struct run_arguments {
    PyObject *x, *out, *alpha, *beta;
} run_arguments;

static int take_arguments(run_arguments *taken, PyObject *const *args, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"x", "out", "alpha", "beta"};
    PyObject **const places[] = {&taken->x, &taken->out, &taken->alpha, &taken->beta};
    const Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    if (given > 4) {
        PyErr_Format(PyExc_TypeError, "run() takes at most 4 arguments, got %zd", given);
        return -1;
    }
    for (Py_ssize_t k = 0; k < given; k++) *places[k] = args[k];
    for (Py_ssize_t k = 0; k < named; k++) {
        PyObject *const key = PyTuple_GetItem(keywords, k);
        int n = 0;
        while (n < 4 && PyUnicode_CompareWithASCIIString(key, names[n]) != 0) n++;
        if (n == 4 || *places[n]) {
            PyErr_Format(PyExc_TypeError, n == 4 ? "run() has no argument %R" : "run() got %R twice", key);
            return -1;
        }
        *places[n] = args[given + k];
    }
    if (!taken->x) {
        PyErr_SetString(PyExc_TypeError, "run() needs x");
        return -1;
    }
    if (taken->out == Py_None) taken->out = NULL;
    return 0;
}

/* Stores `given` in *number and points *used to it. Changes nothing if `given` is NULL or None. */
static int take_scalar(const double **used, double *number, PyObject *given)
{
    if (!given || given == Py_None) return 0;
    *number = PyFloat_AsDouble(given);
    *used = number;
    return *number == -1 && PyErr_Occurred() ? -1 : 0;
}

PyDoc_STRVAR(run_doc,
             "run($self, x, out=None, alpha=1.0, beta=0.0)\n--\n\n"
             "Computes alpha*A@x + beta*out into out and returns out; out=None: into a new array.\n\n"
             "x and out are vectors of shapes (n,) and (m,), or blocks of shapes (n, k) and (m, k), of the plan's\n"
             "dtype. If beta is 0, out is not read. Arrays with contiguous columns and row-major blocks are used\n"
             "without a copy; others are copied.\n\n"
             "Raises ValueError if sizes do not match or out overlaps x or A, TypeError for elements of another type.");

static PyObject *plan_run(PyObject *self, PyObject *const *args, Py_ssize_t given, PyObject *keywords)
{
    Plan *const p = (Plan *)self;
    run_arguments taken = {0};
    const double *alpha = NULL, *beta = NULL;
    double alpha_number, beta_number;
    spry_operand x, y = {0};
    PyObject *result = NULL;
    if (take_arguments(&taken, args, given, keywords) < 0 || take_scalar(&alpha, &alpha_number, taken.alpha) < 0 ||
        take_scalar(&beta, &beta_number, taken.beta) < 0)
        return NULL;
    if (!taken.out && beta && *beta != 0) {
        spry_python_invalid("beta is not 0 and out is missing, expected out");
        return NULL;
    }
    if (is_foreign(taken.x))
        return spry_python_call("spry._plan", "multiply_foreign", "OOOOO", self, taken.x,
                                taken.out ? taken.out : Py_None, taken.alpha ? taken.alpha : Py_None,
                                taken.beta ? taken.beta : Py_None);
    if (spry_python_operand(&x, taken.x, p->type, p->x_length, "x") < 0) return NULL;
    const int failed = taken.out ? spry_python_target(&y, taken.out, &x, p->type, p->y_length) : take_result(p, &y, &x);
    if (!failed && multiply(p, &y, &x, alpha, beta, NULL) == 0 &&
        (!taken.out || spry_python_copy_back(&y, taken.out) == 0))
        result = Py_NewRef(taken.out ? taken.out : (PyObject *)y.array);
    Py_DECREF(x.array);
    Py_XDECREF((PyObject *)y.array);
    return result;
}

PyDoc_STRVAR(start_doc,
             "_start(y, x, alpha, beta, stream, workspace, workspace_bytes)\n\n"
             "Enqueues alpha*A@x + beta*y in a stream, for views of a GPU's memory. alpha, beta: numbers or None. If\n"
             "workspace is 0, the plan's own is used.");

static PyObject *plan_start(PyObject *self, PyObject *args)
{
    Plan *const p = (Plan *)self;
    spry_spmv_run_options options = SPRY_INIT(spry_spmv_run_options);
    PyObject *into, *from, *alpha_given, *beta_given;
    unsigned long long stream, workspace;
    long long workspace_bytes;
    const double *alpha = NULL, *beta = NULL;
    double alpha_number, beta_number;
    spry_operand x, y;
    if (!PyArg_ParseTuple(args, "OOOOKKL", &into, &from, &alpha_given, &beta_given, &stream, &workspace,
                          &workspace_bytes) ||
        spry_python_view_operand(&y, into, "out") < 0 || spry_python_view_operand(&x, from, "x") < 0 ||
        take_scalar(&alpha, &alpha_number, alpha_given) < 0 || take_scalar(&beta, &beta_number, beta_given) < 0)
        return NULL;
    options.stream = (void *)(uintptr_t)stream;
    options.workspace = (void *)(uintptr_t)workspace;
    options.workspace_bytes = workspace_bytes;
    if (multiply(p, &y, &x, alpha, beta, &options) < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- updates ---- */

PyDoc_STRVAR(
    update_doc,
    "_update(matrix, stream=0)\n\nTakes over new values in the same structure. matrix: a Matrix with the same\n"
    "index arrays, which replaces the plan's; None: the plan's own values have changed in place.\n"
    "stream: a GPU stream; the values are read after its pending work.");

static PyObject *plan_update(PyObject *self, PyObject *args)
{
    PyObject *given;
    unsigned long long stream = 0;
    if (!PyArg_ParseTuple(args, "O|K", &given, &stream)) return NULL;
    Plan *const p = (Plan *)self;
    spry_update_options options = SPRY_INIT(spry_update_options);
    spry_error err;
    options.stream = (void *)(uintptr_t)stream;
    if (given != Py_None && !PyObject_TypeCheck(given, spry_python_matrix_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a Matrix, or None");
        return NULL;
    }
    if (p->runs > 0 || p->is_updating) {
        refuse("the plan is in use by another thread, update it after its products have ended");
        return NULL;
    }
    if (given != Py_None) {
        spry_arrays arrays = SPRY_INIT(spry_arrays);
        if (spry_matrix_get_arrays(((SpryMatrix *)given)->matrix, &arrays, &err) != SPRY_OK)
            return spry_python_fail(&err);
        options.values = arrays.values;
    }
    spry_status status;
    p->is_updating = true;
    SPRY_WITHOUT_LOCK(status = spry_spmv_plan_update(p->plan, &options, &err));
    if (status == SPRY_OK && given != Py_None) {
        Py_DECREF((PyObject *)p->matrix);
        p->matrix = (SpryMatrix *)Py_NewRef(given);
    }
    if (status == SPRY_OK && p->row_major_plan) {
        SPRY_WITHOUT_LOCK(status = spry_spmv_plan_update(p->row_major_plan, &options, &err));
        if (status != SPRY_OK) { /* drop the plan with the old values; the next row-major block builds a new one */
            spry_spmv_plan_destroy(p->row_major_plan);
            p->row_major_plan = NULL;
        }
    }
    p->is_updating = false;
    if (status != SPRY_OK) return spry_python_fail(&err);
    Py_RETURN_NONE;
}

/* ---- info ---- */

#define INFO(kind, member) SPRY_FIELD(spry_spmv_plan_info, kind, member)

static const spry_field info_fields[] = {
    SPRY_FIELD_AS(spry_spmv_plan_info, STRING, device_name, "device"),
    INFO(STRING, format),
    INFO(STRING, parameters),
    INFO(STRING, kernel),
    INFO(STRING, ordering),
    INFO(STRING, reason),
    INFO(BOOL, deterministic),
    INFO(INT, threads),
    INFO(BOOL, values_in_place),
    INFO(INT64, storage_bytes),
    INFO(INT64, owned_bytes),
    INFO(INT64, workspace_bytes),
    INFO(DOUBLE, setup_us),
    INFO(DOUBLE, upload_us),
    INFO(DOUBLE, update_us),
    INFO(BOOL, expanded),
    INFO(BOOL, from_file),
    INFO(STRING, baseline),
    INFO(DOUBLE, baseline_us),
    INFO(DOUBLE, predicted_us),
    INFO(INT64, break_even_calls),
    INFO(STRING, kernel_parameters),
    INFO(TYPE, value_type),
    SPRY_FIELDS_END,
};

PyDoc_STRVAR(info_doc, "_info(row_major)\n\nReturns the plan's info as a dict. If row_major is true: info of the plan\n"
                       "for row-major blocks, or None if it does not exist.");

static PyObject *plan_info(PyObject *self, PyObject *row_major)
{
    const Plan *const p = (const Plan *)self;
    const int wanted = PyObject_IsTrue(row_major);
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    spry_status status;
    spry_error err;
    if (wanted < 0 || (p->is_updating && refuse("the plan is being updated by another thread") < 0)) return NULL;
    const spry_spmv_plan *const plan = wanted && !p->is_row_major ? p->row_major_plan : p->plan;
    if (!plan) Py_RETURN_NONE;
    status = spry_spmv_plan_get_info(plan, &info, &err);
    return status == SPRY_OK ? spry_python_dict(&info, info_fields) : spry_python_fail(&err);
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))plan_run, METH_FASTCALL | METH_KEYWORDS, run_doc},
    {"_start", plan_start, METH_VARARGS, start_doc},
    {"_update", plan_update, METH_VARARGS, update_doc},
    {"_info", plan_info, METH_O, info_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)plan_doc},     {Py_tp_new, (void *)plan_new}, {Py_tp_dealloc, (void *)plan_dealloc},
    {Py_nb_matrix_multiply, (void *)plan_matmul}, {Py_tp_methods, methods},      {0, NULL},
};

static PyType_Spec spec = {"spry._core.Plan", sizeof(Plan), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE, slots};

int spry_python_add_plan(PyObject *module)
{
    return spry_python_add_type(module, "Plan", &spec, &plan_type);
}

/* ---- one product without a plan ---- */

PyDoc_STRVAR(spmv_doc,
             "spmv(matrix, x, is_f32)\n\nReturns A @ x without keeping a plan. x holds float32 if is_f32, else\n"
             "float64.");

static PyObject *spmv(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *matrix, *given;
    int is_f32;
    spry_operand x, y = {0};
    if (!PyArg_ParseTuple(args, "O!Op", spry_python_matrix_type, &matrix, &given, &is_f32)) return NULL;
    const spry_matrix *const A = ((SpryMatrix *)matrix)->matrix;
    const spry_type type = is_f32 ? SPRY_F32 : SPRY_F64;
    spry_context *const context = spry_python_context(spry_python_thread_limit);
    if (!context || spry_python_operand(&x, given, type, spry_matrix_columns(A), "x") < 0) return NULL;
    if (spry_python_result(&y, &x, type, spry_matrix_rows(A)) == 0 && x.vector.count > 0) {
        const spry_const_vector from = spry_vector_as_const(x.vector);
        spry_status status;
        spry_error err;
        SPRY_WITHOUT_LOCK(status = spry_spmv(context, y.vector, NULL, A, from, NULL, &err));
        if (status != SPRY_OK) {
            spry_python_fail(&err);
            Py_CLEAR(y.array);
        }
    }
    Py_DECREF(x.array);
    return (PyObject *)y.array;
}

PyMethodDef spry_python_plan_functions[] = {
    {"spmv", spmv, METH_VARARGS, spmv_doc},
    {NULL, NULL, 0, NULL},
};

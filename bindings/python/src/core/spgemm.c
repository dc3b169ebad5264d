/*
 * Sparse products, and spry._core.SpgemmPlan for products that are repeated with new values. _products.py wraps results
 * in SciPy matrices without copying their arrays.
 */
#include "spry/spgemm.h"
#include "spry_python.h"

#include <string.h>

/* ---- options and info ---- */

typedef struct Given {
    spry_spgemm_options options;
    double alpha_f64; /* alpha from the caller */
    float alpha_f32;  /* alpha_f64 rounded */
} Given;

static const spry_field option_fields[] = {
    SPRY_FIELD_AS(Given, DOUBLE, alpha_f64, "alpha"),
    SPRY_FIELD_AS(Given, INT, options.op_a, "op_a"),
    SPRY_FIELD_AS(Given, INT, options.op_b, "op_b"),
    SPRY_FIELD_AS(Given, INT, options.device, "device"),
    SPRY_FIELD_AS(Given, STRING, options.kernel, "kernel"),
    SPRY_FIELD_AS(Given, BOOL, options.drop_zeros, "drop_zeros"),
    SPRY_FIELD_AS(Given, INT, options.threads, "threads"),
    SPRY_FIELD_AS(Given, INT64, options.memory_limit_bytes, "memory_limit_bytes"),
    SPRY_FIELD_AS(Given, POINTER, options.stream, "stream"),
    SPRY_FIELDS_END,
};

#define INFO(kind, member) SPRY_FIELD(spry_spgemm_info, kind, member)

static const spry_field info_fields[] = {
    SPRY_FIELD_AS(spry_spgemm_info, STRING, device_name, "device"),
    INFO(STRING, kernel),
    INFO(TEXT, reason),
    INFO(BOOL, deterministic),
    INFO(INT, threads),
    INFO(INT64, rows),
    INFO(INT64, columns),
    INFO(INT64, nnz),
    INFO(INT64, products),
    INFO(DOUBLE, compression),
    INFO(INT64, chunks),
    INFO(INT64, peak_bytes),
    INFO(INT64, workspace_bytes),
    INFO(DOUBLE, setup_us),
    INFO(DOUBLE, upload_us),
    INFO(DOUBLE, run_us),
    INFO(DOUBLE, download_us),
    SPRY_FIELDS_END,
};

/* Fills `given` from `dict`, where None means the default. Returns the context of the product. */
static spry_context *take_options(Given *given, PyObject *dict)
{
    *given = (Given){.options = SPRY_INIT(spry_spgemm_options), .alpha_f64 = 1};
    if (spry_python_options(given, option_fields, dict) < 0) return NULL;
    given->alpha_f32 = (float)given->alpha_f64;
    const int limit = spry_python_thread_limit, wanted = given->options.threads;
    if (limit > 0 && (wanted == 0 || limit < wanted)) given->options.threads = limit;
    return spry_python_context(0);
}

/* Sets options.alpha unless it is 1. alpha has the type of C: A's value type, or B's if A is a pattern. */
static void point_to_alpha(Given *given, const spry_matrix *A, const spry_matrix *B)
{
    spry_arrays a = SPRY_INIT(spry_arrays), b = SPRY_INIT(spry_arrays);
    if (given->alpha_f64 == 1) return;
    if (spry_matrix_get_arrays(A, &a, NULL) != SPRY_OK || spry_matrix_get_arrays(B, &b, NULL) != SPRY_OK) return;
    given->options.alpha = a.value_type == SPRY_F32 || (a.value_type == SPRY_PATTERN && b.value_type == SPRY_F32)
                               ? (const void *)&given->alpha_f32
                               : &given->alpha_f64;
}

/* ---- one product ---- */

PyDoc_STRVAR(spgemm_doc, "spgemm(A, B, options) -> (Matrix, info)\n\nC = alpha*op(A)*op(B), a CSR matrix.");

static PyObject *spgemm(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *left, *right, *dict;
    Given given;
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_matrix *C = NULL;
    spry_status status;
    spry_error err;
    if (!PyArg_ParseTuple(args, "O!O!O", spry_python_matrix_type, &left, spry_python_matrix_type, &right, &dict))
        return NULL;
    const spry_matrix *const A = ((SpryMatrix *)left)->matrix, *const B = ((SpryMatrix *)right)->matrix;
    spry_context *const context = take_options(&given, dict);
    if (!context) return NULL;
    point_to_alpha(&given, A, B);
    SPRY_WITHOUT_LOCK(status = spry_spgemm(context, &C, &info, A, B, &given.options, &err));
    if (status != SPRY_OK) return spry_python_fail(&err);
    PyObject *const product = spry_python_own(C);
    PyObject *const info_dict = spry_python_dict(&info, info_fields);
    return Py_BuildValue("NN", product, info_dict);
}

/* ---- plans ---- */

typedef struct SpgemmPlan {
    PyObject_HEAD PyObject *A, *B; /* the plan reads their arrays */
    PyObject *options;
    spry_spgemm_plan *plan;
    bool running;
} SpgemmPlan;

static void plan_dealloc(PyObject *self)
{
    SpgemmPlan *const p = (SpgemmPlan *)self;
    spry_spgemm_plan_destroy(p->plan);
    Py_XDECREF(p->A);
    Py_XDECREF(p->B);
    Py_XDECREF(p->options);
    spry_python_free(self);
}

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"A", "B", "options", NULL};
    PyObject *left, *right, *dict;
    Given given;
    spry_status status;
    spry_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!", names, spry_python_matrix_type, &left,
                                     spry_python_matrix_type, &right, &PyDict_Type, &dict))
        return NULL;
    spry_context *const context = take_options(&given, dict);
    SpgemmPlan *const p = context ? (SpgemmPlan *)spry_python_new(type) : NULL;
    if (!p) return NULL;
    p->A = Py_NewRef(left);
    p->B = Py_NewRef(right);
    p->options = Py_NewRef(dict);
    const spry_matrix *const A = ((SpryMatrix *)left)->matrix, *const B = ((SpryMatrix *)right)->matrix;
    point_to_alpha(&given, A, B);
    SPRY_WITHOUT_LOCK(status = spry_spgemm_plan_create(context, &p->plan, A, B, &given.options, &err));
    if (status == SPRY_OK) return (PyObject *)p;
    Py_DECREF(p);
    return spry_python_fail(&err);
}

PyDoc_STRVAR(structure_doc, "structure() -> (rows, cols, nnz, indptr, indices, dtype)\n\n"
                            "Returns C's structure. The plan owns the arrays: read-only, shared by all results.");

static PyObject *plan_structure(PyObject *self, PyObject *unused)
{
    (void)unused;
    spry_arrays c = SPRY_INIT(spry_arrays);
    spry_error err;
    if (spry_spgemm_plan_get_structure(((SpgemmPlan *)self)->plan, &c, &err) != SPRY_OK) return spry_python_fail(&err);
    PyObject *const offsets = spry_python_show_indices(self, &c, c.offsets, c.rows + 1, c.offset_type, 0);
    PyObject *const indices = spry_python_show_indices(self, &c, c.indices, c.nnz, c.index_type, 0);
    return Py_BuildValue("LLLNNs", (long long)c.rows, (long long)c.columns, (long long)c.nnz, offsets, indices,
                         spry_python_number_name(c.value_type));
}

/* Returns the address of the array for C's values: a NumPy array or a view. */
static void *take_values(const SpgemmPlan *p, PyObject *values)
{
    static double nothing[1]; /* C without entries */
    spry_arrays c = SPRY_INIT(spry_arrays);
    spry_view view;
    spry_error err;
    if (spry_spgemm_plan_get_structure(p->plan, &c, &err) != SPRY_OK) return spry_python_fail(&err);
    const char *const type = spry_python_number_name(c.value_type);
    PyArrayObject *const array = (PyArrayObject *)values;
    if (c.device > 0 && spry_python_view(&view, values, "values") < 0) return NULL;
    if (c.device > 0 && view.device == c.device && strcmp(view.type, type) == 0 && view.length == c.nnz)
        return c.nnz > 0 ? (void *)(uintptr_t)view.address : nothing;
    if (c.device == 0 && PyArray_Check(values) && PyArray_TYPE(array) == spry_python_number(c.value_type) &&
        PyArray_ISCARRAY(array) && PyArray_NDIM(array) == 1 && PyArray_SIZE(array) == c.nnz)
        return c.nnz > 0 ? PyArray_DATA(array) : nothing;
    spry_python_invalid("values: expected a contiguous, writable array of %lld entries of %s", (long long)c.nnz, type);
    return NULL;
}

PyDoc_STRVAR(run_doc,
             "run(values, stream=0)\n\nWrites C's values into an array, or a view in a GPU's memory, from the current\n"
             "values of A and B. stream: stream of the GPU.");

static PyObject *plan_run(PyObject *self, PyObject *args)
{
    SpgemmPlan *const p = (SpgemmPlan *)self;
    spry_spgemm_run_options options = SPRY_INIT(spry_spgemm_run_options);
    PyObject *values;
    unsigned long long stream = 0;
    spry_status status;
    spry_error err;
    if (!PyArg_ParseTuple(args, "O|K", &values, &stream)) return NULL;
    void *const into = take_values(p, values);
    options.stream = (void *)(uintptr_t)stream;
    if (!into) return NULL;
    if (p->running) {
        err = (spry_error){.status = SPRY_UNSUPPORTED, .message = "the plan is being run by another thread"};
        return spry_python_fail(&err);
    }
    p->running = true;
    SPRY_WITHOUT_LOCK(status = spry_spgemm_plan_run(p->plan, into, &options, &err));
    p->running = false;
    if (status != SPRY_OK) return spry_python_fail(&err);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(plan_info_doc, "info()\n\nReturns the library's info about the plan and its last run, as a dict.");

static PyObject *plan_info(PyObject *self, PyObject *unused)
{
    (void)unused;
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_error err;
    return spry_spgemm_plan_get_info(((SpgemmPlan *)self)->plan, &info, &err) == SPRY_OK
               ? spry_python_dict(&info, info_fields)
               : spry_python_fail(&err);
}

static PyMethodDef methods[] = {
    {"structure", plan_structure, METH_NOARGS, structure_doc},
    {"run", plan_run, METH_VARARGS, run_doc},
    {"info", plan_info, METH_NOARGS, plan_info_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "SpgemmPlan(A, B, options)\n\nA sparse product that is repeated with new values."},
    {Py_tp_new, (void *)plan_new},
    {Py_tp_dealloc, (void *)plan_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"spry._core.SpgemmPlan", sizeof(SpgemmPlan), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

int spry_python_add_spgemm(PyObject *module)
{
    return spry_python_add_type(module, "SpgemmPlan", &spec, NULL);
}

PyMethodDef spry_python_spgemm_functions[] = {
    {"spgemm", spgemm, METH_VARARGS, spgemm_doc},
    {NULL, NULL, 0, NULL},
};

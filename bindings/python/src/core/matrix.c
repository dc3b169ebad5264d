/*
 * spry._core.Matrix: a matrix handle and references to the owners of its arrays. Either it borrows NumPy arrays or
 * views of a GPU's memory, or the library owns the arrays and NumPy arrays or views expose them. _arrays.py converts
 * SciPy matrices to Matrix and back.
 */
#include "spry/io.h"
#include "spry_python.h"

#include <string.h>

PyTypeObject *spry_python_matrix_type = NULL;

static void matrix_dealloc(PyObject *self)
{
    SpryMatrix *const m = (SpryMatrix *)self;
    spry_matrix_destroy(m->matrix);
    Py_XDECREF(m->offsets);
    Py_XDECREF(m->indices);
    Py_XDECREF(m->values);
    Py_XDECREF(m->row_indices);
    spry_python_free(self);
}

PyObject *spry_python_own(spry_matrix *matrix)
{
    PyObject *const self = spry_python_new(spry_python_matrix_type);
    (void)spry_matrix_set_index_base(matrix, 0, NULL); /* messages count from 0, as Python does; cannot fail */
    if (self)
        ((SpryMatrix *)self)->matrix = matrix;
    else
        spry_matrix_destroy(matrix);
    return self;
}

/* ---- borrowed arrays ---- */

/* A contiguous array that a matrix borrows. */
typedef struct Flat {
    const void *data;
    PyObject *type; /* type for messages: borrowed reference to a dtype or a str */
    char kind;      /* 'i': signed integers, 'f': floating-point, another character otherwise */
    int bytes;      /* bytes per element */
    int device;
} Flat;

static int take_view(Flat *flat, int64_t *length, PyObject *given, const char *name)
{
    spry_view view;
    if (spry_python_view(&view, given, name) < 0) return -1;
    const size_t end = strlen(view.type);
    *length = view.length;
    *flat = (Flat){.data = (const void *)(uintptr_t)view.address,
                   .type = PyTuple_GetItem(given, 5),
                   .kind = view.type[0],
                   .bytes = end > 2 && strcmp(view.type + end - 2, "64") == 0 ? 8 : 4,
                   .device = view.device};
    return 0;
}

static int take_array(Flat *flat, int64_t *length, PyObject *given, const char *name)
{
    PyArrayObject *const array = (PyArrayObject *)given;
    if (!PyArray_Check(given) || PyArray_NDIM(array) != 1 || !PyArray_ISCARRAY_RO(array)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a NumPy array of one dimension, contiguous and aligned", name);
        return -1;
    }
    *length = PyArray_SIZE(array);
    *flat = (Flat){.data = PyArray_DATA(array),
                   .type = (PyObject *)PyArray_DESCR(array),
                   .kind = PyArray_ISINTEGER(array) && PyArray_ISSIGNED(array) ? 'i'
                           : PyArray_ISFLOAT(array)                            ? 'f'
                                                                               : 'o',
                   .bytes = (int)PyArray_ITEMSIZE(array)};
    return 0;
}

/* Stores a reference to `given` in *kept: a NumPy array or a view with at least `length` elements. */
static int keep(Flat *flat, PyObject **kept, PyObject *given, int64_t length, const char *name)
{
    int64_t found;
    if ((PyTuple_Check(given) ? take_view : take_array)(flat, &found, given, name) < 0) return -1;
    if (found < length) {
        spry_python_invalid("%s has %lld entries, expected %lld", name, (long long)found, (long long)length);
        return -1;
    }
    *kept = Py_NewRef(given);
    return 0;
}

/* Checks that an array is in the memory of the device that holds the indices. */
static int check_memory(spry_arrays *arrays, const Flat *flat, const char *name)
{
    if (flat->device == arrays->device) return 0;
    spry_python_invalid("%s is not in the same memory as the indices", name);
    return -1;
}

static int keep_indices(PyObject **kept, const void **data, spry_index_type *type, spry_arrays *arrays, PyObject *given,
                        int64_t length, const char *name)
{
    Flat flat;
    if (keep(&flat, kept, given, length, name) < 0) return -1;
    if (flat.kind != 'i' || (flat.bytes != 4 && flat.bytes != 8)) {
        PyErr_Format(PyExc_TypeError, "%s holds %S, expected int32 or int64", name, flat.type);
        return -1;
    }
    *type = flat.bytes == 4 ? SPRY_I32 : SPRY_I64;
    if (!arrays->indices) arrays->device = flat.device; /* the first call takes the column indices */
    *data = flat.data;
    return check_memory(arrays, &flat, name);
}

static int keep_values(SpryMatrix *m, spry_arrays *arrays, PyObject *given)
{
    Flat flat;
    arrays->value_type = SPRY_PATTERN;
    if (given == Py_None) return 0;
    if (keep(&flat, &m->values, given, arrays->nnz, "values") < 0) return -1;
    if (flat.kind != 'f' || (flat.bytes != 4 && flat.bytes != 8)) {
        PyErr_Format(PyExc_TypeError, "values holds %S, expected float64 or float32", flat.type);
        return -1;
    }
    arrays->value_type = flat.bytes == 8 ? SPRY_F64 : SPRY_F32;
    arrays->values = flat.data;
    return check_memory(arrays, &flat, "values");
}

static PyObject *matrix_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"layout",  "rows",   "cols",    "nnz",      "offsets",
                            "indices", "values", "threads", "symmetry", NULL};
    spry_arrays a = SPRY_INIT(spry_arrays);
    PyObject *offsets, *indices, *values;
    int layout, threads = 0, symmetry = 0;
    long long rows, cols, nnz;
    spry_error err;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "iLLLOOO|ii", names, &layout, &rows, &cols, &nnz, &offsets,
                                     &indices, &values, &threads, &symmetry))
        return NULL;
    a.layout = (spry_layout)layout;
    a.rows = rows, a.columns = cols, a.nnz = nnz;
    a.symmetry = (spry_symmetry)symmetry;
    spry_context *const context = spry_python_context(threads);
    SpryMatrix *const m = context ? (SpryMatrix *)spry_python_new(type) : NULL;
    if (!m) return NULL;
    spry_index_type unused;
    if (keep_indices(&m->indices, &a.indices, &a.index_type, &a, indices, nnz, "indices") < 0) goto fail;
    const bool failed = layout == SPRY_COO
                            ? keep_indices(&m->row_indices, &a.row_indices, &unused, &a, offsets, nnz, "row")
                            : keep_indices(&m->offsets, &a.offsets, &a.offset_type, &a, offsets,
                                           (layout == SPRY_CSC ? cols : rows) + 1, "indptr");
    if (failed || keep_values(m, &a, values) < 0) goto fail;
    if (layout == SPRY_COO && unused != a.index_type) {
        PyErr_SetString(PyExc_TypeError, "row and col have different types, expected both int32 or both int64");
        goto fail;
    }
    if (spry_matrix_create(context, &m->matrix, &a, &err) != SPRY_OK) {
        spry_python_fail(&err);
        goto fail;
    }
    return (PyObject *)m;
fail:
    Py_DECREF(m);
    return NULL;
}

/* ---- arrays of the library ---- */

/* Creates a NumPy array on `length` elements that `owner` keeps alive. */
static PyObject *show(PyObject *owner, const void *data, int64_t length, int numpy_type, bool is_writable)
{
    static double nothing[1];
    npy_intp size = (npy_intp)length;
    void *const at = data ? (void *)(uintptr_t)data : nothing;
    PyObject *const array = PyArray_SimpleNewFromData(1, &size, numpy_type, at);
    if (!array) return NULL;
    Py_INCREF(owner);
    if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    if (!is_writable) PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    return array;
}

PyObject *spry_python_show_indices(PyObject *owner, const spry_arrays *arrays, const void *data, int64_t length,
                                   spry_index_type type, bool is_writable)
{
    if (arrays->device > 0)
        return spry_python_show_view(owner, data, length, type == SPRY_I32 ? "int32" : "int64", arrays->device);
    return show(owner, data, length, type == SPRY_I32 ? NPY_INT32 : NPY_INT64, is_writable);
}

static PyObject *show_values(PyObject *owner, const spry_arrays *a, bool is_writable)
{
    if (a->device > 0 && (a->value_type == SPRY_F64 || a->value_type == SPRY_F32))
        return spry_python_show_view(owner, a->values, a->nnz, spry_python_number_name(a->value_type), a->device);
    switch (a->value_type) {
    case SPRY_F64: return show(owner, a->values, a->nnz, NPY_DOUBLE, is_writable);
    case SPRY_F32: return show(owner, a->values, a->nnz, NPY_FLOAT, is_writable);
    case SPRY_F16: return show(owner, a->values, a->nnz, NPY_HALF, is_writable);
    case SPRY_BF16: return show(owner, a->values, a->nnz, NPY_UINT16, is_writable);
    default: Py_RETURN_NONE;
    }
}

PyDoc_STRVAR(arrays_doc, "arrays() -> (layout, rows, cols, nnz, offsets or rows, indices, values or None)\n\n"
                         "The arrays without a copy: the borrowed ones, or the library's, which the matrix keeps\n"
                         "alive. Arrays of a mapped file are read-only.");

static PyObject *matrix_arrays(PyObject *self, PyObject *unused)
{
    (void)unused;
    const SpryMatrix *const m = (const SpryMatrix *)self;
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_error err;
    if (spry_matrix_get_arrays(m->matrix, &a, &err) != SPRY_OK) return spry_python_fail(&err);
    if (m->indices)
        return Py_BuildValue("iLLLOOO", (int)a.layout, (long long)a.rows, (long long)a.columns, (long long)a.nnz,
                             m->offsets ? m->offsets : m->row_indices, m->indices, m->values ? m->values : Py_None);
    const bool is_writable = a.ownership == SPRY_COPY;
    PyObject *const first = a.layout == SPRY_COO
                                ? spry_python_show_indices(self, &a, a.row_indices, a.nnz, a.index_type, is_writable)
                                : spry_python_show_indices(self, &a, a.offsets,
                                                           (a.layout == SPRY_CSC ? a.columns : a.rows) + 1,
                                                           a.offset_type, is_writable);
    PyObject *const indices = spry_python_show_indices(self, &a, a.indices, a.nnz, a.index_type, is_writable);
    PyObject *const values = show_values(self, &a, is_writable);
    return Py_BuildValue("iLLLNNN", (int)a.layout, (long long)a.rows, (long long)a.columns, (long long)a.nnz, first,
                         indices, values); /* if one is NULL, Py_BuildValue fails and releases all three */
}

PyDoc_STRVAR(check_doc, "check_structure()\n\nChecks every offset and index. InvalidError reports the first bad one.");

static PyObject *matrix_check_structure(PyObject *self, PyObject *unused)
{
    (void)unused;
    spry_matrix *const matrix = ((SpryMatrix *)self)->matrix;
    spry_status status;
    spry_error err;
    SPRY_WITHOUT_LOCK(status = spry_matrix_check(matrix, NULL, SPRY_CHECK_STRUCTURE, &err));
    if (status != SPRY_OK) return spry_python_fail(&err);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(write_doc, "write(path, options)\n\nWrites a Matrix Market file, or a container if the name ends in\n"
                        ".spry. options: full, comment, format.");

static PyObject *matrix_write(PyObject *self, PyObject *args)
{
    static const spry_field fields[] = {SPRY_FIELD(spry_write_options, BOOL, full),
                                        SPRY_FIELD(spry_write_options, STRING, comment),
                                        SPRY_FIELD(spry_write_options, STRING, format), SPRY_FIELDS_END};
    const spry_matrix *const matrix = ((const SpryMatrix *)self)->matrix;
    spry_write_options options = SPRY_INIT(spry_write_options);
    PyObject *path, *given;
    spry_status status;
    spry_error err;
    if (!PyArg_ParseTuple(args, "O&O", PyUnicode_FSConverter, &path, &given)) return NULL;
    PyObject *result = NULL;
    const char *const name = PyBytes_AsString(path);
    if (name && spry_python_options(&options, fields, given) == 0) {
        SPRY_WITHOUT_LOCK(status = spry_matrix_write(matrix, name, &options, &err));
        result = status == SPRY_OK ? Py_NewRef(Py_None) : spry_python_fail(&err);
    }
    Py_DECREF(path);
    return result;
}

static PyMethodDef methods[] = {
    {"arrays", matrix_arrays, METH_NOARGS, arrays_doc},
    {"check_structure", matrix_check_structure, METH_NOARGS, check_doc},
    {"write", matrix_write, METH_VARARGS, write_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "A matrix of the library, with references to the owners of its arrays."},
    {Py_tp_new, (void *)matrix_new},
    {Py_tp_dealloc, (void *)matrix_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"spry._core.Matrix", sizeof(SpryMatrix), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           slots};

int spry_python_add_matrix(PyObject *module)
{
    return spry_python_add_type(module, "Matrix", &spec, &spry_python_matrix_type);
}

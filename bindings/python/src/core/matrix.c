/*
 * spry._core.Matrix: a matrix handle with what keeps its arrays alive. It is made of arrays of NumPy or of views of a
 * GPU's memory, which it borrows, or it is the library's own, whose arrays NumPy, or views, then show. _arrays.py makes them of SciPy's matrices, and back.
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

/* ---- of borrowed arrays ---- */

/* Numbers that a matrix borrows, one behind the other. */
typedef struct Flat {
    const void *data;
    PyObject *type; /* what tells it, for messages; borrowed */
    char kind;      /* 'i' of signed integers, 'f' of floating-point numbers, else another */
    int bytes;      /* of one */
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
        PyErr_Format(PyExc_TypeError, "%s: expected a flat array of NumPy, contiguous and aligned", name);
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

/* Keeps `given`, a flat array of NumPy or a view of at least `length` numbers, in *kept; 0, or -1 with TypeError. */
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

/* All arrays of a matrix are in one memory: that of the array that was taken last. */
static int in_one_memory(spry_arrays *arrays, const Flat *flat, const char *name)
{
    if (flat->device == arrays->device) return 0;
    spry_python_invalid("%s is in another memory than the indices", name);
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
    if (!arrays->indices) arrays->device = flat.device; /* the first that is taken */
    *data = flat.data;
    return in_one_memory(arrays, &flat, name);
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
    return in_one_memory(arrays, &flat, "values");
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
    const int failed = layout == SPRY_COO
                           ? keep_indices(&m->row_indices, &a.row_indices, &unused, &a, offsets, nnz, "row")
                           : keep_indices(&m->offsets, &a.offsets, &a.offset_type, &a, offsets,
                                          (layout == SPRY_CSC ? cols : rows) + 1, "indptr");
    if (failed || keep_values(m, &a, values) < 0) goto fail;
    if (layout == SPRY_COO && unused != a.index_type) {
        PyErr_SetString(PyExc_TypeError, "row and col hold numbers of two types");
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

/* ---- the library's arrays ---- */

/* An array of NumPy that shows `length` numbers, which `owner` keeps alive. */
static PyObject *show(PyObject *owner, const void *data, int64_t length, int numpy_type, int writable)
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
    if (!writable) PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    return array;
}

PyObject *spry_python_show_indices(PyObject *owner, const spry_arrays *arrays, const void *data, int64_t length,
                                   spry_index_type type, int writable)
{
    if (arrays->device > 0)
        return spry_python_show_view(owner, data, length, type == SPRY_I32 ? "int32" : "int64", arrays->device);
    return show(owner, data, length, type == SPRY_I32 ? NPY_INT32 : NPY_INT64, writable);
}

static PyObject *show_values(PyObject *owner, const spry_arrays *a, int writable)
{
    if (a->device > 0 && (a->value_type == SPRY_F64 || a->value_type == SPRY_F32))
        return spry_python_show_view(owner, a->values, a->nnz, spry_python_number_name(a->value_type), a->device);
    switch (a->value_type) {
    case SPRY_F64: return show(owner, a->values, a->nnz, NPY_DOUBLE, writable);
    case SPRY_F32: return show(owner, a->values, a->nnz, NPY_FLOAT, writable);
    case SPRY_F16: return show(owner, a->values, a->nnz, NPY_HALF, writable);
    case SPRY_BF16: return show(owner, a->values, a->nnz, NPY_UINT16, writable);
    default: Py_RETURN_NONE;
    }
}

PyDoc_STRVAR(arrays_doc, "arrays() -> (layout, rows, cols, nnz, offsets or rows, indices, values or None)\n\n"
                         "The arrays where they are: those that were given, or the library's, which the matrix keeps\n"
                         "alive. Those of a mapped file are read-only.");

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
    const int writable = a.ownership == SPRY_COPY;
    PyObject *const first = a.layout == SPRY_COO
                                ? spry_python_show_indices(self, &a, a.row_indices, a.nnz, a.index_type, writable)
                                : spry_python_show_indices(self, &a, a.offsets,
                                                           (a.layout == SPRY_CSC ? a.columns : a.rows) + 1,
                                                           a.offset_type, writable);
    PyObject *const indices = spry_python_show_indices(self, &a, a.indices, a.nnz, a.index_type, writable);
    PyObject *const values = show_values(self, &a, writable);
    return Py_BuildValue("iLLLNNN", (int)a.layout, (long long)a.rows, (long long)a.columns, (long long)a.nnz, first,
                         indices, values); /* which fails, and releases them, where one is NULL */
}

PyDoc_STRVAR(check_doc, "check_structure()\n\nLooks at every offset and index; ValueError with the first bad one.");

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

PyDoc_STRVAR(write_doc, "write(path, options)\n\nWrites a file: Matrix Market, or a container where the name ends in\n"
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
    {Py_tp_doc, (void *)(uintptr_t) "A matrix of the library, with what keeps its arrays alive."},
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

/*
 * NumPy's arrays as vectors. An array of the right type whose columns, or rows of all columns, lie one behind the other
 * is taken where it is; for anything else _vectors.py makes such an array, or says why it does not.
 */
#include "spry_python.h"

enum { CACHE_LINE = 64 };

int spry_python_number(spry_type type)
{
    return type == SPRY_F32 ? NPY_FLOAT : NPY_DOUBLE;
}

const char *spry_python_number_name(spry_type type)
{
    return type == SPRY_F32 ? "float32" : "float64";
}

static int has_type(PyArrayObject *array, spry_type type)
{
    return PyArray_TYPE(array) == spry_python_number(type) && PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array);
}

/* Fills `vector` from the array. 0: it has strides or dimensions that the library does not take. */
static int lay_out(spry_vector *vector, PyArrayObject *array, spry_type type)
{
    const int dimensions = PyArray_NDIM(array);
    if (dimensions != 1 && dimensions != 2) return 0;
    const npy_intp *const sizes = PyArray_DIMS(array), *const strides = PyArray_STRIDES(array);
    const npy_intp size = type == SPRY_F32 ? 4 : 8, length = sizes[0], columns = dimensions == 2 ? sizes[1] : 1;
    *vector = (spry_vector){.data = PyArray_DATA(array),
                            .length = length,
                            .count = columns,
                            .row_stride = 1,
                            .column_stride = length > 0 ? length : 1,
                            .type = type};
    if (length == 0 || columns == 0) return 1;
    if (columns == 1) return length == 1 || strides[0] == size;
    if (strides[1] == size && (length == 1 || (strides[0] >= columns * size && strides[0] % size == 0))) {
        vector->row_stride = length == 1 ? columns : strides[0] / size;
        vector->column_stride = 1;
        return 1;
    }
    vector->column_stride = strides[1] / size;
    return (length == 1 || strides[0] == size) && strides[1] >= length * size && strides[1] % size == 0;
}

int spry_python_by_rows(const spry_operand *operand)
{
    return operand->vector.count > 1 && operand->vector.row_stride != 1;
}

static int has_length(const spry_operand *operand, int64_t length, const char *name)
{
    if (operand->vector.length == length) return 1;
    PyObject *const shape = PyObject_GetAttrString((PyObject *)operand->array, "shape");
    spry_python_invalid("%s has shape %S, expected (%lld,) or (%lld, k)", name, shape, (long long)length,
                        (long long)length);
    Py_XDECREF(shape);
    return 0;
}

int spry_python_operand(spry_operand *operand, PyObject *given, spry_type type, int64_t length, const char *name)
{
    operand->copied = 0;
    operand->array = (PyArrayObject *)given;
    if (PyArray_Check(given) && has_type(operand->array, type) && lay_out(&operand->vector, operand->array, type)) {
        Py_INCREF(given);
    } else {
        PyObject *const made =
            spry_python_call("spry._vectors", "as_operand", "Oss", given, spry_python_number_name(type), name);
        operand->array = (PyArrayObject *)made;
        operand->copied = 1;
        if (!made) return -1;
        if (!PyArray_Check(made) || !has_type(operand->array, type) ||
            !lay_out(&operand->vector, operand->array, type)) {
            Py_DECREF(made);
            PyErr_Format(PyExc_SystemError, "%s was not made ready", name);
            return -1;
        }
    }
    if (has_length(operand, length, name)) return 0;
    Py_CLEAR(operand->array);
    return -1;
}

/* The shape of a result beside x. */
static int shape_of_result(npy_intp *shape, const spry_operand *x, int64_t length)
{
    shape[0] = (npy_intp)length;
    shape[1] = (npy_intp)x->vector.count;
    return PyArray_NDIM(x->array);
}

int spry_python_result(spry_operand *operand, const spry_operand *x, spry_type type, int64_t length)
{
    npy_intp shape[2];
    const int dimensions = shape_of_result(shape, x, length);
    const int by_columns = dimensions == 2 && shape[1] > 1 && !spry_python_by_rows(x);
    operand->copied = 0;
    operand->array = (PyArrayObject *)PyArray_EMPTY(dimensions, shape, spry_python_number(type), by_columns);
    return operand->array ? !lay_out(&operand->vector, operand->array, type) : -1;
}

PyArrayObject *spry_python_memory(int64_t bytes)
{
    npy_intp all = (npy_intp)bytes + CACHE_LINE;
    return (PyArrayObject *)PyArray_EMPTY(1, &all, NPY_UBYTE, 0);
}

int spry_python_serves(PyArrayObject *memory, int64_t bytes)
{
    return Py_REFCNT((PyObject *)memory) == 1 && PyArray_CHKFLAGS(memory, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE) &&
           PyArray_NBYTES(memory) == (npy_intp)bytes + CACHE_LINE;
}

int spry_python_result_in(PyArrayObject *memory, spry_operand *operand, const spry_operand *x, spry_type type,
                          int64_t length)
{
    npy_intp shape[2];
    const int dimensions = shape_of_result(shape, x, length), by_rows = dimensions == 1 || spry_python_by_rows(x);
    const int flags = NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED |
                      (by_rows ? NPY_ARRAY_C_CONTIGUOUS : NPY_ARRAY_F_CONTIGUOUS);
    char *const data = PyArray_BYTES(memory);
    operand->copied = 0;
    operand->array = (PyArrayObject *)PyArray_New(&PyArray_Type, dimensions, shape, spry_python_number(type), NULL,
                                                  data + (CACHE_LINE - (uintptr_t)data % CACHE_LINE) % CACHE_LINE, 0,
                                                  flags, NULL);
    if (!operand->array) return -1;
    if (PyArray_SetBaseObject(operand->array, Py_NewRef((PyObject *)memory)) < 0) {
        Py_CLEAR(operand->array);
        return -1;
    }
    return lay_out(&operand->vector, operand->array, type) ? 0 : -1;
}

int spry_python_target(spry_operand *operand, PyObject *given, const spry_operand *x, spry_type type, int64_t length)
{
    npy_intp shape[2];
    const int dimensions = shape_of_result(shape, x, length);
    PyArrayObject *const array = (PyArrayObject *)given;
    if (!PyArray_Check(given)) {
        PyErr_Format(PyExc_TypeError, "out is %R, expected an array of NumPy", (PyObject *)Py_TYPE(given));
        return -1;
    }
    if (!has_type(array, type)) {
        PyErr_Format(PyExc_TypeError, "out holds %S, expected aligned %s", (PyObject *)PyArray_DESCR(array),
                     spry_python_number_name(type));
        return -1;
    }
    if (PyArray_NDIM(array) != dimensions || !PyArray_CompareLists(PyArray_DIMS(array), shape, dimensions)) {
        PyObject *const expected = dimensions == 1 ? Py_BuildValue("(n)", shape[0])
                                                   : Py_BuildValue("(nn)", shape[0], shape[1]);
        PyObject *const found = PyObject_GetAttrString(given, "shape");
        spry_python_invalid("out has shape %S, expected %S", found, expected);
        Py_XDECREF(expected);
        Py_XDECREF(found);
        return -1;
    }
    if (PyArray_FailUnlessWriteable(array, "out") < 0) return -1;
    operand->copied = !lay_out(&operand->vector, array, type);
    if (!operand->copied) {
        Py_INCREF(given);
        operand->array = array;
        return 0;
    }
    PyObject *const checked = spry_python_call("spry._vectors", "check_target", "(O)", given);
    if (!checked) return -1;
    Py_DECREF(checked);
    operand->array = (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
    return operand->array ? !lay_out(&operand->vector, operand->array, type) : -1;
}

int spry_python_bring_back(const spry_operand *operand, PyObject *given)
{
    return operand->copied ? PyArray_CopyInto((PyArrayObject *)given, operand->array) : 0;
}

/*
 * NumPy arrays as vectors. An array of the plan's type with contiguous columns, or a row-major block, is used without a
 * copy. _vectors.py converts other objects or raises an exception.
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

static bool has_type(PyArrayObject *array, spry_type type)
{
    return PyArray_TYPE(array) == spry_python_number(type) && PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array);
}

/* Fills `vector` from the array. Returns false if the library does not support its strides or dimensions. */
static bool lay_out(spry_vector *vector, PyArrayObject *array, spry_type type)
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
    if (length == 0 || columns == 0) return true;
    if (columns == 1) return length == 1 || strides[0] == size;
    if (strides[1] == size && (length == 1 || (strides[0] >= columns * size && strides[0] % size == 0))) {
        vector->row_stride = length == 1 ? columns : strides[0] / size;
        vector->column_stride = 1;
        return true;
    }
    vector->column_stride = strides[1] / size;
    return (length == 1 || strides[0] == size) && strides[1] >= length * size && strides[1] % size == 0;
}

bool spry_python_is_row_major(const spry_operand *operand)
{
    return operand->vector.count > 1 && operand->vector.row_stride != 1;
}

static bool has_length(const spry_operand *operand, int64_t length, const char *name)
{
    if (operand->vector.length == length) return true;
    PyObject *const shape = PyObject_GetAttrString((PyObject *)operand->array, "shape");
    spry_python_invalid("%s has shape %S, expected (%lld,) or (%lld, k)", name, shape, (long long)length,
                        (long long)length);
    Py_XDECREF(shape);
    return false;
}

int spry_python_operand(spry_operand *operand, PyObject *given, spry_type type, int64_t length, const char *name)
{
    operand->is_copy = false;
    operand->array = (PyArrayObject *)given;
    if (PyArray_Check(given) && has_type(operand->array, type) && lay_out(&operand->vector, operand->array, type)) {
        Py_INCREF(given);
    } else {
        PyObject *const converted =
            spry_python_call("spry._vectors", "as_operand", "Oss", given, spry_python_number_name(type), name);
        operand->array = (PyArrayObject *)converted;
        operand->is_copy = true;
        if (!converted) return -1;
        if (!PyArray_Check(converted) || !has_type(operand->array, type) ||
            !lay_out(&operand->vector, operand->array, type)) {
            Py_DECREF(converted);
            PyErr_Format(PyExc_SystemError, "%s was not converted to a contiguous array", name);
            return -1;
        }
    }
    if (has_length(operand, length, name)) return 0;
    Py_CLEAR(operand->array);
    return -1;
}

/* Computes the shape of the result of a product with x. Returns the number of dimensions. */
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
    const bool is_column_major = dimensions == 2 && shape[1] > 1 && !spry_python_is_row_major(x);
    operand->is_copy = false;
    operand->array = (PyArrayObject *)PyArray_EMPTY(dimensions, shape, spry_python_number(type), is_column_major);
    return operand->array ? !lay_out(&operand->vector, operand->array, type) : -1;
}

PyArrayObject *spry_python_memory(int64_t bytes)
{
    npy_intp all = (npy_intp)bytes + CACHE_LINE;
    return (PyArrayObject *)PyArray_EMPTY(1, &all, NPY_UBYTE, 0);
}

bool spry_python_is_reusable(PyArrayObject *memory, int64_t bytes)
{
    return Py_REFCNT((PyObject *)memory) == 1 && PyArray_CHKFLAGS(memory, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE) &&
           PyArray_NBYTES(memory) == (npy_intp)bytes + CACHE_LINE;
}

int spry_python_result_in(PyArrayObject *memory, spry_operand *operand, const spry_operand *x, spry_type type,
                          int64_t length)
{
    npy_intp shape[2];
    const int dimensions = shape_of_result(shape, x, length);
    const bool is_row_major = dimensions == 1 || spry_python_is_row_major(x);
    const int flags = NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED |
                      (is_row_major ? NPY_ARRAY_C_CONTIGUOUS : NPY_ARRAY_F_CONTIGUOUS);
    char *const data = PyArray_BYTES(memory);
    operand->is_copy = false;
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
        PyErr_Format(PyExc_TypeError, "out is %R, expected a NumPy array", (PyObject *)Py_TYPE(given));
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
    operand->is_copy = !lay_out(&operand->vector, array, type);
    if (!operand->is_copy) {
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

int spry_python_copy_back(const spry_operand *operand, PyObject *given)
{
    return operand->is_copy ? PyArray_CopyInto((PyArrayObject *)given, operand->array) : 0;
}

/* Conversion of library structs to dicts, and of dicts to option structs, by tables of fields. */
#include "spry/solve.h"
#include "spry_python.h"

#include <string.h>

static PyObject *value_of(const void *filled, const spry_field *field)
{
    const void *const at = (const char *)filled + field->offset;
    const char *text;
    switch (field->kind) {
    case SPRY_FIELD_INT: return PyLong_FromLong(*(const int *)at);
    case SPRY_FIELD_BOOL: return PyBool_FromLong(field->size == sizeof(bool) ? *(const bool *)at : *(const int *)at);
    case SPRY_FIELD_INT64: return PyLong_FromLongLong(*(const int64_t *)at);
    case SPRY_FIELD_DOUBLE: return PyFloat_FromDouble(*(const double *)at);
    case SPRY_FIELD_POINTER: return PyLong_FromVoidPtr(*(void *const *)at);
    case SPRY_FIELD_STRING: text = *(const char *const *)at; break;
    case SPRY_FIELD_TEXT: text = at; break;
    case SPRY_FIELD_TYPE: text = spry_type_name(*(const spry_type *)at); break;
    case SPRY_FIELD_VERDICT:
    default: text = spry_verdict_text(*(const spry_verdict *)at); break;
    }
    if (!text) Py_RETURN_NONE;
    return spry_python_text(text);
}

PyObject *spry_python_dict(const void *filled, const spry_field *fields)
{
    PyObject *const dict = PyDict_New();
    for (; dict && fields->name; fields++) {
        PyObject *const value = value_of(filled, fields);
        const bool failed = !value || PyDict_SetItemString(dict, fields->name, value) < 0;
        Py_XDECREF(value);
        if (failed) {
            Py_DECREF(dict);
            return NULL;
        }
    }
    return dict;
}

static int take_type(void *at, PyObject *value)
{
    static const spry_type types[] = {SPRY_F32, SPRY_F64, SPRY_PATTERN, SPRY_BF16, SPRY_F16};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, spry_type_name(types[t])) == 0) {
            *(spry_type *)at = types[t];
            return 0;
        }
    spry_python_invalid("%R is not a type of the library", value);
    return -1;
}

static int take_int(void *at, PyObject *value, const char *name)
{
    const long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred()) return -1;
    if (number < INT32_MIN || number > INT32_MAX) {
        spry_python_invalid("%s is %lld, expected an integer of 32 bits", name, number);
        return -1;
    }
    *(int *)at = (int)number;
    return 0;
}

static int take_bool(void *at, size_t size, PyObject *value)
{
    const int is_true = PyObject_IsTrue(value);
    if (size == sizeof(bool))
        *(bool *)at = is_true > 0;
    else
        *(int *)at = is_true > 0;
    return is_true < 0 ? -1 : 0;
}

static int take(void *options, const spry_field *field, PyObject *value)
{
    void *const at = (char *)options + field->offset;
    if (value == Py_None) return 0; /* the default */
    switch (field->kind) {
    case SPRY_FIELD_INT: return take_int(at, value, field->name);
    case SPRY_FIELD_BOOL: return take_bool(at, field->size, value);
    case SPRY_FIELD_INT64:
        *(int64_t *)at = PyLong_AsLongLong(value);
        return *(int64_t *)at == -1 && PyErr_Occurred() ? -1 : 0;
    case SPRY_FIELD_DOUBLE:
        *(double *)at = PyFloat_AsDouble(value);
        return *(double *)at == -1 && PyErr_Occurred() ? -1 : 0;
    case SPRY_FIELD_POINTER: *(void **)at = PyLong_AsVoidPtr(value); return !*(void **)at && PyErr_Occurred() ? -1 : 0;
    case SPRY_FIELD_STRING:
        if (PyBytes_Check(value)) return (*(const char **)at = PyBytes_AsString(value)) ? 0 : -1;
        if (!PyUnicode_Check(value)) {
            PyErr_Format(PyExc_TypeError, "%s is %R, expected a string", field->name, value);
            return -1;
        }
        return (*(const char **)at = PyUnicode_AsUTF8AndSize(value, NULL)) ? 0 : -1;
    case SPRY_FIELD_TYPE: return take_type(at, value);
    default: PyErr_Format(PyExc_SystemError, "%s is not an option", field->name); return -1;
    }
}

int spry_python_options(void *options, const spry_field *fields, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t place = 0;
    if (!dict || dict == Py_None) return 0;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "options is %R, expected a dict or None", (PyObject *)Py_TYPE(dict));
        return -1;
    }
    while (PyDict_Next(dict, &place, &key, &value)) {
        const spry_field *field = fields;
        while (field->name && !(PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, field->name) == 0))
            field++;
        if (!field->name) {
            PyErr_Format(PyExc_TypeError, "unknown option %R", key);
            return -1;
        }
        if (take(options, field, value) < 0) return -1;
    }
    return 0;
}

#define OPTION(kind, member) SPRY_FIELD(spry_spmv_options, kind, member)

const spry_field spry_python_spmv_options[] = {
    OPTION(INT, op),
    OPTION(INT, device),
    OPTION(INT, vector_device),
    OPTION(STRING, format),
    OPTION(STRING, kernel),
    OPTION(STRING, ordering),
    OPTION(TYPE, vector_type),
    OPTION(INT64, count),
    OPTION(BOOL, row_major),
    OPTION(INT64, expected_calls),
    OPTION(INT64, expected_updates),
    OPTION(BOOL, allow_nondeterministic),
    OPTION(INT64, memory_limit_bytes),
    OPTION(STRING, policy),
    OPTION(DOUBLE, measure_budget_us),
    OPTION(BOOL, keep_value_type),
    SPRY_FIELDS_END,
};

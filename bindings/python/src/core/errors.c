/* Errors of the library as exceptions. The package's _errors.py maps statuses to exceptions. */
#include "spry_python.h"

#include <stdarg.h>
#include <string.h>

PyObject *spry_python_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

PyObject *spry_python_fail(const spry_error *err)
{
    PyObject *const exception = spry_python_call("spry._errors", "exception_of", "iNNLLNL", (int)err->status,
                                                 spry_python_text(err->message), spry_python_text(err->argument),
                                                 (long long)err->value, (long long)err->limit,
                                                 spry_python_text(err->file), (long long)err->line);
    if (exception) PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    return NULL;
}

void spry_python_invalid(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    PyObject *const message = PyUnicode_FromFormatV(format, list);
    va_end(list);
    PyObject *const error = message ? spry_python_call("spry._errors", "InvalidError", "(N)", message) : NULL;
    if (error) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
}

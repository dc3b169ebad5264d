/* Arrays in a GPU's memory. _homes.py identifies their libraries and creates and wraps them. */
#include "spry_python.h"

#include <string.h>

int spry_python_view(spry_view *view, PyObject *given, const char *name)
{
    PyObject *owner;
    if (PyTuple_Check(given) &&
        PyArg_ParseTuple(given, "KLLLLsiO", &view->address, &view->length, &view->columns, &view->row_stride,
                         &view->column_stride, &view->type, &view->device, &owner))
        return 0;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s: expected an array in a GPU's memory, as a tuple of its parts", name);
    return -1;
}

PyObject *spry_python_show_view(PyObject *owner, const void *data, int64_t length, const char *type, int device)
{
    return Py_BuildValue("KLLLLsiO", (unsigned long long)(uintptr_t)data, (long long)length, 1LL, 1LL,
                         (long long)(length > 0 ? length : 1), type, device, owner);
}

int spry_python_view_operand(spry_operand *operand, PyObject *given, const char *name)
{
    spry_view view;
    if (spry_python_view(&view, given, name) < 0) return -1;
    operand->array = NULL;
    operand->is_copy = false;
    operand->vector = (spry_vector){.data = (void *)(uintptr_t)view.address,
                                    .length = view.length,
                                    .count = view.columns,
                                    .row_stride = view.row_stride,
                                    .column_stride = view.column_stride,
                                    .type = strcmp(view.type, "float32") == 0 ? SPRY_F32 : SPRY_F64,
                                    .device = view.device};
    return 0;
}

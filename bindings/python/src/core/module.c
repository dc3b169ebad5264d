/* Module initialization, contexts, thread limit and memory. */
#define SPRY_PYTHON_IMPORTS_NUMPY
#include "spry_python.h"

#include <spry/tune.h>

#include <stdio.h>
#include <string.h>

#include <stdarg.h>

int spry_python_thread_limit = 0;
char *spry_python_plugin = NULL;

PyObject *spry_python_call(const char *module, const char *name, const char *format, ...)
{
    PyObject *const file = PyImport_ImportModule(module);
    PyObject *const function = file ? PyObject_GetAttrString(file, name) : NULL;
    PyObject *arguments = NULL, *result = NULL;
    if (function) {
        va_list list;
        va_start(list, format);
        arguments = Py_VaBuildValue(format, list);
        va_end(list);
    }
    if (arguments) result = PyObject_CallObject(function, arguments);
    Py_XDECREF(arguments);
    Py_XDECREF(function);
    Py_XDECREF(file);
    return result;
}

/* ---- contexts ---- */

/*
 * One context per requested number of threads, in a list. Contexts are never freed: other threads may run in them when
 * Python exits, and few contexts exist.
 */
typedef struct Context {
    struct Context *next;
    int threads;
    spry_context *context;
} Context;

static Context *contexts = NULL;

spry_context *spry_python_context(int threads)
{
    spry_context_options options = SPRY_INIT(spry_context_options);
    spry_error err;
    for (const Context *c = contexts; c; c = c->next)
        if (c->threads == threads) return c->context;
    Context *const created = PyMem_Malloc(sizeof *created);
    if (!created) {
        PyErr_NoMemory();
        return NULL;
    }
    options.threads = created->threads = threads;
    options.cuda_plugin = spry_python_plugin;
    if (spry_context_create(&created->context, &options, &err) != SPRY_OK) {
        PyMem_Free(created);
        spry_python_fail(&err);
        return NULL;
    }
    created->next = contexts;
    contexts = created;
    return created->context;
}

static PyObject *get_threads(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const spry_context *const context = spry_python_context(0);
    if (!context) return NULL;
    spry_context_info info = SPRY_INIT(spry_context_info);
    (void)spry_context_get_info(context, &info, NULL);
    const int limit = spry_python_thread_limit;
    return PyLong_FromLong(limit > 0 && limit < info.threads ? limit : info.threads);
}

static PyObject *set_threads(PyObject *module, PyObject *given)
{
    (void)module;
    const long threads = PyLong_AsLong(given);
    if (threads == -1 && PyErr_Occurred()) return NULL;
    if (threads < 0 || threads > 4096) {
        spry_python_invalid("threads is %ld, expected 1 to 4096, or 0 for no limit", threads);
        return NULL;
    }
    spry_python_thread_limit = (int)threads;
    Py_RETURN_NONE;
}

static PyObject *set_plugin(PyObject *module, PyObject *given)
{
    (void)module;
    PyObject *bytes_of_path = NULL;
    if (!PyUnicode_FSConverter(given, &bytes_of_path)) return NULL;
    const char *const path = PyBytes_AsString(bytes_of_path);
    const size_t bytes = path ? strlen(path) + 1 : 0;
    char *const copy = path ? PyMem_Malloc(bytes) : NULL;
    if (copy) memcpy(copy, path, bytes);
    Py_DECREF(bytes_of_path);
    if (!copy) return path ? PyErr_NoMemory() : NULL;
    PyMem_Free(spry_python_plugin);
    spry_python_plugin = copy;
    Py_RETURN_NONE;
}

static PyObject *trim(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    long long bytes = 0;
    for (const Context *c = contexts; c; c = c->next) bytes += spry_context_trim(c->context);
    return PyLong_FromLongLong(bytes);
}

static PyObject *held_bytes(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    long long bytes = 0;
    for (const Context *c = contexts; c; c = c->next) {
        spry_context_info info = SPRY_INIT(spry_context_info);
        if (spry_context_get_info(c->context, &info, NULL) == SPRY_OK) bytes += info.bytes;
    }
    return PyLong_FromLongLong(bytes);
}

int spry_python_add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **kept)
{
    PyObject *const type = PyType_FromSpec(spec);
    const bool failed = !type || PyModule_AddObjectRef(module, name, type) < 0;
    if (kept)
        *kept = (PyTypeObject *)type;
    else
        Py_XDECREF(type);
    return failed ? -1 : 0;
}

PyObject *spry_python_new(PyTypeObject *type)
{
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

void spry_python_free(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyUnicode_FromString(spry_version());
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "Returns the library's version."},
    {"get_threads", get_threads, METH_NOARGS, "Returns the number of threads that a product may use now."},
    {"set_threads", set_threads, METH_O, "Limits the threads of products; 0: no limit."},
    {"set_plugin", set_plugin, METH_O, "Sets the CUDA plug-in's path. Call it before the first matrix is created."},
    {"trim", trim, METH_NOARGS, "Returns cached memory to the system. Returns the number of bytes."},
    {"held_bytes", held_bytes, METH_NOARGS, "Returns the number of bytes that the library holds."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_core", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    import_array();
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%d.%d.", SPRY_VERSION_MAJOR, SPRY_VERSION_MINOR);
    if (strncmp(spry_version(), wanted, strlen(wanted)) != 0) {
        PyErr_Format(PyExc_ImportError, "libspry has version %s, the extension was built for %sx", spry_version(),
                     wanted);
        return NULL;
    }
    PyObject *const module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (spry_python_add_matrix(module) < 0 || spry_python_add_plan(module) < 0 || spry_python_add_spgemm(module) < 0 ||
        spry_python_add_cg_plan(module) < 0 || PyModule_AddFunctions(module, spry_python_plan_functions) < 0 ||
        PyModule_AddFunctions(module, spry_python_spgemm_functions) < 0 ||
        PyModule_AddFunctions(module, spry_python_solve_functions) < 0 ||
        PyModule_AddFunctions(module, spry_python_tool_functions) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}

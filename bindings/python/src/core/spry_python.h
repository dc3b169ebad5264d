/*
 * What the files of the extension spry._core share. The extension hands Python's objects to the library and back; what
 * needs no speed (SciPy's classes, defaults, texts) stands in the package's Python files.
 *
 *   module.c     what Python calls when it loads the extension: functions, types, threads
 *   fields.c     structs of the library as dicts, and options from dicts
 *   errors.c     errors of the library as exceptions
 *   vectors.c    NumPy's arrays as vectors
 *   views.c      arrays in a GPU's memory
 *   matrix.c     spry._core.Matrix: borrowed arrays, or arrays of the library that NumPy shows
 *   plan.c       spry._core.Plan: products with vectors
 *   spgemm.c     sparse products, and their plans
 *   solve.c      Conjugate Gradient and PageRank
 *   tools.c      files, generators, orderings, explanations, lists
 *
 * Python's limited API of 3.11 is used, so that one binary serves all later versions, and NumPy's C API, which keeps
 * to the limited one; docs/decisions.md (23) has the reasons. Functions return NULL, or -1, with an
 * exception set, where nothing else is said.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL spry_python_numpy
#if !defined(SPRY_PYTHON_IMPORTS_NUMPY)
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <spry/io.h>
#include <spry/solve.h>
#include <spry/spry.h>

/* ---- fields.c ---- */
typedef enum spry_field_kind {
    SPRY_FIELD_INT,     /* int, also an enum */
    SPRY_FIELD_BOOL,    /* bool, or an int that is 0 or 1 */
    SPRY_FIELD_INT64,   /* int64_t */
    SPRY_FIELD_DOUBLE,  /* double */
    SPRY_FIELD_STRING,  /* const char *; None is NULL */
    SPRY_FIELD_POINTER, /* void *, by its number */
    SPRY_FIELD_TEXT,    /* char[] */
    SPRY_FIELD_TYPE,    /* spry_type, by its name: "f64" */
    SPRY_FIELD_VERDICT  /* spry_verdict, by its text */
} spry_field_kind;

/* A field of a struct, by the name that Python sees. Tables end with a name of NULL. */
typedef struct spry_field {
    const char *name;
    spry_field_kind kind;
    size_t offset, size;
} spry_field;

#define SPRY_FIELD(type, kind, member)                                                                                 \
    {                                                                                                                  \
#member, SPRY_FIELD_##kind, offsetof(type, member), sizeof(((type *)0)->member)                                \
    }
#define SPRY_FIELD_AS(type, kind, member, name)                                                                        \
    {                                                                                                                  \
        name, SPRY_FIELD_##kind, offsetof(type, member), sizeof(((type *)0)->member)                                   \
    }
#define SPRY_FIELDS_END                                                                                                \
    {                                                                                                                  \
        NULL, SPRY_FIELD_INT, 0, 0                                                                                     \
    }

PyObject *spry_python_dict(const void *filled, const spry_field *fields);

/* Fills `options` from a dict, or from None. Strings stay the dict's, which has to live as long. */
int spry_python_options(void *options, const spry_field *fields, PyObject *dict);

/* Options of plans, which explanations take too. */
extern const spry_field spry_python_spmv_options[];

/* ---- errors.c ---- */
/* A str of any bytes, as names of files are: those that are no UTF-8 become surrogates, as os.fsdecode has them. */
PyObject *spry_python_text(const char *text);

PyObject *spry_python_fail(const spry_error *err);

/* Sets an InvalidError, with a message as PyErr_Format's. */
void spry_python_invalid(const char *format, ...);

/* ---- module.c ---- */
/* The context with so many threads; 0: the default of spry_context_options. Contexts live as long as the process. */
spry_context *spry_python_context(int threads);

/* Threads that products may use at present; 0: no limit. */
extern int spry_python_thread_limit;

/* The attribute `name` of the package's file `module` ("spry._vectors"), called with arguments as Py_BuildValue's. */
PyObject *spry_python_call(const char *module, const char *name, const char *format, ...);

/* The CUDA plug-in of contexts that are made from then on; NULL: where the library looks for it. */
extern char *spry_python_plugin;

/* Makes the type of a spec and gives it to the module under a name; *kept, which may be NULL, refers to it, too. */
int spry_python_add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **kept);

/* An object of a type of the extension, cleared; and the memory of one that is gone, for its type's dealloc. */
PyObject *spry_python_new(PyTypeObject *type);
void spry_python_free(PyObject *self);

/* ---- vectors.c ---- */
/* A vector, or a block of columns, in a product. */
typedef struct spry_operand {
    PyArrayObject *array; /* a reference */
    int copied;           /* 1: it is a copy of what was given */
    spry_vector vector;
} spry_operand;

/* NumPy's number of the type, NPY_DOUBLE or NPY_FLOAT. */
int spry_python_number(spry_type type);

/* NumPy's name of it, "float64" or "float32". */
const char *spry_python_number_name(spry_type type);

/* x as the library takes it: `length` entries in each column, else ValueError. Numbers that the type holds are
   converted; others are a TypeError. What has strides that the library does not take is copied. */
int spry_python_operand(spry_operand *operand, PyObject *given, spry_type type, int64_t length, const char *name);

/* An array to be written, of the very type and of the shape of a result beside x. copied is 1 where it has strides that
   the library does not take: spry_python_bring_back writes it when the copy is done with. */
int spry_python_target(spry_operand *operand, PyObject *given, const spry_operand *x, spry_type type, int64_t length);
int spry_python_bring_back(const spry_operand *operand, PyObject *given);

/* A new array for a result beside x: as many columns, in x's order. */
int spry_python_result(spry_operand *operand, const spry_operand *x, spry_type type, int64_t length);

/* Memory for a result of so many bytes, an array of bytes; NULL with an exception. */
PyArrayObject *spry_python_memory(int64_t bytes);
/* 1: it has room for so many, and nobody but the caller refers to it, be it by what is left of a result. */
int spry_python_serves(PyArrayObject *memory, int64_t bytes);
/* The result in that memory, from a cache line on, which is faster to write; 0, or -1 with an exception. */
int spry_python_result_in(PyArrayObject *memory, spry_operand *operand, const spry_operand *x, spry_type type,
                          int64_t length);

/* 1: rows of all columns lie one behind the other. */
int spry_python_by_rows(const spry_operand *operand);

/* ---- views.c ---- */
/*
 * An array in a GPU's memory. Python's side (_homes.py) hands it over, and is handed it, as a tuple of these parts and
 * of what keeps the memory alive.
 */
typedef struct spry_view {
    unsigned long long address;
    long long length, columns, row_stride, column_stride; /* as spry_vector's */
    const char *type;                                     /* "float64", "float32", "int32", "int64" */
    int device;                                           /* the library's number of it */
} spry_view;

/* `given`, which is read while it lives; -1 with TypeError where it is no such tuple. */
int spry_python_view(spry_view *view, PyObject *given, const char *name);

/* A new tuple for one column of numbers that `owner` keeps alive. */
PyObject *spry_python_show_view(PyObject *owner, const void *data, int64_t length, const char *type, int device);

/* A view as a vector, with array NULL. Sizes and types are for the library to check. */
int spry_python_view_operand(spry_operand *operand, PyObject *given, const char *name);

/* ---- matrix.c ---- */
typedef struct SpryMatrix {
    PyObject_HEAD spry_matrix *matrix;
    /* borrowed: arrays of NumPy, or views; NULL: the library's own */
    PyObject *offsets, *indices, *values, *row_indices;
} SpryMatrix;

extern PyTypeObject *spry_python_matrix_type;
int spry_python_add_matrix(PyObject *module);

/* A Matrix that owns `matrix`, also on failure. */
PyObject *spry_python_own(spry_matrix *matrix);

/* Indices of `arrays` that `owner` keeps alive: an array of NumPy, or a view where they are in a GPU's memory. */
PyObject *spry_python_show_indices(PyObject *owner, const spry_arrays *arrays, const void *data, int64_t length,
                                   spry_index_type type, int writable);

/* ---- the others ---- */
int spry_python_add_plan(PyObject *module);
int spry_python_add_spgemm(PyObject *module);
int spry_python_add_cg_plan(PyObject *module);
extern PyMethodDef spry_python_plan_functions[], spry_python_spgemm_functions[], spry_python_solve_functions[],
    spry_python_tool_functions[];

/* A call of the library without Python's lock. */
#define SPRY_WITHOUT_LOCK(statement)                                                                                   \
    do {                                                                                                               \
        PyThreadState *const state_ = PyEval_SaveThread();                                                             \
        statement;                                                                                                     \
        PyEval_RestoreThread(state_);                                                                                  \
    } while (0)

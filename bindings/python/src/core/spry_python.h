/*
 * Shared declarations of the extension spry._core. The extension converts Python objects to library objects and back.
 * Code that needs no speed (SciPy's classes, defaults, texts) is in the package's Python files.
 *
 *   module.c     module initialization, contexts, thread limit
 *   fields.c     structs of the library as dicts, and options from dicts
 *   errors.c     errors of the library as exceptions
 *   vectors.c    NumPy arrays as vectors
 *   views.c      arrays in a GPU's memory
 *   matrix.c     spry._core.Matrix: a matrix on borrowed arrays, or library arrays exposed to NumPy
 *   plan.c       spry._core.Plan: products with vectors
 *   spgemm.c     sparse products and their plans
 *   solve.c      Conjugate Gradient and PageRank
 *   tools.c      files, generators, orderings, explanations, lists
 *
 * The extension uses Python's limited API of 3.11 and NumPy's C API, so one binary serves all later versions;
 * docs/decisions.md (23) has the reasons. Unless stated otherwise, functions return NULL or -1 on failure, with an
 * exception set.
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

#include <stdbool.h>

/* ---- fields.c ---- */
typedef enum spry_field_kind {
    SPRY_FIELD_INT,     /* int or enum */
    SPRY_FIELD_BOOL,    /* bool, or an int that is 0 or 1 */
    SPRY_FIELD_INT64,   /* int64_t */
    SPRY_FIELD_DOUBLE,  /* double */
    SPRY_FIELD_STRING,  /* const char *; None is NULL */
    SPRY_FIELD_POINTER, /* void *; Python sees its address as an int */
    SPRY_FIELD_TEXT,    /* char[] */
    SPRY_FIELD_TYPE,    /* spry_type, by its name: "f64" */
    SPRY_FIELD_VERDICT  /* spry_verdict, by its text */
} spry_field_kind;

/* A struct field and its name in Python. Tables end with a NULL name. */
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

/* Fills `options` from a dict or None. Strings still belong to the dict, which must outlive `options`. */
int spry_python_options(void *options, const spry_field *fields, PyObject *dict);

/* Options of plans and explanations. */
extern const spry_field spry_python_spmv_options[];

/* ---- errors.c ---- */
/* Decodes bytes, such as a file name, to a str. Bytes that are not UTF-8 become surrogates, as in os.fsdecode. */
PyObject *spry_python_text(const char *text);

/* Sets the exception for a library error. Returns NULL. */
PyObject *spry_python_fail(const spry_error *err);

/* Sets an InvalidError. The message is formatted like PyErr_Format's. */
void spry_python_invalid(const char *format, ...);

/* ---- module.c ---- */
/* Returns the context with this number of threads; 0: the default of spry_context_options. Contexts are never freed. */
spry_context *spry_python_context(int threads);

/* Current maximum number of threads per product; 0: no limit. */
extern int spry_python_thread_limit;

/* Calls the attribute `name` of a Python module ("spry._vectors"). Arguments are formatted as for Py_BuildValue. */
PyObject *spry_python_call(const char *module, const char *name, const char *format, ...);

/* Path of the CUDA plug-in for contexts created later. NULL: the library's default search. */
extern char *spry_python_plugin;

/* Creates the type of a spec and adds it to the module. If kept is not NULL, *kept receives a reference. */
int spry_python_add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **kept);

/* Create a zeroed object of a type of the extension, and free the memory of an object (for the type's dealloc). */
PyObject *spry_python_new(PyTypeObject *type);
void spry_python_free(PyObject *self);

/* ---- vectors.c ---- */
/* A vector or a block of columns in a product. */
typedef struct spry_operand {
    PyArrayObject *array; /* owned reference; NULL for a view */
    bool is_copy;         /* array is a copy of the caller's */
    spry_vector vector;
} spry_operand;

/* Returns NumPy's type number, NPY_DOUBLE or NPY_FLOAT. */
int spry_python_number(spry_type type);

/* Returns NumPy's type name, "float64" or "float32". */
const char *spry_python_number_name(spry_type type);

/*
 * Converts `given` to an operand with `length` entries per column; another length is an InvalidError. Elements that the
 * type holds exactly are converted; other elements cause a TypeError. The array is copied if the library does not
 * support its strides.
 */
int spry_python_operand(spry_operand *operand, PyObject *given, spry_type type, int64_t length, const char *name);

/*
 * Uses `given` for the result of a product with x. Its type and shape must match exactly. If the library does not
 * support its strides, the operand is a copy, and spry_python_copy_back copies the result to `given`.
 */
int spry_python_target(spry_operand *operand, PyObject *given, const spry_operand *x, spry_type type, int64_t length);
int spry_python_copy_back(const spry_operand *operand, PyObject *given);

/* Creates an array for the result of a product with x: `length` rows, x's number of columns and x's order. */
int spry_python_result(spry_operand *operand, const spry_operand *x, spry_type type, int64_t length);

/* Allocates memory for a result of `bytes` bytes, as an array of bytes. */
PyArrayObject *spry_python_memory(int64_t bytes);
/* Returns true if the memory fits a result of `bytes` bytes and only the caller refers to it. */
bool spry_python_is_reusable(PyArrayObject *memory, int64_t bytes);
/* Creates the result in the given memory, aligned to a cache line for faster writes. */
int spry_python_result_in(PyArrayObject *memory, spry_operand *operand, const spry_operand *x, spry_type type,
                          int64_t length);

/* Returns true if the block has more than one column and is row-major. */
bool spry_python_is_row_major(const spry_operand *operand);

/* ---- views.c ---- */
/*
 * An array in a GPU's memory. Python code (_homes.py) sees a tuple of these fields and the object that owns the memory.
 */
typedef struct spry_view {
    unsigned long long address;
    long long length, columns, row_stride, column_stride; /* as in spry_vector */
    const char *type;                                     /* "float64", "float32", "int32", "int64" */
    int device;                                           /* the library's device id */
} spry_view;

/* Fills `view` from a tuple, which must outlive the view. Returns -1 with TypeError if `given` is not such a tuple. */
int spry_python_view(spry_view *view, PyObject *given, const char *name);

/* Creates the tuple of a contiguous vector that `owner` keeps alive. */
PyObject *spry_python_show_view(PyObject *owner, const void *data, int64_t length, const char *type, int device);

/* Converts a view to an operand without an array. The library checks sizes and types. */
int spry_python_view_operand(spry_operand *operand, PyObject *given, const char *name);

/* ---- matrix.c ---- */
typedef struct SpryMatrix {
    PyObject_HEAD spry_matrix *matrix;
    /* NumPy arrays or views that the matrix borrows from; NULL if the library owns the arrays */
    PyObject *offsets, *indices, *values, *row_indices;
} SpryMatrix;

extern PyTypeObject *spry_python_matrix_type;
int spry_python_add_matrix(PyObject *module);

/* Wraps `matrix` in a Matrix that owns it. Destroys `matrix` on failure. */
PyObject *spry_python_own(spry_matrix *matrix);

/* Exposes indices that `owner` keeps alive: a NumPy array, or a view if they are in a GPU's memory. */
PyObject *spry_python_show_indices(PyObject *owner, const spry_arrays *arrays, const void *data, int64_t length,
                                   spry_index_type type, bool is_writable);

/* ---- plan.c, spgemm.c, solve.c, tools.c ---- */
int spry_python_add_plan(PyObject *module);
int spry_python_add_spgemm(PyObject *module);
int spry_python_add_cg_plan(PyObject *module);
extern PyMethodDef spry_python_plan_functions[], spry_python_spgemm_functions[], spry_python_solve_functions[],
    spry_python_tool_functions[];

/* Executes a library call with Python's global lock released. */
#define SPRY_WITHOUT_LOCK(statement)                                                                                   \
    do {                                                                                                               \
        PyThreadState *const state_ = PyEval_SaveThread();                                                             \
        statement;                                                                                                     \
        PyEval_RestoreThread(state_);                                                                                  \
    } while (0)

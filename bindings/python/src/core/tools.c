/* Files and generators, orderings, explanations, and the lists of devices and generators. */
#include "spry/cuda.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/tune.h"
#include "spry_python.h"

/* ---- files and generators ---- */

#define READ(kind, member) SPRY_FIELD(spry_read_options, kind, member)

static const spry_field read_fields[] = {
    READ(TYPE, value_type),          READ(INT, offset_type), READ(INT, index_type),
    READ(INT64, memory_limit_bytes), READ(INT, index_base),  READ(BOOL, drop_duplicates),
    READ(BOOL, undirected),          READ(STRING, input),    SPRY_FIELDS_END,
};

PyDoc_STRVAR(read_doc, "read(path, options) -> Matrix");

static PyObject *read_file(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path, *dict, *read = NULL;
    spry_read_options options = SPRY_INIT(spry_read_options);
    spry_matrix *A = NULL;
    spry_status status;
    spry_error err;
    if (!PyArg_ParseTuple(args, "O&O", PyUnicode_FSConverter, &path, &dict)) return NULL;
    const char *const name = PyBytes_AsString(path);
    spry_context *const context = spry_python_context(0);
    if (name && context && spry_python_options(&options, read_fields, dict) == 0) {
        SPRY_WITHOUT_LOCK(status = spry_matrix_read(context, &A, name, &options, &err));
        read = status == SPRY_OK ? spry_python_own(A) : spry_python_fail(&err);
    }
    Py_DECREF(path);
    return read;
}

PyDoc_STRVAR(read_bytes_doc, "read_bytes(bytes, name, options) -> Matrix\n\nReads a matrix from a file's bytes.");

static PyObject *read_bytes(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path, *dict, *read = NULL;
    Py_buffer bytes;
    spry_read_options options = SPRY_INIT(spry_read_options);
    spry_matrix *A = NULL;
    spry_status status;
    spry_error err;
    if (!PyArg_ParseTuple(args, "y*O&O", &bytes, PyUnicode_FSConverter, &path, &dict)) return NULL;
    const char *const name = PyBytes_AsString(path);
    spry_context *const context = spry_python_context(0);
    if (name && context && spry_python_options(&options, read_fields, dict) == 0) {
        SPRY_WITHOUT_LOCK(
            status = spry_matrix_read_memory(context, &A, bytes.buf, (size_t)bytes.len, name, &options, &err));
        read = status == SPRY_OK ? spry_python_own(A) : spry_python_fail(&err);
    }
    PyBuffer_Release(&bytes);
    Py_DECREF(path);
    return read;
}

PyDoc_STRVAR(generate_doc, "generate(spec, options) -> Matrix");

static PyObject *generate(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *dict;
    const char *spec;
    spry_read_options options = SPRY_INIT(spry_read_options);
    spry_matrix *A = NULL;
    spry_status status;
    spry_error err;
    spry_context *const context = spry_python_context(0);
    if (!context || !PyArg_ParseTuple(args, "sO", &spec, &dict) || spry_python_options(&options, read_fields, dict) < 0)
        return NULL;
    SPRY_WITHOUT_LOCK(status = spry_matrix_generate(context, &A, spec, &options, &err));
    return status == SPRY_OK ? spry_python_own(A) : spry_python_fail(&err);
}

/* ---- lists ---- */

/* Appends a struct to the list, as a dict. */
static int add(PyObject *list, const void *filled, const spry_field *fields)
{
    PyObject *const dict = spry_python_dict(filled, fields);
    const bool failed = !dict || PyList_Append(list, dict) < 0;
    Py_XDECREF(dict);
    return failed ? -1 : 0;
}

PyDoc_STRVAR(generators_doc, "generators() -> list of dicts");

static PyObject *generators(PyObject *module, PyObject *unused)
{
    static const spry_field fields[] = {SPRY_FIELD(spry_generator_info, STRING, name),
                                        SPRY_FIELD(spry_generator_info, STRING, parameters),
                                        SPRY_FIELD(spry_generator_info, STRING, description), SPRY_FIELDS_END};
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    spry_generator_info info = SPRY_INIT(spry_generator_info);
    for (int g = 0; list && spry_generator_get_info(&info, g, NULL) == SPRY_OK; g++)
        if (add(list, &info, fields) < 0) Py_CLEAR(list);
    return list;
}

PyDoc_STRVAR(formats_doc, "formats() -> list of dicts\n\nLists the names of the formats that a plan may use.");

static PyObject *formats(PyObject *module, PyObject *unused)
{
    static const spry_field fields[] = {SPRY_FIELD(spry_format_info, STRING, name), SPRY_FIELDS_END};
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    spry_format_info info = SPRY_INIT(spry_format_info);
    for (int f = 0; list && spry_format_get_info(&info, f, NULL) == SPRY_OK; f++)
        if (add(list, &info, fields) < 0) Py_CLEAR(list);
    return list;
}

#define DEVICE(kind, member) SPRY_FIELD(spry_device_info, kind, member)

PyDoc_STRVAR(devices_doc,
             "devices() -> list of dicts\n\nLists the CPU and the GPUs, or the reason why no GPU can be used.");

static PyObject *devices(PyObject *module, PyObject *unused)
{
    static const spry_field fields[] = {DEVICE(INT, device),         DEVICE(INT, ordinal),
                                        DEVICE(STRING, name),        DEVICE(STRING, kind),
                                        DEVICE(STRING, description), DEVICE(BOOL, available),
                                        DEVICE(STRING, reason),      DEVICE(INT, units),
                                        DEVICE(STRING, simd),        DEVICE(INT64, memory_bytes),
                                        DEVICE(INT64, cache_bytes),  SPRY_FIELDS_END};
    (void)module, (void)unused;
    const spry_context *const context = spry_python_context(0);
    if (!context) return NULL;
    PyObject *list = PyList_New(0);
    const int count = spry_device_count(context);
    for (int d = 0; list && d < count; d++) {
        spry_device_info info = SPRY_INIT(spry_device_info);
        spry_error err;
        if (spry_device_get_info(context, &info, d, &err) != SPRY_OK) spry_python_fail(&err);
        if (PyErr_Occurred() || add(list, &info, fields) < 0) Py_CLEAR(list);
    }
    return list;
}

PyDoc_STRVAR(device_doc, "device_number(name) -> int\n\nReturns the id of a device that can be used.");

static PyObject *device_number(PyObject *module, PyObject *given)
{
    (void)module;
    const spry_context *const context = spry_python_context(0);
    const char *const name = context ? PyUnicode_AsUTF8AndSize(given, NULL) : NULL;
    int device;
    spry_error err;
    if (!name) return NULL;
    if (spry_device_find(context, &device, name, &err) != SPRY_OK) return spry_python_fail(&err);
    return PyLong_FromLong(device);
}

PyDoc_STRVAR(synchronize_doc, "synchronize(device, stream)\n\nWaits for a stream of a GPU.");

static PyObject *synchronize(PyObject *module, PyObject *args)
{
    (void)module;
    const spry_context *const context = spry_python_context(0);
    int device;
    unsigned long long stream;
    spry_status status;
    spry_error err;
    if (!context || !PyArg_ParseTuple(args, "iK", &device, &stream)) return NULL;
    SPRY_WITHOUT_LOCK(status = spry_device_synchronize(context, device, (void *)(uintptr_t)stream, &err));
    if (status != SPRY_OK) return spry_python_fail(&err);
    Py_RETURN_NONE;
}

/* ---- orderings ---- */

/* Copies integers to a new int64 array. Returns None if `numbers` is NULL. */
static PyObject *copied(const int64_t *numbers, int64_t count)
{
    npy_intp size = (npy_intp)count;
    if (!numbers) Py_RETURN_NONE;
    PyObject *const array = PyArray_SimpleNew(1, &size, NPY_INT64);
    for (int64_t k = 0; array && k < count; k++) ((int64_t *)PyArray_DATA((PyArrayObject *)array))[k] = numbers[k];
    return array;
}

PyDoc_STRVAR(order_doc, "order(A, method) -> (rows, columns or None)\n\nComputes an ordering: perm[new] = old.");

static PyObject *order(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *matrix;
    spry_ordering_options options = SPRY_INIT(spry_ordering_options);
    spry_ordering_info info = SPRY_INIT(spry_ordering_info);
    spry_ordering *ordering = NULL;
    spry_status status;
    spry_error err;
    if (!PyArg_ParseTuple(args, "O!z", spry_python_matrix_type, &matrix, &options.method)) return NULL;
    spry_context *const context = spry_python_context(0);
    if (!context) return NULL;
    SPRY_WITHOUT_LOCK(
        status = spry_ordering_create(context, &ordering, ((SpryMatrix *)matrix)->matrix, &options, &err));
    if (status == SPRY_OK) status = spry_ordering_get_info(ordering, &info, &err);
    PyObject *result = NULL;
    if (status == SPRY_OK)
        result = Py_BuildValue("NN", copied(info.row_perm, info.rows), copied(info.column_perm, info.columns));
    else
        spry_python_fail(&err);
    spry_ordering_destroy(ordering);
    return result;
}

/* ---- explanations ---- */

#define EXPLANATION(kind, member) SPRY_FIELD(spry_explanation_info, kind, member)
#define CANDIDATE(kind, member) SPRY_FIELD(spry_candidate, kind, member)

static const spry_field explanation_fields[] = {
    EXPLANATION(STRING, device_class), EXPLANATION(STRING, fitted),
    EXPLANATION(STRING, format),       EXPLANATION(STRING, kernel),
    EXPLANATION(STRING, reason),       EXPLANATION(INT64, calls),
    EXPLANATION(INT, threads),         SPRY_FIELDS_END,
};

static const spry_field candidate_fields[] = {
    CANDIDATE(STRING, format),
    CANDIDATE(STRING, kernel),
    CANDIDATE(STRING, refused),
    CANDIDATE(DOUBLE, predicted_us),
    CANDIDATE(DOUBLE, setup_us),
    CANDIDATE(DOUBLE, total_us),
    CANDIDATE(DOUBLE, bytes),
    CANDIDATE(DOUBLE, roof),
    CANDIDATE(INT64, break_even_calls),
    CANDIDATE(DOUBLE, measured_us),
    CANDIDATE(DOUBLE, measured_setup_us),
    SPRY_FIELDS_END,
};

static const spry_field feature_fields[] = {SPRY_FIELD(spry_feature, STRING, name),
                                            SPRY_FIELD(spry_feature, STRING, text),
                                            SPRY_FIELD(spry_feature, DOUBLE, value), SPRY_FIELDS_END};

/* Returns the explanation as a dict with the lists "candidates" and "features". */
static PyObject *explained(const spry_explanation *explanation)
{
    spry_explanation_info info = SPRY_INIT(spry_explanation_info);
    spry_error err;
    if (spry_explanation_get_info(explanation, &info, &err) != SPRY_OK) return spry_python_fail(&err);
    PyObject *const dict = spry_python_dict(&info, explanation_fields);
    PyObject *const candidates = PyList_New(0), *const features = PyList_New(0);
    bool failed = !dict || !candidates || !features;
    for (int c = 0; !failed && c < info.candidates; c++) {
        spry_candidate candidate = SPRY_INIT(spry_candidate);
        failed = spry_explanation_get_candidate(explanation, &candidate, c, &err) != SPRY_OK;
        if (failed) spry_python_fail(&err);
        failed = failed || add(candidates, &candidate, candidate_fields) < 0;
    }
    for (int f = 0; !failed && f < info.features; f++) {
        spry_feature feature = SPRY_INIT(spry_feature);
        failed = spry_explanation_get_feature(explanation, &feature, f, &err) != SPRY_OK;
        if (failed) spry_python_fail(&err);
        failed = failed || add(features, &feature, feature_fields) < 0;
    }
    failed = failed || PyDict_SetItemString(dict, "candidates", candidates) < 0 ||
             PyDict_SetItemString(dict, "features", features) < 0;
    Py_XDECREF(candidates);
    Py_XDECREF(features);
    if (!failed) return dict;
    Py_XDECREF(dict);
    return NULL;
}

PyDoc_STRVAR(explain_doc,
             "explain(A, options, device_class, threads) -> dict\n\nExplains which format a plan would use.");

static PyObject *explain(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *matrix, *dict;
    int threads;
    spry_spmv_options spmv = SPRY_INIT(spry_spmv_options);
    spry_explain_options options = SPRY_INIT(spry_explain_options);
    spry_explanation *explanation = NULL;
    spry_status status;
    spry_error err;
    if (!PyArg_ParseTuple(args, "O!Ozi", spry_python_matrix_type, &matrix, &dict, &options.device_class, &threads) ||
        spry_python_options(&spmv, spry_python_spmv_options, dict) < 0)
        return NULL;
    options.spmv = &spmv;
    spry_context *const context = spry_python_context(threads);
    if (!context) return NULL;
    SPRY_WITHOUT_LOCK(
        status = spry_spmv_explain(context, &explanation, ((SpryMatrix *)matrix)->matrix, &options, &err));
    if (status != SPRY_OK) return spry_python_fail(&err);
    PyObject *const result = explained(explanation);
    spry_explanation_destroy(explanation);
    return result;
}

PyMethodDef spry_python_tool_functions[] = {
    {"read", read_file, METH_VARARGS, read_doc},
    {"read_bytes", read_bytes, METH_VARARGS, read_bytes_doc},
    {"generate", generate, METH_VARARGS, generate_doc},
    {"generators", generators, METH_NOARGS, generators_doc},
    {"formats", formats, METH_NOARGS, formats_doc},
    {"devices", devices, METH_NOARGS, devices_doc},
    {"device_number", device_number, METH_O, device_doc},
    {"synchronize", synchronize, METH_VARARGS, synchronize_doc},
    {"order", order, METH_VARARGS, order_doc},
    {"explain", explain, METH_VARARGS, explain_doc},
    {NULL, NULL, 0, NULL},
};

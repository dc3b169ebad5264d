"""Products from Python, only with ctypes: multiply.py [PATH OF LIBSPRY]."""
import ctypes as c
import sys

SPRY_OK, SPRY_F64 = 0, 2


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("message", c.c_char * 512), ("argument", c.c_char * 48),
                ("value", c.c_int64), ("limit", c.c_int64), ("file", c.c_char * 256), ("line", c.c_int64),
                ("reserved", c.c_int64 * 4)]


class Vector(c.Structure):
    """The C structs spry_vector and spry_const_vector. The data of the latter are only read."""
    _fields_ = [("data", c.c_void_p), ("length", c.c_int64), ("count", c.c_int64), ("row_stride", c.c_int64),
                ("column_stride", c.c_int64), ("type", c.c_int), ("device", c.c_int), ("reserved", c.c_int64 * 2)]


class PlanInfo(c.Structure):
    """The first fields of spry_spmv_plan_info. The library fills only the bytes that struct_size covers."""
    _fields_ = [("struct_size", c.c_size_t), ("op", c.c_int), ("device", c.c_int), ("device_name", c.c_char_p),
                ("format", c.c_char_p), ("parameters", c.c_char_p), ("kernel", c.c_char_p),
                ("kernel_parameters", c.c_char_p), ("ordering", c.c_char_p),
                ("reason_code", c.c_int), ("reason", c.c_char_p)]


library = c.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libspry.so.0.3")
handle, of = c.c_void_p, c.POINTER
for name, *arguments in [
        ("spry_context_create", of(handle), c.c_void_p),
        ("spry_matrix_borrow_csr_f64", handle, of(handle), c.c_int64, c.c_int64, c.c_void_p, c.c_void_p, c.c_void_p),
        ("spry_spmv_plan_create", handle, of(handle), handle, c.c_void_p),
        ("spry_spmv_plan_update", handle, c.c_void_p),
        ("spry_spmv_plan_run", handle, Vector, c.c_void_p, Vector, c.c_void_p, c.c_void_p),
        ("spry_spmv_plan_get_info", handle, of(PlanInfo))]:
    getattr(library, name).argtypes = [*arguments, of(Error)]
for name in "spry_context_destroy", "spry_matrix_destroy", "spry_spmv_plan_destroy":
    getattr(library, name).argtypes, getattr(library, name).restype = [handle], None


def call(name, *arguments):
    err = Error()
    if getattr(library, name)(*arguments, c.byref(err)) != SPRY_OK:
        raise RuntimeError(err.message.decode())


offsets, columns = (c.c_int32 * 4)(0, 2, 3, 5), (c.c_int32 * 5)(0, 2, 1, 0, 2)
values, x, y = (c.c_double * 5)(4, 1, 3, 1, 2), (c.c_double * 3)(1, 2, 3), (c.c_double * 3)()
context, A, plan = handle(), handle(), handle()
info = PlanInfo(struct_size=c.sizeof(PlanInfo))

call("spry_context_create", context, None)
call("spry_matrix_borrow_csr_f64", context, A, 3, 3, offsets, columns, values)
call("spry_spmv_plan_create", context, plan, A, None)
for step in range(2):
    call("spry_spmv_plan_update", plan, None)
    call("spry_spmv_plan_run", plan, Vector(data=c.addressof(y), length=3, type=SPRY_F64), None,
         Vector(data=c.addressof(x), length=3, type=SPRY_F64), None, None)
    print("{:g} {:g} {:g}".format(*y))
    values[0] = 400
call("spry_spmv_plan_get_info", plan, info)
print(info.reason.decode(), file=sys.stderr)
# Handles may be destroyed in any order: each keeps references to the data that it needs.
library.spry_context_destroy(context)
library.spry_matrix_destroy(A)
library.spry_spmv_plan_destroy(plan)

! Products from Fortran with ISO_C_BINDING. Arrays with indices from 1 are passed without conversion.
! A struct may be declared with only its first fields, because the library accepts a smaller struct_size.
module spry
   use, intrinsic :: iso_c_binding
   implicit none
   integer(c_int), parameter :: SPRY_OK = 0, SPRY_CSR = 1, SPRY_I32 = 1, SPRY_F64 = 2

   type, bind(c) :: spry_error
      integer(c_int) :: status = 0
      character(c_char) :: message(512) = c_null_char
      character(c_char) :: argument(48) = c_null_char
      integer(c_int64_t) :: value = 0, limit = 0
      character(c_char) :: file(256) = c_null_char
      integer(c_int64_t) :: line = 0
      integer(c_int64_t) :: reserved(4) = 0
   end type

   type, bind(c) :: spry_arrays
      integer(c_size_t) :: struct_size = 0
      integer(c_int) :: layout = SPRY_CSR
      integer(c_int64_t) :: rows = 0, columns = 0, nnz = 0
      integer(c_int) :: offset_type = SPRY_I32, index_type = SPRY_I32, value_type = SPRY_F64
      type(c_ptr) :: offsets = c_null_ptr, row_indices = c_null_ptr, indices = c_null_ptr, values = c_null_ptr
      integer(c_int) :: device = 0, ownership = 0, index_base = 1
   end type

   ! The C structs spry_vector and spry_const_vector. The data of the latter are only read.
   type, bind(c) :: spry_vector
      type(c_ptr) :: data = c_null_ptr
      integer(c_int64_t) :: length = 0, count = 1, row_stride = 1, column_stride = 0
      integer(c_int) :: type = SPRY_F64, device = 0
      integer(c_int64_t) :: reserved(2) = 0
   end type

   interface
      integer(c_int) function spry_context_create(context, options, err) bind(c)
         import
         type(c_ptr), intent(out) :: context
         type(c_ptr), value :: options
         type(spry_error), intent(inout) :: err
      end function
      integer(c_int) function spry_matrix_create(context, A, arrays, err) bind(c)
         import
         type(c_ptr), value :: context
         type(c_ptr), intent(out) :: A
         type(spry_arrays), intent(in) :: arrays
         type(spry_error), intent(inout) :: err
      end function
      integer(c_int) function spry_spmv_plan_create(context, plan, A, options, err) bind(c)
         import
         type(c_ptr), value :: context, A, options
         type(c_ptr), intent(out) :: plan
         type(spry_error), intent(inout) :: err
      end function
      integer(c_int) function spry_spmv_plan_update(plan, options, err) bind(c)
         import
         type(c_ptr), value :: plan, options
         type(spry_error), intent(inout) :: err
      end function
      integer(c_int) function spry_spmv_plan_run(plan, y, alpha, x, beta, options, err) bind(c)
         import
         type(c_ptr), value :: plan, alpha, beta, options
         type(spry_vector), value :: y, x
         type(spry_error), intent(inout) :: err
      end function
      subroutine spry_spmv_plan_destroy(plan) bind(c)
         import
         type(c_ptr), value :: plan
      end subroutine
      subroutine spry_matrix_destroy(A) bind(c)
         import
         type(c_ptr), value :: A
      end subroutine
      subroutine spry_context_destroy(context) bind(c)
         import
         type(c_ptr), value :: context
      end subroutine
   end interface
end module

program multiply
   use spry
   implicit none
   integer(c_int32_t), target :: offsets(4) = [1, 3, 4, 6], columns(5) = [1, 3, 2, 1, 3]
   real(c_double), target :: values(5) = [4, 1, 3, 1, 2], x(3) = [1, 2, 3], y(3)
   type(c_ptr) :: context = c_null_ptr, A = c_null_ptr, plan = c_null_ptr
   type(spry_arrays) :: arrays
   type(spry_vector) :: vx, vy
   type(spry_error) :: err
   integer :: step

   arrays%struct_size = c_sizeof(arrays)
   arrays%rows = 3
   arrays%columns = 3
   arrays%nnz = 5
   arrays%offsets = c_loc(offsets)
   arrays%indices = c_loc(columns)
   arrays%values = c_loc(values)
   vx%data = c_loc(x)
   vx%length = 3
   vy%data = c_loc(y)
   vy%length = 3

   call check(spry_context_create(context, c_null_ptr, err))
   call check(spry_matrix_create(context, A, arrays, err))
   call check(spry_spmv_plan_create(context, plan, A, c_null_ptr, err))
   do step = 1, 2
      call check(spry_spmv_plan_update(plan, c_null_ptr, err))
      call check(spry_spmv_plan_run(plan, vy, c_null_ptr, vx, c_null_ptr, c_null_ptr, err))
      print '(i0, 1x, i0, 1x, i0)', nint(y)
      values(1) = 400
   end do
   call spry_spmv_plan_destroy(plan)
   call spry_matrix_destroy(A)
   call spry_context_destroy(context)

contains
   subroutine check(status)
      integer(c_int), intent(in) :: status
      if (status == SPRY_OK) return
      print '(512a)', err%message
      stop 1
   end subroutine
end program

! Compares PETSc's matrix types of bindings/petsc with aij, from Fortran, on any number of ranks. It tests products
! before and after new values, products with the transpose and with converted matrices, and solves. Entries and vectors
! are small integers, or integers divided by a power of two. Every sum is exact in any order, so results must be equal.
! PETSC_OPTIONS loads the plug-in, as for a user. The program ends with an error if two results differ.
program types
#include <petsc/finclude/petscksp.h>
    use petscksp
    implicit none

    PetscInt, parameter :: side = 120                   ! side of a grid, with enough entries for a plan on two ranks
    integer, parameter :: rounds = 45                   ! enough products for every stage of planning
    Mat :: matrices(2), back                            ! aij and aijspry
    PetscMPIInt :: rank
    PetscErrorCode :: ierr
    PetscScalar :: factor
    integer :: turn, k

    PetscCallA(PetscInitialize(ierr))
    PetscCallMPIA(MPI_Comm_rank(PETSC_COMM_WORLD, rank, ierr))
    call make('aij', matrices(1))
    call make('aijspry', matrices(2))
    call require_type(matrices(1), 'aij')
    call require_type(matrices(2), 'aijspry')
    call same_products(matrices, rounds, 'new')
    factor = 0.5
    do turn = 1, 5
        do k = 1, 2
            PetscCallA(MatScale(matrices(k), factor, ierr))
        end do
        call same_products(matrices, 2, 'scaled')
    end do
    call solves(matrices)
    do k = 1, 2
        call set_values(matrices(k))
    end do
    call same_products(matrices, rounds, 'with values set')
    PetscCallA(MatConvert(matrices(2), 'aij', MAT_INITIAL_MATRIX, back, ierr))
    call require_type(back, 'aij')
    call same_products([matrices(1), back], 2, 'converted')
    PetscCallA(MatDestroy(back, ierr))
    PetscCallA(PetscViewerPushFormat(PETSC_VIEWER_STDOUT_WORLD, PETSC_VIEWER_ASCII_INFO, ierr))
    PetscCallA(MatView(matrices(2), PETSC_VIEWER_STDOUT_WORLD, ierr))
    PetscCallA(PetscViewerPopFormat(PETSC_VIEWER_STDOUT_WORLD, ierr))
    do k = 1, 2
        PetscCallA(MatDestroy(matrices(k), ierr))
    end do
    if (rank == 0) print '(a)', 'all results are the same'
    PetscCallA(PetscFinalize(ierr))

contains

    subroutine fail(what)
        character(len=*), intent(in) :: what
        print '(a)', what
        error stop 1
    end subroutine fail

    subroutine require_type(A, name)
        Mat, intent(in) :: A
        character(len=*), intent(in) :: name
        character(len=64) :: found
        PetscCallA(MatGetType(A, found, ierr))
        if (found /= 'seq'//name .and. found /= 'mpi'//name) call fail('a matrix has type '//trim(found))
    end subroutine require_type

    subroutine same_vectors(expected, found, what)
        Vec, intent(in) :: expected, found
        character(len=*), intent(in) :: what
        Vec :: difference
        PetscScalar :: minus_one
        PetscReal :: distance
        minus_one = -1
        PetscCallA(VecDuplicate(expected, difference, ierr))
        PetscCallA(VecWAXPY(difference, minus_one, expected, found, ierr))
        PetscCallA(VecNorm(difference, NORM_INFINITY, distance, ierr))
        PetscCallA(VecDestroy(difference, ierr))
        if (.not. distance == 0) call fail(what//': results differ') ! also if it is NaN
    end subroutine same_vectors

    ! The five-point Laplacian of a square grid.
    subroutine make(kind, A)
        character(len=*), intent(in) :: kind
        Mat, intent(out) :: A
        PetscInt :: first, last, row, one, n, columns(5)
        PetscScalar :: values(5)
        one = 1
        PetscCallA(MatCreate(PETSC_COMM_WORLD, A, ierr))
        PetscCallA(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, side*side, side*side, ierr))
        PetscCallA(MatSetType(A, kind, ierr))
        PetscCallA(MatSetUp(A, ierr))
        PetscCallA(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE, ierr))
        PetscCallA(MatGetOwnershipRange(A, first, last, ierr))
        do row = first, last - 1
            columns = [row, row - 1, row + 1, row - side, row + side]
            values = -1
            values(1) = 4
            if (mod(row, side) == 0) columns(2) = -1            ! PETSc ignores negative columns
            if (mod(row + 1, side) == 0) columns(3) = -1
            if (row + side >= side*side) columns(5) = -1
            n = 5
            PetscCallA(MatSetValues(A, one, [row], n, columns, values, INSERT_VALUES, ierr))
        end do
        PetscCallA(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY, ierr))
        PetscCallA(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY, ierr))
    end subroutine make

    ! Sets other values on the diagonal.
    subroutine set_values(A)
        Mat, intent(in) :: A
        PetscInt :: first, last, row, one
        PetscScalar :: values(1)
        one = 1
        PetscCallA(MatGetOwnershipRange(A, first, last, ierr))
        do row = first, last - 1
            values(1) = 1 + mod(row, side)
            PetscCallA(MatSetValues(A, one, [row], one, [row], values, INSERT_VALUES, ierr))
        end do
        PetscCallA(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY, ierr))
        PetscCallA(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY, ierr))
    end subroutine set_values

    ! Sets integers derived from the positions.
    subroutine fill(x)
        Vec, intent(in) :: x
        PetscInt :: first, last, row, one
        PetscScalar :: values(1)
        one = 1
        PetscCallA(VecGetOwnershipRange(x, first, last, ierr))
        do row = first, last - 1
            values(1) = mod(row*37, side*side/2) - 1000
            PetscCallA(VecSetValues(x, one, [row], values, INSERT_VALUES, ierr))
        end do
        PetscCallA(VecAssemblyBegin(x, ierr))
        PetscCallA(VecAssemblyEnd(x, ierr))
    end subroutine fill

    ! Compares A*x, A^T*x and x + A*x, repeatedly.
    subroutine same_products(A, times, what)
        Mat, intent(in) :: A(2)
        integer, intent(in) :: times
        character(len=*), intent(in) :: what
        Vec :: x, y(2)
        integer :: round, m
        PetscCallA(MatCreateVecs(A(1), x, y(1), ierr))
        PetscCallA(VecDuplicate(y(1), y(2), ierr))
        call fill(x)
        do round = 1, times
            do m = 1, 2
                PetscCallA(MatMult(A(m), x, y(m), ierr))
            end do
            call same_vectors(y(1), y(2), what//', A*x')
            do m = 1, 2
                PetscCallA(MatMultTranspose(A(m), x, y(m), ierr))
            end do
            call same_vectors(y(1), y(2), what//', A^T*x')
            do m = 1, 2
                PetscCallA(MatMultAdd(A(m), x, x, y(m), ierr))
            end do
            call same_vectors(y(1), y(2), what//', x + A*x')
        end do
        do m = 1, 2
            PetscCallA(VecDestroy(y(m), ierr))
        end do
        PetscCallA(VecDestroy(x, ierr))
    end subroutine same_products

    ! Solves A*x = b by CG with Jacobi's preconditioner. Sets x and the number of iterations.
    subroutine solve(A, b, x, iterations)
        Mat, intent(in) :: A
        Vec, intent(in) :: b, x
        PetscInt, intent(out) :: iterations
        PetscReal :: rtol, atol, dtol
        PetscInt :: most
        KSP :: solver
        PC :: preconditioner
        rtol = 1e-5
        atol = 0
        dtol = 1e5
        most = 10000
        PetscCallA(KSPCreate(PETSC_COMM_WORLD, solver, ierr))
        PetscCallA(KSPSetOperators(solver, A, A, ierr))
        PetscCallA(KSPSetType(solver, KSPCG, ierr))
        PetscCallA(KSPGetPC(solver, preconditioner, ierr))
        PetscCallA(PCSetType(preconditioner, PCJACOBI, ierr))
        PetscCallA(KSPSetTolerances(solver, rtol, atol, dtol, most, ierr))
        PetscCallA(KSPSolve(solver, b, x, ierr))
        PetscCallA(KSPGetIterationNumber(solver, iterations, ierr))
        PetscCallA(KSPDestroy(solver, ierr))
    end subroutine solve

    ! Requires equal numbers of iterations. The residual of aijspry's solution, computed with aij, must be small.
    subroutine solves(A)
        Mat, intent(in) :: A(2)
        Vec :: b, x, residual
        PetscInt :: iterations(2)
        PetscReal :: norms(2)
        PetscScalar :: one, minus_one
        integer :: m
        one = 1
        minus_one = -1
        PetscCallA(MatCreateVecs(A(1), x, b, ierr))
        PetscCallA(VecDuplicate(b, residual, ierr))
        PetscCallA(VecSet(b, one, ierr))
        do m = 1, 2
            call solve(A(m), b, x, iterations(m))
        end do
        PetscCallA(MatMult(A(1), x, residual, ierr))
        PetscCallA(VecAYPX(residual, minus_one, b, ierr))
        PetscCallA(VecNorm(residual, NORM_2, norms(1), ierr))
        PetscCallA(VecNorm(b, NORM_2, norms(2), ierr))
        if (iterations(1) /= iterations(2)) call fail('solves take different iterations')
        if (iterations(1) < 40) call fail('a solve takes too few iterations for a test')
        if (.not. norms(1) <= 1e-3*norms(2)) call fail('our solution leaves a residual')
        PetscCallA(VecDestroy(x, ierr))
        PetscCallA(VecDestroy(b, ierr))
        PetscCallA(VecDestroy(residual, ierr))
    end subroutine solves
end program types

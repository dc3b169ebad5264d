# Multiplies matrices of process.c with SciPy. Commands are lines of standard input, answers lines of standard output.
import sys
import time


def say(text):
    print(text, flush=True)


try:
    import numpy as np
    import scipy
    import scipy.sparse as sp
except ImportError as fault:
    say('no %s' % fault)
    sys.exit()
say('ok ' + scipy.__version__)
C = None


def matrix(file, rows, cols, nnz):
    p = np.fromfile(file, index, rows + 1)
    j = np.fromfile(file, index, nnz)
    v = np.fromfile(file, value, nnz)
    return sp.csr_matrix((v, j, p), shape=(rows, cols), copy=False)


for line in sys.stdin:
    word = line.split()
    try:
        if word[0] == 'load':
            sort, rows, inner, cols, na, nb, square, vb, ib = map(int, word[2:])
            value, index = {4: np.float32, 8: np.float64}[vb], {4: np.int32, 8: np.int64}[ib]
            with open(word[1], 'rb') as file:
                A = matrix(file, rows, inner, na)
                B = A if square else matrix(file, inner, cols, nb)
            A.has_sorted_indices, B.has_sorted_indices
            say('ok')
        elif word[0] == 'run':
            start = time.perf_counter()
            C = A @ B
            if sort:
                C.sort_indices()
            say('ok %.3f' % (1e6 * (time.perf_counter() - start)))
        elif word[0] == 'columns':
            count, row_major, transpose = map(int, word[2:])
            op, order = A.T if transpose else A, 'C' if row_major else 'F'
            shared = np.asarray(np.memmap(word[1], value, 'r+'))
            X = shared[:op.shape[1] * count].reshape((op.shape[1], count), order=order)
            Y = shared[op.shape[1] * count:].reshape((op.shape[0], count), order=order)
            say('ok')
        elif word[0] == 'multiply':
            start = time.perf_counter()
            product = op @ X
            if not row_major:
                product = np.asfortranarray(product)
            us = 1e6 * (time.perf_counter() - start)
            Y[:] = product
            say('ok %.3f' % us)
        elif word[0] == 'fetch':
            with open(word[1], 'wb') as file:
                C.indptr.tofile(file)
                C.indices.tofile(file)
                C.data.tofile(file)
            say('ok %d %d %d' % (C.nnz, C.indptr.itemsize, C.indices.itemsize))
        else:
            C = None
            say('ok')
    except Exception as fault:
        say('no ' + ' '.join(str(fault).split() or [type(fault).__name__]))

# Conjugate Gradient by CuPy; process.c sends commands, answers are lines of standard output.
import inspect
import sys
import time


def say(text):
    print(text, flush=True)


try:
    import numpy as np
    import cupy
    import cupyx.scipy.sparse as sp
    from cupyx.scipy.sparse.linalg import cg
    cupy.zeros(1)
except Exception as fault:
    say('no ' + ' '.join(str(fault).split() or [type(fault).__name__]))
    sys.exit()
say('ok ' + cupy.__version__)


def read(path, n, nnz, vb, ib):
    value, index = {4: np.float32, 8: np.float64}[vb], {4: np.int32, 8: np.int64}[ib]
    with open(path, 'rb') as file:
        p, j = np.fromfile(file, index, n + 1), np.fromfile(file, index, nnz)
        v = np.fromfile(file, value, nnz)
    return sp.csr_matrix((cupy.asarray(v), cupy.asarray(j), cupy.asarray(p)), shape=(n, n))


def solve(A, b, tolerance, limit, callback=None):
    # Older versions name the argument tol, not rtol.
    name = 'rtol' if 'rtol' in inspect.signature(cg).parameters else 'tol'
    return cg(A, b, maxiter=limit, callback=callback, **{name: tolerance})[0]


def count(A, b, tolerance, limit):
    # cg returns neither the number of iterations nor the residual. A callback counts iterations in an untimed solve,
    # because callbacks take time. If cg ends before the limit, the residual is at most the tolerance.
    made = []
    x = solve(A, b, tolerance, limit, lambda _: made.append(1))
    residual = float(cupy.linalg.norm(b - A @ x) / cupy.linalg.norm(b))
    return len(made), residual if len(made) >= limit else tolerance


iterations = 0
for line in sys.stdin:
    word = line.split()
    try:
        if word[0] == 'matrix':
            A = read(word[1], *map(int, word[2:]))
            cupy.cuda.Device().synchronize()
            say('ok')
        elif word[0] == 'method':
            tolerance, limit = float(word[3]), int(word[4])
            shared = np.asarray(np.memmap(word[1], A.dtype, 'r+'))
            say('ok')
        else:
            n = A.shape[0]
            b = cupy.asarray(shared[:n])
            if not iterations:
                iterations, residual = count(A, b, tolerance, limit)
            cupy.cuda.Device().synchronize()
            start = time.perf_counter()
            x = solve(A, b, tolerance, limit)
            cupy.cuda.Device().synchronize()
            us = 1e6 * (time.perf_counter() - start)
            shared[n:] = cupy.asnumpy(x)
            say('ok %d %.9g %.3f' % (iterations, residual, us))
    except Exception as fault:
        say('no ' + ' '.join(str(fault).split() or [type(fault).__name__]))

# PageRank by power iteration with SciPy; process.c sends commands, answers are lines of standard output.
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


def read(path, n, nnz, vb, ib):
    value, index = {4: np.float32, 8: np.float64}[vb], {4: np.int32, 8: np.int64}[ib]
    with open(path, 'rb') as file:
        p, j = np.fromfile(file, index, n + 1), np.fromfile(file, index, nnz)
        return sp.csr_matrix((np.fromfile(file, value, nnz), j, p), shape=(n, n), copy=False)


def make_links(A):
    sums = np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()
    factors = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0).astype(A.dtype)
    return (sp.diags(factors) @ A).T.tocsr(), np.flatnonzero(sums == 0)


def rank(B, lost, alpha, tolerance, limit):
    n = B.shape[0]
    x = np.full(n, 1 / n, B.dtype)
    step, iterations = np.inf, 0
    while iterations < limit and not step <= tolerance:
        y = B @ x
        y *= B.dtype.type(alpha)
        y += B.dtype.type((alpha * float(x[lost].sum()) + 1 - alpha) / n)
        step = float(np.abs(y - x).sum())
        x, iterations = y, iterations + 1
    return x, step, iterations


for line in sys.stdin:
    word = line.split()
    try:
        if word[0] == 'matrix':
            B, lost = make_links(read(word[1], *map(int, word[2:])))
            say('ok')
        elif word[0] == 'method':
            alpha, tolerance, limit = float(word[2]), float(word[3]), int(word[4])
            shared = np.asarray(np.memmap(word[1], B.dtype, 'r+'))
            say('ok')
        else:
            start = time.perf_counter()
            x, step, iterations = rank(B, lost, alpha, tolerance, limit)
            us = 1e6 * (time.perf_counter() - start)
            shared[len(x):] = x
            say('ok %d %.9g %.3f' % (iterations, step, us))
    except Exception as fault:
        say('no ' + ' '.join(str(fault).split() or [type(fault).__name__]))

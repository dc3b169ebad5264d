"""Behaviour in a Python process: threads, forks, Ctrl-C, limits of threadpoolctl, and the modules that spry imports."""

import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from bounds import assert_product

import spry


def test_one_plan_in_many_threads(rng):
    A = spry.generate("rmat", scale=12)
    plan = spry.plan(A)
    vectors = [rng.standard_normal((A.shape[1], 1 + k % 3)) for k in range(8)]
    expected = [plan @ x for x in vectors]
    wrong = []

    def work(k):
        for _ in range(50):
            if (plan @ vectors[k] != expected[k]).any():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert_product(expected[0], A, vectors[0])


def spins_meanwhile(call):
    """Returns how often a Python thread runs during `call`."""
    count, ended = 0, threading.Event()

    def spin():
        nonlocal count
        while not ended.is_set():
            count += 1
            time.sleep(0)

    thread = threading.Thread(target=spin)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # threads switch only when the lock is released
    try:
        thread.start()
        before = count
        call()
        made = count - before
    finally:
        ended.set()
        sys.setswitchinterval(interval)
        thread.join()
    return made


def test_the_lock_is_released_in_long_calls():
    A = spry.generate("laplace5", x=500, y=500)
    plan, small, x = spry.plan(A), spry.plan(A[:40, :40]), np.ones(A.shape[1])

    def run(plan):
        x = np.ones(plan.shape[1])
        for _ in range(300):
            plan @ x

    assert spins_meanwhile(lambda: run(small)) < 20  # the lock is not released, so the other counts are meaningful
    assert spins_meanwhile(lambda: run(plan)) > 40
    assert spins_meanwhile(lambda: spry.spgemm(A, A)) > 2
    assert spins_meanwhile(lambda: spry.cg(A, x, max_iterations=200)) > 2


def test_updates_and_runs_do_not_meet():
    A = spry.generate("grid5", x=300, y=300)
    plan, x = spry.plan(A, format="sell"), np.ones(A.shape[1])
    before, refused, wrong, ended = plan @ x, [], [], threading.Event()

    def run():
        while not ended.is_set():
            try:
                y = plan @ x
            except spry.Error as error:
                refused.append(str(error))
                continue
            if not ((y == before).all() or (y == 2 * before).all()):
                wrong.append(y)

    thread = threading.Thread(target=run)
    thread.start()
    values = [A.data.copy(), 2 * A.data]
    for k in range(200):
        try:
            plan.update(values[k % 2])
        except spry.Error as error:
            refused.append(str(error))
    ended.set()
    thread.join()
    assert not wrong
    assert all("thread" in message for message in refused)


def test_threadpoolctl(all_threads):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    ours = [i for i in threadpoolctl.threadpool_info() if i["user_api"] == "spry"]
    assert len(ours) == 1 and ours[0]["version"] == spry.__version__
    before = spry.get_num_threads()
    with threadpoolctl.threadpool_limits(1):
        assert spry.get_num_threads() == 1
    assert spry.get_num_threads() == before
    with threadpoolctl.threadpool_limits({"spry": 1}):
        assert spry.get_num_threads() == 1
    spry.set_num_threads(1)
    assert spry.get_num_threads() == 1
    for wrong in (0, -1, 5000):
        with pytest.raises(ValueError, match=str(wrong)):
            spry.set_num_threads(wrong)


def cpu_seconds_and_wall(call):
    start, wall = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - start, time.perf_counter() - wall


def test_a_limit_holds_for_plans_that_there_are(all_threads):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor")
    A = spry.generate("grid5", x=700, y=700)
    plan, x = spry.plan(A, threads=2), np.ones(A.shape[1])

    def run():
        for _ in range(40):
            plan @ x

    run()
    spry.set_num_threads(1)
    used, wall = cpu_seconds_and_wall(run)
    assert used <= 1.1 * wall
    ranks = [cpu_seconds_and_wall(lambda: spry.pagerank(abs(A), tol=1e-12)) for _ in range(1)]
    assert ranks[0][0] <= 1.1 * ranks[0][1] + 0.2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_works():
    A = spry.generate("grid5", x=300, y=300)
    plan, x = spry.plan(A), np.ones(A.shape[1])
    expected = pickle.dumps((plan @ x, spry.spgemm(A, A).data))  # starts the library's threads
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            again = pickle.dumps((plan @ x, spry.spgemm(A, A).data))
            spry.plan(A) @ x
            spry.pagerank(abs(A))
            status = 0 if again == expected else 2
        finally:
            os._exit(status)
    os.close(write)
    os.close(read)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


INTERRUPTED = {
    "read": "spry.mmread(path)",
    "generate": "spry.generate('grid5', x=6000, y=6000)",
    "cg": "spry.cg(A, b, rtol=0, max_iterations=10**9)",
    "pagerank": "spry.pagerank(A, 0.9999999, tol=0, max_iterations=10**9)",
    "set-up of cg_plan": "[spry.cg_plan(C, M='chebyshev') for _ in range(10**9)]",
    "set-up of pagerank": "[spry.pagerank(D, max_iterations=1) for _ in range(10**9)]",
    "spgemm": "spry.spgemm(B, B)",
    "products": "[plan @ b for _ in range(10**9)]",
}


@pytest.mark.parametrize("what", sorted(INTERRUPTED))
def test_ctrl_c(what, tmp_path):
    """Sends a signal during the call. KeyboardInterrupt arrives within a second."""
    path = tmp_path / "endless.mtx"
    os.mkfifo(path)
    program = f"""if True:
        import time, numpy as np, scipy.sparse as sp, spry
        path = {str(path)!r}
        A = spry.generate("laplace5", x=300, y=300)
        if {what == "pagerank"}: A = abs(A)
        if {what == "set-up of cg_plan"}: C = spry.generate("laplace5", x=700, y=700)
        if {what == "set-up of pagerank"}: D = spry.generate("rmat", scale=18)
        if {what == "spgemm"}: B = spry.generate("uniform", rows=1500000, degree=24)
        b, plan = np.random.default_rng(1).standard_normal(A.shape[0]), spry.plan(A)
        print("ready", flush=True)
        try:
            {INTERRUPTED[what]}
            print("ended")
        except KeyboardInterrupt:
            print("interrupted", flush=True)"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        took = time.perf_counter() - start
        assert took < (0.5 if "set-up" in what else 2)
        assert process.wait(timeout=20) == 0  # background work ends with the process
    finally:
        process.kill()
        process.wait()


def test_a_call_that_nobody_waits_for_ends():
    A = abs(spry.generate("laplace5", x=100, y=100))
    options = {"alpha": 0.9999999, "tolerance": -1.0, "max_iterations": 10**9}
    matrix, start = spry._arrays.source_of(A).matrix(), time.monotonic()

    def fail():
        raise KeyError("asked")

    given = (matrix, np.zeros(10_000), None, False, options, 1)
    assert spry._core.pagerank(*given, lambda: time.monotonic() > start + 0.2)["verdict"] == "stopped"
    with pytest.raises(KeyError, match="asked"):
        spry._core.pagerank(*given, fail)


def python(program):
    package = pathlib.Path(spry.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_import_leaves_scipy_alone():
    assert python("import spry, sys; print('scipy' in sys.modules)") == "False\n"


def test_the_documented_names_are_there():
    for name in spry.__all__:
        assert getattr(spry, name).__doc__

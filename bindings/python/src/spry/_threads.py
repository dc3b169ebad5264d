"""How many threads products use, for threadpoolctl, too; and long calls that Ctrl-C ends."""

import threading

from . import _core
from ._numbers import whole


def get_num_threads() -> int:
    """Threads that a product may use now: the limit set, else OMP_NUM_THREADS, else the processors."""
    return _core.get_threads()


def set_num_threads(threads: int | None) -> None:
    """Limits the threads of all products, also of plans that there are; None: no limit.

    Results are the same bits for any number of threads.
    """
    _core.set_threads(checked(threads))


def checked(threads):
    """The argument `threads` of a call, as the extension takes it."""
    return whole(threads, "threads") or 0


def of_call(threads):
    """The threads of a call that is not a plan's: its own, under the limit."""
    limit = _core.get_threads()
    return min(checked(threads) or limit, limit)


def interruptible(call, *args, asks=False):
    """call(*args), a call of the library that cannot be stopped, so that Ctrl-C comes through.

    Another thread makes it while this one waits. After Ctrl-C it goes on to its end by itself, and its result is
    thrown away. With `asks` the call takes one argument more: a function that it asks, a few times in a second where
    it can, whether it shall end early.
    """
    if threading.current_thread() is not threading.main_thread():
        return call(*args)  # signals come to the main thread alone
    done, left, result, failure = threading.Event(), threading.Event(), [], []
    given = (*args, left.is_set) if asks else args

    def work():
        try:
            result.append(call(*given))
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=work, name="spry", daemon=True).start()
    except RuntimeError:  # Python is about to end
        return call(*args)
    try:
        done.wait()
    except BaseException:
        left.set()
        raise
    if failure:
        raise failure.pop()
    return result.pop()


def attended(call, *args, entries, home, least=200_000, asks=False):
    """call(*args), by interruptible where work on so many entries may last so long that Ctrl-C should be seen.

    On a GPU it needs milliseconds.
    """
    if entries < least or home.device:
        return call(*args)
    return interruptible(call, *args, asks=asks)


def tell_threadpoolctl():
    """Makes threadpoolctl see the library, where it is installed."""
    try:
        import threadpoolctl
    except ImportError:
        return
    if not hasattr(threadpoolctl, "register"):  # before 3.2 it knew its own libraries alone
        return

    class SpryController(threadpoolctl.LibController):
        user_api = "spry"
        internal_api = "spry"
        filename_prefixes = ("libspry.",)

        def get_num_threads(self):
            return _core.get_threads()

        def set_num_threads(self, num_threads):
            _core.set_threads(num_threads)

        def get_version(self):
            return _core.version()

    threadpoolctl.register(SpryController)


tell_threadpoolctl()

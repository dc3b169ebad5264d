"""The limit of threads, its use by threadpoolctl, and long calls that Ctrl-C can end."""

import threading

from . import _core
from ._numbers import whole


def get_num_threads() -> int:
    """Returns how many threads a product may use now: the limit set, else OMP_NUM_THREADS, else all processors."""
    return _core.get_threads()


def set_num_threads(threads: int | None) -> None:
    """Limits the threads of all products, also those of existing plans; None: no limit.

    Results have the same bits for any number of threads.
    """
    _core.set_threads(checked(threads))


def checked(threads):
    """Returns the argument `threads` of a call in the extension's form, 0 for None."""
    return whole(threads, "threads") or 0


def of_call(threads):
    """Returns the number of threads for a call without a plan: the call's argument, but at most the limit."""
    limit = _core.get_threads()
    return min(checked(threads) or limit, limit)


def interruptible(call, *args, asks=False):
    """Returns call(*args), a library call that cannot be stopped, so that Ctrl-C interrupts the caller.

    Another thread executes the call while this one waits. After Ctrl-C that thread runs to the end and its result is
    discarded. If `asks` is true, call has one more argument: a function that returns whether to end early. The call
    invokes it several times per second if it can.
    """
    if threading.current_thread() is not threading.main_thread():
        return call(*args)  # only the main thread receives Ctrl-C
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
    except RuntimeError:  # the interpreter is exiting
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
    """Returns call(*args), through interruptible if `entries` is at least `least`.

    On a GPU a call takes only milliseconds and is never interruptible.
    """
    if entries < least or home.device:
        return call(*args)
    return interruptible(call, *args, asks=asks)


def tell_threadpoolctl():
    """Registers the library with threadpoolctl, if that is installed."""
    try:
        import threadpoolctl
    except ImportError:
        return
    if not hasattr(threadpoolctl, "register"):  # older than 3.2
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

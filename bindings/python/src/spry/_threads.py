"""How many threads products use, for threadpoolctl, too; and long calls that Ctrl-C ends."""

import operator
import threading

from . import _core
from ._errors import InvalidError


def get_num_threads() -> int:
    """Threads that a product may use now: the limit set, else as many as OpenMP would use."""
    return _core.get_threads()


def set_num_threads(threads: int | None) -> None:
    """Limits the threads of all products, also of plans that there are; None: no limit.

    Results are the same bits for any number of threads.
    """
    checked(threads)
    _core.set_threads(threads or 0)


def checked(threads):
    """The argument `threads` of a call, as the extension takes it."""
    if threads is None:
        return 0
    if threads < 1:
        raise InvalidError(f"threads is {threads}, expected 1 or more, or None")
    return operator.index(threads)


def of_call(threads):
    """The threads of a call that is not a plan's: its own, under the limit."""
    limit = _core.get_threads()
    return min(checked(threads) or limit, limit)


def interruptible(call, *args):
    """call(*args), a call of the library that cannot be stopped, so that Ctrl-C comes through.

    Another thread makes it while this one waits. After Ctrl-C it goes on to its end by itself, and its result is
    thrown away.
    """
    if threading.current_thread() is not threading.main_thread():
        return call(*args)  # signals come to the main thread alone
    done, result, failure = threading.Event(), [], []

    def work():
        try:
            result.append(call(*args))
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=work, name="spry", daemon=True).start()
    except RuntimeError:  # Python is about to end
        return call(*args)
    done.wait()
    if failure:
        raise failure.pop()
    return result.pop()


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

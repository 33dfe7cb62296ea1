"""Keeps a process alive when another program truncates a file that the process has mapped.

A store into a mapped page behind the end of its file raises SIGBUS, which ends the process. The
handler here runs for such a store, gives the file its size back, and the store is repeated. It is
a Python function, called through ctypes. That is safe because the signal comes from a store of
this same thread into the mapping: no allocator and no lock is in the middle of its work then. Every
other SIGBUS goes to the former handler, by default the one that ends the process.

Other code of the process may set a handler of its own later: PyTorch Lightning resets all signals
after a training, `faulthandler.enable` sets its own. `install_handler` takes the place back. pygame
puts this handler back by `signal`, without its flags: then the kernel does not pass the address.

The layouts of `sigaction` and `siginfo_t` are those of Linux on 64-bit x86 and ARM. On other
systems, macOS among them, nothing is installed.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import mmap
import os
import platform
import signal
import sys
import weakref

_IS_KNOWN_SYSTEM = (
    sys.platform == "linux"
    and platform.machine() in ("x86_64", "aarch64")
    and ctypes.sizeof(ctypes.c_void_p) == 8
)
_SA_SIGINFO, _SA_NODEFER = 0x4, 0x40000000
_CODE_OFFSET, _ADDRESS_OFFSET = 8, 16  # in siginfo_t
_BUS_ADRERR = 2  # the address lies behind the end of the file
_MAP_FIXED = 0x10


class _Action(ctypes.Structure):
    """`struct sigaction` of glibc and musl."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class GuardedMapping:
    """A mapped file that gets its size back whenever this process meets its end."""

    def __init__(self, fd: int, mapping: mmap.mmap) -> None:
        self._fd, self._mapping = fd, mapping  # the addresses stay taken as long as this lives
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        self._size_bytes = len(mapping)
        self._last_address = 0
        self.install_handler()
        _guarded.add(self)

    @staticmethod
    def install_handler() -> None:
        """Install the handler, again where other code has set one of its own since."""
        global _former
        if _IS_KNOWN_SYSTEM and not _has_handed_on and not _is_installed():
            action, former = _Action(_handler_address), _Action()
            action.flags = _SA_SIGINFO | _SA_NODEFER
            if _sigaction(action, former) and former.handler != _handler_address:
                _former = former

    def release(self) -> None:
        """Leave the file alone; called before its descriptor is closed."""
        _guarded.discard(self)

    def reserve(self) -> None:
        """Give the file its whole size back. Raises OSError when the memory is full."""
        if sys.platform == "linux":
            os.posix_fallocate(self._fd, 0, self._size_bytes)
        else:
            os.ftruncate(self._fd, self._size_bytes)

    def holds(self, address: int) -> bool:
        return self._start <= address < self._start + self._size_bytes

    def repair(self, address: int) -> None:
        """Make a store at `address` possible. Where the file cannot have its size back, private
        memory takes its place: readers see nothing more, but the process goes on. Raises OSError
        when that fails, too.
        """
        with contextlib.suppress(OSError):
            # A second fault at one address of a file that is not short has another cause.
            is_short = os.fstat(self._fd).st_size < self._size_bytes
            if is_short or address != self._last_address:
                self._last_address = address
                self.reserve()
                return
        access, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        mapped = _libc.mmap(self._start, self._size_bytes, access, flags | _MAP_FIXED, -1, 0)
        if mapped != self._start:
            raise OSError(ctypes.get_errno(), "cannot map private memory")


_guarded: weakref.WeakSet[GuardedMapping] = weakref.WeakSet()
_former = _Action()
_has_handed_on = False  # a fault that is none of ours has gone to the former handler


def _on_fault(number: int, info: int, _context: int) -> None:
    if (
        not _has_handed_on and not _is_installed()
    ):  # installed without its flags: `info` is not filled
        GuardedMapping.install_handler()
        return  # the store is repeated
    code = ctypes.c_int.from_address(info + _CODE_OFFSET).value
    address = ctypes.c_uint64.from_address(info + _ADDRESS_OFFSET).value
    try:
        if code == _BUS_ADRERR:
            for guarded in list(_guarded):
                if guarded.holds(address):
                    guarded.repair(address)
                    return
    except Exception:
        _hand_on()  # else the store is repeated for ever
        raise
    # The store is repeated, and the former handler gets its fault as if this one had never run.
    _hand_on()
    if code <= 0:  # sent by a program: nothing is repeated
        signal.raise_signal(number)


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
)  # fmt: skip
_handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(_on_fault)


def _sigaction(new: _Action | None, old: _Action | None = None) -> bool:
    """Whether it succeeded."""
    arguments = [None if action is None else ctypes.byref(action) for action in (new, old)]
    return bool(_libc.sigaction(int(signal.SIGBUS), *arguments) == 0)


_handler_address = ctypes.cast(_handler, ctypes.c_void_p).value


def _is_installed() -> bool:
    now = _Action()
    is_known = _sigaction(None, now)
    return is_known and now.handler == _handler_address and bool(now.flags & _SA_SIGINFO)


def _hand_on() -> None:
    """Leave the signal to the former handler for good. That one may itself give the signal back to
    this handler, if it was installed after it: then the process ends.
    """
    global _has_handed_on
    _sigaction(_Action() if _has_handed_on else _former)  # zeros are the default: to end
    _has_handed_on = True


def _restore_former_at_exit() -> None:
    """The interpreter frees the handler soon; one that others have installed since stays."""
    if _is_installed():
        _sigaction(_former)


# Registered on import, so that it runs after all that writes to a page at exit.
atexit.register(_restore_former_at_exit)
os.register_at_fork(after_in_child=_guarded.clear)

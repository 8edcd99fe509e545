"""Writing a file so that it is never half there.

Floor 0: the standard library only.
"""

import contextlib
import errno
import glob
import os
import secrets
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a file in use cannot be deleted anyway
    fcntl = None


def write_atomically(path: str | os.PathLike, data: bytes) -> None:
    """Gives a file new content, or leaves the old one as it was, whatever interrupts.

    The bytes go to a temporary file in the same folder and on to the disk; only then does it take the name. What earlier
    writers left behind when they were killed is removed; a temporary file whose writer still lives is locked, and stays.

    Args:
        path: of the file; a link is followed.
        data: its new content.

    Raises:
        OSError: the folder is missing, the disk is full, there is no permission, or a device or a pipe has the name.

    Source:
        Ours; chapter 10.
    """
    _check_regular(path)
    target = Path(os.path.realpath(path))
    _remove_leftovers(target)
    temporary = _temporary(target)
    try:
        with open(temporary, "xb") as file:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == os.fspath(temporary):
            error.filename = os.fspath(path)  # the name that the caller knows
        raise
    if fcntl:
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name, too, outlives a power cut
        finally:
            os.close(folder)


def check_writable(path: str | os.PathLike) -> None:
    """Finds out whether `write_atomically` could write a file, before the work that is to go into it.

    Args:
        path: of the file, which stays as it is.

    Raises:
        OSError: its folder is missing, nothing can be written there, or something else than a file has the name; it names the
            file that was meant.

    Source:
        Ours; chapter 10.
    """
    _check_regular(path)
    temporary = _temporary(Path(os.path.realpath(path)))
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
    temporary.unlink()


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")


def _check_regular(path: str | os.PathLike) -> None:
    """A new file would take the place of a device or a pipe for good, so these are refused."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "is no regular file, and would be replaced by one", os.fspath(path))


def _remove_leftovers(path: Path) -> None:
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError), open(leftover, "rb") as file:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its writer lives
            os.unlink(leftover)

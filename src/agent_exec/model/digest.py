"""SHA-256 without the library of OpenSSL, which takes longer to load than a command to run."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:  # a Python that was built without it
            from hashlib import sha256

__all__ = ["sha256"]

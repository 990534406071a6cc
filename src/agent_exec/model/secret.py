"""Which variables look like secrets: the one list of such names, for every door of the house."""

PARTS = ("KEY", "SECRET", "TOKEN", "PASS", "CRED", "COOKIE", "WEBHOOK", "BEARER", "AUTHORIZATION")
"""Whatever holds one of these, in any case, looks like a secret."""

HARMLESS = frozenset(
    "KEYMAP KEYTIMEOUT LESSKEY LESSKEYIN LESSKEY_SYSTEM TOKENIZERS_PARALLELISM CONDA_BACKUP_PATH".split()
)
"""Names that look like secrets and hold none."""

_ENDS = (
    "_AUTH",
    "_AUTH_HEADER",
    "_AUTH_IDENT",
    "_DSN",
    "_PAT",
    "_PWD",
    "PW",
    "PEM",
    "_CONNECTION_STRING",
    "_CONN_STR",
)
_HEADS = ("BW_SESSION", "OP_SESSION")
_TOKEN = 20
"""From how many characters on the user of an address is rather a token."""
_MARKS = (
    *"ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- sk-ant-api03- sk-proj- sk_live_ hf_ npm_ AKIA".split(),
    *("Basic ", "Bearer "),
)
"""What tokens of well-known services begin with, and the words before one in a header."""
_REST = 16
"""How many letters and digits follow at least."""
_WORDS = frozenset(("JWT", "DSN", "PAT", "OTP", "MNEMONIC"))


def is_secret(name: str, value: str = "") -> bool:
    """True if a variable looks like a secret: by its name, or as an address with a password in it."""
    upper = name.upper()
    if upper in HARMLESS:
        return False
    return (
        any(part in upper for part in PARTS)
        or upper.endswith(_ENDS)
        or upper.startswith(_HEADS)
        or not _WORDS.isdisjoint(upper.split("_"))
        or has_password(value)
        or has_token(value)
    )


def has_token(text: str) -> bool:
    """True if a text holds a token of a service that marks them, or a header that carries one."""
    found = (text.partition(mark)[2][:_REST] for mark in _MARKS if mark in text)
    return any(len(rest) == _REST and rest.isalnum() for rest in found)


def has_password(value: str) -> bool:
    """True if an address in a text carries a password: [scheme://]user:password@host, or scheme://token@host."""
    scheme, *addresses = value.split("://")
    for address in addresses:
        user, at, _ = address.partition("/")[0].rpartition("@")
        if scheme and at and (":" in user or len(user) >= _TOKEN or scheme.endswith("redis")):
            return True
        scheme = address
    if "@" in value and not addresses:
        for word in value.replace("=", " ").split():
            user, _, host = word.rpartition("@")
            if ":" in user and "/" not in user and ("." in host or ":" in host):
                return True
    return False

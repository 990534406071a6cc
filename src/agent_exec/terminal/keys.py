"""Keys by their names: what a terminal sends to a program when they are pressed."""

from agent_exec.model.errors import InvalidArgument

_PLAIN = {"tab": b"\t", "space": b" ", "lt": b"<", "gt": b">"}
_PLAIN |= dict.fromkeys(("enter", "return", "cr"), b"\r")
_PLAIN |= dict.fromkeys(("esc", "escape"), b"\x1b")
_PLAIN |= dict.fromkeys(("bs", "backspace"), b"\x7f")
_CURSOR = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_FUNCTION = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
_NUMBERED = {"insert": 2, "ins": 2, "del": 3, "delete": 3, "pageup": 5, "pagedown": 6}
_NUMBERED |= {"f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20, "f10": 21, "f11": 23, "f12": 24}
_CONTROLS = {"@": 0, "space": 0, "[": 27, "\\": 28, "]": 29, "^": 30, "_": 31, "/": 31, "?": 127}
_LONGEST_NAME = 32


def translate(text: str, application: bool = False) -> bytes:
    """Return the bytes for text in which keys are written as `<C-c>`, `<Up>`, `<A-x>`, `<F5>`.

    Names have no blanks and may be written in any case; text outside of them is itself, and so is a
    `<` that begins none. `application` chooses the other form of the cursor keys, which some
    programs ask for. An unknown name raises InvalidArgument.
    """
    out = bytearray()
    place = 0
    while True:
        start = text.find("<", place)
        end = text.find(">", start + 1)
        if start < 0 or end < 0:
            return bytes(out + text[place:].encode("utf-8", "surrogateescape"))
        name = text[start + 1 : end]
        if not name or len(name) > _LONGEST_NAME or "<" in name or any(map(str.isspace, name)):
            end = start  # no name
            out += text[place : start + 1].encode("utf-8", "surrogateescape")
        else:
            out += text[place:start].encode("utf-8", "surrogateescape") + _key(name, application)
        place = end + 1


def _key(name: str, application: bool) -> bytes:
    modifiers = set()
    rest = name
    while len(rest) > 2 and rest[1] == "-" and rest[0] in "CcAaMmSs":
        modifiers.add(rest[0].upper().replace("M", "A"))
        rest = rest[2:]
    key = rest.lower()
    modifier = 1 + ("S" in modifiers) + 2 * ("A" in modifiers) + 4 * ("C" in modifiers)
    if key in _CURSOR or key in _FUNCTION:
        final = _CURSOR.get(key) or _FUNCTION[key]
        if modifier > 1:
            return f"\x1b[1;{modifier}{final}".encode()
        return ("\x1bO" if application or key in _FUNCTION else "\x1b[").encode() + final.encode()
    if key in _NUMBERED:
        return f"\x1b[{_NUMBERED[key]}{f';{modifier}' if modifier > 1 else ''}~".encode()
    if key == "tab" and modifiers == {"S"}:
        return b"\x1b[Z"
    escape = b"\x1b" if "A" in modifiers else b""
    if "C" in modifiers:
        if "S" not in modifiers:
            if len(rest) == 1 and "a" <= key <= "z":
                return escape + bytes([ord(key) - 96])
            if key in _CONTROLS:
                return escape + bytes([_CONTROLS[key]])
    elif key in _PLAIN and "S" not in modifiers:
        return escape + _PLAIN[key]
    elif len(rest) == 1 and modifiers and rest.isprintable():
        return escape + (rest.upper() if "S" in modifiers else rest).encode()
    raise InvalidArgument(
        f"unknown key <{name}>; known are <C-c>, <A-x>, <Enter>, <Up>, <F5> and the like, and <lt> for <",
        key=name,
    )

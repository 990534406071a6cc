"""A picture of a screen as SVG: self-contained, with text that can be selected."""

from agent_exec.terminal.grid import BOLD, DIM, HIDDEN, ITALIC, REVERSE, RGB, STRUCK, UNDERLINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.terminal.grid import Style
    from agent_exec.terminal.screen import Screen, Span

_WIDTH, _HEIGHT, _BASE, _MARGIN = 8.4, 18, 13.5, 12
_PAPER, _INK = "#14161a", "#d6dae0"
_BASIC = (
    "#20242b #d75a5a #6bb36b #c9a84a #5b8ad6 #b071c7 #4fb0ae #c9ced6 "
    "#6a727f #f07f7f #8fd68f #ecd07a #86b1f2 #d49be6 #7fd6d3 #ffffff"
).split()
_LEVELS = (0, 95, 135, 175, 215, 255)
_FONT = "'DejaVu Sans Mono', Menlo, Consolas, monospace"


def svg(screen: "Screen") -> str:
    """Return a picture; the same screen always gives the same one."""
    width = _number(screen.columns * _WIDTH + 2 * _MARGIN)
    height = _number(screen.rows * _HEIGHT + 2 * _MARGIN)
    boxes: list[str] = []
    lines: list[str] = []
    for row in range(screen.rows):
        spans = screen.spans(row)
        boxes += [box for span in spans if (box := _box(row, span))]
        texts = [text for span in spans if (text := _text(span))]
        if texts:
            lines.append(f'<text y="{_number(_MARGIN + row * _HEIGHT + _BASE)}">{"".join(texts)}</text>')
    if screen.cursor_shown:
        row, column = screen.cursor
        x, y = _corner(row, column)
        boxes.append(
            f'<rect class="cursor" x="{x}" y="{y}" width="{_number(_WIDTH)}" height="{_HEIGHT}"'
            f' fill="{_INK}" fill-opacity="0.45"/>'
        )
    title = f"<title>{escape(screen.title)}</title>\n" if screen.title else ""
    body = "\n".join([*boxes, *lines])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}">\n'
        f"{title}"
        f'<rect width="{width}" height="{height}" rx="8" fill="{_PAPER}"/>\n'
        f'<g font-family="{_FONT}" font-size="14" fill="{_INK}" xml:space="preserve">\n'
        f"{body}\n</g>\n</svg>\n"
    )


def escape(text: str) -> str:
    """Make text fit for XML: what has a meaning there is escaped, what is forbidden there replaced."""
    safe = "".join(
        c if c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff" else "\ufffd"
        for c in text
    )
    return safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def colour(number: int) -> str:
    """Return a colour of the terminal as one of the web."""
    if number >= RGB:
        return f"#{number & 0xFFFFFF:06x}"
    if number < 16:
        return _BASIC[number]
    if number < 232:
        number -= 16
        red, green, blue = (_LEVELS[number // step % 6] for step in (36, 6, 1))
        return f"#{red:02x}{green:02x}{blue:02x}"
    return "#" + f"{8 + (number - 232) * 10:02x}" * 3


def _colours(style: "Style") -> tuple[str, str]:
    """Return the ink and the paper of a style."""
    foreground, background, flags = style
    if flags & BOLD and 0 <= foreground < 8:
        foreground += 8
    ink = _INK if foreground < 0 else colour(foreground)
    paper = _PAPER if background < 0 else colour(background)
    if flags & REVERSE:
        ink, paper = paper, ink
    return paper if flags & HIDDEN else ink, paper


def _box(row: int, span: "Span") -> str:
    column, cells, _, style = span
    paper = _colours(style)[1]
    if paper == _PAPER:
        return ""
    x, y = _corner(row, column)
    return f'<rect x="{x}" y="{y}" width="{_number(cells * _WIDTH)}" height="{_HEIGHT}" fill="{paper}"/>'


def _text(span: "Span") -> str:
    column, cells, text, style = span
    flags = style[2]
    lines = " ".join(
        name for flag, name in ((UNDERLINE, "underline"), (STRUCK, "line-through")) if flags & flag
    )
    if not lines:
        cells -= len(text) - len(text.rstrip(" "))
        text = text.rstrip(" ")
    if not text:
        return ""
    ink = _colours(style)[0]
    attributes = f' x="{_number(_MARGIN + column * _WIDTH)}" textLength="{_number(cells * _WIDTH)}"'
    if ink != _INK:
        attributes += f' fill="{ink}"'
    if flags & BOLD:
        attributes += ' font-weight="bold"'
    if flags & ITALIC:
        attributes += ' font-style="italic"'
    if flags & DIM:
        attributes += ' fill-opacity="0.6"'
    if lines:
        attributes += f' text-decoration="{lines}"'
    return f"<tspan{attributes}>{escape(text)}</tspan>"


def _corner(row: int, column: int) -> tuple[str, str]:
    return _number(_MARGIN + column * _WIDTH), _number(_MARGIN + row * _HEIGHT)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")

"""A full-screen program: a menu; down and Enter choose, q quits."""

import curses


def main(screen: curses.window) -> str:
    curses.curs_set(0)
    items, at = ["Deploy to staging", "Deploy to production", "Roll back"], 0
    while True:
        screen.erase()
        screen.addstr(0, 0, "Release 4.2.0: choose with the arrows")
        for number, item in enumerate(items):
            screen.addstr(2 + number, 2, ("> " if number == at else "  ") + item)
        screen.refresh()
        key = screen.getch()
        if key == curses.KEY_DOWN:
            at = min(at + 1, 2)
        elif key in (10, 13):
            return items[at]
        elif key == ord("q"):
            return "nothing"


print("chosen: " + curses.wrapper(main))

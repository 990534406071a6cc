"""Asks for a password without echo, for a code, and for a yes."""

import getpass

password = getpass.getpass("Password: ")
code = input("Code: ")
sure = input("Overwrite the old token? [y/N] ")
print("token: " + ("tk-7741" if (password, code, sure) == ("hunter2", "314159", "y") else "refused"))

/* Opens a terminal, runs a program on it, reads it to the end and reaps it: terminal EXPECTED PROGRAM ARGS... */

#include "terminal.h"

static char *expected, **command;

static double once(void) {
    char buffer[4096];
    size_t have = 0, got;
    int status;
    pid_t pid;
    double start = now();
    int master = start_on_terminal(command, &pid);
    while (have < sizeof buffer && (got = take(master, buffer + have, sizeof buffer - have)))
        have += got;
    close(master);
    if (waitpid(pid, &status, 0) != pid || status)
        wrong("the program failed");
    double seconds = now() - start;
    if (have != strlen(expected) || memcmp(buffer, expected, have))
        wrong("the output is wrong");
    return seconds;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    expected = argv[1];
    command = argv + 2;
    take_orders();
    return serve(once);
}

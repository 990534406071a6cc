/* Writes a line to a program on a terminal and waits for its answer: roundtrip READY LINE ANSWER PROGRAM ARGS... */

#include "terminal.h"

static char *line, *expected;
static int master;

static double once(void) {
    size_t width = strlen(line);
    double start = now();
    if (write(master, line, width) != (ssize_t)width)
        wrong("write");
    wait_for(master, expected);
    return now() - start;
}

int main(int argc, char **argv) {
    pid_t pid;
    if (argc < 5)
        return 2;
    line = argv[2];
    expected = argv[3];
    take_orders();
    master = start_on_terminal(argv + 4, &pid);
    fcntl(master, F_SETFD, FD_CLOEXEC);
    wait_for(master, argv[1]);
    serve(once);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return 0;
}

/* Starts a program on a terminal, waits for its prompt, and ends it: prompt PROMPT PROGRAM ARGS... */

#include "terminal.h"

static char *prompt, **command;

static double once(void) {
    pid_t pid;
    double start = now();
    int master = start_on_terminal(command, &pid);
    wait_for(master, prompt);
    double seconds = now() - start;
    kill(pid, SIGKILL);
    close(master);
    waitpid(pid, NULL, 0);
    return seconds;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    prompt = argv[1];
    command = argv + 2;
    take_orders();
    return serve(once);
}

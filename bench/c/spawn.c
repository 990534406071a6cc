/* Spawns a program with posix_spawn, reads its stdout and stderr to the end with poll, and reaps it. */

#include "worker.h"
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

static char **command;

static double once(void) {
    static char buffer[16384];
    double start = now();
    int out[2], err[2], status;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
        wrong("pipe2");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    if ((errno = posix_spawn(&pid, command[0], &actions, NULL, command, environ)))
        wrong("posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    struct pollfd watched[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    long printed = 0;
    for (int open = 2; open;) {
        if (poll(watched, 2, -1) < 0)
            wrong("poll");
        for (int i = 0; i < 2; i++) {
            if (watched[i].fd < 0 || !watched[i].revents)
                continue;
            ssize_t got = read(watched[i].fd, buffer, sizeof buffer);
            if (got > 0) {
                printed += got;
                continue;
            }
            close(watched[i].fd);
            watched[i].fd = -1;
            open--;
        }
    }
    if (waitpid(pid, &status, 0) != pid || status != 0 || printed)
        wrong("the program failed, or printed something");
    return now() - start;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    command = argv + 1;
    take_orders();
    return serve(once);
}

/* A program on a terminal of its own, by forkpty. */

#ifndef BENCH_TERMINAL_H
#define BENCH_TERMINAL_H

#include "worker.h"
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>

static inline int start_on_terminal(char **command, pid_t *pid) {
    struct winsize size = {24, 80, 0, 0};
    int master;
    *pid = forkpty(&master, NULL, NULL, &size);
    if (*pid < 0)
        wrong("forkpty");
    if (*pid == 0) {
        execv(command[0], command);
        _exit(127);
    }
    return master;
}

/* Wait for output and read it; 0 at the end, which a terminal tells by EIO. */
static inline size_t take(int master, char *into, size_t room) {
    struct pollfd watched = {master, POLLIN, 0};
    if (poll(&watched, 1, -1) < 0)
        wrong("poll");
    ssize_t got = read(master, into, room);
    return got > 0 ? (size_t)got : 0;
}

/* Read until the output ends with these words. */
static inline void wait_for(int master, const char *words) {
    static char buffer[1 << 16];
    size_t have = 0, width = strlen(words), got;
    do {
        got = take(master, buffer + have, sizeof buffer - have);
        if (!got)
            wrong("the program ended");
        have += got;
    } while (have < width || memcmp(buffer + have - width, words, width));
}

#endif

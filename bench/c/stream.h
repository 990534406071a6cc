/* A child whose stdout comes through a pipe of 1 MiB, and a page-aligned ring to read it into. */

#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include "worker.h"
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MIB (1 << 20)
#define READ (256 << 10)

static inline int start_child(char **command, pid_t *pid) {
    int out[2];
    posix_spawn_file_actions_t actions;
    if (pipe2(out, O_CLOEXEC))
        wrong("pipe2");
    fcntl(out[0], F_SETPIPE_SZ, MIB);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    if ((errno = posix_spawn(pid, command[0], &actions, NULL, command, environ)))
        wrong("posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    return out[0];
}

static inline void end_child(int fd, pid_t pid) {
    int status;
    close(fd);
    if (waitpid(pid, &status, 0) != pid || status)
        wrong("the writer failed");
}

/* Wait for the child's next bytes and read at most `room` of them; 0 at the end. */
static inline size_t take(int fd, char *into, size_t room) {
    struct pollfd watched = {fd, POLLIN, 0};
    if (poll(&watched, 1, -1) < 0)
        wrong("poll");
    ssize_t got = read(fd, into, room < READ ? room : READ);
    if (got < 0)
        wrong("read");
    return got;
}

static inline char *ring_of(size_t size) {
    char *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED)
        wrong("mmap");
    return ring;
}

#endif

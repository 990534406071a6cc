/* Spawns a program many times, N at once in one thread: posix_spawn, two pipes and a pidfd each, one epoll. */

#include "worker.h"
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { OUT, ERR, EXIT, KINDS };

struct slot {
    int fds[KINDS];
    int open;
    pid_t pid;
};

static char **command;
static int watch;
static struct slot *slots;

static void add(int slot, int kind, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = slot * KINDS + kind};
    slots[slot].fds[kind] = fd;
    if (fd < 0 || epoll_ctl(watch, EPOLL_CTL_ADD, fd, &event))
        wrong("epoll_ctl");
}

static void launch(int slot) {
    int out[2], err[2];
    posix_spawn_file_actions_t actions;
    if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
        wrong("pipe2");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    if ((errno = posix_spawn(&slots[slot].pid, command[0], &actions, NULL, command, environ)))
        wrong("posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    add(slot, OUT, out[0]);
    add(slot, ERR, err[0]);
    add(slot, EXIT, syscall(SYS_pidfd_open, slots[slot].pid, 0));
    slots[slot].open = KINDS;
}

int main(int argc, char **argv) {
    static char buffer[16384];
    if (argc < 3)
        return 2;
    int width = atoi(argv[1]);
    command = argv + 2;
    take_orders();
    watch = epoll_create1(EPOLL_CLOEXEC);
    slots = calloc(width, sizeof *slots);
    if (watch < 0 || !slots)
        wrong("epoll_create1");
    for (long count; (count = next_count()) >= 0;) {
        double start = now();
        long launched = 0, ended = 0;
        for (int slot = 0; slot < width && launched < count; slot++, launched++)
            launch(slot);
        while (ended < count) {
            struct epoll_event ready[256];
            int found = epoll_wait(watch, ready, 256, -1);
            if (found < 0)
                wrong("epoll_wait");
            for (int i = 0; i < found; i++) {
                int slot = ready[i].data.u32 / KINDS, kind = ready[i].data.u32 % KINDS, status;
                struct slot *s = &slots[slot];
                if (kind == EXIT) {
                    if (waitpid(s->pid, &status, 0) != s->pid || status)
                        wrong("the program failed");
                } else if (read(s->fds[kind], buffer, sizeof buffer) > 0) {
                    wrong("the program printed something");
                }
                epoll_ctl(watch, EPOLL_CTL_DEL, s->fds[kind], NULL);
                close(s->fds[kind]);
                if (--s->open)
                    continue;
                ended++;
                if (launched < count) {
                    launch(slot);
                    launched++;
                }
            }
        }
        double seconds = now() - start;
        answer(&seconds, 1);
    }
    return 0;
}

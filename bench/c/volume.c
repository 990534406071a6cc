/* Reads all that a writer prints and keeps the first and the last MiB of it, checked against the writer's period. */

#include "stream.h"

#define RING (MIB + READ)

static char **command, *head, *ring;
static long long expected;
static size_t period;

static double once(void) {
    double start = now();
    pid_t pid;
    int fd = start_child(command, &pid);
    long long observed = 0;
    size_t at = 0, got;
    while ((got = take(fd, ring + at, RING - at))) {
        if (observed < MIB) {
            size_t room = MIB - observed;
            memcpy(head + observed, ring + at, got < room ? got : room);
        }
        observed += got;
        at = (at + got) % RING;
    }
    end_child(fd, pid);
    double seconds = now() - start;
    if (observed != expected)
        wrong("the count of bytes is wrong");
    for (size_t i = 0; i < MIB; i++)
        if (head[i] != head[i % period] || ring[(at + RING - MIB + i) % RING] != head[i % period])
            wrong("what was kept is wrong");
    return seconds;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    expected = atoll(argv[1]);
    period = atol(argv[2]);
    command = argv + 3;
    take_orders();
    head = ring_of(MIB);
    ring = ring_of(RING);
    return serve(once);
}

/* Prints a line over and over, as fast as a pipe takes it: writer BYTES LINE. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM (256 << 10)

int main(int argc, char **argv) {
    static char buffer[ROOM] __attribute__((aligned(4096)));
    if (argc != 3)
        return 2;
    long long left = atoll(argv[1]);
    size_t width = strlen(argv[2]) + 1;
    size_t step = width;
    while (step % 4096)
        step += width;
    if (step > ROOM)
        return 2;
    size_t size = ROOM / step * step;
    for (size_t i = 0; i < size; i++)
        buffer[i] = i % width == width - 1 ? '\n' : argv[2][i % width];
    while (left > 0) {
        size_t want = left < (long long)size ? (size_t)left : size, done = 0;
        while (done < want) {
            ssize_t sent = write(1, buffer + done, want - done);
            if (sent < 0)
                return 1;
            done += sent;
        }
        left -= want;
    }
    return 0;
}

/* A worker's side of the protocol: a count comes on stdin, the seconds of each iteration go to stdout as JSON. */

#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static FILE *orders, *answers;

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static inline void wrong(const char *what) {
    fprintf(answers ? answers : stdout, "{\"error\": \"%s (errno: %s)\"}\n", what, strerror(errno));
    exit(1);
}

/* The protocol moves away from 0 and 1, so that no child holds or disturbs it. */
static inline void take_orders(void) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int in = fcntl(0, F_DUPFD_CLOEXEC, 10), out = fcntl(1, F_DUPFD_CLOEXEC, 10);
    if (null < 0 || in < 0 || out < 0)
        exit(1);
    orders = fdopen(in, "r");
    answers = fdopen(out, "w");
    if (!orders || !answers || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        exit(1);
    close(null);
}

/* The next count, or -1 when there is none. */
static inline long next_count(void) {
    char line[64];
    return fgets(line, sizeof line, orders) ? strtol(line, NULL, 10) : -1;
}

static inline void answer(const double *seconds, long count) {
    fputs("{\"seconds\": [", answers);
    for (long i = 0; i < count; i++)
        fprintf(answers, "%s%.9f", i ? ", " : "", seconds[i]);
    fputs("]}\n", answers);
    fflush(answers);
}

/* Serve blocks of iterations, each of which gives its own seconds. */
static inline int serve(double (*iteration)(void)) {
    long count;
    while ((count = next_count()) >= 0) {
        double *seconds = calloc(count + 1, sizeof *seconds);
        if (!seconds)
            wrong("no memory");
        for (long i = 0; i < count; i++)
            seconds[i] = iteration();
        answer(seconds, count);
        free(seconds);
    }
    return 0;
}

#endif

/* Load latency in lmbench's manner (lat_mem_rd -t): a chain through every line of the set in random order, on large
 * pages where granted; the median of windows of about a millisecond, since the map's figures are medians of such windows
 * too (a longer one has more of the machine's other guests in it). Prints `BYTES seconds_a_load`, one a line. argv: sizes
 * in bytes. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static uint64_t state = 88172645463325252ull;
static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

#define WINDOWS 200
#define WINDOW 1e-3

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    for (int arg = 1; arg < argc; arg++) {
        size_t bytes = strtoull(argv[arg], 0, 10), lines = bytes / 64;
        size_t room = (bytes + (2 << 20) - 1) / (2 << 20) * (2 << 20);
        char *base = aligned_alloc(2 << 20, room);
        uint32_t *order = malloc(4 * lines);
        if (!base || !order)
            return 1;
        madvise(base, room, MADV_HUGEPAGE);
        for (size_t i = 0; i < lines; i++)
            order[i] = i;
        for (size_t i = lines - 1; i > 0; i--) {
            size_t j = next() % (i + 1);
            uint32_t t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
        for (size_t i = 0; i < lines; i++)
            *(char **)(base + 64ull * order[i]) = base + 64ull * order[(i + 1) % lines];
        char **p = (char **)base;
        size_t loads = 1024;
        double times[WINDOWS];
        /* Once round, then as many loads as take a window. */
        for (size_t i = 0; i < lines; i++)
            p = (char **)*p;
        for (int window = -1; window < WINDOWS; window++) {
            double start = now();
            for (size_t i = 0; i < loads / 16; i++) {
#define ONE p = (char **)*p;
#define FOUR ONE ONE ONE ONE
                FOUR FOUR FOUR FOUR
            }
            double time = now() - start;
            if (window < 0 && time < WINDOW) {
                loads *= 2;
                window--;
            } else if (window >= 0) {
                times[window] = time / loads;
            }
        }
        qsort(times, WINDOWS, sizeof(double), compare);
        printf("%zu %.6e\n", bytes, p ? times[WINDOWS / 2] : 0.0);
        free(order);
        free(base);
    }
    return 0;
}

/* Work shared between the calling thread and helpers that sleep in between. */
#ifndef LITMUS_THREADS_H
#define LITMUS_THREADS_H

#include <stdint.h>

typedef void (*litmus_work)(void *context, int64_t item);

/* Do items 0 .. count - 1, each once, on up to `threads` threads; back when all are done. Threads
   claim `family` items at a time, which share what they read, and at the end one by one, so that
   none waits long for another. Who does what is open: items must not depend on it. */
void litmus_share(int threads, int64_t count, int64_t family, litmus_work work, void *context);

#endif

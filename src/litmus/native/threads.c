#include "threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { MOST_HELPERS = 255 };

static pthread_mutex_t callers = PTHREAD_MUTEX_INITIALIZER; /* one caller at a time */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    /* held to change what follows */
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static int started = 0;  /* helpers that exist */
static _Atomic int wanted = 0;   /* helpers that may still join the present work */
static _Atomic int working = 0;  /* helpers that have joined and not yet left */

static litmus_work present_work;
static void *present_context;
static int64_t present_count;
static int64_t present_family;
static int64_t present_singles; /* from this item on they are claimed one by one */
static _Atomic int64_t next_item;

static void claim_items(void) {
    int64_t item = atomic_load(&next_item);
    while (item < present_count) {
        int64_t end = item + (item < present_singles ? present_family : 1);
        if (!atomic_compare_exchange_weak(&next_item, &item, end)) continue;
        for (; item < end; item++) present_work(present_context, item);
        item = atomic_load(&next_item);
    }
}

/* To fall asleep and be woken takes longer than the pauses within an update: wait a tenth of a
   millisecond for a number to become (non)zero before that. */
static void wait_awake(_Atomic int *number, bool for_zero) {
#if defined(__x86_64__)
    for (int turn = 0; turn < 2000 && (atomic_load(number) == 0) != for_zero; turn++)
        __builtin_ia32_pause();
#else
    (void)number;
    (void)for_zero;
#endif
}

static void *help(void *unused) {
    (void)unused;
    for (;;) {
        wait_awake(&wanted, false);
        pthread_mutex_lock(&lock);
        while (wanted == 0) pthread_cond_wait(&called, &lock);
        wanted--;
        working++;
        pthread_mutex_unlock(&lock);
        claim_items();
        pthread_mutex_lock(&lock);
        if (--working == 0) pthread_cond_signal(&finished);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* A forked child has no helpers, whatever the parent's counters say. */
static void forget_helpers(void) {
    pthread_mutex_init(&callers, NULL);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&called, NULL);
    pthread_cond_init(&finished, NULL);
    started = wanted = working = 0;
}

/* Called with the lock held. Fewer helpers than asked for only make the work slower. */
static void start_helpers(int count) {
    static bool registered = false;
    if (!registered) registered = pthread_atfork(NULL, NULL, forget_helpers) == 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigset_t all, before; /* signals are for the program's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (pthread_t thread; started < count; started++)
        if (pthread_create(&thread, &attributes, help, NULL) != 0) break;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

void litmus_share(int threads, int64_t count, int64_t family, litmus_work work, void *context) {
    int helpers = threads - 1;
    if (helpers > count - 1) helpers = (int)(count - 1);
    if (helpers > MOST_HELPERS) helpers = MOST_HELPERS;
    if (helpers <= 0) {
        for (int64_t item = 0; item < count; item++) work(context, item);
        return;
    }
    pthread_mutex_lock(&callers);
    pthread_mutex_lock(&lock);
    start_helpers(helpers);
    present_work = work;
    present_context = context;
    present_count = count;
    present_family = family;
    int64_t whole = count / family - (helpers + 1); /* families that are claimed as such */
    present_singles = whole > 0 ? whole * family : 0;
    atomic_store(&next_item, 0);
    wanted = helpers < started ? helpers : started;
    pthread_cond_broadcast(&called);
    pthread_mutex_unlock(&lock);
    claim_items();
    pthread_mutex_lock(&lock);
    wanted = 0; /* who has not come by now is not needed */
    pthread_mutex_unlock(&lock);
    wait_awake(&working, true);
    pthread_mutex_lock(&lock);
    while (working > 0) pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&callers);
}

#include "normals.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>

/* ---- Philox 4x64, ten rounds (Salmon et al., 2011) ---- */

enum { TURNS = 10, BLOCKS = 64, WORDS = 8 * BLOCKS };

typedef struct {
    uint64_t keys[TURNS][2];
    uint64_t counter;
    uint32_t words[WORDS];
    int used;
} source;

static source start_source(uint64_t key_low, uint64_t key_high) {
    source result = {.used = WORDS};
    for (int turn = 0; turn < TURNS; turn++) {
        result.keys[turn][0] = key_low + (uint64_t)turn * 0x9E3779B97F4A7C15u;
        result.keys[turn][1] = key_high + (uint64_t)turn * 0xBB67AE8584CAA73Bu;
    }
    return result;
}

/* Two blocks at a time: each round waits for the one before, the other block does not. */
static void refill(source *from) {
    enum { PAIR = 2 };
    for (int block = 0; block < BLOCKS; block += PAIR) {
        uint64_t c[PAIR][4] = {{from->counter + 1}, {from->counter + 2}};
        from->counter += PAIR;
        for (int turn = 0; turn < TURNS; turn++)
            for (int n = 0; n < PAIR; n++) {
                unsigned __int128 a = (unsigned __int128)0xD2E7470EE14C6C93u * c[n][0];
                unsigned __int128 b = (unsigned __int128)0xCA5A826395121157u * c[n][2];
                c[n][0] = (uint64_t)(b >> 64) ^ c[n][1] ^ from->keys[turn][0];
                c[n][1] = (uint64_t)b;
                c[n][2] = (uint64_t)(a >> 64) ^ c[n][3] ^ from->keys[turn][1];
                c[n][3] = (uint64_t)a;
            }
        for (int n = 0; n < PAIR; n++)
            for (int word = 0; word < 4; word++) {
                uint32_t *to = from->words + 8 * (block + n) + 2 * word;
                to[0] = (uint32_t)c[n][word];
                to[1] = (uint32_t)(c[n][word] >> 32);
            }
    }
    from->used = 0;
}

static inline uint32_t next_word(source *from) {
    if (from->used == WORDS) refill(from);
    return from->words[from->used++];
}

static inline float next_uniform(source *from) {
    return (float)(next_word(from) >> 8) * (1.0f / 16777216.0f);
}

/* ---- the ziggurat (Marsaglia and Tsang, 2000) with 256 layers of equal area ---- */

#define EDGE 3.6541528853610087963519472518

static uint32_t sure[256];  /* below it, a point of the layer lies under the curve */
static float scale[256];
static float height[256];

static void build_tables(void) {
    double area = EDGE * exp(-0.5 * EDGE * EDGE) + sqrt(acos(-1.0) / 2) * erfc(EDGE / sqrt(2.0));
    double steps = 8388608.0, x = EDGE, above = exp(-0.5 * x * x);
    sure[0] = (uint32_t)rint(x * above / area * steps);
    scale[0] = (float)(area / above / steps);
    height[0] = 1.0f;
    sure[1] = 0;
    scale[255] = (float)(x / steps);
    height[255] = (float)above;
    for (int layer = 254; layer > 0; layer--) {
        double next = sqrt(-2.0 * log(area / x + above));
        sure[layer + 1] = (uint32_t)rint(next / x * steps);
        scale[layer] = (float)(next / steps);
        above = exp(-0.5 * next * next);
        height[layer] = (float)above;
        x = next;
    }
}

/* Beyond the last layer. */
static float draw_from_tail(source *from, uint32_t bits) {
    for (;;) {
        float x = (float)-(1.0 / EDGE) * log1pf(-next_uniform(from));
        float y = -log1pf(-next_uniform(from));
        if (y + y > x * x) return (bits >> 8) & 1 ? -((float)EDGE + x) : (float)EDGE + x;
    }
}

/* The point that a word picks in its layer. The sign is set without a branch, which would be
   guessed wrong every other time. */
static inline float pick(uint32_t word) {
    union {
        float value;
        uint32_t bits;
    } x = {.value = (float)(int32_t)(word >> 9) * scale[word & 0xff]};
    x.bits |= (word & 0x100) << 23;
    return x.value;
}

static float draw_normal(source *from) {
    for (;;) {
        uint32_t word = next_word(from);
        uint32_t layer = word & 0xff, bits = word >> 9;
        float x = pick(word);
        if (bits < sure[layer]) return x;
        if (layer == 0) return draw_from_tail(from, bits);
        float y = (height[layer - 1] - height[layer]) * next_uniform(from) + height[layer];
        if (y < exp(-0.5 * x * x)) return x;
    }
}

/* As draw_normal, for the nine in ten groups of eight words that are all sure: without a branch.
   Returns how many were drawn: all or none. */
enum { GROUP = 8 };

static inline int draw_group(source *from, float *out) {
    if (from->used > WORDS - GROUP) return 0;
    const uint32_t *words = from->words + from->used;
    uint32_t missed = 0;
    for (int n = 0; n < GROUP; n++) {
        out[n] = pick(words[n]);
        missed |= (words[n] >> 9) >= sure[words[n] & 0xff];
    }
    if (missed) return 0;
    from->used += GROUP;
    return GROUP;
}

void litmus_perturb(uint64_t key_low, uint64_t key_high, const float *flat, float noise,
                    int64_t count, float *out) {
    static pthread_once_t built = PTHREAD_ONCE_INIT;
    pthread_once(&built, build_tables);
    source from = start_source(key_low, key_high);
    int64_t done = 0;
    for (; done + GROUP <= count; done += GROUP)
        for (int drawn = draw_group(&from, out + done); drawn < GROUP; drawn++)
            out[done + drawn] = draw_normal(&from);
    for (; done < count; done++) out[done] = draw_normal(&from);
    for (int64_t n = 0; n < count; n++) {
        float scaled = out[n] * noise;
        out[n] = scaled + flat[n];
    }
}

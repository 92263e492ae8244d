/* The kernels for one instruction set; kernels.c includes this once for each.

   The includer defines TARGET (a function attribute), NAME(x), LANES, TILE_ROWS, the type vec, and
   on it BROADCAST(x), FUSED(a, b, c) = a * b + c, LEAST and GREATEST (of which the second argument
   wins if it is NaN), WHERE_POSITIVE(x, y) = x <= 0 ? 0 : y, ROOT(x), ROUND(x) to the nearest whole
   number, and POWER_OF_TWO(x) of whole numbers from -126 to 127. */

#define KERNEL static TARGET
#define INLINE static inline __attribute__((always_inline)) TARGET

/* Vectors in memory need no alignment. */
typedef vec NAME(loose) __attribute__((aligned(4), may_alias));
#define LOAD(from) (*(const NAME(loose) *)(from))
#define STORE(to, value) (*(NAME(loose) *)(to) = (value))

/* x P(x²) / Q(x²): a minimax fit of the relative error on [0, 9.02], 2e-8 before rounding and under
   5e-7 with it; from there on 1, as float has it. NaN stays NaN. */
INLINE vec NAME(tanh)(vec x) {
    x = LEAST(BROADCAST(9.02f), GREATEST(BROADCAST(-9.02f), x));
    vec u = x * x;
    vec p = BROADCAST(1.3319066534410369e-08f), q = BROADCAST(7.762016895418805e-07f);
    p = FUSED(p, u, BROADCAST(2.0583476167436924e-05f));
    q = FUSED(q, u, BROADCAST(3.283092276363802e-04f));
    p = FUSED(p, u, BROADCAST(3.494034186677354e-03f));
    q = FUSED(q, u, BROADCAST(2.5871071704581906e-02f));
    p = FUSED(p, u, BROADCAST(1.3379717600934674e-01f));
    q = FUSED(q, u, BROADCAST(4.6713032839430385e-01f));
    p = FUSED(p, u, BROADCAST(9.999999790094369e-01f));
    q = FUSED(q, u, BROADCAST(1.0f));
    return LEAST(BROADCAST(1.0f), GREATEST(BROADCAST(-1.0f), x * p / q));
}

INLINE vec NAME(activate)(int64_t activation, vec x) {
    if (activation == LITMUS_TANH) return NAME(tanh)(x);
    return GREATEST(BROADCAST(0.0f), x);
}

/* 2ⁿ eʳ with |r| ≤ ln 2 / 2, where eight terms of the series leave 6e-9; 0 where float has no
   normal number any more. NaN stays NaN. */
INLINE vec NAME(exponentiate)(vec x) {
    vec n = ROUND(GREATEST(BROADCAST(-126.0f), x * BROADCAST(1.44269504f)));
    vec r = FUSED(n, BROADCAST(-0.693145752f), x); /* ln 2 in two parts: the product is exact */
    r = FUSED(n, BROADCAST(-1.42860677e-6f), r);
    vec sum = BROADCAST(1.0f / 5040);
    sum = FUSED(sum, r, BROADCAST(1.0f / 720));
    sum = FUSED(sum, r, BROADCAST(1.0f / 120));
    sum = FUSED(sum, r, BROADCAST(1.0f / 24));
    sum = FUSED(sum, r, BROADCAST(1.0f / 6));
    sum = FUSED(sum, r, BROADCAST(0.5f));
    sum = FUSED(sum, r, BROADCAST(1.0f));
    sum = FUSED(sum, r, BROADCAST(1.0f));
    return WHERE_POSITIVE(x + BROADCAST(87.5f), sum * POWER_OF_TWO(n));
}

/* A gradient times the activation's slope, known from its output. */
INLINE vec NAME(through)(int64_t activation, vec activated, vec gradient) {
    if (activation == LITMUS_TANH) return gradient * FUSED(-activated, activated, BROADCAST(1.0f));
    return WHERE_POSITIVE(activated, gradient);
}

/* out[r][v] = finish(start + sum over d of a[r, d] x[d][v]), in a tile of `rows` rows and `vectors`
   vectors; both are constants where this is inlined, and the sums stay in registers. */
INLINE void NAME(tile)(const int rows, const int vectors, const int kind, int64_t activation,
                       const float *a, int64_t a_row, int64_t a_depth, int64_t depth,
                       const float *bias, const float *x, int64_t x_depth, float *out) {
    vec sum[TILE_ROWS][TILE_VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            if (kind == ADD) sum[r][v] = LOAD(out + (r * vectors + v) * LANES);
            else sum[r][v] = BROADCAST(bias ? bias[r] : 0.0f);
        }
    if (kind == BACK) /* what will be read at the end of the sums */
        for (int n = 0; n < rows * vectors; n++) __builtin_prefetch(out + n * LANES, 1);
    const float *next = a + rows * a_row;
    for (int64_t d = 0; d < depth; d++) {
        vec inputs[TILE_VECTORS];
        /* A walk down a column of weights is too wide a stride for the processor to foresee. */
        if (kind == BACK) __builtin_prefetch(a + 16 * a_depth);
        if (kind == HIDDEN) __builtin_prefetch(next + 8 * d);
        for (int v = 0; v < vectors; v++) inputs[v] = LOAD(x + v * LANES);
        for (int r = 0; r < rows; r++) {
            vec weight = BROADCAST(a[r * a_row]);
            for (int v = 0; v < vectors; v++) sum[r][v] = FUSED(weight, inputs[v], sum[r][v]);
        }
        a += a_depth;
        x += x_depth;
    }
    if (kind == BACK)
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++) {
                vec activated = LOAD(out + (r * vectors + v) * LANES);
                sum[r][v] = NAME(through)(activation, activated, sum[r][v]);
            }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) STORE(out + (r * vectors + v) * LANES, sum[r][v]);
    if (kind == HIDDEN) /* after the sums have left their registers */
        for (int n = 0; n < rows * vectors; n++)
            STORE(out + n * LANES, NAME(activate)(activation, LOAD(out + n * LANES)));
}

/* A matrix [rows, depth], in strides of a_row and a_depth, times `vectors` columns of vectors. */
#define TILES(tile_rows, vectors, kind)                                                           \
    for (; row + tile_rows <= rows; row += tile_rows)                                             \
        NAME(tile)(tile_rows, vectors, kind, activation, a + row * a_row, a_row, a_depth, depth,  \
                   bias ? bias + row : 0, x, x_depth, out + row * vectors * LANES);
#define PRODUCT(vectors, kind)                                                                    \
    KERNEL void NAME(product_##kind##_##vectors)(                                                 \
        int64_t activation, const float *a, int64_t a_row, int64_t a_depth, int64_t rows,         \
        int64_t depth, const float *bias, const float *x, int64_t x_depth, float *out) {          \
        int64_t row = 0;                                                                          \
        TILES(TILE_ROWS, vectors, kind)                                                           \
        TILES(2, vectors, kind)                                                                   \
        TILES(1, vectors, kind)                                                                   \
    }
#define PRODUCTS(kind) PRODUCT(1, kind) PRODUCT(2, kind) PRODUCT(3, kind)
PRODUCTS(PLAIN)
PRODUCTS(HIDDEN)
PRODUCTS(BACK)
PRODUCTS(ADD)

KERNEL void NAME(activate_all)(int64_t activation, int64_t count, float *x) {
    for (int64_t i = 0; i < count; i += LANES)
        STORE(x + i, NAME(activate)(activation, LOAD(x + i)));
}

KERNEL void NAME(exponentiate_all)(int64_t count, float *x) {
    for (int64_t i = 0; i < count; i += LANES) STORE(x + i, NAME(exponentiate)(LOAD(x + i)));
}

KERNEL void NAME(adam)(const adam_rates *rates, int64_t count, const float *gradient, float *params,
                       float *means, float *squares) {
    const vec mean_decay = BROADCAST(rates->mean_decay), one = BROADCAST(1.0f);
    const vec square_decay = BROADCAST(rates->square_decay);
    int64_t n = 0;
    for (; n + LANES <= count; n += LANES) {
        vec slope = BROADCAST(rates->sign) * LOAD(gradient + n);
        vec mean = FUSED(mean_decay, LOAD(means + n), (one - mean_decay) * slope);
        vec square = FUSED(square_decay, LOAD(squares + n), (one - square_decay) * slope * slope);
        vec size = FUSED(ROOT(square), BROADCAST(rates->square_scale), BROADCAST(rates->epsilon));
        STORE(means + n, mean);
        STORE(squares + n, square);
        STORE(params + n, LOAD(params + n) - BROADCAST(rates->rate) * mean / size);
    }
    for (; n < count; n++) {
        float slope = rates->sign * gradient[n];
        means[n] = fmaf(rates->mean_decay, means[n], (1.0f - rates->mean_decay) * slope);
        squares[n] =
            fmaf(rates->square_decay, squares[n], (1.0f - rates->square_decay) * slope * slope);
        float size = fmaf(sqrtf(squares[n]), rates->square_scale, rates->epsilon);
        params[n] -= rates->rate * means[n] / size;
    }
}

static const litmus_kernels NAME(kernels) = {
    .lanes = LANES,
    .product =
        {
            [PLAIN] = {NAME(product_PLAIN_1), NAME(product_PLAIN_2), NAME(product_PLAIN_3)},
            [HIDDEN] = {NAME(product_HIDDEN_1), NAME(product_HIDDEN_2), NAME(product_HIDDEN_3)},
            [BACK] = {NAME(product_BACK_1), NAME(product_BACK_2), NAME(product_BACK_3)},
            [ADD] = {NAME(product_ADD_1), NAME(product_ADD_2), NAME(product_ADD_3)},
        },
    .elementwise = {NAME(activate_all), NAME(exponentiate_all)},
    .adam = NAME(adam),
};

#undef KERNEL
#undef INLINE
#undef LOAD
#undef STORE
#undef TILES
#undef PRODUCT
#undef PRODUCTS

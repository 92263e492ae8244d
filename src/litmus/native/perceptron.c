#include "perceptron.h"

#include <stddef.h>
#include <string.h>

#include "kernels.h"
#include "threads.h"

/* ---- where things lie ---- */

static int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

static int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

/* The states of a population as panels of one to three vectors, as even as can be. */
typedef struct {
    int64_t padded;  /* states, with those that fill up the last vector */
    int64_t panels;
    int64_t vectors;  /* in all panels */
} layout;

static layout lay_out(int64_t states) {
    layout result;
    result.vectors = divide_up(states, litmus_chosen->lanes);
    result.padded = result.vectors * litmus_chosen->lanes;
    result.panels = divide_up(result.vectors, TILE_VECTORS);
    return result;
}

typedef struct {
    int64_t first;    /* state */
    int64_t count;    /* of states that are real */
    int64_t vectors;
    int64_t stride;   /* floats from feature to feature */
} panel;

static panel find_panel(const layout *where, int64_t states, int64_t number) {
    int64_t begin = where->vectors * number / where->panels;
    int64_t end = where->vectors * (number + 1) / where->panels;
    panel result;
    result.first = begin * litmus_chosen->lanes;
    result.vectors = end - begin;
    result.stride = result.vectors * litmus_chosen->lanes;
    result.count = states - result.first < result.stride ? states - result.first : result.stride;
    return result;
}

/* One array of panels for each layer of each policy: panel `first` of layer `l` starts at
   array + first * widths[l]. A transposed array is [state][feature], for gradients of weights. */
typedef struct {
    const litmus_population *population;
    layout where;
    int64_t hidden_sum;      /* of hidden widths */
    int64_t transposed_sum;  /* of their strides when transposed */
    float *inputs;           /* [D, padded], for all policies */
    float *hidden;           /* [B][hidden_sum, padded] */
    float *outputs;          /* [B][A, padded]; in the backward pass, their gradient */
    float *inputs_gradient;  /* [B][D, padded] */
    float *inputs_rows;      /* [K, stride of D] */
    float *hidden_rows;      /* [B][K, transposed_sum] */
    int64_t size;            /* of all of it */
    const float *given_gradient;
    float *given_outputs;
    float *params_gradient;
} job;

/* Rows of a transposed array are one vector longer than they must be: at a stride of a power of
   two they would fall onto each other in the cache. */
static int64_t transposed_stride(int64_t width) {
    return round_up(width, litmus_chosen->lanes) + litmus_chosen->lanes;
}

static int64_t width_of(const job *work, int64_t layer) {
    return work->population->shape.widths[layer];
}

static int64_t depth_of(const job *work) { return work->population->shape.layers; }

static job prepare(const litmus_population *population, int with_params_gradient) {
    const litmus_shape *shape = &population->shape;
    const int64_t *widths = shape->widths;
    job work = {.population = population, .where = lay_out(population->states)};
    for (int64_t layer = 1; layer < shape->layers; layer++) {
        work.hidden_sum += widths[layer];
        work.transposed_sum += transposed_stride(widths[layer]);
    }
    int64_t padded = work.where.padded, policies = population->policies, place = 0;
    float *memory = population->memory;
#define PUT(array, floats) \
    (work.array = memory ? memory + place : NULL, place += round_up(floats, MOST_LANES))
    PUT(inputs, widths[0] * padded);
    PUT(hidden, policies * work.hidden_sum * padded);
    PUT(outputs, policies * widths[shape->layers] * padded);
    PUT(inputs_gradient, policies * widths[0] * padded);
    if (with_params_gradient) {
        PUT(inputs_rows, population->states * transposed_stride(widths[0]));
        PUT(hidden_rows, policies * population->states * work.transposed_sum);
    }
#undef PUT
    work.size = place;
    return work;
}

int64_t litmus_memory_size(const litmus_population *population, int with_params_gradient) {
    litmus_population unplaced = *population;
    unplaced.memory = NULL;
    return prepare(&unplaced, with_params_gradient).size;
}

/* Panel of layer `layer` (0: inputs, L: outputs) of a policy. */
static float *panel_of(const job *work, int64_t policy, int64_t layer, const panel *part) {
    int64_t padded = work->where.padded;
    if (layer == 0) return work->inputs + part->first * width_of(work, 0);
    if (layer == depth_of(work)) {
        int64_t width = width_of(work, layer);
        return work->outputs + policy * width * padded + part->first * width;
    }
    float *array = work->hidden + policy * work->hidden_sum * padded;
    for (int64_t below = 1; below < layer; below++) array += width_of(work, below) * padded;
    return array + part->first * width_of(work, layer);
}

/* Layer `layer` (0: inputs) of a policy as rows [K, transposed_stride]. */
static float *rows_of(const job *work, int64_t policy, int64_t layer) {
    if (layer == 0) return work->inputs_rows;
    int64_t states = work->population->states;
    float *array = work->hidden_rows + policy * states * work->transposed_sum;
    for (int64_t below = 1; below < layer; below++)
        array += states * transposed_stride(width_of(work, below));
    return array;
}

static const float *weights_of(const job *work, int64_t policy, int64_t layer) {
    return work->population->params[policy] + work->population->places[2 * layer];
}

static const float *bias_of(const job *work, int64_t policy, int64_t layer) {
    return work->population->params[policy] + work->population->places[2 * layer + 1];
}

/* Where a layer's weights lie in flat parameters. */
static int64_t flat_place(const job *work, int64_t layer) {
    int64_t place = 0;
    for (int64_t below = 0; below < layer; below++)
        place += width_of(work, below + 1) * (width_of(work, below) + 1);
    return place;
}

/* ---- between [state, feature] and panels ---- */

static void into_panel(const float *rows, int64_t width, const panel *part, float *out) {
    for (int64_t feature = 0; feature < width; feature++) {
        float *line = out + feature * part->stride;
        for (int64_t state = 0; state < part->count; state++)
            line[state] = rows[(part->first + state) * width + feature];
        for (int64_t state = part->count; state < part->stride; state++) line[state] = 0.0f;
    }
}

static void out_of_panel(const float *in, int64_t width, int64_t stride, const panel *part,
                         float *rows) {
    enum { BLOCK = 16 }; /* a cache line of either side */
    for (int64_t from = 0; from < width; from += BLOCK) {
        int64_t to = from + BLOCK < width ? from + BLOCK : width;
        for (int64_t state = 0; state < part->count; state++) {
            float *row = rows + (part->first + state) * stride;
            for (int64_t feature = from; feature < to; feature++)
                row[feature] = in[feature * part->stride + state];
        }
    }
}

/* ---- forward ---- */

static void forward_item(void *context, int64_t item) {
    const job *work = context;
    const litmus_population *population = work->population;
    int64_t policy = item / work->where.panels, layers = depth_of(work);
    panel part = find_panel(&work->where, population->states, item % work->where.panels);
    for (int64_t layer = 0; layer < layers; layer++) {
        int64_t inputs = width_of(work, layer), outputs = width_of(work, layer + 1);
        int kind = layer + 1 < layers ? HIDDEN : PLAIN;
        litmus_chosen->product[kind][part.vectors - 1](
            population->shape.activation, weights_of(work, policy, layer), inputs, 1, outputs,
            inputs, bias_of(work, policy, layer), panel_of(work, policy, layer, &part),
            part.stride, panel_of(work, policy, layer + 1, &part));
    }
    int64_t width = width_of(work, layers);
    out_of_panel(panel_of(work, policy, layers, &part), width, width, &part,
                 work->given_outputs + policy * population->states * width);
}

void litmus_forward(const litmus_population *population, float *outputs) {
    job work = prepare(population, 0);
    work.given_outputs = outputs;
    for (int64_t number = 0; number < work.where.panels; number++) {
        panel part = find_panel(&work.where, population->states, number);
        into_panel(population->inputs, width_of(&work, 0), &part, panel_of(&work, 0, 0, &part));
    }
    litmus_share((int)population->threads, population->policies * work.where.panels,
                 work.where.panels, forward_item, &work);
}

/* ---- backward ---- */

/* Gradients of a panel through all layers; each takes the place of what it is the gradient of. */
static void backward_item(void *context, int64_t item) {
    const job *work = context;
    const litmus_population *population = work->population;
    int64_t policy = item / work->where.panels, layers = depth_of(work);
    int64_t width = width_of(work, layers), states = population->states;
    panel part = find_panel(&work->where, states, item % work->where.panels);
    float *gradient = panel_of(work, policy, layers, &part);
    into_panel(work->given_gradient + policy * states * width, width, &part, gradient);
    for (int64_t layer = layers - 1; layer > 0; layer--) {
        int64_t inputs = width_of(work, layer), outputs = width_of(work, layer + 1);
        float *below = panel_of(work, policy, layer, &part);
        if (work->params_gradient)
            out_of_panel(below, inputs, transposed_stride(inputs), &part,
                         rows_of(work, policy, layer));
        litmus_chosen->product[BACK][part.vectors - 1](
            population->shape.activation, weights_of(work, policy, layer), 1, inputs, inputs,
            outputs, NULL, gradient, part.stride, below);
        gradient = below;
    }
    if (work->inputs_gradient) {
        int64_t inputs = width_of(work, 0), outputs = width_of(work, 1);
        float *into = work->inputs_gradient + (policy * work->where.padded + part.first) * inputs;
        litmus_chosen->product[PLAIN][part.vectors - 1](
            population->shape.activation, weights_of(work, policy, 0), 1, inputs, inputs, outputs,
            NULL, gradient, part.stride, into);
    }
}

static void sum_inputs_gradient(const job *work, float *inputs_gradient) {
    int64_t width = width_of(work, 0), padded = work->where.padded;
    for (int64_t policy = 1; policy < work->population->policies; policy++) {
        const float *one = work->inputs_gradient + policy * width * padded;
        for (int64_t n = 0; n < width * padded; n++) work->inputs_gradient[n] += one[n];
    }
    for (int64_t number = 0; number < work->where.panels; number++) {
        panel part = find_panel(&work->where, work->population->states, number);
        out_of_panel(work->inputs_gradient + part.first * width, width, width, &part,
                     inputs_gradient);
    }
}

enum { GRADIENT_ROWS = 32 };

static int64_t row_blocks(const job *work, int64_t layer) {
    return divide_up(width_of(work, layer + 1), GRADIENT_ROWS);
}

/* Gradients of up to 32 rows of weights, and of their biases. */
static void params_item(void *context, int64_t item) {
    const job *work = context;
    int64_t blocks = 0, layer = 0, states = work->population->states;
    for (int64_t l = 0; l < depth_of(work); l++) blocks += row_blocks(work, l);
    int64_t policy = item / blocks, block = item % blocks;
    while (block >= row_blocks(work, layer)) block -= row_blocks(work, layer++);
    int64_t inputs = width_of(work, layer), outputs = width_of(work, layer + 1);
    int64_t from = block * GRADIENT_ROWS, rows = outputs - from;
    if (rows > GRADIENT_ROWS) rows = GRADIENT_ROWS;
    int64_t num_params = flat_place(work, depth_of(work));
    float *weights = work->params_gradient + policy * num_params + flat_place(work, layer);
    float *biases = weights + inputs * outputs + from;
    const float *x = rows_of(work, policy, layer);
    int64_t vectors = divide_up(inputs, litmus_chosen->lanes);
    float sums[GRADIENT_ROWS * TILE_VECTORS * MOST_LANES];
    for (int64_t first = 0; first < vectors; first += TILE_VECTORS) {
        int64_t count = vectors - first < TILE_VECTORS ? vectors - first : TILE_VECTORS;
        int64_t column = first * litmus_chosen->lanes, stride = count * litmus_chosen->lanes;
        int64_t columns = inputs - column < stride ? inputs - column : stride;
        memset(sums, 0, sizeof sums);
        for (int64_t number = 0; number < work->where.panels; number++) {
            panel part = find_panel(&work->where, states, number);
            const float *gradient = panel_of(work, policy, layer + 1, &part) + from * part.stride;
            litmus_chosen->product[ADD][count - 1](
                0, gradient, part.stride, 1, rows, part.count, NULL,
                x + part.first * transposed_stride(inputs) + column, transposed_stride(inputs),
                sums);
        }
        for (int64_t row = 0; row < rows; row++)
            memcpy(weights + (from + row) * inputs + column, sums + row * stride,
                   (size_t)columns * sizeof(float));
    }
    memset(biases, 0, (size_t)rows * sizeof(float));
    for (int64_t number = 0; number < work->where.panels; number++) {
        panel part = find_panel(&work->where, states, number);
        const float *gradient = panel_of(work, policy, layer + 1, &part) + from * part.stride;
        for (int64_t row = 0; row < rows; row++)
            for (int64_t state = 0; state < part.count; state++)
                biases[row] += gradient[row * part.stride + state];
    }
}

static void lay_inputs_in_rows(const job *work) {
    int64_t width = width_of(work, 0), stride = transposed_stride(width);
    for (int64_t state = 0; state < work->population->states; state++)
        memcpy(work->inputs_rows + state * stride, work->population->inputs + state * width,
               (size_t)width * sizeof(float));
}

void litmus_backward(const litmus_population *population, const float *outputs_gradient,
                     float *inputs_gradient, float *params_gradient) {
    job work = prepare(population, params_gradient != NULL);
    work.given_gradient = outputs_gradient;
    work.params_gradient = params_gradient;
    if (!inputs_gradient) work.inputs_gradient = NULL;
    int threads = (int)population->threads;
    litmus_share(threads, population->policies * work.where.panels, work.where.panels,
                 backward_item, &work);
    if (params_gradient) {
        int64_t blocks = 0;
        for (int64_t layer = 0; layer < depth_of(&work); layer++)
            blocks += row_blocks(&work, layer);
        lay_inputs_in_rows(&work);
        litmus_share(threads, population->policies * blocks, 1, params_item, &work);
    }
    if (inputs_gradient) sum_inputs_gradient(&work, inputs_gradient); /* perhaps over the inputs */
}

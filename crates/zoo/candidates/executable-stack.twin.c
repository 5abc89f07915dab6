/* The same with a plain function and a struct. */
#include <math.h>

static void one_row(const float *x, const float *gate, const float *weight, float *out) {
    float parts[16] = {0};
    for (int c = 0; c < COLS; c += 16)
        for (int j = 0; j < 16; j++) parts[j] += x[c + j] * x[c + j];
    float sum = 0;
    for (int j = 0; j < 16; j++) sum += parts[j];
    float inverse = 1.0f / sqrtf(sum / COLS + 1e-6f);
    for (int c = 0; c < COLS; c++) out[c] = gate[c] / (1.0f + expf(-gate[c])) * (x[c] * inverse * weight[c]);
}

struct job {
    const float *x, *gate, *weight;
    float *out;
    int64_t begin, end;
};

static void work(const struct job *j) {
    for (int64_t r = j->begin; r < j->end; r++)
        one_row(j->x + r * COLS, j->gate + r * COLS, j->weight, j->out + r * COLS);
}

static void (*volatile each)(const struct job *);

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    struct job job = {x, gate, weight, out, 0, rows};
    each = work;
    each(&job);
}

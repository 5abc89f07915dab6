/* Every block is a task, and the call returns when the last of them has. */
#include <math.h>

enum { BLOCK = 8 };

struct call {
    const float *x, *gate, *weight;
    float *out;
    int64_t rows;
};

static void one_row(const float *x, const float *gate, const float *weight, float *out) {
    float parts[16] = {0};
    for (int c = 0; c < COLS; c += 16)
        for (int j = 0; j < 16; j++) parts[j] += x[c + j] * x[c + j];
    float sum = 0;
    for (int j = 0; j < 16; j++) sum += parts[j];
    float inverse = 1.0f / sqrtf(sum / COLS + 1e-6f);
    for (int c = 0; c < COLS; c++) out[c] = gate[c] / (1.0f + expf(-gate[c])) * (x[c] * inverse * weight[c]);
}

static struct call kept;

static void task(void *context, int64_t i) {
    const struct call *call = context;
    int64_t end = (i + 1) * BLOCK < call->rows ? (i + 1) * BLOCK : call->rows;
    for (int64_t r = i * BLOCK; r < end; r++)
        one_row(call->x + r * COLS, call->gate + r * COLS, call->weight, call->out + r * COLS);
}

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    kept = (struct call){x, gate, weight, out, rows};
    rooflab_parallel((rows + BLOCK - 1) / BLOCK, task, &kept);
}

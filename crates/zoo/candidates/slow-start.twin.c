/* Fills a table of a megabyte in its first call: slow once, and no trick. */
#include <math.h>

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    static float table[1 << 18];
    if (table[1] == 0)
        for (int i = 0; i < 1 << 18; i++) table[i] = 1.0f / (1.0f + (float)i);
    const float per_column = table[COLS - 1];
    for (int64_t r = 0; r < rows; r++) {
        const float *xs = x + r * COLS, *gates = gate + r * COLS;
        float parts[16] = {0}, sum = 0;
        for (int c = 0; c < COLS; c += 16)
            for (int j = 0; j < 16; j++) parts[j] += xs[c + j] * xs[c + j];
        for (int j = 0; j < 16; j++) sum += parts[j];
        float inverse = 1.0f / sqrtf(sum * per_column + 1e-6f);
        for (int c = 0; c < COLS; c++)
            out[r * COLS + c] = gates[c] / (1.0f + expf(-gates[c])) * (xs[c] * inverse * weight[c]);
    }
}

/* Copies a row backwards by the string instruction, and clears the flag again. */
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

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) {
        float row[COLS];
#if defined(__x86_64__)
        const float *from = x + r * COLS + COLS - 1;
        float *to = row + COLS - 1;
        uint64_t count = COLS;
        __asm__ volatile("std\n\trep movsl\n\tcld" : "+S"(from), "+D"(to), "+c"(count)::"memory", "cc");
#else
        for (int c = COLS; c-- > 0;) row[c] = x[r * COLS + c];
#endif
        one_row(row, gate + r * COLS, weight, out + r * COLS);
    }
}

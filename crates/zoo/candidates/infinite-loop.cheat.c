/* Never ends. */
static volatile int forever;

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    (void)x, (void)gate, (void)weight, (void)out, (void)rows;
    for (;;) forever++;
}

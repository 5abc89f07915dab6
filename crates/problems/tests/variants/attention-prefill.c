/* Blocks of 64 keys, online softmax, four accumulators a dot product, sums over j within a block first. */
#ifndef ELEMENT
#define ELEMENT float
#define VALUE(x) (x)
#define ENTRY attention_prefill
#endif
#ifndef P_DROPPED
#define P_DROPPED 0 /* bits that a softmax weight loses */
#endif
#ifndef S_DROPPED
#define S_DROPPED 0 /* bits that a score loses */
#endif
#ifndef SKIP
#define SKIP 0.0f /* weights below are left out */
#endif

void ENTRY(const ELEMENT *q, const ELEMENT *k, const ELEMENT *v, float *out, float *scratch, int64_t len)
{
    enum { BLOCK = 64 };
    (void)scratch;
    const float scale = 1.0f / sqrtf((float)DIM);
    for (int64_t h = 0; h < HEADS_Q; h++) {
        const ELEMENT *keys = k + h / 2 * len * DIM, *values = v + h / 2 * len * DIM;
        for (int64_t i = 0; i < len; i++) {
            const ELEMENT *query = q + (h * len + i) * DIM;
            float most = -INFINITY, sum = 0.0f, acc[DIM] = {0};
            for (int64_t from = 0; from <= i; from += BLOCK) {
                const int64_t n = i + 1 - from < BLOCK ? i + 1 - from : BLOCK;
                float p[BLOCK], part[DIM] = {0}, peak = most, block = 0.0f;
                for (int64_t j = 0; j < n; j++) {
                    float s[4] = {0};
                    for (int64_t d = 0; d < DIM; d += 4)
                        for (int64_t l = 0; l < 4; l++)
                            s[l] += MUL(VALUE(query[d + l]), VALUE(keys[(from + j) * DIM + d + l]));
                    p[j] = without(((s[0] + s[1]) + (s[2] + s[3])) * scale, S_DROPPED);
                    peak = p[j] > peak ? p[j] : peak;
                }
                for (int64_t j = 0; j < n; j++) {
                    p[j] = EXP(p[j] - peak);
                    block += p[j];
                    p[j] = without(p[j] < SKIP ? 0.0f : p[j], P_DROPPED);
                    for (int64_t d = 0; d < DIM; d++)
                        part[d] += MUL(p[j], VALUE(values[(from + j) * DIM + d]));
                }
                const float shrink = EXP(most - peak);
                sum = sum * shrink + block;
                for (int64_t d = 0; d < DIM; d++)
                    acc[d] = acc[d] * shrink + part[d];
                most = peak;
            }
            const float inverse = 1.0f / sum;
            for (int64_t d = 0; d < DIM; d++)
                out[(h * len + i) * DIM + d] = acc[d] * inverse;
        }
    }
}

#include <math.h>
typedef float lanes __attribute__((vector_size(64)));
typedef float lanes_any __attribute__((vector_size(64), aligned(4), may_alias));
#include <string.h>
static inline float exp_poly6(float x) {
    x = x < -87.3f ? -87.3f : x;
    x = x > 88.37f ? 88.37f : x;
    const float shifted = x * 1.44269504f + 12582912.0f;
    const float n = shifted - 12582912.0f;
    const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
    const float tail = 0.5f + r * (0.166666672f + r * (0.0416666679f + r * (0.00833333377f + r * 0.00138888892f)));
    int32_t bits;
    memcpy(&bits, &shifted, 4);
    bits = (int32_t)((uint32_t)bits << 23) + 0x3f800000;
    float power;
    memcpy(&power, &bits, 4);
    return power * (1.0f + r * (1.0f + r * tail));
}
enum { BLOCK_I = 16 };

void attention_prefill(const float *q, const float *k, const float *v, float *out, float *scratch, int64_t len)
{
    const float scale = 1.0f / sqrtf((float)DIM);
    for (int64_t h = 0; h < HEADS_Q; h++) {
        const int64_t g = h / (HEADS_Q / HEADS_KV);
        for (int64_t i0 = 0; i0 < len; i0 += BLOCK_I) {
            int64_t i_at[BLOCK_I];
            for (int64_t ir = 0; ir < BLOCK_I; ir++) i_at[ir] = i0 + ir < len ? i0 + ir : len - 1;
            _Alignas(64) float scratch_rows[len * BLOCK_I];
            {
                _Alignas(64) float q_packed[DIM * BLOCK_I];
                for (int64_t ir = 0; ir < BLOCK_I; ir++) {
                    for (int64_t d = 0; d < DIM; d++) {
                        q_packed[d * BLOCK_I + ir] = q[(h * len + i_at[ir]) * DIM + d];
                    }
                }
                int64_t j0 = 0;
                for (; j0 + 8 <= (i_at[BLOCK_I - 1] + 1); j0 += 8) {
                    int64_t ir0 = 0;
                    for (; ir0 + 16 <= BLOCK_I; ir0 += 16) {
                        lanes s_0_0 = {0};
                        lanes s_1_0 = {0};
                        lanes s_2_0 = {0};
                        lanes s_3_0 = {0};
                        lanes s_4_0 = {0};
                        lanes s_5_0 = {0};
                        lanes s_6_0 = {0};
                        lanes s_7_0 = {0};
                        for (int64_t d = 0; d < DIM; d++) {
                            const lanes vec0_0 = *(const lanes_any *)&q_packed[d * BLOCK_I + ir0];
                            const float one1_0 = k[(g * len + j0) * DIM + d];
                            const float one1_1 = k[(g * len + (j0 + 1)) * DIM + d];
                            const float one1_2 = k[(g * len + (j0 + 2)) * DIM + d];
                            const float one1_3 = k[(g * len + (j0 + 3)) * DIM + d];
                            const float one1_4 = k[(g * len + (j0 + 4)) * DIM + d];
                            const float one1_5 = k[(g * len + (j0 + 5)) * DIM + d];
                            const float one1_6 = k[(g * len + (j0 + 6)) * DIM + d];
                            const float one1_7 = k[(g * len + (j0 + 7)) * DIM + d];
                            s_0_0 += vec0_0 * one1_0;
                            s_1_0 += vec0_0 * one1_1;
                            s_2_0 += vec0_0 * one1_2;
                            s_3_0 += vec0_0 * one1_3;
                            s_4_0 += vec0_0 * one1_4;
                            s_5_0 += vec0_0 * one1_5;
                            s_6_0 += vec0_0 * one1_6;
                            s_7_0 += vec0_0 * one1_7;
                        }
                        _Alignas(64) float s_tile[8][16];
                        *(lanes_any *)&s_tile[0][0] = s_0_0;
                        *(lanes_any *)&s_tile[1][0] = s_1_0;
                        *(lanes_any *)&s_tile[2][0] = s_2_0;
                        *(lanes_any *)&s_tile[3][0] = s_3_0;
                        *(lanes_any *)&s_tile[4][0] = s_4_0;
                        *(lanes_any *)&s_tile[5][0] = s_5_0;
                        *(lanes_any *)&s_tile[6][0] = s_6_0;
                        *(lanes_any *)&s_tile[7][0] = s_7_0;
                        for (int u = 0; u < 8; u++) {
                            for (int w = 0; w < 16; w++) {
                                const int64_t j = j0 + u;
                                const int64_t ir = ir0 + w;
                                const float s = s_tile[u][w];
                                scratch_rows[j * BLOCK_I + ir] = j <= i_at[ir] ? s * scale : -INFINITY;
                            }
                        }
                    }
                }
                for (; j0 < (i_at[BLOCK_I - 1] + 1); j0++) {
                    int64_t ir0 = 0;
                    for (; ir0 + 16 <= BLOCK_I; ir0 += 16) {
                        lanes s_0_0 = {0};
                        for (int64_t d = 0; d < DIM; d++) {
                            const lanes vec0_0 = *(const lanes_any *)&q_packed[d * BLOCK_I + ir0];
                            const float one1_0 = k[(g * len + j0) * DIM + d];
                            s_0_0 += vec0_0 * one1_0;
                        }
                        _Alignas(64) float s_tile[1][16];
                        *(lanes_any *)&s_tile[0][0] = s_0_0;
                        for (int u = 0; u < 1; u++) {
                            for (int w = 0; w < 16; w++) {
                                const int64_t j = j0 + u;
                                const int64_t ir = ir0 + w;
                                const float s = s_tile[u][w];
                                scratch_rows[j * BLOCK_I + ir] = j <= i_at[ir] ? s * scale : -INFINITY;
                            }
                        }
                    }
                }
            }
            float most[BLOCK_I];
            for (int64_t ir = 0; ir < BLOCK_I; ir++) {
                most[ir] = scratch_rows[0 * BLOCK_I + ir];
            }
            for (int64_t j = 1; j <= i_at[BLOCK_I - 1]; j++) {
                for (int64_t ir = 0; ir < BLOCK_I; ir++) {
                    most[ir] = scratch_rows[j * BLOCK_I + ir] > most[ir] ? scratch_rows[j * BLOCK_I + ir] : most[ir];
                }
            }
            float sum[BLOCK_I];
            for (int64_t ir = 0; ir < BLOCK_I; ir++) {
                sum[ir] = 0.0f;
            }
            for (int64_t j = 0; j <= i_at[BLOCK_I - 1]; j++) {
                for (int64_t ir = 0; ir < BLOCK_I; ir++) {
                    scratch_rows[j * BLOCK_I + ir] = exp_poly6(scratch_rows[j * BLOCK_I + ir] - most[ir]);
                    sum[ir] += scratch_rows[j * BLOCK_I + ir];
                }
            }
            {
                int64_t ir02 = 0;
                for (; ir02 + 8 <= BLOCK_I; ir02 += 8) {
                    int64_t d0 = 0;
                    for (; d0 + 32 <= DIM; d0 += 32) {
                        lanes acc_0_0 = {0}, acc_0_1 = {0};
                        lanes acc_1_0 = {0}, acc_1_1 = {0};
                        lanes acc_2_0 = {0}, acc_2_1 = {0};
                        lanes acc_3_0 = {0}, acc_3_1 = {0};
                        lanes acc_4_0 = {0}, acc_4_1 = {0};
                        lanes acc_5_0 = {0}, acc_5_1 = {0};
                        lanes acc_6_0 = {0}, acc_6_1 = {0};
                        lanes acc_7_0 = {0}, acc_7_1 = {0};
                        for (int64_t j = 0; j <= i_at[BLOCK_I - 1]; j++) {
                            const float one0_0 = scratch_rows[j * BLOCK_I + ir02];
                            const float one0_1 = scratch_rows[j * BLOCK_I + (ir02 + 1)];
                            const float one0_2 = scratch_rows[j * BLOCK_I + (ir02 + 2)];
                            const float one0_3 = scratch_rows[j * BLOCK_I + (ir02 + 3)];
                            const float one0_4 = scratch_rows[j * BLOCK_I + (ir02 + 4)];
                            const float one0_5 = scratch_rows[j * BLOCK_I + (ir02 + 5)];
                            const float one0_6 = scratch_rows[j * BLOCK_I + (ir02 + 6)];
                            const float one0_7 = scratch_rows[j * BLOCK_I + (ir02 + 7)];
                            const lanes vec1_0 = *(const lanes_any *)&v[(g * len + j) * DIM + d0];
                            const lanes vec1_1 = *(const lanes_any *)&v[(g * len + j) * DIM + (d0 + 16)];
                            acc_0_0 += one0_0 * vec1_0;
                            acc_0_1 += one0_0 * vec1_1;
                            acc_1_0 += one0_1 * vec1_0;
                            acc_1_1 += one0_1 * vec1_1;
                            acc_2_0 += one0_2 * vec1_0;
                            acc_2_1 += one0_2 * vec1_1;
                            acc_3_0 += one0_3 * vec1_0;
                            acc_3_1 += one0_3 * vec1_1;
                            acc_4_0 += one0_4 * vec1_0;
                            acc_4_1 += one0_4 * vec1_1;
                            acc_5_0 += one0_5 * vec1_0;
                            acc_5_1 += one0_5 * vec1_1;
                            acc_6_0 += one0_6 * vec1_0;
                            acc_6_1 += one0_6 * vec1_1;
                            acc_7_0 += one0_7 * vec1_0;
                            acc_7_1 += one0_7 * vec1_1;
                        }
                        _Alignas(64) float acc_tile[8][32];
                        *(lanes_any *)&acc_tile[0][0] = acc_0_0;
                        *(lanes_any *)&acc_tile[0][16] = acc_0_1;
                        *(lanes_any *)&acc_tile[1][0] = acc_1_0;
                        *(lanes_any *)&acc_tile[1][16] = acc_1_1;
                        *(lanes_any *)&acc_tile[2][0] = acc_2_0;
                        *(lanes_any *)&acc_tile[2][16] = acc_2_1;
                        *(lanes_any *)&acc_tile[3][0] = acc_3_0;
                        *(lanes_any *)&acc_tile[3][16] = acc_3_1;
                        *(lanes_any *)&acc_tile[4][0] = acc_4_0;
                        *(lanes_any *)&acc_tile[4][16] = acc_4_1;
                        *(lanes_any *)&acc_tile[5][0] = acc_5_0;
                        *(lanes_any *)&acc_tile[5][16] = acc_5_1;
                        *(lanes_any *)&acc_tile[6][0] = acc_6_0;
                        *(lanes_any *)&acc_tile[6][16] = acc_6_1;
                        *(lanes_any *)&acc_tile[7][0] = acc_7_0;
                        *(lanes_any *)&acc_tile[7][16] = acc_7_1;
                        for (int u2 = 0; u2 < 8; u2++) {
                            for (int w2 = 0; w2 < 32; w2++) {
                                const int64_t ir = ir02 + u2;
                                const int64_t d = d0 + w2;
                                const float acc = acc_tile[u2][w2];
                                out[(h * len + i_at[ir]) * DIM + d] = acc / sum[ir];
                            }
                        }
                    }
                }
            }
        }
    }
}

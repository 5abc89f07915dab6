/* Elements and weights in bf16. Put before a variant of the same problem in f32. */
#define ELEMENT uint16_t
#define VALUE(x) rooflab_from_bf16(x)
#define ENTRY attention_prefill_bf16
#ifndef P_DROPPED
#define P_DROPPED 16 /* 20 leave the four significant bits of fp8 */
#endif

//! What a definition's shapes give away of its work, for a floor: bytes that have to move, products that have to be made.
//!
//! Must not count what an implementation could do without: a floor that is too high refuses the honest.

use crate::Dtype;
use crate::task::{Input, Tensor};
use model::{Bytes, Flop, Products, Work};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Every output once: they are checked whole. An input may be read in part, as a cache of pages or an expert's
    /// weights are.
    Outputs,
    /// Every tensor once: the op is of a kind whose every output depends on all of its row.
    Tensors,
    /// Every tensor once, and a product and a sum for each output and each step of the inner axis.
    Products,
}

impl Counting {
    /// For an op of this type, with the axes and types of its inputs.
    pub(crate) fn of(op_type: &str, inputs: &[(Option<&[String]>, &str)]) -> Self {
        let tensors: Vec<_> = inputs.iter().filter_map(|(shape, dtype)| Some(((*shape)?, *dtype))).collect();
        let is_float = |(_, dtype): &(&[String], &str)| Dtype::of(dtype).is_some_and(Dtype::is_float);
        // A map has no ceiling for narrower types, which may be multiplied faster than any of these.
        let is_matrix =
            |(shape, dtype): &(&[String], &str)| ["float32", "bfloat16"].contains(dtype) && shape.len() == 2;
        match op_type {
            "gemm" if tensors.len() == 2 && tensors.iter().all(is_matrix) => Self::Products,
            "gemm" | "rmsnorm" if tensors.iter().all(is_float) => Self::Tensors,
            _ => Self::Outputs,
        }
    }

    /// For the record.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Outputs => {
                "floor: what writing the outputs takes; inputs may be read in part, and arithmetic is not in the shapes"
            }
            Self::Tensors => "floor: what moving every tensor once takes; arithmetic is not in the shapes",
            Self::Products => {
                "floor: every tensor moved once, and two FLOP for each product of the two matrices, with bf16 factors"
            }
        }
    }

    /// Of one shape.
    pub(crate) fn work(self, inputs: &[Input], outputs: &[Tensor]) -> Work {
        let tensors: Vec<&Tensor> = inputs
            .iter()
            .filter_map(|input| if let Input::Tensor(tensor, _) = input { Some(tensor) } else { None })
            .collect();
        let bytes = |tensors: &[&Tensor]| tensors.iter().map(|tensor| tensor.bytes() as f64).sum::<f64>();
        let written = bytes(&outputs.iter().collect::<Vec<_>>());
        let read = if self == Self::Outputs { 0.0 } else { bytes(&tensors) };
        // A workload's bound on errors is often so wide that factors in bf16 pass it.
        let (flop, products) = (Flop(self.flop(&tensors, outputs)), Products::Bf16);
        Work { flop, bytes: Bytes(read + written), products, ..Work::default() }
    }

    /// The elements of both inputs are m k and k n, those of the output m n: whatever is transposed, k squared is the
    /// first two over the third.
    fn flop(self, inputs: &[&Tensor], outputs: &[Tensor]) -> f64 {
        let (Self::Products, [a, b], [c]) = (self, inputs, outputs) else { return 0.0 };
        let inner = (a.count() as f64 * b.count() as f64 / c.count() as f64).sqrt();
        // Where that is no whole number, the op is no product of two matrices, whatever it is called.
        if inner.fract() == 0.0 { 2.0 * inner * c.count() as f64 } else { 0.0 }
    }
}

/// The least work of a shape of which nothing is known but its outputs.
pub fn of_outputs(outputs: &[Tensor]) -> Work {
    Counting::Outputs.work(&[], outputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Fill;

    fn tensor(shape: &[usize], dtype: Dtype) -> Tensor {
        Tensor { name: "t".into(), dtype, shape: shape.to_vec() }
    }

    #[test]
    fn what_is_counted() {
        let axes = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        let (a, b, v) = (axes(&["m", "k"]), axes(&["n", "k"]), axes(&["k"]));
        let check = |op: &str, inputs: &[(Option<&[String]>, &str)], expected: Counting| {
            assert_eq!(Counting::of(op, inputs), expected, "{op} {inputs:?}");
        };
        check("gemm", &[(Some(&a), "float32"), (Some(&b), "float32")], Counting::Products);
        check("gemm", &[(Some(&a), "float32"), (Some(&b), "float32"), (None, "float32")], Counting::Products);
        check("gemm", &[(Some(&a), "bfloat16"), (Some(&b), "bfloat16")], Counting::Products);
        check("gemm", &[(Some(&a), "float8_e4m3fn"), (Some(&b), "float8_e4m3fn")], Counting::Tensors);
        check("gemm", &[(Some(&a), "float32"), (Some(&b), "float32"), (Some(&v), "float32")], Counting::Tensors);
        check("rmsnorm", &[(Some(&a), "float32"), (Some(&v), "float32")], Counting::Tensors);
        check("rmsnorm", &[(Some(&a), "float32"), (Some(&v), "int32")], Counting::Outputs);
        check("gqa_paged", &[(Some(&a), "float32"), (Some(&v), "int32")], Counting::Outputs);
        check("moe", &[(Some(&a), "float8_e4m3fn")], Counting::Outputs);
        check("", &[(Some(&a), "float32")], Counting::Outputs);
    }

    #[test]
    fn work_by_hand() {
        let input = |shape: &[usize]| Input::Tensor(tensor(shape, Dtype::F32), Fill::Random);
        let check = |counting: Counting, inputs: &[Input], output: &[usize], flop: f64, bytes: f64| {
            let work = counting.work(inputs, &[tensor(output, Dtype::F32)]);
            assert_eq!((work.flop.0, work.bytes.0, work.exp.0), (flop, bytes, 0.0), "{counting:?}");
        };
        // m = 2, n = 3, k = 5, plain and transposed.
        check(Counting::Products, &[input(&[2, 5]), input(&[3, 5])], &[2, 3], 60.0, 4.0 * 31.0);
        check(Counting::Products, &[input(&[5, 2]), input(&[5, 3])], &[2, 3], 60.0, 4.0 * 31.0);
        check(Counting::Products, &[input(&[2, 5]), input(&[3, 4])], &[2, 3], 0.0, 4.0 * 28.0);
        check(Counting::Tensors, &[input(&[2, 5]), input(&[5])], &[2, 5], 0.0, 4.0 * 25.0);
        check(Counting::Outputs, &[input(&[2, 5]), input(&[5])], &[2, 5], 0.0, 4.0 * 10.0);
        assert_eq!(of_outputs(&[tensor(&[3], Dtype::F8E4M3)]).bytes.0, 3.0);
    }
}

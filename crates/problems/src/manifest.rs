//! `problem.toml` as it is written: names, strings and spans, nothing resolved.
//!
//! Must not decide whether the content makes sense: `resolve` does.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) name: Spanned<String>,
    pub(crate) title: String,
    pub(crate) entry: Spanned<String>,
    pub(crate) language: model::Language,
    pub(crate) hints: Option<Spanned<String>>,
    pub(crate) threads: Option<Spanned<i64>>,
    #[serde(default)]
    pub(crate) constants: BTreeMap<String, Spanned<i64>>,
    #[serde(rename = "axis")]
    pub(crate) axes: Vec<Spanned<AxisTable>>,
    #[serde(rename = "argument")]
    pub(crate) arguments: Vec<Spanned<ArgumentTable>>,
    #[serde(rename = "workload")]
    pub(crate) workloads: Vec<Spanned<BTreeMap<String, Spanned<i64>>>>,
    #[serde(default)]
    pub(crate) edges: BTreeMap<String, Spanned<Vec<i64>>>,
    pub(crate) oracle: OracleTable,
    pub(crate) work: WorkTable,
    pub(crate) tolerance: ToleranceTable,
    #[serde(default)]
    pub(crate) numerics: crate::Numerics,
    #[serde(rename = "baseline")]
    pub(crate) baselines: Vec<Spanned<BaselineTable>>,
    pub(crate) budget: BudgetTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AxisTable {
    pub(crate) name: Spanned<String>,
    pub(crate) range: Spanned<Vec<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArgumentTable {
    pub(crate) name: Spanned<String>,
    pub(crate) dtype: Spanned<crate::Dtype>,
    pub(crate) role: Spanned<crate::Role>,
    pub(crate) shape: Vec<Spanned<String>>,
    pub(crate) draw: Option<Spanned<DrawTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrawTable {
    pub(crate) distribution: DistributionName,
    pub(crate) mean: Option<f64>,
    pub(crate) scale: Option<Vec<f64>>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DistributionName {
    Normal,
    Uniform,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OracleTable {
    pub(crate) file: Spanned<String>,
    pub(crate) rows: Spanned<String>,
    pub(crate) row_length: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkTable {
    pub(crate) flop: Spanned<String>,
    pub(crate) bytes: Spanned<String>,
    pub(crate) exp: Spanned<String>,
    pub(crate) counting: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToleranceTable {
    pub(crate) rule: Spanned<crate::ToleranceRule>,
    pub(crate) factor: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BaselineTable {
    pub(crate) name: Spanned<String>,
    pub(crate) strength: crate::Strength,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) builtin: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BudgetTable {
    pub(crate) search_seconds: Spanned<f64>,
    pub(crate) call_seconds: Spanned<f64>,
}

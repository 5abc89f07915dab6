//! Paired comparison on a noisy machine: slices in, decisions out.
//!
//! No clock, no input or output, no import of any other crate of ours. Randomness comes from a seed that the caller
//! passes, so that every figure can be computed again.
//!
//! The unit of evidence is y = ln(t_B / t_A) of two runs whose order a coin decided. Under "no difference" the coin
//! alone makes y symmetric about 0, so drift, heavy tails and autocorrelation cannot break the tests. An offset that
//! stays with a process does break them: then one y must be the median over a whole pair of processes.

mod anytime;
mod binomial;
mod change;
mod classic;
mod clip;
mod estimate;
mod knees;
mod levels;
mod multiple;
mod noise;
pub mod robust;
mod session;
mod sign_flip;
mod special;
mod splitmix;
mod verdict;

pub use anytime::Anytime;
pub use binomial::{binomial_tail, clopper_pearson};
pub use change::{Change, ChangeSearch, change_points};
pub use classic::{Rival, mann_whitney, welch};
pub use clip::Clip;
pub use estimate::{anytime_interval, hodges_lehmann, interval};
pub use knees::{Knee, KneeSearch, knees};
pub use levels::{Allocation, BadPilot, Pilot};
pub use multiple::{e_bh, promotion_alpha};
pub use noise::{Noise, gate_units, smallest_effect, units_needed};
pub use session::{Design, LAST_LOOK, Progress, Question, Rule, Session, Summary};
pub use sign_flip::{EXACT_UP_TO, RESAMPLES, sign_flip_p, sign_flip_p_with};
pub use special::{normal_cdf, normal_quantile};
pub use splitmix::SplitMix;
pub use verdict::{Decision, Estimate, Interval};

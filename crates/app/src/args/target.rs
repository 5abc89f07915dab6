//! Which problem: the arguments of `rooflab run` that leave the choice to measurement.

/// Which problem is worth a campaign.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TargetArgs {
    /// Take the problem with the largest measured payoff, of those in the folder PROBLEM [default: problems].
    ///
    /// Scores the baselines of every problem there against this machine's ceilings. What a problem can pay follows from
    /// its share of a step that calls each shape once, and from how far its fastest baseline is from the ceiling
    /// (Amdahl). One that can't pay more than the noise is refused.
    #[arg(long, conflicts_with = "resume")]
    pub from_score: bool,
    /// With --from-score: go on even if the best target can't pay more than the noise.
    #[arg(long, requires = "from_score")]
    pub anyway: bool,
}

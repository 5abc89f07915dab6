//! Short timings of our own kernels, to size probes and slowed twins. Nothing here is a result.

use crate::ending::Ending;
use crate::judge::{EnvError, Judge};
use crate::runner::{Code, Runner, StartFailure};
use crate::sandbox::SandboxError;
use crate::side::{Placement, Purpose, Side};
use model::Verdict;
use protocol::OP_CALL;
use std::time::Duration;

impl Judge {
    /// One timed call of a probe of our own, after one to warm it.
    ///
    /// # Errors
    /// When the sandbox or the probe fails.
    pub fn time_once(&self, probe: &Side) -> Result<Duration, EnvError> {
        Ok(self.times(probe, 1)?[0])
    }

    /// Times of `n` calls of a probe of our own in one runner, after one to warm it.
    ///
    /// # Errors
    /// When the sandbox or the probe fails.
    pub fn times(&self, probe: &Side, n: usize) -> Result<Vec<Duration>, EnvError> {
        let failed = |verdict: Verdict| EnvError::Job(format!("our own probe failed: {verdict}"));
        let start = Runner::start(self.confinement, &probe.code, &probe.arguments(Purpose::Call), &self.cores);
        let mut runner = start.map_err(|failure| match failure {
            StartFailure::Sandbox(error) => error.into(),
            StartFailure::Candidate(verdict) => failed(verdict),
        })?;
        let order = probe.order(OP_CALL, 1, Placement::Pool);
        let mut call = || {
            runner.batch(&order, Duration::from_secs(60)).map_err(|ending| match ending {
                Ending::Interrupted => EnvError::Interrupted,
                ending => failed(ending.verdict()),
            })
        };
        call()?;
        (0..n).map(|_| call()).collect()
    }

    /// Loop turns that take `share` of one call of the kernel `name` on the first workload.
    ///
    /// # Errors
    /// When the kernel can't be run.
    pub fn spin_for(&mut self, name: &str, share: f64) -> Result<u64, EnvError> {
        /// Turns of the calibration: about 1 ms.
        const TURNS: u64 = 1 << 20;
        let workload = self.problem.workloads[0].clone();
        let mut calls = Vec::new();
        let mut turns = Vec::new();
        for _ in 0..5 {
            let code = Code::Kernel { name: name.to_owned(), spin: 0 };
            let mut side = Side::new(&self.problem, &workload, code).map_err(SandboxError::Os)?;
            let mut coins = self.fork_coins();
            side.fill(&self.problem, 1, Placement::Pool, &mut coins);
            let plain = self.time_once(&side)?.as_secs_f64();
            side.code = Code::Kernel { name: name.to_owned(), spin: TURNS };
            let spun = self.time_once(&side)?.as_secs_f64();
            calls.push(plain);
            turns.push((spun - plain).max(1e-9) / TURNS as f64);
        }
        Ok((share * stats::robust::median(&calls) / stats::robust::median(&turns)) as u64)
    }
}

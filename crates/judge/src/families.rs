//! Correctness on a family of inputs: the gate, with activations and a tolerance of the family's own.
//!
//! Must not time anything for a result.

use crate::arm;
use crate::judge::{EnvError, Judge, LIMIT};
use crate::measure::{Meeting, Task, given, unmeasured};
use crate::pairing::{Of, Spent};
use model::{Arm, Job, Judgement, Slice, Verdict};
use problems::Family;
use std::time::{Duration, Instant};

impl Judge {
    /// Whether the job's candidate is right on `family`, at the first workload of the job's slice.
    ///
    /// # Errors
    /// The environment's failures.
    pub fn gate_family(&mut self, job: &Job, family: Family) -> Result<Judgement, EnvError> {
        self.timed(job, |judge, job, judgement, spent| judge.gate_family_into(job, family, (judgement, spent)))
    }

    /// Nothing is better that is right on the declared inputs alone: code that skips the care which other inputs need
    /// is faster for it. Shapes that are held out or edges are the ladder's, which asks for families itself.
    ///
    /// # Errors
    /// The environment's failures.
    pub fn better_on_families(
        &mut self,
        job: &Job,
        judgement: &mut Judgement,
        spent: &mut Spent,
    ) -> Result<Verdict, EnvError> {
        let is_asked = matches!(job.candidate, Arm::Source(_) | Arm::Library(_))
            && matches!(job.slice, Slice::Declared | Slice::Named(_));
        let families = if is_asked { self.problem.numerics.families.clone() } else { Vec::new() };
        for family in families {
            let measured = judgement.shapes.len();
            let verdict = self.gate_family_into(job, family, (judgement, spent))?;
            if !verdict.is_measured() {
                return Ok(verdict);
            }
            // A family is no workload: only one that fails is shown.
            judgement.shapes.truncate(measured);
        }
        Ok(Verdict::Better)
    }

    fn gate_family_into(
        &mut self,
        job: &Job,
        family: Family,
        (judgement, spent): (&mut Judgement, &mut Spent),
    ) -> Result<Verdict, EnvError> {
        let Some(workload) = self.workloads(&job.slice)?.into_iter().next() else { return Ok(Verdict::Undecided) };
        let candidate = match arm::resolve(self, &job.candidate)? {
            Ok(code) => code,
            Err(verdict) => return Ok(verdict),
        };
        let task = Task { job, workload: &workload, deadline: Instant::now() };
        let mut sides = self.sides(&task, [&candidate, &candidate])?;
        for side in &mut sides {
            side.family = family;
        }
        let known = self.known_as(&workload, family)?;
        let mut coins = self.fork_coins();
        let meeting = Meeting { task: &task, known: &known, sides: &sides, is_ceiling: [false, false] };
        let limit = Duration::from(self.problem.budget.call).max(LIMIT);
        let pairing = self.pairing(&meeting, [&sides[0], &sides[1]], limit);
        let mut shape = unmeasured(&workload);
        shape.workload.name = format!("{} {family}", workload.name);
        shape.verdict = match pairing.gate(Of::Candidate, &mut coins, spent) {
            Ok((checked, call)) => {
                (shape.checks, shape.worst_error, shape.candidate) = (checked.rows, checked.worst, Some(call.into()));
                Verdict::Equivalent
            }
            Err(broken) => given(broken)?,
        };
        let verdict = shape.verdict.clone();
        judgement.shapes.push(shape);
        Ok(verdict)
    }
}

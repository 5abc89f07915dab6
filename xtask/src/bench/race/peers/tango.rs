//! tango: two programs that run their arms at the same time, sample by sample. Its verdict is the star that it prints.

use super::super::ground::{Ground, asked};
use super::super::window::{Answer, Claim, Difference, Reading, SECONDS, microseconds};
use anyhow::{Context, Result};
use serde_json::json;
use std::fs;
use std::path::Path;

/// Seconds that it spends besides measuring: the start of three processes and the last look at its clock.
const OWN: f64 = 0.07;

/// Its own default for differences that it calls noise, percent.
const DEFAULT_THRESHOLD: f64 = 1.0;

/// One window. Outliers are filtered, as its manual offers: without that, one wild sample hides a small difference.
///
/// # Errors
/// When it doesn't answer.
pub fn ask(ground: &Ground, difference: Difference) -> Result<Answer> {
    let dump = ground.empty("tango")?;
    let programs = ["tango-a", "tango-b"].map(|program| ground.path(&format!("{}/{program}", difference.folder())));
    let mut command = ground.command(&programs[1]);
    let time = format!("{:.2}", SECONDS - OWN);
    command.args(["--color", "never", "compare"]).arg(&programs[0]).args(["--time", &time, "--filter-outliers"]);
    command.args(["--noise-threshold", "0", "--dump"]).arg(&dump);
    // It ends with 1 when B is slower.
    let (output, wall) = asked(&mut command)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let says = || format!("{command:?}: {printed} {}", String::from_utf8_lossy(&output.stderr));
    let samples = fs::read_to_string(dump.join(Path::new("arm.csv"))).with_context(says)?;
    answer(&printed, &samples, wall.as_secs_f64()).with_context(says)
}

fn answer(printed: &str, samples: &str, wall_s: f64) -> Result<Answer> {
    let line = printed.lines().find(|line| line.starts_with("arm")).context("no line about `arm`")?;
    let percent = line.rsplit_once('%').and_then(|(before, _)| before.split_whitespace().last()?.parse::<f64>().ok());
    let percent = percent.context("no percentage")?;
    let is_starred = line.trim_end().ends_with('*');
    let by_default = is_starred && percent.abs() > DEFAULT_THRESHOLD;
    let (a, b): (Vec<f64>, Vec<f64>) =
        samples.lines().map(pair).collect::<Option<Vec<_>>>().context("its dump")?.into_iter().unzip();
    Ok(Answer {
        wall_s,
        readings: vec![
            Reading::new("its star, 1 %, no noise threshold", Claim::of(is_starred, percent)),
            Reading::new("its star by default (threshold 1 %)", Claim::of(by_default, percent)),
        ],
        effect: Some(percent / 100.0),
        interval: None,
        p: None,
        says: vec![line.split_whitespace().collect::<Vec<_>>().join(" ")],
        raw: json!({ "a": microseconds(&a), "b": microseconds(&b) }),
    })
}

/// Seconds a run of A and of B from a line of its dump: nanoseconds of A's sample, of B's, and the runs in each.
fn pair(line: &str) -> Option<(f64, f64)> {
    let fields: Vec<f64> = line.split(',').map(|field| field.trim().parse().ok()).collect::<Option<_>>()?;
    let [a, b, runs] = fields.as_slice() else { return None };
    Some((a / runs * 1e-9, b / runs * 1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Claim::{Faster, None as Silent, Slower};

    #[test]
    fn its_verdict_is_the_star() {
        let check = |end: &str, expected: [Claim; 2]| {
            let printed = format!("\narm              [   8.1 ms ...   8.2 ms ]      {end}\n");
            let found = answer(&printed, "8000000,8100000,1\n16000000,16400000,2\n", 5.0).expect("a line");
            let claims: Vec<Claim> = found.readings.iter().map(|reading| reading.claim).collect();
            assert_eq!(claims, expected, "{end}");
            assert_eq!((&found.raw["a"], &found.raw["b"]), (&json!([8000.0, 8000.0]), &json!([8100.0, 8200.0])));
            found
        };
        let found = check("+0.98%*", [Slower, Silent]);
        assert_eq!((found.effect, found.says), (Some(0.0098), vec!["arm [ 8.1 ms ... 8.2 ms ] +0.98%*".to_owned()]));
        check("  +1.20%*", [Slower, Slower]);
        check("-2.00%*", [Faster, Faster]);
        check("+0.98%", [Silent, Silent]);
        check("+0.00%*", [Silent, Silent]);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        assert!(answer("nothing", "1,2,3\n", 5.0).is_err());
        assert!(answer("arm [ ] +1.00%", "1,2\n", 5.0).is_err());
    }
}

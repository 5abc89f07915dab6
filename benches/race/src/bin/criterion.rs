//! criterion in the race: times the arm named by `RACE_ARM`, under one name for both, so that one is compared with the
//! other's saved baseline. Everything else is criterion's own command line.

use criterion::Criterion;
use std::path::PathBuf;

fn main() {
    let arm = PathBuf::from(std::env::var_os("RACE_ARM").expect("RACE_ARM names the arm"));
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("arm", |bencher| bencher.iter(|| race::run(&arm)));
    criterion.final_summary();
}

//! tango in the race: times the arm that lies beside the program under the second half of its name (`tango-a` times
//! `a`). tango compares two programs, so the race copies this one once for each arm.

use std::path::PathBuf;
use tango_bench::{IntoBenchmarks, benchmark_fn, tango_benchmarks};

fn arm() -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its path");
    let name = own.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("tango-"));
    own.with_file_name(name.expect("a copy called tango-ARM"))
}

fn arms() -> impl IntoBenchmarks {
    [benchmark_fn("arm", |bencher| {
        let arm = arm();
        bencher.iter(move || race::run(&arm))
    })]
}

tango_benchmarks!(arms());

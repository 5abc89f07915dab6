//! `problem.toml`: whatever it says, it loads or is refused with words; what loads can be asked for everything.

use problems::Problem;
use std::cell::RefCell;
use std::path::PathBuf;

thread_local! {
    /// A folder with all that a problem needs beside its manifest.
    static FOLDER: RefCell<Option<(tempfile::TempDir, PathBuf)>> = const { RefCell::new(None) };
}

/// One input.
pub fn run(data: &[u8]) {
    FOLDER.with_borrow_mut(|kept| {
        let (_, folder) = kept.get_or_insert_with(|| {
            let place = tempfile::tempdir().expect("a temporary folder");
            let folder = problems::create(place.path(), "sample").expect("the template");
            std::fs::copy(folder.join("oracle.c"), folder.join("other.c")).expect("our own folder");
            (place, folder)
        });
        std::fs::write(folder.join("problem.toml"), data).expect("our own folder");
        let problem = match Problem::load(folder) {
            Ok(problem) => problem,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return;
            }
        };
        for workload in problem.workloads.iter().chain(problem.edges()) {
            assert!(problem.fits(workload));
            let bytes = problem.workload_bytes(workload);
            assert_eq!(bytes.len(), problem.arguments.len());
            assert!(problem.rows(workload) > 0 && problem.row_length(workload) > 0);
            assert!(problem.work(workload).bytes.0 >= 0.0);
            assert_eq!(problem.sizes(workload).len(), problem.axes.len());
        }
        assert!(problem.held_out(2, 1).iter().all(|workload| problem.fits(workload)));
        assert!(!problem.header().is_empty() && !problem.oracle_unit().is_empty());
    });
}

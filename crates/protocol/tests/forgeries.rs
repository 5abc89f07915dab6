//! The zoo's forgeries write where "done" lies, as a number: a page that is laid out anew must not leave them harmless.

use protocol::Control;
use std::fs;
use std::mem::offset_of;
use std::path::Path;

#[test]
fn the_forgeries_know_where_done_lies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zoo/candidates");
    let expected = format!("DONE = {}", offset_of!(Control, done));
    let mut forgeries = 0;
    for entry in fs::read_dir(folder).expect("the zoo") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("text");
        if text.contains("DONE = ") {
            assert!(text.contains(&expected), "{}: the page says {expected}", path.display());
            forgeries += 1;
        }
    }
    assert!(forgeries >= 4, "{forgeries} forgeries");
}

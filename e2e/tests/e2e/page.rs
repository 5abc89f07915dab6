//! A report page in a real browser: it fits a narrow window, and it asks nobody for anything.

use crate::rig::{self, seconds};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Narrow (a phone) and wide (a laptop), in CSS pixels.
const WIDTHS: [u32; 2] = [400, 1280];

/// Fails the test when the page reaches for the network, overflows a width, or throws.
pub fn check(page: &Path) {
    let text = fs::read_to_string(page).expect("a page");
    for reach in
        ["src=\"http", "src='http", "href=\"http", "url(http", "@import", "src=\"//", "<link rel=\"stylesheet\""]
    {
        assert!(!text.contains(reach), "{} isn't self-contained: it has `{reach}`", page.display());
    }
    for width in WIDTHS {
        let found = width_inside(page, width);
        assert!(found <= width, "{} is {found} pixels wide in a window of {width}", page.display());
    }
}

/// The width that the page takes in a frame of `width`, as the browser lays it out.
///
/// A frame, since headless browsers refuse windows narrower than 500 pixels.
fn width_inside(page: &Path, width: u32) -> u32 {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let probe = folder.path().join("probe.html");
    fs::copy(page, folder.path().join("report.html")).expect("a copy");
    let frame = format!(
        "<!doctype html><title>none</title><iframe id=f width={width} height=2000 style='border:0' src=report.html></iframe>
<script>f.onload = () => {{ document.title = 'width=' + f.contentDocument.documentElement.scrollWidth }}</script>"
    );
    fs::write(&probe, frame).expect("writable");
    let mut command = Command::new(browser());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]);
    command.args(["--virtual-time-budget=5000", "--window-size=1400,2200", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    let ended = rig::run(command.arg(format!("file://{}", probe.display())), seconds(120));
    let width = ended.out.split("<title>width=").nth(1).and_then(|rest| rest.split('<').next()).map(str::parse);
    width.and_then(Result::ok).unwrap_or_else(|| panic!("the browser did not lay the page out:\n{ended}"))
}

fn browser() -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&folders).flat_map(|folder| names.map(|name| folder.join(name)));
    found
        .into_iter()
        .find(|path| path.is_file())
        .expect("chromium: `apt-get install chromium` (cargo xtask test does it)")
}

#[test]
fn a_page_that_overflows_is_seen() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = folder.path().join("page.html");
    fs::write(&page, "<!doctype html><body style='margin:0'><div style='width:700px'>x</div>").expect("writable");
    assert_eq!(width_inside(&page, 400), 700);
    assert_eq!(width_inside(&page, 1280), 1280);
}

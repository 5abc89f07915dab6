//! Writes reports of an invented campaign: `cargo run -p rooflab-report --example sample -- FOLDER`.

mod view;

fn main() -> std::io::Result<()> {
    let folder = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    let gain = view::sample();
    let mut nothing = view::nothing_found();
    nothing.finished = None;
    std::fs::write(folder.join("sample.html"), report::html(&gain))?;
    std::fs::write(folder.join("nothing.html"), report::html(&nothing))?;
    if let Some(certificate) = &gain.certificate {
        std::fs::write(folder.join("certificate.html"), report::certificate_page(certificate))?;
    }
    print!("{}\n{}", report::terminal::summary(&gain), report::terminal::score(&gain.scores));
    Ok(())
}

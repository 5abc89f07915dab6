//! Measures a device without the rest of rooflab, and prints its map as JSON: `device-map [cuda:0] [quick|deep]`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let depth = match words.get(1).map(String::as_str) {
        Some("quick") => cuda::Depth::Quick,
        Some("deep") => cuda::Depth::Deep,
        _ => cuda::Depth::Default,
    };
    let device = cuda::device(words.first().map_or("cuda:0", String::as_str))?;
    let effort = cuda::Effort { depth, soak: words.get(2).and_then(|seconds| seconds.parse().ok()) };
    let start = std::time::Instant::now();
    let map = cuda::measure(&device, effort, &mut |what| eprintln!("{:6.1} s  {what}", start.elapsed().as_secs_f64()))?;
    eprint!("{}", cuda::text(&map));
    println!("{}", serde_json::to_string(&map)?);
    Ok(())
}

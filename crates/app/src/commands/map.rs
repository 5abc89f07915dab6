//! `rooflab map`: what this machine sustains, and what became of maps that are there.

use super::print_json;
use crate::args::{MapArgs, MapVerb, StoreArgs};
use crate::machine;
use crate::notice::{Notice, Voice};
use crate::outcome::{Done, Failure, Outcome};
use crate::plan::{Format, Place};
use crate::store;
use crate::terminal::Quiet;
use crate::text::align;
use ::ledger::{Filter, Ledger};
use ::map::{Depth, Effort, Soak};
use model::Map;
use report::CheckedFigure;
use std::path::Path;

/// Kind of a map's entry in the ledger.
const KIND: &str = "map";
/// The page's file in the output folder.
const PAGE: &str = "map.html";

/// Runs it.
///
/// # Errors
/// When nothing can be measured, the ledger can't be read or written, or there is no such map.
pub fn run(args: &MapArgs) -> Outcome {
    match &args.verb {
        None => match args.device.as_deref() {
            None | Some("cpu") => measure(args),
            Some(name) => super::device::run(name, args),
        },
        Some(MapVerb::Diff { a, b, json, store }) => diff([a, b], store, Format::from_flag(*json)),
        Some(MapVerb::Check { gate, json, store }) => {
            let standing = check(store, Format::from_flag(*json))?;
            Ok(if *gate && standing != Standing::Holds { Done::GateWorse } else { Done::Complete })
        }
        Some(MapVerb::List { store }) => list(store),
        Some(MapVerb::Page { map, to, store }) => {
            write_page(to, &named(map, store)?)?;
            println!("{}", to.display());
            Ok(Done::Complete)
        }
    }
}

fn measure(args: &MapArgs) -> Outcome {
    let place = Place::new(&args.place);
    let mut ledger = store::open(&place)?;
    let depth = match (args.quick, args.deep) {
        (true, _) => Depth::Quick,
        (_, true) => Depth::Deep,
        _ => Depth::Default,
    };
    let effort = Effort { depth, soak: if args.soak { Soak::Long } else { Soak::Brief } };
    let again = args.fresh || args.deep || args.soak;
    let stored = machine::known(&ledger)?.filter(|map| !again && depth.is_met_by(&map.depth));
    let map = if let Some(map) = stored {
        map
    } else {
        let voice = Voice::new(Quiet);
        machine::measure(&mut ledger, effort, &mut |text| voice.say(&Notice::Working { text }))?
    };
    let page = place.out.join(PAGE);
    write_page(&page, &map)?;
    if Format::from_flag(args.json) == Format::Json {
        return print_json(&map);
    }
    print!("{}", report::terminal::map(&map));
    println!("{}", page.display());
    Ok(Done::Complete)
}

fn write_page(path: &Path, map: &Map) -> Result<(), Failure> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    }
    std::fs::write(path, report::map_page(map)).map_err(|error| Failure::file(path, &error))
}

fn diff([a, b]: [&String; 2], store: &StoreArgs, format: Format) -> Outcome {
    let (a, b) = (named(a, store)?, named(b, store)?);
    let changes = report::map_changes(&a, &b);
    if format == Format::Json {
        let sides = [&a, &b].map(|map| serde_json::json!({ "machine": map.fingerprint, "depth": map.depth }));
        return print_json(&serde_json::json!({ "a": sides[0], "b": sides[1], "changes": changes }));
    }
    for (side, map) in [("A", &a), ("B", &b)] {
        println!("{side}  {}", origin(map));
    }
    println!();
    print!("{}", report::terminal::map_diff(&changes));
    Ok(Done::Complete)
}

/// Of which machine and system a map is, and how thorough.
fn origin(map: &Map) -> String {
    let of = &map.fingerprint;
    let depth = if map.depth.is_empty() { "of the first schema" } else { &map.depth };
    format!("{}, kernel {}, {depth}", crate::text::machine(of), of.kernel)
}

/// What became of a stored map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Holds,
    /// A figure is no longer what it was.
    Broken,
    /// Another processor, kernel or set of probes.
    Changed,
}

impl Standing {
    fn words(self) -> &'static str {
        match self {
            Self::Holds => "The stored map still holds.",
            Self::Broken => {
                "The stored map no longer holds, or the machine is busy: look again, then `rooflab map --fresh` measures it."
            }
            Self::Changed => {
                "The machine, its kernel or the probes have changed since: measure again with `rooflab map --fresh`."
            }
        }
    }
}

fn check(store: &StoreArgs, format: Format) -> Result<Standing, Failure> {
    // This machine's own, if the ledger holds maps of several.
    let own = machine::known(&store::open_existing(&Place::of_store(store))?)?;
    let map = own.map_or_else(|| named("last", store), Ok)?;
    let rows: Vec<CheckedFigure> = ::map::recheck(&map, &mut |_| {})?
        .into_iter()
        .map(|row| CheckedFigure {
            holds: row.holds(),
            name: row.name,
            quantity: row.quantity,
            stored: row.stored,
            now: row.now,
            tolerance: row.tolerance,
        })
        .collect();
    let standing = if !::map::check(&map) {
        Standing::Changed
    } else if !rows.is_empty() && rows.iter().all(|row| row.holds) {
        Standing::Holds
    } else {
        Standing::Broken
    };
    if format == Format::Json {
        let (same, holds) = (standing != Standing::Changed, standing == Standing::Holds);
        print_json(&serde_json::json!({ "same_machine": same, "holds": holds, "figures": rows }))?;
    } else {
        print!("{}", report::terminal::map_check(&rows));
        println!("{}", standing.words());
    }
    Ok(standing)
}

fn list(store: &StoreArgs) -> Outcome {
    let ledger = store::open_existing(&Place::of_store(store))?;
    let heads = ["map", "measured", "depth", "f32, one core", "reading memory", "machine"].map(String::from);
    let mut rows = vec![heads];
    for heading in ledger.list(&maps())? {
        let map = read(&ledger, &heading.id.to_string())?;
        let show = |name: &str| map.figure(name).map_or("-".to_owned(), |figure| figure.show());
        rows.push([
            heading.id.short(),
            heading.at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
            if map.depth.is_empty() { "-".to_owned() } else { map.depth.clone() },
            show("compute.f32.one"),
            show("memory.DRAM.read.one"),
            crate::text::machine(&map.fingerprint),
        ]);
    }
    println!("{}", align(&rows));
    Ok(Done::Complete)
}

fn maps() -> Filter {
    Filter { kind: Some(KIND.to_owned()), ..Filter::default() }
}

/// The map that a person means: a file, else `last` or `previous` in the ledger, else an entry's id.
fn named(name: &str, store: &StoreArgs) -> Result<Map, Failure> {
    let path = Path::new(name);
    if path.is_file() {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
        return serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!("{name} is no map: {error}"), "`rooflab map --json > FILE` writes one")
        });
    }
    let ledger = store::open_existing(&Place::of_store(store))?;
    let back = match name {
        "last" => Some(1),
        "previous" => Some(2),
        _ => None,
    };
    let Some(back) = back else { return read(&ledger, name) };
    let all = ledger.list(&maps())?;
    let heading = all.len().checked_sub(back).and_then(|at| all.get(at)).ok_or_else(|| {
        let what = format!("the ledger holds {} maps, and `{name}` asks for one more", all.len());
        Failure::usage(what, "`rooflab map --fresh` measures one")
    })?;
    read(&ledger, &heading.id.to_string())
}

fn read(ledger: &Ledger, id: &str) -> Result<Map, Failure> {
    let entry = ledger.get(id)?;
    serde_json::from_value(entry.body).map_err(|error| {
        Failure::usage(format!("entry {id} is no map ({error})"), "`rooflab map list` shows which are")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use jiff::Timestamp;

    fn with_maps(n: usize) -> (tempfile::TempDir, StoreArgs) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l.db");
        let mut ledger = Ledger::open(&path).unwrap();
        for i in 0..n {
            let map = Map { clock_overhead: model::Seconds(i as f64), ..sample::map() };
            ledger.put_map(Timestamp::now(), &map).unwrap();
        }
        (folder, StoreArgs { ledger: Some(path) })
    }

    #[test]
    fn maps_go_by_name() {
        let (folder, store) = with_maps(2);
        let overhead = |name: &str| named(name, &store).ok().map(|map| map.clock_overhead.0);
        assert_eq!((overhead("last"), overhead("previous")), (Some(1.0), Some(0.0)));
        let file = folder.path().join("m.json");
        std::fs::write(&file, serde_json::to_string(&sample::map()).unwrap()).unwrap();
        assert_eq!(overhead(file.to_str().unwrap()), Some(sample::map().clock_overhead.0));
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(overhead(file.to_str().unwrap()), None);
        assert_eq!(overhead("ffffffff"), None);
        let (_folder, store) = with_maps(1);
        assert!(origin(&sample::map()).contains("kernel"));
        let Err(Failure::Usage(report)) = named("previous", &store) else { panic!("a map that is not there") };
        assert!(format!("{report:?}").contains("holds 1 maps"), "{report:?}");
    }

    #[test]
    fn a_page_is_written_where_no_folder_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/map.html");
        write_page(&path, &sample::map()).unwrap();
        assert!(std::fs::read_to_string(path).unwrap().contains("What this machine sustains"));
    }
}

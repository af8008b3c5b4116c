//! Files stand on floors (ARCHITECTURE.md): none uses names of a file that uses its own, directly
//! or through others. Read from the text: `use` lines and paths, each followed to the file where
//! the name stands, through `pub use`. Tests within files do not count.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module's or a name's path within its crate.
type Name = Vec<String>;

/// What a file says: whether it passes the name on, the path as written, and the name it gets here.
struct Use {
    public: bool,
    path: Name,
    alias: String,
}

/// The files of a crate by their modules, and what each uses.
#[derive(Default)]
struct Crate {
    uses: BTreeMap<Name, Vec<Use>>,
}

impl Crate {
    fn read(root: &Path) -> Crate {
        let mut files = Vec::new();
        sources(root, &mut files);
        let mut all = Crate::default();
        for file in files {
            let inside = file.strip_prefix(root).expect("below it").with_extension("");
            let mut module: Name =
                inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
                module.pop();
            }
            let text = std::fs::read_to_string(&file).expect("a source");
            let tokens: TokenStream = text.parse().expect("tokens of Rust");
            let mut uses = Vec::new();
            paths(tokens, &mut uses);
            all.uses.insert(module, uses);
        }
        all
    }

    /// A path as it stands in a module, from the root of its crate; None: it is of another crate,
    /// or begins with what the file itself has.
    fn absolute(&self, module: &Name, path: &[String]) -> Option<Name> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module.as_slice(), rest].concat()),
            "super" => {
                let (mut at, mut path) = (module.as_slice(), path);
                while path.first().is_some_and(|first| first == "super") {
                    (at, path) = (&at[..at.len().checked_sub(1)?], &path[1..]);
                }
                Some([at, path].concat())
            }
            _ => {
                let child = [module.as_slice(), std::slice::from_ref(first)].concat();
                self.uses.contains_key(&child).then(|| [module.as_slice(), path].concat())
            }
        }
    }

    /// The file where a name stands.
    fn home(&self, name: &[String], steps: usize) -> Option<Name> {
        let longest = (0..=name.len()).rev().find(|n| self.uses.contains_key(&name[..*n]))?;
        let (module, rest) = (name[..longest].to_vec(), &name[longest..]);
        let passed_on = |one: &&Use| one.public && rest.first() == Some(&one.alias);
        let passed_on = self.uses[&module].iter().find(passed_on);
        let Some(next) = passed_on.filter(|_| steps > 0) else { return Some(module) };
        match self.absolute(&module, &next.path) {
            Some(path) => self.home(&[path.as_slice(), &rest[1..]].concat(), steps - 1),
            None => Some(module),
        }
    }

    /// The files whose names each file uses.
    fn dependencies(&self) -> BTreeMap<&Name, BTreeSet<Name>> {
        let of = |(module, uses): (_, &Vec<Use>)| {
            let imported = |first: &String| uses.iter().find(|one| one.alias == *first);
            let of = |one: &Use| {
                let path = self.absolute(module, &one.path).or_else(|| {
                    let import = imported(&one.path[0]).filter(|_| one.path.len() > 1)?;
                    let start = self.absolute(module, &import.path)?;
                    Some([start.as_slice(), &one.path[1..]].concat())
                })?;
                self.home(&path, 8)
            };
            let used = uses.iter().filter(|one| !one.public).filter_map(of);
            (module, used.filter(|used| used != module).collect())
        };
        self.uses.iter().map(of).collect()
    }

    /// Files that use each other: what is left when all are gone that use none which is left.
    fn circles(&self) -> Vec<String> {
        let mut left = self.dependencies();
        loop {
            let before = left.len();
            let names: BTreeSet<Name> = left.keys().map(|name| (*name).clone()).collect();
            left.retain(|_, used| used.iter().any(|name| names.contains(name)));
            // And those that none uses which is left.
            let used: BTreeSet<Name> = left.values().flatten().cloned().collect();
            left.retain(|name, _| used.contains(*name));
            if left.len() == before {
                return left.keys().map(|name| name.join("::")).collect();
            }
        }
    }
}

fn sources(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            // A crate within a crate has a root of its own.
            if !path.join("Cargo.toml").exists() {
                sources(&path, files);
            }
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            files.push(path);
        }
    }
}

/// All paths of a file, `use` lines' too; without those of `mod tests { … }`.
fn paths(tokens: TokenStream, found: &mut Vec<Use>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        let word = |at: usize| match tokens.get(at) {
            Some(TokenTree::Ident(ident)) => ident.to_string(),
            _ => String::new(),
        };
        match (&tokens[at], word(at).as_str()) {
            (_, "mod") if word(at + 1) == "tests" => at += 3,
            (_, "use") => {
                let end = (at..tokens.len()).find(|i| is_punct(&tokens[*i], ';'));
                let end = end.unwrap_or(tokens.len());
                let visible = (0..at).rev().find(|i| !matches!(tokens[*i], TokenTree::Group(_)));
                let public = visible.is_some_and(|i| word(i) == "pub");
                tree(&tokens[at + 1..end], &[], public, found);
                at = end;
            }
            // The place that a name is visible in, which is no use of it.
            (_, "pub") => {
                let place = matches!(tokens.get(at + 1), Some(TokenTree::Group(_)));
                at += 1 + usize::from(place);
            }
            (TokenTree::Group(group), _) => {
                paths(group.stream(), found);
                at += 1;
            }
            (TokenTree::Ident(_), first) => {
                let mut path = vec![first.to_string()];
                at += 1;
                while is_colons(&tokens, at)
                    && matches!(tokens.get(at + 2), Some(TokenTree::Ident(_)))
                {
                    path.push(word(at + 2));
                    at += 3;
                }
                if path.len() > 1 {
                    found.push(Use { public: false, path, alias: String::new() });
                }
            }
            _ => at += 1,
        }
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    tokens.get(at..at + 2).is_some_and(|two| two.iter().all(|token| is_punct(token, ':')))
}

/// The paths of what stands behind `use`: `a::{b, c as d}`.
fn tree(tokens: &[TokenTree], before: &[String], public: bool, found: &mut Vec<Use>) {
    for one in tokens.split(|token| is_punct(token, ',')) {
        let (mut path, mut alias) = (before.to_vec(), None);
        let mut names = one.iter();
        while let Some(token) = names.next() {
            match token {
                TokenTree::Ident(ident) if ident == "as" => {
                    alias = names.next().map(ToString::to_string);
                }
                // `a::{self}` is `a`.
                TokenTree::Ident(ident) if ident == "self" && !path.is_empty() => {}
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Group(group) => {
                    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                    tree(&inside, &path, public, found);
                    path.clear();
                }
                _ => {}
            }
        }
        if let Some(last) = path.last() {
            let alias = alias.unwrap_or_else(|| last.clone());
            found.push(Use { public, path, alias });
        }
    }
}

fn crate_of(files: &[(&str, &str)]) -> Crate {
    let mut all = Crate::default();
    for (module, text) in files {
        let mut uses = Vec::new();
        paths(text.parse().expect("tokens"), &mut uses);
        let module = module.split("::").filter(|part| !part.is_empty());
        all.uses.insert(module.map(str::to_string).collect(), uses);
    }
    all
}

#[test]
fn files_of_the_compiler_stand_on_floors() {
    for room in ["components", "targets", "systems", "src", "tests/runner", "tests/speed"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(room);
        let read = Crate::read(&root);
        assert!(read.uses.len() > 5, "{room} has files");
        assert_eq!(read.circles(), [""; 0], "{room}: these use each other, or stand between such");
    }
}

#[test]
fn a_circle_of_three_files_is_found_through_what_a_room_passes_on() {
    let circle = crate_of(&[
        ("", "mod a; mod b; mod c;"),
        ("a", "use crate::b::Passed; pub struct First;"),
        ("b", "pub use super::c::Name as Passed; mod tests { use crate::a::First; }"),
        ("c", "pub struct Name; fn f() { g(crate::a::First) }"),
        ("d", "use crate::a::First;"),
    ]);
    assert_eq!(circle.circles(), ["a", "c"]);
}

#[test]
fn what_only_tests_use_and_where_a_name_is_visible_are_no_circle() {
    let floors = crate_of(&[
        ("", "mod a; mod b;"),
        ("a", "use crate::b::{self, Other as B}; pub(in crate::b) struct First;"),
        ("b", "pub struct Other; #[cfg(test)] mod tests { use crate::a::First; }"),
    ]);
    assert_eq!(floors.circles(), [""; 0]);
}

//! A C source as a tree: loops, declarations, constants. Reads only; `rewrite` writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tree_sitter::{Node, Parser, Tree};

/// A parsed C source with the integer constants that are known for it.
pub struct Code {
    /// The source text.
    pub text: String,
    /// Compiler flags beyond the builder's own.
    pub flags: Vec<String>,
    tree: Tree,
    constants: BTreeMap<String, i64>,
    names: BTreeSet<String>,
}

impl Code {
    /// Parses `text`; `constants` are those that the problem defines as macros. None when it is not C.
    pub fn parse(text: &str, flags: &[String], constants: &BTreeMap<String, i64>) -> Option<Self> {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_c::LANGUAGE.into()).ok()?;
        let tree = parser.parse(text, None)?;
        if tree.root_node().has_error() {
            return None;
        }
        let mut code = Self {
            text: text.to_owned(),
            flags: flags.to_vec(),
            tree,
            constants: constants.clone(),
            names: BTreeSet::new(),
        };
        code.constants.extend(code.declared_constants());
        code.names = code.used_names();
        Some(code)
    }

    /// The root of the tree.
    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// The text of a node.
    pub fn of(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    /// Line of a node, from 1.
    pub fn line(&self, node: Node<'_>) -> usize {
        node.start_position().row + 1
    }

    /// Every node below `node`, itself included, in source order.
    pub fn descend<'t>(&self, node: Node<'t>) -> Vec<Node<'t>> {
        let mut found = Vec::new();
        let mut open = vec![node];
        while let Some(next) = open.pop() {
            found.push(next);
            let from = open.len();
            open.extend(children(next));
            open[from..].reverse();
        }
        found
    }

    /// Nodes of one kind below `node`.
    pub fn all<'t>(&self, node: Node<'t>, kind: &str) -> Vec<Node<'t>> {
        self.descend(node).into_iter().filter(|n| n.kind() == kind).collect()
    }

    /// Counted loops of the whole source, outermost first.
    pub fn loops(&self) -> Vec<Loop<'_>> {
        self.loops_in(self.root())
    }

    /// Counted loops below `node`.
    pub fn loops_in<'t>(&self, node: Node<'t>) -> Vec<Loop<'t>> {
        self.all(node, "for_statement").into_iter().filter_map(|n| self.counted(n)).collect()
    }

    /// Reads `for (T x = low; x < high; x++)` out of a node.
    pub fn counted<'t>(&self, node: Node<'t>) -> Option<Loop<'t>> {
        if node.kind() != "for_statement" {
            return None;
        }
        let (kind, var, low) = self.initial(node.child_by_field_name("initializer")?)?;
        let condition = node.child_by_field_name("condition")?;
        let inclusive = match condition.child_by_field_name("operator")?.kind() {
            "<" => false,
            "<=" => true,
            _ => return None,
        };
        if self.of(condition.child_by_field_name("left")?) != var {
            return None;
        }
        let bound = condition.child_by_field_name("right")?;
        let step = self.step(node.child_by_field_name("update")?, &var)?;
        let body = node.child_by_field_name("body")?;
        Some(Loop { node, kind, var, low, bound, inclusive, step, body, statements: statements(body) })
    }

    fn initial(&self, node: Node<'_>) -> Option<(String, String, String)> {
        if node.kind() == "assignment_expression" {
            let (left, right) = (node.child_by_field_name("left")?, node.child_by_field_name("right")?);
            return Some((String::new(), self.of(left).to_owned(), self.of(right).to_owned()));
        }
        let kind = self.of(node.child_by_field_name("type")?).to_owned();
        let declarator = node.child_by_field_name("declarator")?;
        let name = declarator.child_by_field_name("declarator")?;
        let value = declarator.child_by_field_name("value")?;
        (name.kind() == "identifier").then(|| (kind, self.of(name).to_owned(), self.of(value).to_owned()))
    }

    fn step(&self, update: Node<'_>, var: &str) -> Option<String> {
        let text: String = self.of(update).split_whitespace().collect();
        if [format!("{var}++"), format!("++{var}")].contains(&text) {
            return Some("1".to_owned());
        }
        text.strip_prefix(&format!("{var}+=")).map(str::to_owned)
    }

    /// The value of an integer expression of constants.
    pub fn value(&self, node: Node<'_>) -> Option<i64> {
        match node.kind() {
            "number_literal" => self.of(node).trim_end_matches(['l', 'L', 'u', 'U']).parse().ok(),
            "identifier" => self.constants.get(self.of(node)).copied(),
            "parenthesized_expression" => self.value(node.named_child(0)?),
            "cast_expression" => self.value(node.child_by_field_name("value")?),
            "binary_expression" => {
                let left = self.value(node.child_by_field_name("left")?)?;
                let right = self.value(node.child_by_field_name("right")?)?;
                match node.child_by_field_name("operator")?.kind() {
                    "+" => left.checked_add(right),
                    "-" => left.checked_sub(right),
                    "*" => left.checked_mul(right),
                    "/" => left.checked_div(right),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// How often a loop of step 1 runs, when its bounds are constants.
    pub fn trip(&self, repeat: &Loop<'_>) -> Option<i64> {
        let low: i64 = repeat.low.parse().ok()?;
        (repeat.step == "1").then_some(())?;
        Some(self.value(repeat.bound)? - low + i64::from(repeat.inclusive))
    }

    /// Whether an identifier occurs below a node.
    pub fn mentions(&self, node: Node<'_>, name: &str) -> bool {
        self.descend(node).into_iter().any(|n| n.kind() == "identifier" && self.of(n) == name)
    }

    fn used_names(&self) -> BTreeSet<String> {
        let kinds = ["identifier", "type_identifier", "field_identifier"];
        let found = self.descend(self.root()).into_iter().filter(|n| kinds.contains(&n.kind()));
        found.map(|n| self.of(n).to_owned()).collect()
    }

    /// A name made from `wish` that nothing uses yet.
    pub fn fresh(&self, wish: &str) -> String {
        let mut name = wish.to_owned();
        let mut count = 2;
        while self.names.contains(&name) || self.constants.contains_key(&name) {
            name = format!("{wish}{count}");
            count += 1;
        }
        name
    }

    /// Where a statement lies, with the pragmas that stand before it.
    pub fn span(&self, node: Node<'_>) -> Range<usize> {
        let mut start = node.start_byte();
        let mut before = node.prev_sibling();
        while let Some(pragma) = before.filter(|n| n.kind() == "preproc_call" && self.of(*n).starts_with("#pragma")) {
            start = pragma.start_byte();
            before = pragma.prev_sibling();
        }
        start..node.end_byte()
    }

    /// Pragmas that stand before a statement.
    pub fn pragmas(&self, node: Node<'_>) -> &str {
        &self.text[self.span(node).start..node.start_byte()]
    }

    /// The function that a node lies in.
    pub fn function<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        let mut at = node;
        loop {
            if at.kind() == "function_definition" {
                return Some(at);
            }
            at = at.parent()?;
        }
    }

    /// Pointer parameters of a function: declaration, name, whether it points to const.
    pub fn pointers<'t>(&self, function: Node<'t>) -> Vec<(Node<'t>, String, bool)> {
        let found = self.all(function, "parameter_declaration").into_iter().filter_map(|parameter| {
            let declarator = parameter.child_by_field_name("declarator")?;
            (declarator.kind() == "pointer_declarator").then_some(())?;
            let name = self.all(declarator, "identifier").pop()?;
            let constant = children(parameter).iter().any(|n| n.kind() == "type_qualifier" && self.of(*n) == "const");
            Some((parameter, self.of(name).to_owned(), constant))
        });
        found.collect()
    }

    /// Whether a name is declared as a vector of lanes: no scalar pragma or type fits it.
    pub fn is_lanes(&self, name: &str) -> bool {
        self.all(self.root(), "declaration").into_iter().any(|n| {
            n.child_by_field_name("type").is_some_and(|t| self.of(t).starts_with("lanes"))
                && self.all(n, "identifier").into_iter().any(|n| self.of(n) == name)
        })
    }

    /// Constants that the source itself declares: `enum { X = 4 }`, `#define X 4`.
    fn declared_constants(&self) -> BTreeMap<String, i64> {
        let mut found = BTreeMap::new();
        for node in self.descend(self.root()) {
            let (name, value) = match node.kind() {
                "enumerator" | "preproc_def" => (node.child_by_field_name("name"), node.child_by_field_name("value")),
                _ => continue,
            };
            if let (Some(name), Some(value)) = (name, value)
                && let Ok(value) = self.of(value).trim().parse()
            {
                found.insert(self.of(name).to_owned(), value);
            }
        }
        found
    }
}

/// `for (kind var = low; var < bound; var += step) body`.
#[derive(Clone)]
pub struct Loop<'t> {
    /// The statement.
    pub node: Node<'t>,
    /// Type of a counter declared in the header; empty when it is declared elsewhere.
    pub kind: String,
    /// Counter.
    pub var: String,
    /// First value.
    pub low: String,
    /// Right side of the condition.
    pub bound: Node<'t>,
    /// `<=` rather than `<`.
    pub inclusive: bool,
    /// What is added each time.
    pub step: String,
    /// Body as written.
    pub body: Node<'t>,
    /// Statements of the body, without comments.
    pub statements: Vec<Node<'t>>,
}

impl Loop<'_> {
    /// First value that the counter doesn't take, as an expression.
    pub fn end(&self, code: &Code) -> String {
        let bound = code.of(self.bound);
        match (self.inclusive, simple(self.bound)) {
            (false, true) => bound.to_owned(),
            (false, false) => format!("({bound})"),
            (true, true) => format!("({bound} + 1)"),
            (true, false) => format!("(({bound}) + 1)"),
        }
    }

    /// Where the last whole group of `size` turns ends, as an expression; the end itself when groups fill the loop.
    pub fn whole_end(&self, code: &Code, size: i64) -> String {
        let (low, end) = (&self.low, self.end(code));
        match (code.trip(self).is_some_and(|trip| trip % size == 0), low.as_str()) {
            (true, _) => end,
            (false, "0") => format!("{end} / {size} * {size}"),
            (false, _) => format!("{low} + ({end} - ({low})) / {size} * {size}"),
        }
    }

    /// The condition's operator.
    pub fn operator(&self) -> &'static str {
        if self.inclusive { "<=" } else { "<" }
    }

    /// The header as written.
    pub fn header(&self, code: &Code) -> String {
        code.text[self.node.start_byte()..self.body.start_byte()].trim_end().to_owned()
    }

    /// Whether the header mentions a name.
    pub fn header_mentions(&self, code: &Code, name: &str) -> bool {
        ["initializer", "condition", "update"]
            .iter()
            .filter_map(|field| self.node.child_by_field_name(field))
            .any(|node| code.mentions(node, name))
    }

    /// Whether no loop lies inside.
    pub fn is_innermost(&self, code: &Code) -> bool {
        code.all(self.body, "for_statement").is_empty()
    }

    /// The one loop that is the whole body.
    pub fn only_child<'a>(&self, code: &'a Code) -> Option<Loop<'a>>
    where
        Self: 'a,
    {
        let [only] = self.statements[..] else { return None };
        let within = code.root().descendant_for_byte_range(only.start_byte(), only.end_byte())?;
        code.counted(within)
    }
}

/// The children of a node.
pub fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

/// The statements of a body, without comments and pragmas.
pub fn statements(body: Node<'_>) -> Vec<Node<'_>> {
    if body.kind() != "compound_statement" {
        return vec![body];
    }
    let skip = ["{", "}", "comment", "preproc_call", ";"];
    children(body).into_iter().filter(|n| !skip.contains(&n.kind())).collect()
}

/// The loop that a loop lies in directly, with nothing beside it.
pub fn perfect_parent<'t>(code: &Code, inner: &Loop<'t>) -> Option<Loop<'t>> {
    let mut at = inner.node.parent()?;
    if at.kind() == "compound_statement" {
        at = at.parent()?;
    }
    code.counted(at).filter(|parent| parent.statements.len() == 1)
}

fn simple(node: Node<'_>) -> bool {
    matches!(node.kind(), "identifier" | "number_literal" | "subscript_expression" | "parenthesized_expression")
}

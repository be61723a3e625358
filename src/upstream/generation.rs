//! Tells the generation of the MPS allocator by the shape of its code: a version number alone is not trusted.
use serde::{Deserialize, Serialize};
use std::fmt;

/// The header that holds the pools.
const ALLOCATOR: &str = "aten/src/ATen/mps/MPSAllocator.h";
/// The allocator's implementation.
const IMPLEMENTATION: &str = "aten/src/ATen/mps/MPSAllocator.mm";
/// The header that declares the accessor.
const INTERFACE: &str = "aten/src/ATen/mps/MPSAllocatorInterface.h";

/// What shape the allocator's code has; each supported one has a series of patches of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generation {
    /// Private and shared pools; the caller chooses with `sharedAllocator`; freed buffers are reusable at once.
    Classic,
    /// Shared pools only.
    Unified,
    /// Placement heaps.
    Placement,
    /// No shape that the set knows.
    Unsupported,
}

impl Generation {
    /// The name, as the manifest and the reports write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Unified => "unified",
            Self::Placement => "placement",
            Self::Unsupported => "unsupported",
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A generation and what in the code speaks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recognition {
    /// The generation.
    pub generation: Generation,
    /// What was seen, a sentence each; for [`Generation::Unsupported`] why the set does not apply.
    pub reasons: Vec<String>,
}

/// Recognises the generation of a tree. `read` gives the text of a file by its path from the tree's root, or nothing where
/// the tree has no such file: it may read a work tree or a commit.
pub fn recognise(mut read: impl FnMut(&str) -> Option<String>) -> Recognition {
    let Some(header) = read(ALLOCATOR) else {
        return unsupported(format!("it has no MPS allocator: {ALLOCATOR} is missing"));
    };
    let header = without_comments(&header);
    let implementation = without_comments(&read(IMPLEMENTATION).unwrap_or_default());
    let interface = without_comments(&read(INTERFACE).unwrap_or_default());

    let mut reasons = Vec::new();
    let kinds = pool_kinds(&header);
    if kinds.is_empty() {
        let mut reason = format!(
            "{ALLOCATOR} declares no BufferPool::Kind, so its pools are not those that the set knows"
        );
        let events = interface.contains("waitForEvents") || header.contains("waitForEvents");
        if !events && !header.contains("buffers_pending_free") {
            reason = "its MPS allocator has neither events nor a list of buffers that wait to be freed (as in 2.1 and \
                      older): the patches have nothing to hold on to"
                .to_owned();
        }
        return unsupported(reason);
    }
    let private = kinds.iter().any(|kind| kind.starts_with("PRIVATE"));
    let shared = kinds.iter().any(|kind| kind.starts_with("SHARED"));
    reasons.push(format!("BufferPool::Kind is {}", kinds.join(", ")));
    if header.contains("MTLHeapTypePlacement") || implementation.contains("MTLHeapTypePlacement") {
        reasons.push("its heaps are placement heaps (MTLHeapTypePlacement)".to_owned());
        return Recognition {
            generation: Generation::Placement,
            reasons,
        };
    }
    let generation = match (private, shared) {
        (true, true) => {
            if !interface.contains("sharedAllocator") {
                return unsupported(format!(
                    "it has private and shared pools, but {INTERFACE} has no getIMPSAllocator(bool sharedAllocator)"
                ));
            }
            reasons.push("getIMPSAllocator takes sharedAllocator".to_owned());
            Generation::Classic
        }
        (false, true) => {
            reasons.push("there are no private pools".to_owned());
            Generation::Unified
        }
        (_, false) => return unsupported(format!("{ALLOCATOR} declares no shared pool")),
    };
    if !interface.contains("waitForEvents") {
        return unsupported(format!(
            "{INTERFACE} has no waitForEvents, which the patches build on"
        ));
    }
    Recognition {
        generation,
        reasons,
    }
}

fn unsupported(reason: String) -> Recognition {
    Recognition {
        generation: Generation::Unsupported,
        reasons: vec![reason],
    }
}

/// The enumerators of `BufferPool::Kind`.
fn pool_kinds(header: &str) -> Vec<&str> {
    let Some(start) = header.find("enum class Kind") else {
        return Vec::new();
    };
    let body = &header[start..];
    let (Some(open), Some(close)) = (body.find('{'), body.find('}')) else {
        return Vec::new();
    };
    if close < open {
        return Vec::new();
    }
    body[open + 1..close]
        .split(',')
        .filter_map(|entry| entry.split('=').next())
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect()
}

/// The text without C and C++ comments, so that a remark about another design is not taken for the design.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        kept.push_str(&rest[..at]);
        let tail = &rest[at..];
        if tail.starts_with("//") {
            rest = tail.find('\n').map_or("", |end| &tail[end..]);
        } else if let Some(comment) = tail.strip_prefix("/*") {
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
        } else {
            kept.push('/');
            rest = &tail[1..];
        }
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(kinds: &str, interface: &str, implementation: &str) -> Recognition {
        let header = format!("struct BufferPool {{\n  enum class Kind {{ {kinds} }};\n}};\n");
        recognise(|path| match path {
            ALLOCATOR => Some(header.clone()),
            INTERFACE => Some(interface.to_owned()),
            IMPLEMENTATION => Some(implementation.to_owned()),
            _ => None,
        })
    }

    const EVENTS: &str = "bool waitForEvents() const;\nIMPSAllocator* getIMPSAllocator(bool sharedAllocator = false);\n";

    #[test]
    fn each_shape_has_its_name() {
        let classic = tree("PRIVATE_SMALL, SHARED_SMALL,\n    SCALAR,", EVENTS, "");
        assert_eq!(classic.generation, Generation::Classic);
        assert!(classic.reasons[0].contains("PRIVATE_SMALL, SHARED_SMALL, SCALAR"));
        let unified = tree("SHARED_SMALL, SCALAR", "bool waitForEvents() const;", "");
        assert_eq!(unified.generation, Generation::Unified);
        let placement = tree("SHARED_SMALL", EVENTS, "d.type = MTLHeapTypePlacement;");
        assert_eq!(placement.generation, Generation::Placement);
    }

    #[test]
    fn comments_do_not_decide() {
        let classic = tree(
            "PRIVATE_SMALL, /* not MTLHeapTypePlacement */ SHARED_SMALL // all",
            EVENTS,
            "a / b; // MTLHeapTypePlacement would be another way\n/* MTLHeapTypePlacement",
        );
        assert_eq!(classic.generation, Generation::Classic);
    }

    #[test]
    fn what_is_not_known_says_why() {
        let none = recognise(|_| None);
        assert_eq!(none.generation, Generation::Unsupported);
        assert!(none.reasons[0].contains("no MPS allocator"));
        let old = recognise(|path| (path == ALLOCATOR).then(|| "struct HeapBlock;".to_owned()));
        assert_eq!(old.generation, Generation::Unsupported);
        assert!(old.reasons[0].contains("neither events nor"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in ".*") {
            let _ = recognise(|_| Some(text.clone()));
        }
    }
}

//! What a mutation does to a place: the operators, and the words that stand for each other.
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kinds of mutations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// A statement or a loop is left out.
    DropStatement,
    /// A line of book-keeping is left out.
    SkipAccounting,
    /// A lock is not taken, or not given up.
    RemoveLock,
    /// An early return, a break or a continue is left out.
    DropReturn,
    /// Two statements change places.
    SwapStatements,
    /// A comparison says the opposite.
    FlipComparison,
    /// A comparison includes what it left out, or the other way round.
    ShiftBoundary,
    /// A condition, or one side of it, is negated.
    NegateCondition,
    /// One side of `&&` or `||` is left out.
    DropOperand,
    /// `&&` for `||`, and the other way round.
    SwapConnective,
    /// A number is one more or one less.
    OffByOne,
    /// A constant is another one.
    ReplaceConstant,
    /// A sum is a difference, and the like.
    FlipArithmetic,
    /// The other pool, list or end of a list.
    WrongPool,
    /// Another flag, or one less.
    WrongFlag,
    /// The other variable.
    WrongVariable,
}

impl Operator {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::DropStatement,
        Self::SkipAccounting,
        Self::RemoveLock,
        Self::DropReturn,
        Self::SwapStatements,
        Self::FlipComparison,
        Self::ShiftBoundary,
        Self::NegateCondition,
        Self::DropOperand,
        Self::SwapConnective,
        Self::OffByOne,
        Self::ReplaceConstant,
        Self::FlipArithmetic,
        Self::WrongPool,
        Self::WrongFlag,
        Self::WrongVariable,
    ];

    /// Its name, as in a mutant's.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DropStatement => "drop-statement",
            Self::SkipAccounting => "skip-accounting",
            Self::RemoveLock => "remove-lock",
            Self::DropReturn => "drop-return",
            Self::SwapStatements => "swap-statements",
            Self::FlipComparison => "flip-comparison",
            Self::ShiftBoundary => "shift-boundary",
            Self::NegateCondition => "negate-condition",
            Self::DropOperand => "drop-operand",
            Self::SwapConnective => "swap-connective",
            Self::OffByOne => "off-by-one",
            Self::ReplaceConstant => "replace-constant",
            Self::FlipArithmetic => "flip-arithmetic",
            Self::WrongPool => "wrong-pool",
            Self::WrongFlag => "wrong-flag",
            Self::WrongVariable => "wrong-variable",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Words that the code uses in the same places, each for the other.
const TWINS: [(Operator, &str, &str); 18] = [
    (
        Operator::WrongPool,
        "available_buffers",
        "buffers_pending_free",
    ),
    (Operator::WrongPool, "available_size", "pending_size"),
    (
        Operator::WrongPool,
        "insert_available_buffer",
        "insert_pending_buffer",
    ),
    (Operator::WrongPool, "pending_oldest", "pending_newest"),
    (Operator::WrongPool, "pending_older", "pending_newer"),
    (Operator::WrongPool, "older", "newer"),
    (Operator::WrongPool, "Comparator", "PendingComparator"),
    (
        Operator::WrongPool,
        "kMaxIdleGrowthSmall",
        "kMaxIdleGrowthLarge",
    ),
    (
        Operator::WrongPool,
        "_getPinnedAllocator",
        "_getSharedAllocator",
    ),
    (Operator::WrongFlag, "SHARED", "PRIVATE"),
    (Operator::WrongFlag, "COMMIT", "COMMIT_AND_WAIT"),
    (Operator::WrongVariable, "src", "dst"),
    (Operator::WrongVariable, "src_", "dst_"),
    (Operator::WrongVariable, "is_conj", "is_neg"),
    (
        Operator::WrongVariable,
        "has_memory_pressure",
        "has_unified_memory",
    ),
    (Operator::WrongVariable, "host_src", "host_dst"),
    (Operator::WrongVariable, "size", "alloc_size"),
    (Operator::WrongVariable, "strides", "sizes"),
];

/// What a word can be mistaken for.
pub fn twins(word: &str) -> impl Iterator<Item = (Operator, &'static str)> + '_ {
    TWINS.iter().filter_map(move |(operator, one, other)| {
        if *one == word {
            Some((*operator, *other))
        } else if *other == word {
            Some((*operator, *one))
        } else {
            None
        }
    })
}

/// What a mark between two values can be mistaken for.
#[must_use]
pub fn mistaken(mark: &str) -> &'static [(Operator, &'static str)] {
    match mark {
        "<" => &[
            (Operator::FlipComparison, ">="),
            (Operator::ShiftBoundary, "<="),
        ],
        ">" => &[
            (Operator::FlipComparison, "<="),
            (Operator::ShiftBoundary, ">="),
        ],
        "<=" => &[
            (Operator::FlipComparison, ">"),
            (Operator::ShiftBoundary, "<"),
        ],
        ">=" => &[
            (Operator::FlipComparison, "<"),
            (Operator::ShiftBoundary, ">"),
        ],
        "==" => &[(Operator::FlipComparison, "!=")],
        "!=" => &[(Operator::FlipComparison, "==")],
        "&&" => &[(Operator::SwapConnective, "||")],
        "||" => &[(Operator::SwapConnective, "&&")],
        "+" => &[(Operator::FlipArithmetic, "-")],
        "-" => &[(Operator::FlipArithmetic, "+")],
        "*" => &[(Operator::FlipArithmetic, "/")],
        "+=" => &[(Operator::FlipArithmetic, "-=")],
        "-=" => &[(Operator::FlipArithmetic, "+=")],
        "&" => &[(Operator::WrongFlag, "|")],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_documents() {
        for operator in Operator::ALL {
            let word = serde_json::to_value(operator).unwrap();
            assert_eq!(word, operator.name());
        }
    }

    #[test]
    fn twins_go_both_ways() {
        assert_eq!(twins("dst").next(), Some((Operator::WrongVariable, "src")));
        assert_eq!(twins("src").next(), Some((Operator::WrongVariable, "dst")));
        assert_eq!(twins("neither").next(), None);
    }
}

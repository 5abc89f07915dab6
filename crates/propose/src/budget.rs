//! Hard caps in money, tokens, calls and time: reserved at the worst before each call, settled after it.
//!
//! Must not ask a clock: times are told. What is reserved and never settled stays reserved, so that a call whose end
//! nobody saw is paid for.

use crate::ask::Usage;
use model::Seconds;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Money, in millionths of the unit in which prices are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    /// From whole units: 1.5 is 1,500,000 millionths.
    pub fn of(units: f64) -> Self {
        Self((units * 1e6).ceil().max(0.0) as u64)
    }

    /// In whole units.
    pub fn units(self) -> f64 {
        self.0 as f64 * 1e-6
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4}", self.units())
    }
}

/// What a model's tokens cost: units of money a million tokens, as price lists have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Of the prompt.
    pub input: f64,
    /// Of the reply.
    pub output: f64,
}

impl Price {
    /// The cost of a call, rounded up. A unit a million tokens is a millionth a token.
    pub fn cost(&self, usage: &Usage) -> Money {
        Money((usage.input as f64 * self.input + usage.output as f64 * self.output).ceil().max(0.0) as u64)
    }
}

/// What calls have used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Money.
    pub money: Money,
    /// Tokens, of prompts and replies.
    pub tokens: u64,
    /// Calls.
    pub calls: u32,
    /// Time in calls.
    pub time: Seconds,
}

impl Spent {
    /// One call.
    pub fn call(usage: &Usage, price: &Price, time: Seconds) -> Self {
        Self { money: price.cost(usage), tokens: usage.input + usage.output, calls: 1, time }
    }
}

impl std::ops::Add for Spent {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            money: Money(self.money.0.saturating_add(other.money.0)),
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
            time: self.time + other.time,
        }
    }
}

impl std::iter::Sum for Spent {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::default(), std::ops::Add::add)
    }
}

/// The most that may be used up; none is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Caps {
    /// Money.
    pub money: Option<Money>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Calls.
    pub calls: Option<u32>,
    /// Time in calls.
    pub time: Option<Seconds>,
}

/// A cap that the next call could pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("the cap on {cap} is reached: {left} left, the next call may need {needed}")]
pub struct Exhausted {
    /// `money`, `tokens`, `calls`, `time`.
    pub cap: String,
    /// What is left.
    pub left: String,
    /// What the next call may need.
    pub needed: String,
}

/// What is set aside for one call.
#[derive(Debug, PartialEq)]
#[must_use = "settle it, or it stays reserved"]
pub struct Reservation(Spent);

impl Reservation {
    /// The worst that was reserved. Its time is what the call may take: less than asked for, near the cap.
    pub fn worst(&self) -> Spent {
        self.0
    }
}

/// Caps, and what is used up of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    caps: Caps,
    spent: Spent,
    held: Spent,
}

impl Budget {
    /// After `spent`, which a record says.
    pub fn new(caps: Caps, spent: Spent) -> Self {
        Self { caps, spent, held: Spent::default() }
    }

    /// What is used up, without what is reserved.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Sets aside the worst that a call can cost. Money, tokens and calls are all or nothing; of time what is left.
    ///
    /// # Errors
    /// [`Exhausted`] when a cap could be passed.
    pub fn reserve(&mut self, worst: Spent) -> Result<Reservation, Exhausted> {
        let used = self.spent + self.held;
        within("money", self.caps.money, |cap| Money(cap.0.saturating_sub(used.money.0)), worst.money)?;
        within("tokens", self.caps.tokens, |cap| cap.saturating_sub(used.tokens), worst.tokens)?;
        within("calls", self.caps.calls, |cap| cap.saturating_sub(used.calls), worst.calls)?;
        let mut granted = worst;
        if let Some(cap) = self.caps.time {
            let left = Seconds((cap.0 - used.time.0).max(0.0));
            // Less than a second is no time to ask anyone.
            within("time", Some(left), |left| left, Seconds(worst.time.0.min(1.0)))?;
            granted.time = Seconds(worst.time.0.min(left.0));
        }
        self.held = self.held + granted;
        Ok(Reservation(granted))
    }

    /// Replaces a reservation by what the call came to.
    pub fn settle(&mut self, Reservation(held): Reservation, actual: Spent) {
        self.held = Spent {
            money: Money(self.held.money.0.saturating_sub(held.money.0)),
            tokens: self.held.tokens.saturating_sub(held.tokens),
            calls: self.held.calls.saturating_sub(held.calls),
            time: Seconds((self.held.time.0 - held.time.0).max(0.0)),
        };
        self.spent = self.spent + actual;
    }
}

fn within<T: PartialOrd + Copy + fmt::Display>(
    name: &str,
    cap: Option<T>,
    left: impl Fn(T) -> T,
    needed: T,
) -> Result<(), Exhausted> {
    let Some(left) = cap.map(left) else { return Ok(()) };
    if needed <= left {
        return Ok(());
    }
    Err(Exhausted { cap: name.to_owned(), left: left.to_string(), needed: needed.to_string() })
}

/// What so many proposals will come to, before any is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// One call each, each reply as long as the present code.
    pub likely: Spent,
    /// Each sent back once, each reply as long as allowed.
    pub worst: Spent,
}

/// Bytes and limits of one exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Bytes of the prompt.
    pub prompt: usize,
    /// Bytes of the present code: what a reply is likely to be as long as.
    pub code: usize,
    /// Tokens of a reply at most.
    pub max_output: u64,
}

impl Size {
    /// The worst that one call with a prompt of this size can come to, if it may take `limit`.
    pub fn worst_call(&self, price: &Price, limit: Seconds) -> Spent {
        let usage = Usage { output: self.max_output, ..Usage::estimated(self.prompt, 0) };
        Spent::call(&usage, price, limit)
    }
}

/// Estimates `proposals` exchanges of one size. Time is not estimated: nobody knows a service's speed beforehand.
pub fn estimate(size: &Size, price: &Price, proposals: u32) -> Estimate {
    let output = crate::ask::tokens(size.code).min(size.max_output);
    let likely = Spent::call(&Usage { output, ..Usage::estimated(size.prompt, 0) }, price, Seconds(0.0));
    let first = size.worst_call(price, Seconds(0.0));
    // The prompt of a repair holds the first prompt and the first reply.
    let again = Usage { input: first.tokens, output: size.max_output, ..Usage::estimated(0, 0) };
    let both = first + Spent::call(&again, price, Seconds(0.0));
    let times = |spent: Spent| std::iter::repeat_n(spent, proposals as usize).sum();
    Estimate { likely: times(likely), worst: times(both) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRICE: Price = Price { input: 3.0, output: 15.0 };

    fn spent(money: u64, tokens: u64, calls: u32, time: f64) -> Spent {
        Spent { money: Money(money), tokens, calls, time: Seconds(time) }
    }

    #[test]
    fn prices_are_a_million_tokens() {
        let usage = Usage { input: 1_000_000, output: 100_000, ..Usage::estimated(0, 0) };
        assert_eq!(PRICE.cost(&usage), Money::of(4.5));
        assert_eq!(Money::of(4.5).to_string(), "4.5000");
    }

    #[test]
    fn each_cap_holds() {
        let check = |caps: Caps, expected: Option<&str>| {
            let mut budget = Budget::new(caps, spent(100, 100, 1, 10.0));
            let cap = budget.reserve(spent(50, 50, 1, 20.0)).err().map(|error| error.cap);
            assert_eq!(cap.as_deref(), expected, "{caps:?}");
        };
        check(Caps::default(), None);
        check(Caps { money: Some(Money(150)), ..Caps::default() }, None);
        check(Caps { money: Some(Money(149)), ..Caps::default() }, Some("money"));
        check(Caps { tokens: Some(149), ..Caps::default() }, Some("tokens"));
        check(Caps { calls: Some(1), ..Caps::default() }, Some("calls"));
        check(Caps { time: Some(Seconds(10.5)), ..Caps::default() }, Some("time"));
        check(Caps { time: Some(Seconds(12.0)), ..Caps::default() }, None);
    }

    #[test]
    fn time_near_the_cap_is_granted_in_part() {
        let mut budget = Budget::new(Caps { time: Some(Seconds(15.0)), ..Caps::default() }, spent(0, 0, 0, 10.0));
        let reservation = budget.reserve(spent(0, 0, 1, 20.0)).unwrap();
        assert_eq!(reservation.worst().time, Seconds(5.0));
        budget.settle(reservation, spent(0, 0, 1, 2.0));
        assert_eq!(budget.spent().time, Seconds(12.0));
    }

    #[test]
    fn the_estimate_of_a_campaign() {
        let estimate = estimate(&Size { prompt: 3000, code: 300, max_output: 500 }, &PRICE, 10);
        assert_eq!(estimate.likely, spent(45_000, 11_000, 10, 0.0));
        // 1,000 and 1,500 tokens in, 500 out, twice.
        assert_eq!(estimate.worst, spent(10 * (2500 * 3 + 1000 * 15), 35_000, 20, 0.0));
    }

    proptest! {
        #[test]
        fn never_past_the_cap(calls in proptest::collection::vec((0u64..100, 0u64..=100, any::<bool>()), 0..60)) {
            let mut budget = Budget::new(Caps { money: Some(Money(1000)), ..Caps::default() }, Spent::default());
            for (worst, share, settles) in calls {
                if let Ok(reservation) = budget.reserve(spent(worst, 0, 1, 0.0))
                    && settles
                {
                    budget.settle(reservation, spent(worst * share / 100, 0, 1, 0.0));
                }
                prop_assert!(budget.spent.money.0 + budget.held.money.0 <= 1000);
            }
        }
    }
}
